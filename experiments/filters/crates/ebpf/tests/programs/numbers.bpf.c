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
    int i = (int) (END(c) - START(c)) - offset;

    if (i < 0 || i >= 16)
        return 99;
    return table[i];
}

/* The same, the upper bound first. */
SEC("filter/upper_first") int
upper_first(const struct context *c)
{
    int i = (int) (END(c) - START(c)) - offset;

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
    u32 length = END(c) - START(c);

    return length > 4 ? 1 : 0;
}

/* A signed length of 32 bits, and a loop up to it. */
SEC("filter/sum") int
sum(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
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
    const u8 *at = START(c);
    int i;

    if (at + 1 > END(c))
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
    const u8 *at = START(c), *end = END(c);
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
    u64 length = END(c) - START(c);
    u32 i = length < 40 ? length : 40;

    return table[i & 15];
}

/* A lookup by an index with a sign. */
SEC("filter/looked_up") int
looked_up(const struct context *c)
{
    int key = (int) (END(c) - START(c)) - offset;
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

/* A division and a remainder by what the path says. */
SEC("filter/divided") int
divided(const struct context *c)
{
    u32 length = END(c) - START(c);

    return 100 / (length + 1) * 1000 + 100 % (length + 3);
}

/* A signed minimum. */
SEC("filter/signed_minimum") int
signed_minimum(const struct context *c)
{
    s64 length = END(c) - START(c);
    s64 i = length - 4 < 0 ? 0 : length - 4;

    if (i > 15)
        i = 15;
    return table[i];
}

/* An index that is clamped instead of refused. */
SEC("filter/clamped") int
clamped(const struct context *c)
{
    u32 i = END(c) - START(c);

    i = i > 15 ? 15 : i;
    return table[i];
}

/* A switch, which compilers make a table or a tree of comparisons. */
SEC("filter/switched") int
switched(const struct context *c)
{
    switch (END(c) - START(c)) {
    case 0:
        return 10;
    case 1:
    case 2:
        return 20;
    case 7:
        return 30;
    default:
        return 40;
    }
}

/* A count in a hash, kept if it is not there yet. */
struct {
    __uint(type, 1);
    __uint(max_entries, 8);
    __type(key, u64);
    __type(value, u64);
} seen SEC(".maps");

SEC("filter/counted") int
counted(const struct context *c)
{
    u64 key = END(c) - START(c), one = 1;
    u64 *count = bpf_map_lookup_elem(&seen, &key);

    if (count) {
        *count += 1;
        return *count;
    }
    bpf_map_update_elem(&seen, &key, &one, 1);
    count = bpf_map_lookup_elem(&seen, &key);
    return count ? *count + 10 : 99;
}

/* A structure on the stack, filled in part by part, as a key. */
struct key {
    u32 length;
    u8 first;
    u8 last;
    u16 unused;
};

SEC("filter/structure") int
structure(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    struct key key = {};
    u64 one = 7, *found;

    if (start + 2 > end)
        return 99;
    key.length = end - start;
    key.first = start[0];
    key.last = start[1];
    bpf_map_update_elem(&seen, &key, &one, 0);
    found = bpf_map_lookup_elem(&seen, &key);
    return found ? *found : 98;
}

/* Two nested loops. */
SEC("filter/nested") int
nested(const struct context *c)
{
    int sum = 0;

    (void) c;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j <= i; j++)
            sum += table[j];
    return sum;
}

/* An average, in 64 bits. */
SEC("filter/average") int
average(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    u64 sum = 0, count = 0;

    while (at + 1 <= end && count < 100) {
        sum += *at++;
        count++;
    }
    return count ? sum / count : 0;
}

/* Bits: how many are set. */
SEC("filter/bits") int
bits(const struct context *c)
{
    u32 number = (u32) (END(c) - START(c)) * 2654435761u;
    int count = 0;

    for (int i = 0; i < 32; i++)
        count += number >> i & 1;
    return count;
}

/* A global that counts. */
static u64 calls;

SEC("filter/global") int
global(const struct context *c)
{
    (void) c;
    return __sync_fetch_and_add(&calls, 1);
}

/* A check that a constant key does not need, as everybody writes it. */
SEC("filter/checked_anyway") int
checked_anyway(const struct context *c)
{
    u32 key = 2;
    u64 *count = bpf_map_lookup_elem(&counts, &key);

    (void) c;
    if (!count)
        return 0;
    *count += 3;
    return *count;
}

/* As many bits as a number has, and where the first is. */
SEC("filter/popcount") int
popcount(const struct context *c)
{
    u64 number = (u64) (END(c) - START(c)) * 0x9e3779b97f4a7c15ull;

    number -= number >> 1 & 0x5555555555555555ull;
    number = (number & 0x3333333333333333ull) + (number >> 2 & 0x3333333333333333ull);
    number = (number + (number >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return number * 0x0101010101010101ull >> 56;
}
