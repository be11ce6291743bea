/* Rings that do not wait. */
#ifndef RING_H
#define RING_H

#include <stdbool.h>

/* A bounded lock-free ring from one producer. */
struct ring_kind {
    /* Whether a ring bears one consumer only, so that each needs its own. */
    bool single_consumer;
    void *(*create)(unsigned capacity);
    bool (*push)(void *ring, void *task);
    /* NULL: empty. */
    void *(*pop)(void *ring);
    void (*destroy)(void *ring);
};

extern const struct ring_kind ring_ck, ring_rte, ring_spsc;

#endif
