/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Programs of which the kernel's verifier and this project's have different opinions. */

#include "bpf.h"

struct {
    __uint(type, 2);
    __uint(max_entries, 4);
    __type(key, u32);
    __type(value, u64);
} counts SEC(".maps");

/* An index that is exact in each turn, if turns are looked at one by one. */
static const u8 steps[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

SEC("filter/unrolled") int
unrolled(const struct context *c)
{
    u32 at = 0, sum = END(c) - START(c);

#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 5; i++) {
        at += i;
        sum ^= steps[at];
    }
    return sum;
}

/* More turns than the kernel looks at. */
SEC("filter/long_loop") int
long_loop(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    u32 sum = 0;

    for (u32 i = 0; i < 60000; i++) {
        if (at + 1 > end)
            break;
        if (*at == 'a')
            sum += 3;
        else if (*at == 'b')
            sum += 7 * i;
        at++;
    }
    return sum;
}

/* A function that returns any number to who has it called. */
static long
counts_up(u32 index, void *data)
{
    u32 *number = data;

    *number += index;
    return *number;
}

SEC("filter/any_result") int
any_result(const struct context *c)
{
    u32 number = END(c) - START(c);

    bpf_loop(10, counts_up, &number, 0);
    return number;
}

/* One function or another, called in one place. */
static long
one(u32 index, void *data)
{
    (void) data;
    return index == 1;
}

static long
another(u32 index, void *data)
{
    (void) data;
    return index == 2;
}

NOINLINE long
run(long (*function)(u32, void *), const struct context *c)
{
    return bpf_loop(END(c) - START(c), function, 0, 0);
}

SEC("filter/either") int
either(const struct context *c)
{
    return run(one, c) + run(another, c);
}

/* Helpers that are not here. */
HELPER(164, long, bpf_for_each_map_elem, void *map, void *function, void *context, u64 flags);
HELPER(118, u64, bpf_jiffies64, void);
HELPER(195, void *, bpf_map_lookup_percpu_elem, void *map, const void *key, u32 cpu);
HELPER(28, s64, bpf_csum_diff, u32 *from, u32 from_size, u32 *to, u32 to_size, u32 seed);

static long
each(void *map, u32 *key, u64 *value, u64 *sum)
{
    (void) map;
    *sum += *key * *value;
    return 0;
}

SEC("filter/each") int
for_each(const struct context *c)
{
    u64 sum = 0;

    (void) c;
    bpf_for_each_map_elem(&counts, each, &sum, 0);
    return sum;
}

SEC("filter/jiffies") int
jiffies(const struct context *c)
{
    (void) c;
    return bpf_jiffies64() & 7;
}

struct {
    __uint(type, 6);
    __uint(max_entries, 4);
    __type(key, u32);
    __type(value, u64);
} per_cpu SEC(".maps");

SEC("filter/of_another") int
of_another(const struct context *c)
{
    u32 key = 1;
    u64 *value = bpf_map_lookup_percpu_elem(&per_cpu, &key, 0);

    (void) c;
    return value ? *value : 0;
}

SEC("filter/checksum") int
checksum(const struct context *c)
{
    u32 words[2] = {1, 2};

    (void) c;
    return bpf_csum_diff(0, 0, words, sizeof(words), 0) & 0xffff;
}

/* The path is written. */
SEC("filter/written") int
written(const struct context *c)
{
    u8 *start = (u8 *) START(c);

    if (start + 1 > END(c))
        return 0;
    *start = 'x';
    return 1;
}
