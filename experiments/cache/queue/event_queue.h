/* The queue that an event device is: it decides who gets which task. */
#ifndef EVENT_QUEUE_H
#define EVENT_QUEUE_H

#include "task_queue.h"

struct task_queue *event_queue_create(
    const char *driver, unsigned capacity, unsigned consumers, const char **why);
bool event_queue_push(struct task_queue *queue, void *task, unsigned class);
void *event_queue_pop(struct task_queue *queue, unsigned consumer);
void event_queue_stop(struct task_queue *queue);
void event_queue_destroy(struct task_queue *queue);

#endif
