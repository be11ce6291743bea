/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Ordinary programs that keep something: per processor, of those seen lately, and in queues. */

#include "bpf.h"

struct count {
    u64 requests;
    u64 bytes;
};

struct {
    __uint(type, 6);
    __uint(max_entries, 4);
    __type(key, u32);
    __type(value, struct count);
} per_cpu SEC(".maps");

struct {
    __uint(type, 5);
    __uint(max_entries, 16);
    __type(key, u64);
    __type(value, u64);
} per_cpu_hash SEC(".maps");

struct {
    __uint(type, 9);
    __uint(max_entries, 8);
    __type(key, u64);
    __type(value, u64);
} lately SEC(".maps");

struct {
    __uint(type, 10);
    __uint(max_entries, 8);
    __type(key, u32);
    __type(value, u64);
} lately_per_cpu SEC(".maps");

struct event {
    u32 length;
    u8 text[28];
};

struct {
    __uint(type, 27);
    __uint(max_entries, 4096);
} events SEC(".maps");

/* Requests and bytes, without atomics: each processor has its own. */
SEC("filter/per_cpu_count") int
per_cpu_count(const struct context *c)
{
    u32 key = 1;
    struct count *count = bpf_map_lookup_elem(&per_cpu, &key);

    if (!count)
        return 0;
    count->requests++;
    count->bytes += END(c) - START(c);
    return count->requests * 100 + count->bytes;
}

/* An index that may be too large. */
SEC("filter/per_cpu_index") int
per_cpu_index(const struct context *c)
{
    u32 key = END(c) - START(c);
    struct count *count = bpf_map_lookup_elem(&per_cpu, &key);

    return count ? 1 + count->bytes : 0;
}

/* A count for each length. */
SEC("filter/per_cpu_table") int
per_cpu_table(const struct context *c)
{
    u64 key = END(c) - START(c), one = 1, *count;

    for (int i = 0; i < 3; i++) {
        count = bpf_map_lookup_elem(&per_cpu_hash, &key);
        if (count)
            ++*count;
        else
            bpf_map_update_elem(&per_cpu_hash, &key, &one, 1);
    }
    count = bpf_map_lookup_elem(&per_cpu_hash, &key);
    return count ? *count : 0;
}

/* More clients than there is room for: the latest stay. */
SEC("filter/latest") int
latest(const struct context *c)
{
    int found = 0;

    (void) c;
    for (u64 key = 0; key < 20; key++)
        if (bpf_map_update_elem(&lately, &key, &key, 0))
            return 99;
    for (u64 key = 0; key < 20; key++)
        found += !!bpf_map_lookup_elem(&lately, &key);
    return found;
}

/* One that is looked up again and again stays. */
SEC("filter/favourite") int
favourite(const struct context *c)
{
    u64 favourite = 1000, *found;

    (void) c;
    bpf_map_update_elem(&lately, &favourite, &favourite, 0);
    for (u64 key = 0; key < 16; key++) {
        if (!bpf_map_lookup_elem(&lately, &favourite))
            return 0;
        bpf_map_update_elem(&lately, &key, &key, 0);
    }
    found = bpf_map_lookup_elem(&lately, &favourite);
    return found ? *found : 0;
}

/* At most three requests for a path of one length, of those that came lately. */
SEC("filter/limited") int
limited(const struct context *c)
{
    u64 key = END(c) - START(c), one = 1;
    u64 *count = bpf_map_lookup_elem(&lately, &key);

    if (!count) {
        bpf_map_update_elem(&lately, &key, &one, 0);
        return 1;
    }
    return __sync_fetch_and_add(count, 1) < 3;
}

/* Both at once. */
SEC("filter/latest_per_cpu") int
latest_per_cpu(const struct context *c)
{
    u32 found = 0;
    u64 value = END(c) - START(c), *there;

    for (u32 key = 0; key < 12; key++)
        bpf_map_update_elem(&lately_per_cpu, &key, &value, 0);
    for (u32 key = 0; key < 12; key++) {
        there = bpf_map_lookup_elem(&lately_per_cpu, &key);
        found += there ? *there : 0;
    }
    return found;
}

