/* SPDX-License-Identifier: Apache-2.0 */
/* A filter library each of whose calls takes as long as FILTER_BURN_NS says: the rest of its time it
 * spends in a chain of multiplications, each of which waits for the one before, and the first of a
 * call for the last of the call before. Nothing else on the core makes such a chain slower. */

#include <time.h>

#include "filter_abi.h"
#include "filter_state.h"

#define CALLS 2000
#define ROUNDS 15
#define NS_MAX 100000

static struct filter_state state;
static uint64_t chain = 1;
static unsigned long links;

static inline void
burn(unsigned long length)
{
    uint64_t value = chain;

    for (unsigned long n = 0; n < length; n++) {
        __asm__ volatile("imul $3, %0, %0" : "+r"(value));
    }
    chain = value;
}

static inline int
decide(const struct filter_state *with, const char *url, size_t length, unsigned long chained)
{
    int accepted = filter_shm_match(with->shm, url, length);

    filter_count(with->counters, accepted);
    burn(chained);
    return accepted;
}

static int
ascending(const void *one, const void *other)
{
    double difference = *(const double *) one - *(const double *) other;

    return (difference > 0) - (difference < 0);
}

/* The nanoseconds that a call with so long a chain takes, the median of rounds: at its best the machine
 * is faster than it is in use. */
static double
nanoseconds(const struct filter_state *with, unsigned long chained)
{
    double taken[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        struct timespec begun, ended;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
        for (int call = 0; call < CALLS; call++) {
            decide(with, "/aaaa", 5, chained);
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);

        taken[round] = ((double) (ended.tv_sec - begun.tv_sec) * 1e9
                        + (double) (ended.tv_nsec - begun.tv_nsec)) / CALLS;
    }
    qsort(taken, ROUNDS, sizeof(taken[0]), ascending);
    return taken[ROUNDS / 2];
}

/* How long a chain makes a call take `wanted`: between two chains that are far longer than what the
 * processor does beside them, time is a straight line. */
static unsigned long
calibrate(double wanted)
{
    struct filter_counters counters = {0};
    struct filter_shm *shm = calloc(1, sizeof(*shm));
    const struct filter_state scratch = {.shm = shm, .counters = &counters};
    unsigned long found = 0;

    if (shm == NULL) {
        return 0;
    }
    shm->prefixes[0].length = 5;
    memcpy(shm->prefixes[0].bytes, "/aaaa", 5);

    double link = (nanoseconds(&scratch, 1000) - nanoseconds(&scratch, 200)) / 800;
    /* Short chains hide in part behind the rest of a call: look for the one that is closest. */
    for (unsigned long near = (unsigned long) (wanted / link) + 1, off = 0; off <= 24 && off <= near;
         off++)
    {
        if (nanoseconds(&scratch, near - off) <= wanted) {
            found = near - off;
            break;
        }
    }
    free(shm);
    return found;
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
    if (links == 0) {
        links = calibrate(wanted);
    }
    if (links == 0) {
        fprintf(stderr, "known-cost: a call takes more than %s ns without any burning; ask for more\n",
                asked);
        filter_state_close(&next);
        return -1;
    }
    filter_state_replace(&state, &next);
    return 0;
}

int
module_url_filter_n(const char *url, size_t length)
{
    return decide(&state, url, length, links);
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
