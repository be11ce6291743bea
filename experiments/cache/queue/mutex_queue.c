#include "mutex_queue.h"

#include <pthread.h>
#include <stdlib.h>

struct buffer {
    void **slots;
    unsigned first;
    unsigned count;
};

struct mutex_queue {
    struct task_queue base;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    unsigned capacity;
    unsigned sleepers;
    bool stopped;
    struct buffer buffers[TASK_CLASSES];
    void *slots[];
};

static struct task_queue *create(unsigned capacity, unsigned consumers)
{
    (void)consumers;
    size_t slots = (size_t)capacity * TASK_CLASSES;
    struct mutex_queue *queue = calloc(1, sizeof(*queue) + slots * sizeof(void *));
    if (queue == NULL)
        return NULL;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->filled, NULL);
    queue->capacity = capacity;
    for (unsigned class = 0; class < TASK_CLASSES; class++)
        queue->buffers[class].slots = queue->slots + (size_t)class * capacity;
    return &queue->base;
}

static bool push(struct task_queue *base, void *task, unsigned class)
{
    struct mutex_queue *queue = (struct mutex_queue *)base;
    struct buffer *buffer = &queue->buffers[class];
    pthread_mutex_lock(&queue->mutex);
    bool fits = buffer->count < queue->capacity;
    if (fits) {
        buffer->slots[(buffer->first + buffer->count++) % queue->capacity] = task;
        base->wakeups += queue->sleepers > 0;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->mutex);
    return fits;
}

static void *first(struct mutex_queue *queue)
{
    for (unsigned class = 0; class < TASK_CLASSES; class++) {
        struct buffer *buffer = &queue->buffers[class];
        if (buffer->count == 0)
            continue;
        void *task = buffer->slots[buffer->first];
        buffer->first = (buffer->first + 1) % queue->capacity;
        buffer->count--;
        return task;
    }
    return NULL;
}

static void *pop(struct task_queue *base, unsigned consumer)
{
    (void)consumer;
    struct mutex_queue *queue = (struct mutex_queue *)base;
    void *task;
    pthread_mutex_lock(&queue->mutex);
    while ((task = first(queue)) == NULL && !queue->stopped) {
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
    free(queue);
}

const struct task_queue_kind mutex_queue = {
    "mutex", create, push, pop, stop, destroy};
