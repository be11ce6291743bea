/* The queue of nginx's own shape: a mutex and a condition. */
#ifndef MUTEX_QUEUE_H
#define MUTEX_QUEUE_H

#include "task_queue.h"

extern const struct task_queue_kind mutex_queue;

#endif
