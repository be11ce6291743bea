/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary programs that look at the path as text. */

#include "bpf.h"

extern int memcmp(const void *a, const void *b, unsigned long length);

struct {
    __uint(type, 27);
    __uint(max_entries, 4096);
} events SEC(".maps");

/* The path has this somewhere. */
SEC("filter/substring") int
substring(const struct context *c)
{
    static const char wanted[] = "../";
    const u8 *start = c->start, *end = c->end;

    for (int i = 0; i < 256; i++) {
        const u8 *at = start + i;
        int j;

        if (at + 3 > end)
            return 0;
        for (j = 0; j < 3; j++)
            if (at[j] != wanted[j])
                break;
        if (j == 3)
            return 1;
    }
    return 0;
}

/* The same, with a pointer that moves. */
SEC("filter/double_slash") int
double_slash(const struct context *c)
{
    const u8 *end = c->end;

    for (const u8 *at = c->start; at + 2 <= end; at++)
        if (at[0] == '/' && at[1] == '/')
            return 1;
    return 0;
}

/* A suffix. */
SEC("filter/suffix") int
suffix(const struct context *c)
{
    const u8 *start = c->start, *end = c->end;
    u64 length = end - start;

    if (length < 4 || length > 255)
        return 0;
    start += length - 4;
    if (start + 4 > end)
        return 0;
    return start[0] == '.' && start[1] == 'p' && start[2] == 'h' && start[3] == 'p';
}

/* Compared by name. */
SEC("filter/by_name") int
by_name(const struct context *c)
{
    static const char wanted[] = "/a/long/prefix/with/many/bytes/in/it";
    const u8 *start = c->start;

    if (start + sizeof(wanted) - 1 > c->end)
        return 0;
    return memcmp(start, wanted, sizeof(wanted) - 1) == 0;
}

/* Compared by the kernel's helper. */
SEC("filter/by_helper") int
by_helper(const struct context *c)
{
    const u8 *start = c->start;
    char text[8] = {};

    if (start + 7 > c->end)
        return 0;
    __builtin_memcpy(text, start, 7);
    return bpf_strncmp(text, 7, "/static") == 0;
}

/* An event with as many bytes as the path has, which may be none. */
SEC("filter/event") int
event(const struct context *c)
{
    const u8 *start = c->start, *end = c->end;
    u8 text[32] = {};
    u64 length;

    for (length = 0; length < sizeof(text); length++) {
        if (start + length + 1 > end)
            break;
        text[length] = start[length];
    }
    bpf_ringbuf_output(&events, text, length, 0);
    return length;
}

/* A hash of the path. */
SEC("filter/hashed") int
hashed(const struct context *c)
{
    const u8 *at = c->start, *end = c->end;
    u32 hash = 2166136261u;

    for (int i = 0; i < 128 && at + 1 <= end; i++, at++)
        hash = (hash ^ *at) * 16777619u;
    return hash & 0xffff;
}

/* A function that is called twice. */
NOINLINE int
count(const u8 *at, const u8 *end, u8 wanted)
{
    int found = 0;

    for (int i = 0; i < 64; i++) {
        if (at + 1 > end)
            break;
        found += *at++ == wanted;
    }
    return found;
}

SEC("filter/called") int
called(const struct context *c)
{
    return count(c->start, c->end, '/') * 10 + count(c->start, c->end, '.');
}
