/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of filter_abi.h in front of the gates. */

#include <stdio.h>
#include <string.h>

#include "domain.h"
#include "filter_abi.h"
#include "scan.h"
#include "trusted.h"

/* Counters of its own are kept over reloads; this pointer may be wrong, the domain has its own. */
static struct filter_state last;

int
module_initialize(const char *prefix)
{
    char why[512];
    struct filter_state next;

    if (scan_library(why, sizeof(why)) != 0 || domain_set_up(why, sizeof(why)) != 0
        || trusted_set_up(why, sizeof(why)) != 0)
    {
        fprintf(stderr, "erim: %s\n", why);
        return -1;
    }
    if (filter_state_open(&next, &last, prefix, "erim") != 0) {
        return -1;
    }
    if (domain_take(next.shm, sizeof(*next.shm), why, sizeof(why)) != 0
        || (next.counters != &next.shm->counters
            && domain_take(next.counters, sizeof(*next.counters), why, sizeof(why)) != 0))
    {
        filter_state_close(&next);
        fprintf(stderr, "erim: %s\n", why);
        return -1;
    }
    if (gate_replace(&next) != 0) {
        filter_state_close(&next);
        fprintf(stderr, "erim: another process set this filter up; only that one may change it\n");
        return -1;
    }
    last = next;
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    return gate_filter(url, length);
}

int
module_url_filter(const char *url)
{
    return gate_filter(url, strlen(url));
}

void
module_get_counters(uint64_t *accepted, uint64_t *rejected)
{
    struct trusted_counts counts = gate_counters();

    *accepted = counts.accepted;
    *rejected = counts.rejected;
}
