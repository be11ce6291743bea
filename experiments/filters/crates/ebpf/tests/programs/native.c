/* SPDX-License-Identifier: Apache-2.0 */
/* What examples/call_cost.rs compares with: the rule and the counting of prefix.bpf.c in plain C, byte
 * by byte and with memcmp. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct prefix {
    uint32_t length;
    unsigned char bytes[4092];
};

static _Alignas(64) uint64_t counters[16];

static int
count(int accepted)
{
    __atomic_fetch_add(&counters[accepted ? 0 : 8], 1, __ATOMIC_RELAXED);
    return accepted;
}

int
by_bytes(const unsigned char *path, size_t length, const struct prefix *prefix)
{
    size_t i;

    for (i = 0; i < prefix->length; i++) {
        if (i >= length || path[i] != prefix->bytes[i])
            return count(0);
    }
    return count(1);
}

int
by_memcmp(const unsigned char *path, size_t length, const struct prefix *prefix)
{
    return count(length >= prefix->length && memcmp(path, prefix->bytes, prefix->length) == 0);
}
