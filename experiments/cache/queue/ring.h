/* Rings that do not wait, and the queue that is made of them. */
#ifndef RING_H
#define RING_H

#include <stdbool.h>

#include "task_queue.h"

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

/* The queue of one ring a class, or one a class and consumer, with a futex to sleep on. */
struct task_queue *ring_queue_create(
    const struct ring_kind *ring, unsigned capacity, unsigned consumers);
bool ring_queue_push(struct task_queue *queue, void *task, unsigned class);
void *ring_queue_pop(struct task_queue *queue, unsigned consumer);
void ring_queue_stop(struct task_queue *queue);
void ring_queue_destroy(struct task_queue *queue);

#endif
