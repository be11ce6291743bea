/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "scan.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Distances from themselves to the gates' WRPKRU (gates.S). */
extern const int32_t __start_domain_gates[], __stop_domain_gates[];

int
scan_is_stray(const unsigned char *code, size_t length)
{
    if (length < 3 || code[0] != 0x0f) {
        return 0;
    }
    if (code[1] == 0x01 && code[2] == 0xef) {
        return 1; /* WRPKRU */
    }
    /* XRSTOR: 0f ae /5 with a memory operand; with a register it is LFENCE. */
    return code[1] == 0xae && (code[2] >> 3 & 7) == 5 && code[2] >> 6 != 3;
}

static bool
is_gate(const unsigned char *code)
{
    for (const int32_t *gate = __start_domain_gates; gate < __stop_domain_gates; gate++) {
        if ((const unsigned char *) gate + *gate == code) {
            return true;
        }
    }
    return false;
}

struct search {
    char *why;
    size_t size;
    bool seen; /* this library */
    bool stray;
};

/* Every byte, not every instruction: a jump may go into the middle of one. */
static int
look_at(struct dl_phdr_info *object, size_t size, void *data)
{
    struct search *search = data;
    const unsigned char *self = (const unsigned char *) __start_domain_gates;
    bool own = false;

    (void) size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const unsigned char *start = (const unsigned char *) object->dlpi_addr + part->p_vaddr;

        own |= part->p_type == PT_LOAD && self >= start && self < start + part->p_memsz;
    }
    if (!own) {
        return 0;
    }
    search->seen = true;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const unsigned char *start = (const unsigned char *) object->dlpi_addr + part->p_vaddr;

        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) {
            continue;
        }
        for (size_t at = 0; at < part->p_memsz; at++) {
            if (scan_is_stray(start + at, part->p_memsz - at) && !is_gate(start + at)) {
                snprintf(search->why, search->size,
                         "bytes %02x %02x %02x at 0x%zx of this library could change the rights to "
                         "the domain; expected WRPKRU in the gates only: find what was compiled to "
                         "them, and write it otherwise",
                         start[at], start[at + 1], start[at + 2], part->p_vaddr + at);
                search->stray = true;
                return 1;
            }
        }
    }
    return 1;
}

int
scan_library(char *why, size_t size)
{
    struct search search = {.why = why, .size = size};

    dl_iterate_phdr(look_at, &search);
    if (!search.seen) {
        snprintf(why, size, "the library's own code was not found, and so not scanned");
        return -1;
    }
    return search.stray ? -1 : 0;
}
