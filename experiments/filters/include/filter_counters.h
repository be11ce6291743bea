/* SPDX-License-Identifier: Apache-2.0 */
/* What every native filter counts, exactly, however many processes share the memory. */

#ifndef FILTER_COUNTERS_H
#define FILTER_COUNTERS_H

#include <stdint.h>

#define FILTER_CACHE_LINE 64

/* Each counter has a cache line of its own, so that accepting and rejecting do not contend. */
struct filter_counters {
    _Alignas(FILTER_CACHE_LINE) uint64_t accepted;
    _Alignas(FILTER_CACHE_LINE) uint64_t rejected;
    uint64_t failed; /* of those rejected: without an answer of the filter, which failed */
};

/* Counts one decision. */
static inline void
filter_count(struct filter_counters *counters, int accepted)
{
    uint64_t *counter = accepted ? &counters->accepted : &counters->rejected;

    /* Relaxed: only the sums matter, and nothing is ordered by them. */
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Counts one rejection for want of an answer; how many there were before. */
static inline uint64_t
filter_count_failure(struct filter_counters *counters)
{
    filter_count(counters, 0);
    return __atomic_fetch_add(&counters->failed, 1, __ATOMIC_RELAXED);
}

/* Reads both counters. */
static inline void
filter_counters_read(const struct filter_counters *counters, uint64_t *accepted,
                     uint64_t *rejected)
{
    *accepted = __atomic_load_n(&counters->accepted, __ATOMIC_RELAXED);
    *rejected = __atomic_load_n(&counters->rejected, __ATOMIC_RELAXED);
}

#endif