/* An event in place. */
SEC("filter/reserved") int
reserved(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event)
        return 0;
    event->length = end - start;
    for (u32 i = 0; i < sizeof(event->text); i++)
        event->text[i] = start + i + 1 > end ? 0 : start[i];
    bpf_ringbuf_submit(event, 0);
    return 1;
}

/* One that is thought better of. */
SEC("filter/taken_back") int
taken_back(const struct context *c)
{
    const u8 *start = START(c), *end = END(c);
    struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event)
        return 0;
    if (start + 4 > end) {
        bpf_ringbuf_discard(event, 0);
        return 1;
    }
    event->length = 4;
    __builtin_memcpy(event->text, start, 4);
    bpf_ringbuf_submit(event, 0);
    return 2;
}

/* One that only long paths have, handed over at the end. */
SEC("filter/sometimes") int
sometimes(const struct context *c)
{
    struct event *event = 0;
    u64 length = END(c) - START(c);
    int result = 0;

    if (length > 3)
        event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    if (event)
        event->length = length;
    for (int i = 0; i < 8; i++)
        result += length >> i & 1;
    if (event)
        bpf_ringbuf_submit(event, 0);
    return result;
}

/* A function fills it in and hands it over. */
NOINLINE int
hand_over(struct event *event, u32 length)
{
    event->length = length;
    bpf_ringbuf_submit(event, 0);
    return length;
}

SEC("filter/handed") int
handed(const struct context *c)
{
    u32 length = END(c) - START(c);
    struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event)
        return 99;
    return hand_over(event, length);
}

/* Several, one after the other, while there is room. */
SEC("filter/burst") int
burst(const struct context *c)
{
    int sent = 0;

    (void) c;
    for (u32 i = 0; i < 200; i++) {
        struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

        if (!event)
            break;
        event->length = i;
        bpf_ringbuf_submit(event, 0);
        sent++;
    }
    return sent;
}

/* Two at once. */
SEC("filter/pair") int
pair(const struct context *c)
{
    u32 *a, *b;

    a = bpf_ringbuf_reserve(&events, sizeof(*a), 0);
    if (!a)
        return 0;
    b = bpf_ringbuf_reserve(&events, sizeof(*b), 0);
    if (!b) {
        bpf_ringbuf_discard(a, 0);
        return 1;
    }
    *a = END(c) - START(c);
    *b = *a + 1;
    bpf_ringbuf_submit(b, 0);
    bpf_ringbuf_submit(a, 0);
    return 2;
}

/* Only if there is room: how many bytes wait, of how many. */
SEC("filter/room") int
room(const struct context *c)
{
    u64 size = bpf_ringbuf_query(&events, 1);
    u32 number = 7;

    (void) c;
    if (bpf_ringbuf_query(&events, 0) > size / 2)
        return 0;
    bpf_ringbuf_output(&events, &number, sizeof(number), 0);
    return size + bpf_ringbuf_query(&events, 0);
}

/* A bucket of tokens that fills up with time. */
struct bucket {
    u64 filled;
    u64 tokens;
};

struct {
    __uint(type, 9);
    __uint(max_entries, 64);
    __type(key, u32);
    __type(value, struct bucket);
} buckets SEC(".maps");

SEC("filter/bucket") int
take(const struct context *c)
{
    u64 now = bpf_ktime_get_ns();
    u32 key = END(c) - START(c);
    struct bucket *bucket = bpf_map_lookup_elem(&buckets, &key);
    u64 more;

    if (!bucket) {
        struct bucket full = {now, 10};

        bpf_map_update_elem(&buckets, &key, &full, 0);
        return 1;
    }
    more = (now - bucket->filled) / 100000000;
    if (more) {
        bucket->tokens = bucket->tokens + more > 10 ? 10 : bucket->tokens + more;
        bucket->filled = now;
    }
    if (!bucket->tokens)
        return 0;
    bucket->tokens--;
    return 1;
}

/* Which processor it is, and a line for the log. */
SEC("filter/told") int
told(const struct context *c)
{
    static const char line[] = "a request";

    (void) c;
    if (bpf_get_smp_processor_id() > 4095)
        return 0;
    bpf_trace_printk(line, sizeof(line));
    return 1;
}
