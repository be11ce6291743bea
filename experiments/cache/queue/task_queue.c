#include "task_queue.h"

#include <string.h>

#include "mutex_queue.h"
#include "ring.h"

#define OF_RINGS(NAME)                                                                   \
    static struct task_queue *create_##NAME(unsigned capacity, unsigned consumers)       \
    {                                                                                    \
        return ring_queue_create(&ring_##NAME, capacity, consumers);                     \
    }                                                                                    \
    static const struct task_queue_kind NAME##_queue = {                                 \
        #NAME, create_##NAME, ring_queue_push, ring_queue_pop, ring_queue_stop,          \
        ring_queue_destroy}

OF_RINGS(ck);
OF_RINGS(rte);
OF_RINGS(spsc);

static const struct task_queue_kind *const kinds[] = {
    &mutex_queue, &ck_queue, &rte_queue, &spsc_queue};

const char *const task_queue_names[] = {"mutex", "ck", "rte", "spsc", NULL};

const struct task_queue_kind *task_queue_kind(const char *name, size_t length)
{
    for (size_t each = 0; each < sizeof(kinds) / sizeof(*kinds); each++)
        if (strlen(kinds[each]->name) == length && memcmp(kinds[each]->name, name, length) == 0)
            return kinds[each];
    return NULL;
}
