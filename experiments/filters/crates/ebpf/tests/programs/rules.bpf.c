/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary filters as people write them: rules that read a path byte by byte. */

#include "bpf.h"

/* No way up out of the root: ".." as a whole part, by a machine of states. */
SEC("filter/way_up") int
way_up(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    int depth = 0, dots = 0, letters = 0;

    for (int i = 0; i < 128; i++) {
        u8 byte = at + 1 > end ? '/' : *at;

        switch (byte) {
        case '/':
            if (dots == 2 && !letters)
                depth--;
            else if (letters || dots > 2)
                depth++;
            if (depth < 0)
                return 1;
            dots = letters = 0;
            break;
        case '.':
            dots++;
            break;
        default:
            letters++;
        }
        if (at + 1 > end)
            break;
        at++;
    }
    return 0;
}

/* The parameters of a query. */
SEC("filter/parameters") int
parameters(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    int query = 0, count = 0;

    for (u32 i = 0; i < 256; i++) {
        const u8 *at = start + i;

        if (at + 1 > end)
            break;
        if (!query && *at == '?')
            query = count = 1;
        else if (query && *at == '&')
            count++;
    }
    return count;
}

/* What %XX stands for, in a buffer of its own. */
INLINE int
hex(u8 byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 32;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

SEC("filter/decoded") int
decoded(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    char text[16] = {};
    u32 length = 0;

    while (length < sizeof(text) && at + 1 <= end) {
        u8 byte = *at++;

        if (byte == '%') {
            int high, low;

            if (at + 2 > end)
                return 255;
            high = hex(at[0]);
            low = hex(at[1]);
            if (high < 0 || low < 0)
                return 254;
            byte = high << 4 | low;
            at += 2;
        }
        text[length & 15] = byte;
        length++;
    }
    return text[0] == '/' && text[1] == 'a' ? 1 : 0;
}

/* A number in hexadecimal digits. */
SEC("filter/hexadecimal") int
hexadecimal(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 number = 0;

    for (int i = 0; i < 8; i++) {
        int digit;

        if (start + i + 1 > end)
            break;
        digit = hex(start[i]);
        if (digit < 0)
            break;
        number = number << 4 | digit;
    }
    return number & 0x7fffffff;
}

/* Whether it is UTF-8, without the rarer rules. */
SEC("filter/unicode") int
unicode(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    int more = 0;

    for (int i = 0; i < 200; i++) {
        u8 byte;

        if (at + 1 > end)
            return more == 0;
        byte = *at++;
        if (more) {
            if ((byte & 0xc0) != 0x80)
                return 0;
            more--;
        } else if (byte >= 0xf0) {
            more = 3;
        } else if (byte >= 0xe0) {
            more = 2;
        } else if (byte >= 0xc0) {
            more = 1;
        } else if (byte >= 0x80) {
            return 0;
        }
    }
    return 2;
}

/* A pattern with a star, as /api/x/admin. */
static const char before[] = "/api/", after[] = "/admin";

SEC("filter/starred") int
starred(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u64 length = end - start, i;

    if (length < sizeof(before) + sizeof(after) - 2 || length > 200)
        return 0;
    for (i = 0; i < sizeof(before) - 1; i++)
        if (start + i + 1 > end || start[i] != before[i])
            return 0;
    start += length - (sizeof(after) - 1);
    for (i = 0; i < sizeof(after) - 1; i++)
        if (start + i + 1 > end || start[i] != after[i])
            return 0;
    return 1;
}

/* What is common to several: parts of a path by address. */
struct part {
    u32 first;
    u32 length;
};

NOINLINE int
part(const u8 *start, const u8 *end, u32 from, struct part *part)
{
    u32 i;

    part->first = from;
    for (i = from; i < 64; i++)
        if (start + i + 1 > end || start[i] == '/')
            break;
    part->length = i - from;
    return part->length != 0;
}

SEC("filter/second_part") int
second_part(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    struct part a = {}, b = {};

    if (start + 1 > end || *start != '/')
        return 0;
    if (!part(start, end, 1, &a))
        return 100;
    if (!part(start, end, (a.first + a.length + 1) & 31, &b))
        return 101;
    return b.length;
}

/* Words of four bytes, compared at once. */
SEC("filter/words") int
words(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 first, second;

    if (start + 8 > end)
        return 0;
    __builtin_memcpy(&first, start, 4);
    __builtin_memcpy(&second, start + 4, 4);
    if (first == 0x6970612f) /* "/api" */
        return second == 0x2f31762f ? 1 : 2;
    return 3;
}

/* A window that moves over the path: the largest sum of five bytes. */
SEC("filter/largest") int
largest(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    u32 sum = 0, most = 0;
    u64 last = 0;

    for (u32 i = 0; i < 100; i++) {
        if (start + i + 1 > end)
            break;
        sum += start[i] - (u8) (last >> 32);
        last = last << 8 | start[i];
        if (sum > most)
            most = sum;
    }
    return most;
}

/* A port after a colon. */
SEC("filter/port") int
port(const struct context *c)
{
    const u8 *at = START(c), *end = END(c);
    int seen = 0;
    s32 number = -1;

    for (int i = 0; i < 80; i++, at++) {
        if (at + 1 > end)
            break;
        if (*at == ':') {
            seen = 1;
            number = 0;
            continue;
        }
        if (!seen)
            continue;
        if (*at < '0' || *at > '9')
            break;
        number = number * 10 + (*at - '0');
        if (number > 65535)
            return -2;
    }
    return number;
}
