/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary programs that compute with lengths and indices. */

#include "bpf.h"

struct {
    __uint(type, 2);
    __uint(max_entries, 16);
    __type(key, u32);
    __type(value, u64);
} counts SEC(".maps");

static const u8 table[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6};
/* Written by nobody, but the compiler cannot know. */
volatile int offset;

/* An index that is a difference, checked on both sides. */
SEC("filter/signed_index") int
signed_index(const struct context *c)
{
    int i = (int) (c->end - c->start) - offset;

    if (i < 0 || i >= 16)
        return 99;
    return table[i];
}

/* The same, the upper bound first. */
SEC("filter/upper_first") int
upper_first(const struct context *c)
{
    int i = (int) (c->end - c->start) - offset;

    if (i > 15)
        return 99;
    if (i < 0)
        return 98;
    return table[i];
}

/* A length of 32 bits. */
SEC("filter/length") int
length(const struct context *c)
{
    u32 length = c->end - c->start;

    return length > 4 ? 1 : 0;
}

/* A signed length of 32 bits, and a loop up to it. */
SEC("filter/sum") int
sum(const struct context *c)
{
    const u8 *at = c->start, *end = c->end;
    int length = end - at, sum = 0;

    for (int i = 0; i < 64; i++) {
        if (i >= length || at + 1 > end)
            break;
        sum += *at++;
    }
    return sum;
}

/* Counts down. */
SEC("filter/down") int
down(const struct context *c)
{
    int sum = 0;

    (void) c;
    for (int i = 15; i >= 0; i--)
        sum += table[i];
    return sum;
}

/* An index out of the path. */
SEC("filter/from_path") int
from_path(const struct context *c)
{
    const u8 *at = c->start;
    int i;

    if (at + 1 > c->end)
        return 97;
    i = *at - '0';
    if (i < 0 || i > 9)
        return 98;
    return table[i];
}

/* A number in decimal digits. */
SEC("filter/decimal") int
decimal(const struct context *c)
{
    const u8 *at = c->start, *end = c->end;
    u32 number = 0;

    for (int i = 0; i < 9; i++) {
        if (at + 1 > end || *at < '0' || *at > '9')
            break;
        number = number * 10 + (*at - '0');
        at++;
    }
    return number;
}

/* A minimum and a mask. */
SEC("filter/masked") int
masked(const struct context *c)
{
    u64 length = c->end - c->start;
    u32 i = length < 40 ? length : 40;

    return table[i & 15];
}

/* A lookup by an index with a sign. */
SEC("filter/looked_up") int
looked_up(const struct context *c)
{
    int key = (int) (c->end - c->start) - offset;
    u64 *count = bpf_map_lookup_elem(&counts, &key);

    if (!count)
        return 99;
    __sync_fetch_and_add(count, 1);
    return *count;
}

/* A constant key needs no check: the array has the entry. */
SEC("filter/constant_key") int
constant_key(const struct context *c)
{
    u32 key = 3;
    u64 *count = bpf_map_lookup_elem(&counts, &key);

    (void) c;
    *count += 2;
    return *count;
}
