/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary programs in parts: functions that a helper calls, programs that go on with others, and maps that
 * are put in the place of others. */

#include "bpf.h"

struct table {
    __uint(type, 2);
    __uint(max_entries, 4);
    __type(key, u32);
    __type(value, u64);
};

struct table old SEC(".maps"), new SEC(".maps");

/* The table in force. */
struct {
    __uint(type, 12);
    __uint(max_entries, 2);
    __type(key, u32);
    __array(values, struct table);
} in_force SEC(".maps") = {.values = {&old, &new}};

/* Tables by client. */
struct {
    __uint(type, 13);
    __uint(max_entries, 8);
    __type(key, u32);
    __array(values, struct table);
} by_client SEC(".maps") = {.values = {[2] = &new}};

SEC("filter/swapped") int
swapped(const struct context *c)
{
    u32 key = (END(c) - START(c)) & 1, index = 3;
    void *table = bpf_map_lookup_elem(&in_force, &key);
    u64 *value;

    if (!table)
        return 0;
    value = bpf_map_lookup_elem(table, &index);
    if (!value)
        return 1;
    *value += 2 + key;
    return *value;
}

SEC("filter/client") int
client(const struct context *c)
{
    u32 key = END(c) - START(c);
    u64 value = 7;
    void *table = bpf_map_lookup_elem(&by_client, &key);

    if (!table)
        return 0;
    return bpf_map_update_elem(table, &key, &value, 0) ? 1 : 2;
}

/* Both tables, one after the other, in a function. */
NOINLINE u64
count_in(u32 which)
{
    u32 index = 0;
    void *table = bpf_map_lookup_elem(&in_force, &which);
    u64 *value;

    if (!table)
        return 100;
    value = bpf_map_lookup_elem(table, &index);
    return value ? ++*value : 200;
}

SEC("filter/both_tables") int
both_tables(const struct context *c)
{
    (void) c;
    return count_in(0) + count_in(1) + count_in(1) + count_in(2);
}

/* A loop over the path that no compiler has to unroll. */
struct search {
    const u8 *start;
    const u8 *end;
    u32 found;
};

static long
is_dot(u32 index, void *data)
{
    struct search *search = data;
    const u8 *at = search->start + (index & 0xfff);

    if (at + 1 > search->end)
        return 1;
    if (*at == '.')
        search->found++;
    return 0;
}

SEC("filter/dots") int
dots(const struct context *c)
{
    struct search search = {START(c), END(c), 0};

    bpf_loop(4096, is_dot, &search, 0);
    return search.found;
}

/* How many turns there were. */
static long
first_three(u32 index, void *data)
{
    (void) data;
    return index == 2;
}

SEC("filter/stopped") int
stopped(const struct context *c)
{
    u32 length = END(c) - START(c);

    return bpf_loop(length, first_three, 0, 0);
}

/* A sum in a function of a function. */
struct sum {
    u64 total;
    u32 weight;
};

static long
add_one(u32 index, void *data)
{
    struct sum *sum = data;

    sum->total += (u64) index * sum->weight;
    return 0;
}

static long
add_all(u32 index, void *data)
{
    struct sum *sum = data;

    sum->weight = index;
    bpf_loop(10, add_one, sum, 0);
    return 0;
}

SEC("filter/square") int
square(const struct context *c)
{
    struct sum sum = {0, 0};

    (void) c;
    bpf_loop(10, add_all, &sum, 0);
    return sum.total;
}

/* A function that writes maps, called as often as the path says. */
static long
count_up(u32 index, void *data)
{
    u64 *value;

    (void) data;
    index &= 3;
    value = bpf_map_lookup_elem(&old, &index);
    if (!value)
        return 1;
    *value += index;
    return 0;
}

SEC("filter/counted_up") int
counted_up(const struct context *c)
{
    u32 index = 3;
    u64 *value;

    bpf_loop((END(c) - START(c)) & 63, count_up, 0, 0);
    value = bpf_map_lookup_elem(&old, &index);
    return value ? *value : 99;
}

/* Programs that go on with others. */
int short_path(const struct context *c);
int long_path(const struct context *c);
int again(const struct context *c);

struct {
    __uint(type, 3);
    __uint(max_entries, 4);
    __uint(key_size, 4);
    __array(values, int(const struct context *));
} programs SEC(".maps") = {.values = {[0] = short_path, [1] = long_path, [3] = again}};

SEC("filter/go_on") int
go_on(const struct context *c)
{
    u64 length = END(c) - START(c);

    if (length < 4)
        bpf_tail_call(c, &programs, 0);
    else if (length < 8)
        bpf_tail_call(c, &programs, 1);
    else
        bpf_tail_call(c, &programs, length);
    return 3;
}

SEC("filter/short_path") int
short_path(const struct context *c)
{
    return START(c) == END(c) ? 1 : 10;
}

SEC("filter/long_path") int
long_path(const struct context *c)
{
    const u8 *start = START(c);

    if (start + 4 > END(c))
        return 0;
    return start[3];
}

/* Itself, as often as it may. */
SEC("filter/again") int
again(const struct context *c)
{
    u32 index = 1;
    u64 *value = bpf_map_lookup_elem(&old, &index);

    if (!value)
        return 0;
    ++*value;
    bpf_tail_call(c, &programs, 3);
    return *value;
}

/* In a function: what the other program returns is the function's result. Written by nobody, but the compiler
 * cannot know: it takes the result of functions that always return the same for that. */
volatile int otherwise = 50;

NOINLINE int
decide(const struct context *c, u32 which)
{
    bpf_tail_call(c, &programs, which);
    return otherwise;
}

SEC("filter/in_function") int
in_function(const struct context *c)
{
    return decide(c, 0) + decide(c, 2) * 2;
}
