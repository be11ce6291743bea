/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The filter's rule: the first window, a path, begins with the prefix that a controller set. */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define PREFIX_MAX 4092

struct context {
    const u8 *start;
    const u8 *end;
};

struct {
    int (*type)[2];
    int (*max_entries)[1];
    u32 *key;
    struct prefix {
        u32 length;
        u8 bytes[PREFIX_MAX];
    } *value;
} prefixes SEC(".maps");

u64 counters[16] __attribute__((aligned(64)));

static void *(*const lookup)(void *map, const void *key) = (void *) 1;

SEC("filter") int
filter_path(struct context *context)
{
    const u8 *path = context->start, *end = context->end;
    u32 key = 0, i;
    struct prefix *prefix = lookup(&prefixes, &key);

    if (!prefix)
        return 0;
    u32 length = prefix->length;
    if (length > PREFIX_MAX)
        return 0;
    for (i = 0; i < length; i++) {
        if (path + 1 > end || *path != prefix->bytes[i]) {
            __sync_fetch_and_add(&counters[8], 1);
            return 0;
        }
        path++;
    }
    __sync_fetch_and_add(&counters[0], 1);
    return 1;
}
