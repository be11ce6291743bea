/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of filter_abi.h for a filter that runs in a guest (filter_guest.h). The host counts:
 * each worker has a guest of its own, and what is in it ends with the worker. */

#include <stdbool.h>
#include <time.h>

#include "filter_abi.h"
#include "filter_guest.h"
#include "filter_state.h"

static struct filter_state state;

/* Of this process: whether the guest runs, and which prefix it has. */
static bool started;
static uint64_t generation;

/* A guest with the prefix in force. 0 or -1. */
static int
make_ready(const struct filter_shm *shm, guest_reason *why)
{
    static struct filter_shm_prefix prefix;

    if (!started && guest_start(why) != 0) {
        return -1;
    }
    started = true;
    generation = filter_shm_copy(shm, &prefix);
    return guest_set_prefix(prefix.bytes, prefix.length, why);
}

static void
stop(void)
{
    guest_stop();
    started = false;
}

/* A guest that fails on every request must not fill the log: one line a second at most. */
__attribute__((cold, noinline)) static int
fail(guest_reason why)
{
    static time_t said;
    struct timespec now;
    uint64_t before = filter_count_failure(state.counters);

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != said) {
        said = now.tv_sec;
        fprintf(stderr, "%s: a request is rejected because the filter failed: %s (%llu before it)\n",
                guest_name, why, (unsigned long long) before);
    }
    stop();
    return 0;
}

/* The guest is tried with the prefix before nginx forks; each worker then starts its own. */
int
module_initialize(const char *prefix)
{
    guest_reason why = NULL;
    struct filter_state next;

    if (filter_state_open(&next, &state, prefix, guest_name) != 0) {
        return -1;
    }
    stop();
    bool good = guest_load(&why) == 0 && make_ready(next.shm, &why) == 0;
    stop();
    guest_settle(good);
    if (!good) {
        fprintf(stderr, "%s: %s\n", guest_name, why);
        filter_state_close(&next);
        return -1;
    }
    filter_state_replace(&state, &next);
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    int answer;
    guest_reason why = NULL;

    if (!started || generation != filter_shm_generation(state.shm)) {
        if (make_ready(state.shm, &why) != 0) {
            return fail(why);
        }
    }
    answer = guest_filter(url, length, &why);
    if (answer < 0) {
        return fail(why);
    }
    filter_count(state.counters, answer);
    return answer;
}

int
module_url_filter(const char *url)
{
    return module_url_filter_n(url, strlen(url));
}

void
module_get_counters(uint64_t *accepted, uint64_t *rejected)
{
    filter_counters_read(state.counters, accepted, rejected);
}
