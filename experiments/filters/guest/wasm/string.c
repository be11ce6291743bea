/* SPDX-License-Identifier: Apache-2.0 */
/* Words before bytes, since the native filters' C library does no less. */

#include <stdint.h>

#include "string.h"

typedef uint64_t __attribute__((aligned(1), may_alias)) word;

void *
memcpy(void *to, const void *from, size_t length)
{
    unsigned char *target = to;
    const unsigned char *source = from;

    for (; length >= sizeof(word); length -= sizeof(word)) {
        *(word *) target = *(const word *) source;
        target += sizeof(word);
        source += sizeof(word);
    }
    for (; length > 0; length--) {
        *target++ = *source++;
    }
    return to;
}

int
memcmp(const void *left, const void *right, size_t length)
{
    const unsigned char *a = left, *b = right;

    for (; length >= sizeof(word) && *(const word *) a == *(const word *) b; length -= sizeof(word)) {
        a += sizeof(word);
        b += sizeof(word);
    }
    for (; length > 0; length--, a++, b++) {
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}
