#include "mutex_queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "lines.h"

struct mutex_queue {
    struct task_queue base;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    unsigned sleepers;
    bool stopped;
    struct lines lines;
};

static struct task_queue *create(unsigned capacity, unsigned consumers, const char **why)
{
    (void)consumers;
    (void)why;
    struct mutex_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    if (!lines_init(&queue->lines, capacity)) {
        free(queue);
        return NULL;
    }
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->filled, NULL);
    return &queue->base;
}

static bool push(struct task_queue *base, void *task, unsigned class)
{
    struct mutex_queue *queue = (struct mutex_queue *)base;
    pthread_mutex_lock(&queue->mutex);
    bool fits = lines_put(&queue->lines, task, class);
    if (fits) {
        base->wakeups += queue->sleepers > 0;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->mutex);
    return fits;
}

static void *pop(struct task_queue *base, unsigned consumer)
{
    (void)consumer;
    struct mutex_queue *queue = (struct mutex_queue *)base;
    void *task;
    pthread_mutex_lock(&queue->mutex);
    while ((task = lines_take(&queue->lines)) == NULL && !queue->stopped) {
        queue->sleepers++;
        pthread_cond_wait(&queue->filled, &queue->mutex);
        queue->sleepers--;
    }
    pthread_mutex_unlock(&queue->mutex);
    return task;
}

static void stop(struct task_queue *base)
{
    struct mutex_queue *queue = (struct mutex_queue *)base;
    pthread_mutex_lock(&queue->mutex);
    queue->stopped = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->mutex);
}

static void destroy(struct task_queue *base)
{
    struct mutex_queue *queue = (struct mutex_queue *)base;
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->mutex);
    lines_free(&queue->lines);
    free(queue);
}

const struct task_queue_kind mutex_queue = {
    "mutex", create, push, pop, stop, destroy};
