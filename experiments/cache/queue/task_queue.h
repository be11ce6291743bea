/* A bounded queue of tasks, from one producer (nginx's event loop) to the threads of a pool. */
#ifndef TASK_QUEUE_H
#define TASK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

/* Classes of tasks; 0 is served first, whatever waits in the others. An event device gives each
 * consumer one task ahead, and eventdev-dsw knows no classes. */
#define TASK_CLASSES 4

struct task_queue;

/* One way of passing tasks. All of them wait without using the CPU. */
struct task_queue_kind {
    const char *name;
    /* Room for `capacity` tasks of each class. NULL if it cannot be had; `why` has a new reason then,
     * unless it is a lack of memory. */
    struct task_queue *(*create)(unsigned capacity, unsigned consumers, const char **why);
    /* By the producer only. False: full. */
    bool (*push)(struct task_queue *queue, void *task, unsigned class);
    /* By consumer `consumer` only, from 0: the next task, waited for. NULL: stopped, and empty. */
    void *(*pop)(struct task_queue *queue, unsigned consumer);
    /* By the producer, after its last push: consumers take what is left, and then get NULL. */
    void (*stop)(struct task_queue *queue);
    /* After the last consumer has got its NULL. */
    void (*destroy)(struct task_queue *queue);
};

/* What all kinds begin with. `wakeups` is the producer's own: how often it woke a consumer up. */
struct task_queue {
    const struct task_queue_kind *kind;
    unsigned long wakeups;
};

/* Return the kind of that name, or NULL if there is none. */
const struct task_queue_kind *task_queue_kind(const char *name, size_t length);

static inline struct task_queue *task_queue_create(
    const struct task_queue_kind *kind, unsigned capacity, unsigned consumers, const char **why)
{
    *why = "there is no memory for so many tasks";
    struct task_queue *queue = kind->create(capacity, consumers, why);
    if (queue != NULL)
        queue->kind = kind;
    return queue;
}

static inline bool task_queue_push(struct task_queue *queue, void *task, unsigned class)
{
    return queue->kind->push(queue, task, class < TASK_CLASSES ? class : TASK_CLASSES - 1);
}

static inline void *task_queue_pop(struct task_queue *queue, unsigned consumer)
{
    return queue->kind->pop(queue, consumer);
}

static inline void task_queue_stop(struct task_queue *queue)
{
    queue->kind->stop(queue);
}

static inline void task_queue_destroy(struct task_queue *queue)
{
    queue->kind->destroy(queue);
}

#endif
