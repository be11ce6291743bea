/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of a guest that wasm2c made C of: pointers and long numbers have 32 bits in there. */

#pragma once

#include <cstdint>
#include <type_traits>

#include "error.hpp"
#include "wasm2c_sandbox.h"

extern "C" {
#include "guest.h"
}

#define GUEST_FUNCTION(name) (&w2c_guest_##name)

namespace tainting {

struct wasm2c {
    /* Everything that the guest's functions take and answer is an i32 of WebAssembly. */
    template <typename T> struct converted {
        static_assert(std::is_pointer_v<T> || std::is_integral_v<T>, "no type of the guest's");
        using type = std::uint32_t;
    };
    template <typename T> using representation = typename converted<T>::type;

    static void start()
    {
        const char *why = nullptr;

        if (wasm2c_start(&why) != 0) {
            throw error{why};
        }
    }

    static void stop() { wasm2c_stop(); }

    template <typename... Parameters>
    static u32 call(u32 (*function)(w2c_guest *, Parameters...), Parameters... arguments)
    {
        u32 answer = 0;
        const wasm_rt_trap_t trap = wasm2c_run(answer = function(&wasm2c_guest, arguments...));

        if (trap != WASM_RT_TRAP_NONE) {
            throw error{wasm_rt_strerror(trap)};
        }
        return answer;
    }

    static u32 allocate(std::size_t size)
    {
        if (size > UINT32_MAX) {
            return 0;
        }
        return call(GUEST_FUNCTION(filter_buffer), static_cast<u32>(size));
    }

    /* Swizzled: an address in there is an offset here, and 0 is no address. */
    static void *at(u32 address, std::size_t size)
    {
        const wasm_rt_memory_t *memory = w2c_guest_memory(&wasm2c_guest);

        if (address == 0 || size > memory->size || address > memory->size - size) {
            return nullptr;
        }
        return memory->data + address;
    }
};

} // namespace tainting

using backend = tainting::wasm2c;
