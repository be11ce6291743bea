/* A ring for one producer and one consumer: each writes only its own index. */
#include <stdatomic.h>
#include <stdlib.h>

#include "ring.h"

struct spsc {
    unsigned mask;
    _Alignas(64) atomic_uint head; /* the consumer's: next to be taken */
    _Alignas(64) atomic_uint tail; /* the producer's: next to be filled */
    void *slots[];
};

static void *create(unsigned capacity)
{
    unsigned size = 1;
    while (size < capacity)
        size *= 2;
    size_t bytes = sizeof(struct spsc) + size * sizeof(void *);
    struct spsc *ring = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (ring == NULL)
        return NULL;
    ring->mask = size - 1;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    return ring;
}

static bool push(void *to, void *task)
{
    struct spsc *ring = to;
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) > ring->mask)
        return false;
    ring->slots[tail & ring->mask] = task;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

static void *pop(void *from)
{
    struct spsc *ring = from;
    unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&ring->tail, memory_order_acquire))
        return NULL;
    void *task = ring->slots[head & ring->mask];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return task;
}

const struct ring_kind ring_spsc = {
    .single_consumer = true, .create = create, .push = push, .pop = pop, .destroy = free};
