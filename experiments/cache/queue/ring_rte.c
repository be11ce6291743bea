/* DPDK's ring, for one producer and many consumers in its mode of relaxed tail synchronisation: in
 * the usual mode a consumer that is preempted between its two steps holds up all others. */
#include <errno.h>
#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring.h"

static void *create(unsigned capacity)
{
    unsigned size = 1;
    while (size < capacity + 1)
        size *= 2;
    ssize_t bytes = rte_ring_get_memsize(size);
    if (bytes < 0)
        return NULL;
    struct rte_ring *ring = aligned_alloc(RTE_CACHE_LINE_SIZE, bytes);
    if (ring == NULL)
        return NULL;
    /* Names only matter to rings in DPDK's own memory. */
    if (rte_ring_init(ring, "tasks", size, RING_F_SP_ENQ | RING_F_MC_RTS_DEQ) != 0) {
        free(ring);
        return NULL;
    }
    return ring;
}

static bool push(void *ring, void *task)
{
    return rte_ring_enqueue(ring, task) == 0;
}

static void *pop(void *ring)
{
    void *task;
    return rte_ring_dequeue(ring, &task) == 0 ? task : NULL;
}

const struct ring_kind ring_rte = {.create = create, .push = push, .pop = pop, .destroy = free};
