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

/* Keeps an index an index: turned into a moving address, its bound could not be seen. */
#define INDEX(i) __asm__ volatile("" : "+r"(i))

/* Accepted and rejected, each on a cache line of its own. */
u64 counters[16] __attribute__((aligned(64)));

static void *(*const lookup)(void *map, const void *key) = (void *) 1;

/* By words as far as they go, then by bytes; with BYTES by bytes alone. */
static __attribute__((always_inline)) int
matches(const struct context *context, const struct prefix *prefix)
{
    const u8 *path = context->start, *end = context->end;
    u64 length = prefix->length, words, i;

    if (length > PREFIX_MAX)
        return 0;
#ifdef BYTES
    words = 0;
#else
    words = length / 8;
#endif
    for (i = 0; i < words; i++) {
        INDEX(i);
        if (i >= PREFIX_MAX / 8)
            return 0;
        if (path + 8 > end || *(const u64 *) path != *(const u64 *) (prefix->bytes + i * 8))
            return 0;
        path += 8;
    }
    for (i = words * 8; i < length; i++) {
        INDEX(i);
        if (i >= PREFIX_MAX)
            return 0;
        if (path + 1 > end || *path != prefix->bytes[i])
            return 0;
        path++;
    }
    return 1;
}

SEC("filter") int
filter_path(const struct context *context)
{
    u32 key = 0;
    const struct prefix *prefix = lookup(&prefixes, &key);
    int accepted;

    if (!prefix)
        return 0;
    accepted = matches(context, prefix);
    __sync_fetch_and_add(&counters[accepted ? 0 : 8], 1);
    return accepted;
}
