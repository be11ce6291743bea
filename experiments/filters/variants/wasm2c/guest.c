/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of filter_guest.h: a guest that wasm2c made C of. */

#include <string.h>

#include "filter_guest.h"
#include "wasm2c_sandbox.h"

/* Asked for at least: enough for every prefix and for most URIs. */
#define ROOM 8192u

const char guest_name[] = "wasm2c";

/* Where in the guest's memory the host may write, and how much. */
static u32 room_address;
static size_t room;

int
guest_load(guest_reason *why)
{
    (void) why; /* it is part of this library */
    return 0;
}

void
guest_settle(int keep)
{
    (void) keep;
}

int
guest_start(guest_reason *why)
{
    return wasm2c_start(why);
}

void
guest_stop(void)
{
    wasm2c_stop();
    room = 0;
}

/* The guest may answer any address: nothing is ever written outside its memory, which only grows. */
__attribute__((cold, noinline)) static int
make_room(size_t length, guest_reason *why)
{
    const wasm_rt_memory_t *memory = w2c_guest_memory(&wasm2c_guest);
    volatile u32 address = 0;
    const size_t asked = length > ROOM ? length : ROOM;
    wasm_rt_trap_t trap;

    trap = wasm2c_run(address = w2c_guest_filter_buffer(&wasm2c_guest, (u32) asked));
    if (trap != WASM_RT_TRAP_NONE) {
        *why = wasm_rt_strerror(trap);
        return -1;
    }
    if (address == 0 || asked > memory->size || address > memory->size - asked) {
        *why = "the guest has no room for so many bytes";
        return -1;
    }
    room_address = address;
    room = asked;
    return 0;
}

/* Hands bytes to one of the guest's functions. 0 and its answer, or -1. */
static inline int
hand_over(u32 (*function)(w2c_guest *, u32, u32), const void *bytes, size_t length, u32 *answer,
          guest_reason *why)
{
    wasm_rt_trap_t trap;

    if (length > room && make_room(length, why) != 0) {
        return -1;
    }
    memcpy(w2c_guest_memory(&wasm2c_guest)->data + room_address, bytes, length);
    trap = wasm2c_run(*answer = function(&wasm2c_guest, room_address, (u32) length));
    if (trap != WASM_RT_TRAP_NONE) {
        *why = wasm_rt_strerror(trap);
        return -1;
    }
    return 0;
}

int
guest_set_prefix(const void *prefix, size_t length, guest_reason *why)
{
    u32 answer;

    if (hand_over(w2c_guest_filter_set_prefix, prefix, length, &answer, why) != 0) {
        return -1;
    }
    if (answer != 0) {
        *why = "the guest refuses the prefix";
        return -1;
    }
    return 0;
}

int
guest_filter(const void *url, size_t length, guest_reason *why)
{
    u32 answer;

    if (hand_over(w2c_guest_filter_url, url, length, &answer, why) != 0) {
        return -1;
    }
    if (answer > 1) {
        *why = "the guest answers neither 0 nor 1";
        return -1;
    }
    return (int) answer;
}
