/* The queue that is made of rings: one ring a class, or one a class and consumer, with a futex to sleep
 * on. */
#ifndef RING_QUEUE_H
#define RING_QUEUE_H

#include "ring.h"
#include "task_queue.h"

struct task_queue *ring_queue_create(
    const struct ring_kind *ring, unsigned capacity, unsigned consumers);
bool ring_queue_push(struct task_queue *queue, void *task, unsigned class);
void *ring_queue_pop(struct task_queue *queue, unsigned consumer);
void ring_queue_stop(struct task_queue *queue);
void ring_queue_destroy(struct task_queue *queue);

#endif
