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
    const u8 *start = START(c), *end = END(c);

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
    const u8 *end = END(c);

    for (const u8 *at = START(c); at + 2 <= end; at++)
        if (at[0] == '/' && at[1] == '/')
            return 1;
    return 0;
}

/* A suffix. */
SEC("filter/suffix") int
suffix(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
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
    const u8 *start = START(c);

    if (start + sizeof(wanted) - 1 > END(c))
        return 0;
    return memcmp(start, wanted, sizeof(wanted) - 1) == 0;
}

/* Compared by the kernel's helper. */
SEC("filter/by_helper") int
by_helper(const struct context *c)
{
    const u8 *start = START(c);
    char text[8] = {};

    if (start + 7 > END(c))
        return 0;
    __builtin_memcpy(text, start, 7);
    return bpf_strncmp(text, 7, "/static") == 0;
}

/* An event with as many bytes as the path has, which may be none. */
SEC("filter/event") int
event(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
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
    const u8 *at = START(c), *end = END(c);
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
    return count(START(c), END(c), '/') * 10 + count(START(c), END(c), '.');
}

/* The first letter as a number. */
SEC("filter/first") int
first(const struct context *c)
{
    if (START(c) + 2 > END(c))
        return 0;
    return START(c)[1];
}

/* The bytes up to the query. */
SEC("filter/before_query") int
before_query(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    int i;

    for (i = 0; i < 512; i++)
        if (start + i + 1 > end || start[i] == '?')
            break;
    return i;
}

/* Upper case is lower case. */
INLINE u8
lower(u8 byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
}

SEC("filter/without_case") int
without_case(const struct context *c)
{
    static const char wanted[6] = "/admin";
    const u8 *start = START(c);

    if (start + 6 > END(c))
        return 0;
    for (int i = 0; i < 6; i++)
        if (lower(start[i]) != wanted[i])
            return 0;
    return 1;
}

/* Numbers of more than one byte, as the network orders them. */
SEC("filter/big_endian") int
big_endian(const struct context *c)
{
    if (START(c) + 4 > END(c))
        return 0;
    return __builtin_bswap32(*(const u32 *) START(c)) >> 8;
}

/* A path with a byte that is not allowed. */
SEC("filter/forbidden") int
forbidden(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);

    for (int i = 0; i < 1024; i++, at++) {
        if (at + 1 > end)
            return 0;
        if (*at < 0x21 || *at == 0x7f || *at == '\\')
            return 1;
    }
    return 2;
}

/* How many parts. */
SEC("filter/depth") int
depth(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 parts = 0;

    for (u32 i = 0; i < 200; i++) {
        if (start + i + 1 > end)
            break;
        if (start[i] == '/')
            parts++;
    }
    return parts;
}

/* The length of the extension: what is behind the last dot, with it. */
SEC("filter/extension") int
extension(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 found = 0, i;

    for (i = 0; i < 256; i++) {
        if (start + i + 1 > end)
            break;
        if (start[i] == '.')
            found = i + 1;
    }
    return found ? i - found + 1 : 0;
}

/* One of some prefixes. */
struct rule {
    u8 length;
    char text[15];
};

static const struct rule rules[3] = {{4, "/api"}, {7, "/static"}, {1, "/"}};

SEC("filter/rules") int
first_rule(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);

    for (int r = 0; r < 3; r++) {
        int i, length = rules[r].length;

        for (i = 0; i < 15 && i < length; i++)
            if (start + i + 1 > end || start[i] != (u8) rules[r].text[i])
                break;
        if (i == length)
            return r + 1;
    }
    return 0;
}

/* A percent sign with two digits after it. */
NOINLINE int
digit(u8 byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return -1;
}

SEC("filter/escaped") int
escaped(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);

    for (int i = 0; i < 64; i++) {
        int high, low;

        if (start + i + 3 > end)
            return 256;
        if (start[i] != '%')
            continue;
        high = digit(start[i + 1]);
        low = digit(start[i + 2]);
        if (high < 0 || low < 0)
            return 257;
        return high << 4 | low;
    }
    return 258;
}

/* A copy of the path on the stack, turned around. */
SEC("filter/reversed") int
reversed(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u8 text[16] = {};

    for (int i = 0; i < 16; i++) {
        if (start + i + 1 > end)
            break;
        text[15 - i] = start[i];
    }
    return text[14] << 8 | text[15];
}
