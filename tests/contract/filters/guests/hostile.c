/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that filters as it should, unless the URI tells it to misbehave. */

#include "filter_match.h"
#include "guest.h"

static unsigned char prefix[FILTER_PREFIX_MAX];
static size_t prefix_length;

int
filter_set_prefix(const unsigned char *bytes, size_t length)
{
    memcpy(prefix, bytes, length);
    prefix_length = length;
    return 0;
}

static int deeper(int depth);
static int (*volatile next)(int depth) = deeper;

static int
deeper(int depth)
{
    return next(depth + 1) + depth;
}

#define MISBEHAVES(how) (length == sizeof(how) - 1 && memcmp(url, how, sizeof(how) - 1) == 0)

int
filter_url(const unsigned char *url, size_t length)
{
    volatile unsigned zero = 0;

    if (MISBEHAVES("/read-outside")) {
        return *(volatile unsigned char *) 0xfffffff0u;
    }
    if (MISBEHAVES("/write-outside")) {
        *(volatile unsigned char *) 0x7f000000u = 1;
    }
    if (MISBEHAVES("/write-everywhere")) {
        for (volatile unsigned char *at = 0;; at++) {
            *at = 1;
        }
    }
    if (MISBEHAVES("/abort")) {
        __builtin_trap();
    }
    if (MISBEHAVES("/divide")) {
        return (int) (length / zero);
    }
    if (MISBEHAVES("/recurse")) {
        return deeper(0);
    }
    if (MISBEHAVES("/answer-7")) {
        return 7;
    }
    if (MISBEHAVES("/answer-minus-1")) {
        return -1;
    }
    if (MISBEHAVES("/loop")) {
        for (;;) {
            zero = 0;
        }
    }
    return length >= prefix_length && memcmp(url, prefix, prefix_length) == 0;
}
