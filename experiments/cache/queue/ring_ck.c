/* Concurrency Kit's ring, for one producer and many consumers. */
#include <ck_ring.h>
#include <stdlib.h>

#include "ring.h"

struct ck {
    ck_ring_t ring;
    ck_ring_buffer_t slots[];
};

static void *create(unsigned capacity)
{
    /* It holds one less than its size, a power of two. */
    unsigned size = 4;
    while (size - 1 < capacity)
        size *= 2;
    size_t bytes = sizeof(struct ck) + size * sizeof(ck_ring_buffer_t);
    struct ck *made = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (made != NULL)
        ck_ring_init(&made->ring, size);
    return made;
}

static bool push(void *to, void *task)
{
    struct ck *made = to;
    return ck_ring_enqueue_spmc(&made->ring, made->slots, task);
}

static void *pop(void *from)
{
    struct ck *made = from;
    void *task;
    return ck_ring_dequeue_spmc(&made->ring, made->slots, &task) ? task : NULL;
}

const struct ring_kind ring_ck = {.create = create, .push = push, .pop = pop, .destroy = free};
