/* SPDX-License-Identifier: Apache-2.0 */
/* The room for what the host hands over: all memory behind the guest's own. */

#include <stdint.h>

#include "../guest.h"

#define PAGE 65536u

extern unsigned char __heap_base; /* wasm-ld's: where the guest's data and stack end */

unsigned char *
filter_buffer(size_t length)
{
    uint64_t end = (uintptr_t) &__heap_base + (uint64_t) length;
    uint64_t size = (uint64_t) __builtin_wasm_memory_size(0) * PAGE;

    if (end > size) {
        uint64_t pages = (end - size + PAGE - 1) / PAGE;

        if (pages > UINT16_MAX || __builtin_wasm_memory_grow(0, (size_t) pages) == (size_t) -1) {
            return NULL;
        }
    }
    return &__heap_base;
}
