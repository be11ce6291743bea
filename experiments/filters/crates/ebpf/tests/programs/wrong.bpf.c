/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Programs that are refused: messages name these lines and functions. */

#include "bpf.h"

extern int elsewhere(int number);

SEC("filter/entry") int
entry(const struct context *c)
{
    const u8 *start = c->start;
    return start[0];
}

NOINLINE int
function(const u8 *start)
{
    return start[1];
}

SEC("filter/called") int
called(const struct context *c)
{
    return function(c->start);
}

SEC("filter/undefined") int
undefined(const struct context *c)
{
    return elsewhere(c->end - c->start);
}

SEC("filter/several") int
first(const struct context *c)
{
    return c->end - c->start;
}

SEC("filter/several") int
second(const struct context *c)
{
    return c->end == c->start;
}

struct {
    __uint(type, 1);
    __uint(max_entries, 8);
    __uint(map_colour, 3);
    __type(key, u64);
    __type(value, u64);
} coloured SEC(".maps");

SEC("filter/table") int
table(const struct context *c)
{
    u64 key = c->end - c->start;

    return bpf_map_delete_elem(&coloured, &key);
}
