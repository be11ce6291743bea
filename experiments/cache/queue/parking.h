/* Where consumers sleep until something was pushed: an event count on a futex.
 *
 * A sleeper announces itself, takes a ticket, looks once more for work, and then sleeps on the
 * ticket. A pusher changes the ticket after its push and then looks for sleepers. All four
 * steps are sequentially consistent, so that either the sleeper's second look finds the work, or
 * the kernel finds the ticket changed, or the producer finds the sleeper and wakes it.
 */
#ifndef PARKING_H
#define PARKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct parking {
    _Alignas(64) _Atomic uint32_t ticket;
    _Atomic uint32_t sleepers;
};

/* Announces a sleeper, which must look for work, and then either leave or sleep with the ticket. */
uint32_t parking_enter(struct parking *parking);
void parking_leave(struct parking *parking);
/* Sleeps until the ticket changes, or for no reason; leaves. */
void parking_sleep(struct parking *parking, uint32_t ticket);
/* The same, for so many nanoseconds at most, less than a second. */
void parking_nap(struct parking *parking, uint32_t ticket, unsigned ns);
/* After a push. True: somebody slept, and one of them was woken. */
bool parking_wake_one(struct parking *parking);
/* True: somebody slept, and all were woken. */
bool parking_wake_all(struct parking *parking);

#endif
