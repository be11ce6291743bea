/* SPDX-License-Identifier: Apache-2.0 */
/* A filter as one written for the original interface: three functions, static counters. */

#include <stdint.h>
#include <string.h>

static char accept_prefix[128];
static uint64_t accepted_count, rejected_count;

int
module_initialize(const char *prefix)
{
    strncpy(accept_prefix, prefix, sizeof(accept_prefix) - 1);
    return 0;
}

int
module_url_filter(const char *url)
{
    int accept = strncmp(url, accept_prefix, strlen(accept_prefix)) == 0;

    if (accept) {
        accepted_count++;
    } else {
        rejected_count++;
    }
    return accept;
}

void
module_get_counters(uint64_t *accepted, uint64_t *rejected)
{
    *accepted = accepted_count;
    *rejected = rejected_count;
}
