/* SPDX-License-Identifier: Apache-2.0 */
/* The filter itself, which runs inside the domain. The caller is not trusted: what it points to is read
 * once and must not be in the domain. */

#define _GNU_SOURCE
#include "trusted.h"

#include <stdbool.h>

#include "domain.h"

/* No URI is longer, as long as nginx's large_client_header_buffers are not. */
#define URI_MAX (1u << 20)

/* All state of this file, at a fixed address that no pointer from outside has to give. */
static struct {
    struct filter_state state;
    pid_t owner; /* of nginx's master: workers do not change the state */
    char uri[URI_MAX];
    _Alignas(DOMAIN_PAGE) char rest[0];
} domain __attribute__((aligned(DOMAIN_PAGE)));

int
trusted_set_up(char *why, size_t size)
{
    return domain_take(&domain, sizeof(domain), why, size);
}

static bool
overlaps(const char *bytes, size_t length, const void *start, size_t size)
{
    return bytes < (const char *) start + size && (const char *) start < bytes + length;
}

/* Decide on the URI and count the decision. The URI is copied in first, so that nobody outside can
 * change it while it is decided on. */
__attribute__((used, visibility("hidden"))) int
trusted_filter(const char *url, size_t length)
{
    const struct filter_shm *shm = domain.state.shm;
    struct filter_counters *counters = domain.state.counters;
    int accepted;

    if (length > URI_MAX || overlaps(url, length, &domain, sizeof(domain))
        || overlaps(url, length, shm, sizeof(*shm))
        || overlaps(url, length, counters, sizeof(*counters)))
    {
        filter_count_failure(counters);
        return 0;
    }
    memcpy(domain.uri, url, length);
    accepted = filter_shm_match(shm, domain.uri, length);
    filter_count(counters, accepted);
    return accepted;
}

__attribute__((used, visibility("hidden"))) int
trusted_replace(const struct filter_state *next)
{
    const struct filter_state taken = *next;

    if (domain.owner != 0 && domain.owner != getpid()) {
        return -1;
    }
    domain.owner = getpid();
    filter_state_replace(&domain.state, &taken);
    return 0;
}

__attribute__((used, visibility("hidden"))) struct trusted_counts
trusted_counters(void)
{
    struct trusted_counts counts;

    filter_counters_read(domain.state.counters, &counts.accepted, &counts.rejected);
    return counts;
}
