#define _GNU_SOURCE
#include "parking.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long futex(
    _Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *patience)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, patience, NULL, 0);
}

/* Changes the ticket. True: somebody slept, and was woken. */
static bool wake(struct parking *parking, int most)
{
    atomic_fetch_add(&parking->ticket, 1);
    if (atomic_load(&parking->sleepers) == 0)
        return false;
    return futex(&parking->ticket, FUTEX_WAKE, most, NULL) > 0;
}

uint32_t parking_enter(struct parking *parking)
{
    atomic_fetch_add(&parking->sleepers, 1);
    return atomic_load(&parking->ticket);
}

void parking_leave(struct parking *parking)
{
    atomic_fetch_sub(&parking->sleepers, 1);
}

void parking_sleep(struct parking *parking, uint32_t ticket)
{
    futex(&parking->ticket, FUTEX_WAIT, ticket, NULL);
    parking_leave(parking);
}

void parking_nap(struct parking *parking, uint32_t ticket, unsigned ns)
{
    futex(&parking->ticket, FUTEX_WAIT, ticket, &(struct timespec){.tv_nsec = ns});
    parking_leave(parking);
}

bool parking_wake_one(struct parking *parking)
{
    return wake(parking, 1);
}

bool parking_wake_all(struct parking *parking)
{
    return wake(parking, INT_MAX);
}
