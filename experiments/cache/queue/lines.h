/* A line of tasks for each class, of bounded length. Who uses them keeps others out meanwhile. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stdlib.h>

#include "task_queue.h"

struct lines {
    unsigned capacity;
    struct {
        unsigned first;
        unsigned count;
    } line[TASK_CLASSES];
    void **slots;
};

/* False: there is no memory. */
static inline bool lines_init(struct lines *lines, unsigned capacity)
{
    *lines = (struct lines){.capacity = capacity};
    lines->slots = calloc((size_t)capacity * TASK_CLASSES, sizeof(*lines->slots));
    return lines->slots != NULL;
}

/* False: full. */
static inline bool lines_put(struct lines *lines, void *task, unsigned class)
{
    unsigned at = lines->line[class].first + lines->line[class].count;
    if (lines->line[class].count == lines->capacity)
        return false;
    lines->slots[(size_t)class * lines->capacity + at % lines->capacity] = task;
    lines->line[class].count++;
    return true;
}

/* The oldest of the first class that has any; NULL: there is none. */
static inline void *lines_take(struct lines *lines)
{
    for (unsigned class = 0; class < TASK_CLASSES; class++) {
        if (lines->line[class].count == 0)
            continue;
        unsigned first = lines->line[class].first;
        lines->line[class].first = (first + 1) % lines->capacity;
        lines->line[class].count--;
        return lines->slots[(size_t)class * lines->capacity + first];
    }
    return NULL;
}

static inline void lines_free(struct lines *lines)
{
    free(lines->slots);
}

#endif
