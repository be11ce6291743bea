/* SPDX-License-Identifier: Apache-2.0 */
/* A filter library whose calls, one after the other, take FILTER_BURN_NS each on average. A call waits
 * until as much time has passed since the series of calls began as its calls are meant to take. The
 * known cost therefore depends neither on the processor's speed nor on what runs beside it. */

#include <time.h>
#include <x86intrin.h>

#include "filter_abi.h"
#include "filter_state.h"

#define NS_MAX 100000
/* A call after a longer pause begins a new series. */
#define PAUSE_NS 2000
/* Reading the clock takes longer than the shortest calls. For those, only each eighth reads it. */
#define ALWAYS_NS 60
#define SELDOM 8

static struct filter_state state;
static uint64_t due;     /* when the calls so far are meant to end, in ticks of the processor's clock */
static uint64_t burn;    /* ticks that the calls between two readings of the clock are meant to take */
static uint64_t longest_pause;
static unsigned looks;   /* calls for each reading of the clock */
static unsigned calls;

static inline void
wait_until_due(void)
{
    uint64_t now;

    if (++calls < looks) {
        return;
    }
    calls = 0;
    now = __rdtsc();
    if ((int64_t) (now - due) > (int64_t) longest_pause) {
        due = now;
    }
    due += burn;
    while ((int64_t) (now - due) < 0) {
        now = __rdtsc();
    }
}

static uint64_t
monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* Return the ticks of the processor's clock in a nanosecond, measured over a fiftieth of a second. */
static double
ticks_per_ns(void)
{
    uint64_t begun_ns = monotonic_ns(), begun = __rdtsc(), ended_ns;

    do {
        ended_ns = monotonic_ns();
    } while (ended_ns - begun_ns < 20000000);
    return (double) (__rdtsc() - begun) / (double) (ended_ns - begun_ns);
}

int
module_initialize(const char *prefix)
{
    struct filter_state next;
    const char *asked = getenv("FILTER_BURN_NS");
    double wanted = asked == NULL ? 0 : strtod(asked, NULL);

    if (!(wanted > 0 && wanted <= NS_MAX)) {
        fprintf(stderr, "known-cost: FILTER_BURN_NS is \"%s\"; expected nanoseconds from 1 to %d\n",
                asked == NULL ? "" : asked, NS_MAX);
        return -1;
    }
    if (filter_state_open(&next, &state, prefix, "known-cost") != 0) {
        return -1;
    }
    if (looks == 0) {
        double ticks = ticks_per_ns();

        looks = wanted < ALWAYS_NS ? SELDOM : 1;
        burn = (uint64_t) (wanted * looks * ticks + 0.5);
        longest_pause = (uint64_t) (PAUSE_NS * ticks);
    }
    filter_state_replace(&state, &next);
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    int accepted = filter_shm_match(state.shm, url, length);

    filter_count(state.counters, accepted);
    wait_until_due();
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
