#define _GNU_SOURCE
#include "parking.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
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
    futex(&parking->ticket, FUTEX_WAIT, ticket);
    parking_leave(parking);
}

bool parking_wake_one(struct parking *parking)
{
    atomic_fetch_add(&parking->ticket, 1);
    if (atomic_load(&parking->sleepers) == 0)
        return false;
    return futex(&parking->ticket, FUTEX_WAKE, 1) > 0;
}

void parking_wake_all(struct parking *parking)
{
    atomic_fetch_add(&parking->ticket, 1);
    futex(&parking->ticket, FUTEX_WAKE, INT_MAX);
}
