/* A distribution of durations in nanoseconds, in bins that are at most 0.1 % wide. */
#ifndef TASK_TIMES_H
#define TASK_TIMES_H

#include <stdint.h>
#include <string.h>

#define TASK_TIMES_BITS 10
/* Of each power of two from 2^11 on; all below have a bin of their own. Up to 2^41 ns, half an hour. */
#define TASK_TIMES_BINS ((41 - TASK_TIMES_BITS + 1) << TASK_TIMES_BITS)

struct task_times {
    uint64_t count;
    uint64_t sum;
    uint32_t bins[TASK_TIMES_BINS];
};

static inline void task_times_add(struct task_times *times, uint64_t ns)
{
    unsigned shift = ns >> (TASK_TIMES_BITS + 1) == 0 ? 0 : 63 - TASK_TIMES_BITS - __builtin_clzll(ns);
    uint64_t bin = ((uint64_t) shift << TASK_TIMES_BITS) + (ns >> shift);
    times->bins[bin < TASK_TIMES_BINS ? bin : TASK_TIMES_BINS - 1]++;
    times->count++;
    times->sum += ns;
}

/* The least duration that a share of so many percent does not exceed, as its bin begins. */
static inline uint64_t task_times_quantile(const struct task_times *times, unsigned percent)
{
    uint64_t rank = (times->count * percent + 99) / 100, seen = 0;
    unsigned bin = 0;
    while (bin < TASK_TIMES_BINS - 1 && (seen += times->bins[bin]) < rank)
        bin++;
    unsigned shift = bin >> (TASK_TIMES_BITS + 1) == 0 ? 0 : (bin >> TASK_TIMES_BITS) - 1;
    return ((uint64_t) bin - ((uint64_t) shift << TASK_TIMES_BITS)) << shift;
}

#endif
