#include "task_queue.h"

#include <string.h>

#include "event_queue.h"
#include "mutex_queue.h"
#include "ring_queue.h"

#define OF_RINGS(NAME)                                                                   \
    static struct task_queue *create_##NAME(                                             \
        unsigned capacity, unsigned consumers, const char **why)                         \
    {                                                                                    \
        (void)why;                                                                       \
        return ring_queue_create(&ring_##NAME, capacity, consumers);                     \
    }                                                                                    \
    static const struct task_queue_kind NAME##_queue = {                                 \
        #NAME, create_##NAME, ring_queue_push, ring_queue_pop, ring_queue_stop,          \
        ring_queue_destroy}

OF_RINGS(ck);
OF_RINGS(rte);
OF_RINGS(spsc);

#define OF_DEVICE(DRIVER, NAME)                                                          \
    static struct task_queue *create_##DRIVER(                                           \
        unsigned capacity, unsigned consumers, const char **why)                         \
    {                                                                                    \
        return event_queue_create(#DRIVER, capacity, consumers, why);                    \
    }                                                                                    \
    static const struct task_queue_kind DRIVER##_queue = {                               \
        NAME, create_##DRIVER, event_queue_push, event_queue_pop, event_queue_stop,      \
        event_queue_destroy}

OF_DEVICE(event_sw, "eventdev-sw");
OF_DEVICE(event_dsw, "eventdev-dsw");
OF_DEVICE(event_dlb2, "dlb2");

static const struct task_queue_kind *const kinds[] = {&mutex_queue, &ck_queue, &rte_queue,
    &spsc_queue, &event_sw_queue, &event_dsw_queue, &event_dlb2_queue};

const struct task_queue_kind *task_queue_kind(const char *name, size_t length)
{
    for (size_t each = 0; each < sizeof(kinds) / sizeof(*kinds); each++)
        if (strlen(kinds[each]->name) == length && memcmp(kinds[each]->name, name, length) == 0)
            return kinds[each];
    return NULL;
}
