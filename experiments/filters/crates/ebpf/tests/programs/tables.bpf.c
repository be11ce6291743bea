/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary filters as people write them: rules that keep tables and counts, or are set from outside. */

#include "bpf.h"

/* A filter of bits: a path is there if all of its bits are. */
struct {
    __uint(type, 2);
    __uint(max_entries, 64);
    __type(key, u32);
    __type(value, u64);
} bits SEC(".maps");

INLINE u32
hash(const u8 *start, const u8 *end, u32 seed)
{
    for (int i = 0; i < 64 && start + 1 <= end; i++)
        seed = (seed ^ *start++) * 16777619u;
    return seed;
}

SEC("filter/bloom") int
bloom(const struct context *c)
{
    u32 number = hash(START(c), END(c), 2166136261u);
    int known = 1;

    for (int i = 0; i < 3; i++) {
        u32 bit = number >> (i * 8) & 0xfff, word = bit / 64;
        u64 *found = bpf_map_lookup_elem(&bits, &word), mask = 1ull << (bit & 63);

        if (!found)
            return 9;
        if (!(*found & mask))
            known = 0;
        *found |= mask;
    }
    return known;
}

/* Paths of at most 16 bytes by name. */
struct name {
    char text[16];
};

struct {
    __uint(type, 1);
    __uint(max_entries, 32);
    __type(key, struct name);
    __type(value, u32);
} denied SEC(".maps");

SEC("filter/denied") int
deny(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    struct name name = {};
    u32 *found, code = 7;

    for (int i = 0; i < 16; i++) {
        if (start + i + 1 > end)
            break;
        name.text[i] = start[i];
    }
    found = bpf_map_lookup_elem(&denied, &name);
    if (found)
        return *found;
    bpf_map_update_elem(&denied, &name, &code, 0);
    found = bpf_map_lookup_elem(&denied, &name);
    return found ? *found : 0;
}

/* A table of types by their extension, as eight bytes. */
struct {
    __uint(type, 1);
    __uint(max_entries, 16);
    __type(key, u64);
    __type(value, u32);
} types SEC(".maps");

SEC("filter/typed") int
typed(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 dot = 0, value = 3, *found, i;
    u64 key = 0;

    for (i = 0; i < 100; i++) {
        if (start + i + 1 > end)
            break;
        if (start[i] == '.')
            dot = i + 1;
    }
    if (!dot)
        return 0;
    for (u32 n = 0; n < 8; n++) {
        if (start + dot + n + 1 > end)
            break;
        key = key << 8 | start[dot + n];
    }
    bpf_map_update_elem(&types, &key, &value, 0);
    key = 'j' << 8 | 's';
    found = bpf_map_lookup_elem(&types, &key);
    return found ? *found : 1;
}

/* A number in a sorted table. */
static const u32 sorted[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

SEC("filter/sorted") int
prime(const struct context *c)
{
    u32 wanted = END(c) - START(c), low = 0, high = 16;

    for (int i = 0; i < 5 && low < high; i++) {
        u32 middle = (low + high) / 2;

        if (middle > 15)
            return 9;
        if (sorted[middle] == wanted)
            return 1;
        if (sorted[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* One of so many requests is let through. */
static u64 requests;

SEC("filter/sampled") int
sampled(const struct context *c)
{
    u64 number = __sync_fetch_and_add(&requests, 1);

    (void) c;
    return number % 10 == 0;
}

/* Settings that a controller changes, and a way out that many lines share. */
volatile const u32 limit = 40;
volatile u32 mode = 1;

SEC("filter/settings") int
settings(const struct context *c)
{
    u64 length = END(c) - START(c);
    int result = 0;

    if (length > limit)
        goto out;
    result++;
    if (mode & 1)
        result += 2;
    if (mode & 2)
        goto out;
    result += 4;
out:
    return result;
}

/* Weights of two choices, by what the path hashes to. */
SEC("filter/weighed") int
weighed(const struct context *c)
{
    u32 point = hash(START(c), END(c), 99) % 100;

    return point < 30 ? 1 : point < 90 ? 2 : 3;
}
