/* SPDX-License-Identifier: Apache-2.0 */

#include "wasm2c_sandbox.h"

#include <signal.h>
#include <sys/mman.h>

w2c_guest wasm2c_guest;
__thread struct wasm2c_sandbox wasm2c_sandbox;

static bool instantiated;
static struct sigaction previous;

/* The runtime's way out of a trap. */
__attribute__((noreturn)) void
wasm2c_trapped(wasm_rt_trap_t trap)
{
    siglongjmp(wasm2c_sandbox.trap, trap);
}

/* The guest's memory is followed by pages that nobody may touch, as far as its addresses reach. A
 * fault anywhere else is none of the guest's and takes the way it would take without this handler. */
static void
on_fault(int signal, siginfo_t *info, void *context)
{
    const wasm_rt_memory_t *memory = w2c_guest_memory(&wasm2c_guest);
    const uint8_t *address = info->si_addr;

    (void) context;
    if (wasm2c_sandbox.running && address >= memory->data && address < memory->data_end) {
        wasm_rt_trap(WASM_RT_TRAP_OOB);
    }
    sigaction(signal, &previous, NULL);
    if (info->si_code <= 0) {
        raise(signal); /* sent by somebody: it would not come again by itself */
    }
}

/* The runtime aborts when there is no room for the reservation of a memory: asked beforehand. */
static bool
has_room(void)
{
    const size_t size = (size_t) 8 << 30;
    void *pages = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return pages != MAP_FAILED && munmap(pages, size) == 0;
}

int
wasm2c_start(const char **why)
{
    static bool handled;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    wasm_rt_trap_t trap;

    if (!has_room()) {
        *why = "no room for the guest: 8 GiB of addresses are reserved; raise the limit (ulimit -v)";
        return -1;
    }
    if (!handled) {
        if (sigaction(SIGSEGV, &action, &previous) != 0) {
            *why = "the handler of faults cannot be installed";
            return -1;
        }
        handled = true;
        wasm_rt_init();
    }
    instantiated = true;
    trap = wasm2c_run(wasm2c_guest_instantiate(&wasm2c_guest));
    if (trap != WASM_RT_TRAP_NONE) {
        wasm2c_stop();
        *why = wasm_rt_strerror(trap);
        return -1;
    }
    return 0;
}

void
wasm2c_stop(void)
{
    if (instantiated) {
        wasm2c_guest_free(&wasm2c_guest);
        instantiated = false;
    }
}
