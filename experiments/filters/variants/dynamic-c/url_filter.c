/* SPDX-License-Identifier: Apache-2.0 */
/* The filter library in C: the shared matching rule behind the interface of filter_abi.h. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "filter_abi.h"
#include "filter_counters.h"
#include "filter_match.h"

static char prefix[FILTER_PREFIX_MAX];
static size_t prefix_length;

/* One page for all workers: made before nginx forks them, and kept when it reloads. */
static struct filter_counters *counters;

int
module_initialize(const char *new_prefix)
{
    size_t length = strlen(new_prefix);

    if (length > sizeof(prefix)) {
        fprintf(stderr, "url_filter: the prefix has %zu bytes; give one of at most %zu\n", length,
                sizeof(prefix));
        return -1;
    }

    if (counters == NULL) {
        void *page = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            fprintf(stderr, "url_filter: no memory for the counters: %s\n", strerror(errno));
            return -1;
        }
        counters = page;
    }

    memcpy(prefix, new_prefix, length);
    prefix_length = length;
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    int accepted = filter_match(url, length, prefix, prefix_length);

    filter_count(counters, accepted);
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
    filter_counters_read(counters, accepted, rejected);
}
