/* An event device, and what it lacks to be a task queue: room for as many tasks as are asked for,
 * and consumers that sleep.
 *
 * A device holds some thousand tasks; what it does not take waits in lines before it, from which
 * consumers help themselves. And it does not say to whom it gives a task, so that nobody may sleep
 * while one is under way: consumers sleep for good only when all that was pushed has been taken, and
 * every push wakes all of them. Who finds nothing meanwhile does the device's upkeep, and looks
 * again after a nap.
 */
#include "event_queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "event_device.h"
#include "lines.h"
#include "parking.h"

/* Looks at the port, one yield of the CPU apart, before the first nap. */
#define LOOKS 16
#define FIRST_NAP_NS 50000
#define LONGEST_NAP_NS 1000000

struct event_queue {
    struct task_queue base;
    struct event_device *device;
    struct parking parking;
    atomic_bool stopped;
    unsigned capacity;
    /* Keeps the producer's port, the device's upkeep and the lines to one thread at a time. */
    pthread_mutex_t mutex;
    struct lines lines;
    unsigned behind; /* tasks in the lines */
    atomic_ulong pushed;
    _Alignas(64) atomic_ulong taken;
};

struct task_queue *event_queue_create(
    const char *driver, unsigned capacity, unsigned consumers, const char **why)
{
    size_t size = (sizeof(struct event_queue) + 63) / 64 * 64;
    struct event_queue *queue = aligned_alloc(64, size);
    if (queue == NULL)
        return NULL;
    *queue = (struct event_queue){.capacity = capacity * TASK_CLASSES};
    if (!lines_init(&queue->lines, capacity)) {
        free(queue);
        return NULL;
    }
    queue->device = event_device_open(driver, consumers, why);
    if (queue->device == NULL) {
        lines_free(&queue->lines);
        free(queue);
        return NULL;
    }
    pthread_mutex_init(&queue->mutex, NULL);
    return &queue->base;
}

/* Tasks that were pushed and not yet taken. */
static unsigned long waiting(struct event_queue *queue)
{
    return atomic_load(&queue->pushed) - atomic_load(&queue->taken);
}

bool event_queue_push(struct task_queue *base, void *task, unsigned class)
{
    struct event_queue *queue = (struct event_queue *)base;
    if (waiting(queue) >= queue->capacity)
        return false;
    pthread_mutex_lock(&queue->mutex);
    /* What came earlier is in front. */
    bool sent = queue->behind == 0 && event_device_send(queue->device, task, class);
    bool fits = sent || lines_put(&queue->lines, task, class);
    if (fits) {
        queue->behind += !sent;
        atomic_fetch_add(&queue->pushed, 1);
    }
    event_device_upkeep(queue->device);
    pthread_mutex_unlock(&queue->mutex);
    if (fits)
        base->wakeups += parking_wake_all(&queue->parking);
    return fits;
}

/* From this consumer's port, or else from the lines; NULL: there is nothing for it now. */
static void *take(struct event_queue *queue, unsigned consumer)
{
    void *task = event_device_receive(queue->device, consumer);
    if (task != NULL || pthread_mutex_trylock(&queue->mutex) != 0)
        return task;
    event_device_upkeep(queue->device);
    task = event_device_receive(queue->device, consumer);
    if (task == NULL && (task = lines_take(&queue->lines)) != NULL)
        queue->behind--;
    pthread_mutex_unlock(&queue->mutex);
    return task;
}

void *event_queue_pop(struct task_queue *base, unsigned consumer)
{
    struct event_queue *queue = (struct event_queue *)base;
    unsigned looks = 0;
    unsigned nap_ns = FIRST_NAP_NS;
    for (;;) {
        void *task = take(queue, consumer);
        if (task != NULL) {
            atomic_fetch_add(&queue->taken, 1);
            return task;
        }
        uint32_t ticket = parking_enter(&queue->parking);
        bool stopped = atomic_load(&queue->stopped);
        /* Once: others take meanwhile, and after the last one nobody wakes whom the stop has woken. */
        bool empty = waiting(queue) == 0;
        if (empty && stopped) {
            parking_leave(&queue->parking);
            event_device_leave();
            return NULL;
        }
        if (empty) {
            parking_sleep(&queue->parking, ticket);
            looks = 0;
        } else if (looks < LOOKS) {
            parking_leave(&queue->parking);
            looks++;
            nap_ns = FIRST_NAP_NS;
            sched_yield();
        } else {
            parking_nap(&queue->parking, ticket, nap_ns);
            nap_ns = nap_ns * 2 < LONGEST_NAP_NS ? nap_ns * 2 : LONGEST_NAP_NS;
        }
    }
}

void event_queue_stop(struct task_queue *base)
{
    struct event_queue *queue = (struct event_queue *)base;
    atomic_store(&queue->stopped, true);
    parking_wake_all(&queue->parking);
}

void event_queue_destroy(struct task_queue *base)
{
    struct event_queue *queue = (struct event_queue *)base;
    event_device_close(queue->device);
    pthread_mutex_destroy(&queue->mutex);
    lines_free(&queue->lines);
    free(queue);
}
