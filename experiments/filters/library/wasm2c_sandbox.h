/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that wasm2c made C of: its instance, and what becomes of its traps. */

#ifndef WASM2C_SANDBOX_H
#define WASM2C_SANDBOX_H

#include <setjmp.h>
#include <stdbool.h>

#include "guest.wasm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a trap goes; of the thread, since a fault of another thread is none of the guest's. */
struct wasm2c_sandbox {
    bool running; /* the guest's code runs: a fault in its memory is its own */
    sigjmp_buf trap;
};

extern w2c_guest wasm2c_guest;
extern __thread struct wasm2c_sandbox wasm2c_sandbox;

/* A new instance of the guest. 0, or -1 and a sentence in `why`. */
int wasm2c_start(const char **why);

/* Ends the instance, if there is one. */
void wasm2c_stop(void);

/* Runs `call`, which must own nothing, since a trap leaves it where it is: the trap, or
 * WASM_RT_TRAP_NONE. The signal mask needs no saving: the handler does not change it. */
#define wasm2c_run(call)                                                                           \
    ({                                                                                             \
        wasm_rt_trap_t wasm2c_trap = (wasm_rt_trap_t) sigsetjmp(wasm2c_sandbox.trap, 0);           \
        if (wasm2c_trap == WASM_RT_TRAP_NONE) {                                                    \
            wasm2c_sandbox.running = true;                                                         \
            call;                                                                                  \
        }                                                                                          \
        wasm2c_sandbox.running = false;                                                            \
        wasm2c_trap;                                                                               \
    })

#ifdef __cplusplus
}
#endif

#endif
