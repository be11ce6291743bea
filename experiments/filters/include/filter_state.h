/* SPDX-License-Identifier: Apache-2.0 */
/* The prefix and the counters of a filter library: a controller's, whose shared memory FILTER_SHM
 * names, or else its own. */

#ifndef FILTER_STATE_H
#define FILTER_STATE_H

#include <stdlib.h>

#include "filter_shm_map.h"

struct filter_state {
    struct filter_shm *shm;           /* has the prefix in force */
    struct filter_counters *counters; /* shared by all workers */
};

static inline void *
filter_state_pages(size_t size, int sharing)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
}

/* Without a controller: the prefix is nginx's, and each worker keeps it until the next reload; the
 * counters are in a page that is made before nginx forks its workers, and kept when it reloads. */
static inline int
filter_state_own(struct filter_state *next, const struct filter_state *now, const char *prefix,
                 char *why, size_t size)
{
    size_t length = strlen(prefix);

    if (length > FILTER_PREFIX_MAX) {
        snprintf(why, size, "the prefix has %zu bytes; give one of at most %d", length,
                 FILTER_PREFIX_MAX);
        return -1;
    }

    next->counters = now->counters;
    if (next->counters == NULL) {
        void *page = filter_state_pages(sizeof(*next->counters), MAP_SHARED);
        if (page == MAP_FAILED) {
            snprintf(why, size, "no memory for the counters: %s", strerror(errno));
            return -1;
        }
        next->counters = (struct filter_counters *) page;
    }

    void *shm = filter_state_pages(sizeof(*next->shm), MAP_PRIVATE);
    if (shm == MAP_FAILED) {
        snprintf(why, size, "no memory for the prefix: %s", strerror(errno));
        return -1;
    }
    next->shm = (struct filter_shm *) shm;
    next->shm->prefixes[0].length = (uint32_t) length;
    memcpy(next->shm->prefixes[0].bytes, prefix, length);
    return 0;
}

/* What module_initialize gives a library: fills `next`, and leaves `now`, which serves, alone until
 * filter_state_replace. -1, and a sentence on standard error that begins with `library`, when the
 * controller's memory is not there or the prefix is too long. */
static inline int
filter_state_open(struct filter_state *next, const struct filter_state *now, const char *prefix,
                  const char *library)
{
    char why[512];
    const char *name = getenv("FILTER_SHM");

    if (name == NULL) {
        if (filter_state_own(next, now, prefix, why, sizeof(why)) == 0) {
            return 0;
        }
    } else {
        next->shm = filter_shm_map(name, why, sizeof(why));
        if (next->shm != NULL) {
            next->counters = &next->shm->counters;
            return 0;
        }
    }
    fprintf(stderr, "%s: %s\n", library, why);
    return -1;
}

/* Gives up what filter_state_open made. The page of own counters stays, for the next one. */
static inline void
filter_state_close(struct filter_state *state)
{
    if (state->shm != NULL) {
        munmap(state->shm, sizeof(*state->shm));
    }
}

/* Puts `next` in force. */
static inline void
filter_state_replace(struct filter_state *now, const struct filter_state *next)
{
    filter_state_close(now);
    *now = *next;
}

#endif
