/* Lanes of rings: one lane for all consumers, or one for each, where a ring bears only one. */
#include "ring_queue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "parking.h"

struct lane {
    struct parking parking;
    void *rings[TASK_CLASSES];
    /* The producer's: tasks that were pushed. */
    unsigned long pushed;
    /* The consumers': tasks that were taken, and whose taker has come back for another. */
    _Alignas(64) atomic_ulong finished;
    bool busy;
};

struct ring_queue {
    struct task_queue base;
    const struct ring_kind *ring;
    atomic_bool stopped;
    unsigned lanes;
    unsigned next;
    struct lane lane[];
};

static struct ring_queue *of(struct task_queue *base)
{
    return (struct ring_queue *)base;
}

struct task_queue *ring_queue_create(
    const struct ring_kind *ring, unsigned capacity, unsigned consumers)
{
    unsigned lanes = ring->single_consumer ? consumers : 1;
    size_t size = sizeof(struct ring_queue) + lanes * sizeof(struct lane);
    struct ring_queue *queue = aligned_alloc(64, (size + 63) / 64 * 64);
    if (queue == NULL)
        return NULL;
    *queue = (struct ring_queue){.ring = ring, .lanes = lanes};
    for (unsigned each = 0; each < lanes; each++)
        queue->lane[each] = (struct lane){0};
    for (unsigned each = 0; each < lanes * TASK_CLASSES; each++) {
        void *made = ring->create(capacity);
        if (made == NULL) {
            ring_queue_destroy(&queue->base);
            return NULL;
        }
        queue->lane[each / TASK_CLASSES].rings[each % TASK_CLASSES] = made;
    }
    return &queue->base;
}

/* Return the lane with the fewest unfinished tasks, including the one that is being run. Among equals
 * the lanes take turns. */
static struct lane *shortest(struct ring_queue *queue)
{
    struct lane *best = NULL;
    unsigned long fewest = 0;
    for (unsigned step = 0; step < queue->lanes; step++) {
        struct lane *lane = &queue->lane[(queue->next + step) % queue->lanes];
        unsigned long unfinished =
            lane->pushed - atomic_load_explicit(&lane->finished, memory_order_relaxed);
        if (best == NULL || unfinished < fewest) {
            best = lane;
            fewest = unfinished;
        }
    }
    queue->next = (queue->next + 1) % queue->lanes;
    return best;
}

bool ring_queue_push(struct task_queue *base, void *task, unsigned class)
{
    struct ring_queue *queue = of(base);
    struct lane *lane = queue->lanes == 1 ? &queue->lane[0] : shortest(queue);
    if (!queue->ring->push(lane->rings[class], task))
        return false;
    lane->pushed++;
    base->wakeups += parking_wake_one(&lane->parking);
    return true;
}

static void *first(struct ring_queue *queue, struct lane *lane)
{
    for (unsigned class = 0; class < TASK_CLASSES; class++) {
        void *task = queue->ring->pop(lane->rings[class]);
        if (task != NULL)
            return task;
    }
    return NULL;
}

static void *wait_for(struct ring_queue *queue, struct lane *lane)
{
    for (;;) {
        void *task = first(queue, lane);
        if (task != NULL)
            return task;
        uint32_t ticket = parking_enter(&lane->parking);
        /* Read before the second look: what was pushed before the stop is then seen by it. */
        bool stopped = atomic_load(&queue->stopped);
        task = first(queue, lane);
        if (task != NULL || stopped) {
            parking_leave(&lane->parking);
            return task;
        }
        parking_sleep(&lane->parking, ticket);
    }
}

void *ring_queue_pop(struct task_queue *base, unsigned consumer)
{
    struct ring_queue *queue = of(base);
    if (queue->lanes == 1)
        return wait_for(queue, &queue->lane[0]);
    struct lane *lane = &queue->lane[consumer];
    if (lane->busy)
        atomic_fetch_add_explicit(&lane->finished, 1, memory_order_relaxed);
    void *task = wait_for(queue, lane);
    lane->busy = task != NULL;
    return task;
}

void ring_queue_stop(struct task_queue *base)
{
    struct ring_queue *queue = of(base);
    atomic_store(&queue->stopped, true);
    for (unsigned each = 0; each < queue->lanes; each++)
        parking_wake_all(&queue->lane[each].parking);
}

void ring_queue_destroy(struct task_queue *base)
{
    struct ring_queue *queue = of(base);
    for (unsigned each = 0; each < queue->lanes * TASK_CLASSES; each++) {
        void *made = queue->lane[each / TASK_CLASSES].rings[each % TASK_CLASSES];
        if (made != NULL)
            queue->ring->destroy(made);
    }
    free(queue);
}
