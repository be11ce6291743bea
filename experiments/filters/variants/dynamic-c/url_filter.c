/* SPDX-License-Identifier: Apache-2.0 */
/* The filter library in C: the shared matching rule behind the interface of filter_abi.h. */

#include "filter_abi.h"
#include "filter_state.h"

static struct filter_state state;

int
module_initialize(const char *prefix)
{
    struct filter_state next;

    if (filter_state_open(&next, &state, prefix, "dynamic-c") != 0) {
        return -1;
    }
    filter_state_replace(&state, &next);
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    int accepted = filter_shm_match(state.shm, url, length);

    filter_count(state.counters, accepted);
    return accepted;
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
