/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox that isolates nothing: what the layer itself costs. The guest is compiled natively, and
 * lives in our memory; the room that we share with it is a region of its own all the same. */

#pragma once

#include <cstdint>
#include <sys/mman.h>

#include "error.hpp"

extern "C" {
#include "guest.h"
}

#define GUEST_FUNCTION(name) (&name)

namespace tainting {

struct noop {
    template <typename T> using representation = T;

    static void start()
    {
        void *region = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED) {
            throw error{"no memory for the sandbox"};
        }
        memory = static_cast<unsigned char *>(region);
    }

    static void stop()
    {
        munmap(memory, SIZE);
        memory = nullptr;
    }

    template <typename R, typename... Parameters, typename... Arguments>
    static R call(R (*function)(Parameters...), Arguments... arguments)
    {
        return function(arguments...);
    }

    /* One piece of room, the same each time, as the WebAssembly guest has it. */
    static unsigned char *allocate(std::size_t size) { return size <= SIZE ? memory : nullptr; }

    static void *at(unsigned char *address, std::size_t size)
    {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) -
                                   reinterpret_cast<std::uintptr_t>(memory);

        return size <= SIZE && offset <= SIZE - size ? address : nullptr;
    }

  private:
    static constexpr std::size_t SIZE = 16u << 20;
    inline static unsigned char *memory = nullptr;
};

} // namespace tainting

using backend = tainting::noop;
