/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The filter: the path begins with the prefix in force. program/src/maps.rs knows these maps by name. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define PREFIX_MAX 4092

struct context {
    const u8 *start;
    const u8 *end;
};

struct prefix {
    u32 length;
    u8 bytes[PREFIX_MAX];
};

/* A count on a cache line of its own. The library counts beside the rejected those for which this
 * program came to no end. */
struct counter {
    u64 count;
    u64 failed;
    u64 unused[6];
};

/* Two slots and a generation: the prefix in force is prefixes[generation % 2]. The controller writes
 * the other slot and then the generation, so that nobody reads what is being written. */
struct {
    int (*type)[2];
    int (*max_entries)[2];
    u32 *key;
    struct prefix *value;
} prefixes SEC(".maps");

struct {
    int (*type)[2];
    int (*max_entries)[1];
    u32 *key;
    u64 *value;
} generations SEC(".maps");

/* Accepted and rejected. */
struct {
    int (*type)[2];
    int (*max_entries)[2];
    u32 *key;
    struct counter *value;
} counters SEC(".maps");

static void *(*const lookup)(void *map, const void *key) = (void *) 1;

/* The compiler keeps reads on their side of this. The processor does, too, on x86-64. */
#define BARRIER() __asm__ volatile("" ::: "memory")

/* Keeps an index an index: turned into a moving address, its bound could not be seen. */
#define INDEX(i) __asm__ volatile("" : "+r"(i))

/* The same at both ends of what `type` can reach: as libc compares, two words that may overlap. */
#define ENDS(type)                                                                                 \
    do {                                                                                           \
        const u8 *tail = path + length;                                                            \
                                                                                                   \
        return tail <= end && *(const type *) path == *(const type *) bytes &&                     \
               *(const type *) (tail - sizeof(type)) ==                                            \
                   *(const type *) (bytes + length - sizeof(type));                                \
    } while (0)

/* By words, the last of which may overlap the one before; shorter prefixes by half a word or less. */
INLINE int
matches(const struct context *context, const struct prefix *prefix)
{
    const u8 *path = context->start, *end = context->end, *bytes = prefix->bytes, *at = path;
    u64 length = prefix->length, words, i;

    if (length > PREFIX_MAX)
        return 0;
    if (length < 8) {
        if (length >= 4)
            ENDS(u32);
        if (length >= 2)
            ENDS(u16);
        if (length)
            ENDS(u8);
        return 1;
    }
    words = length / 8;
    for (i = 0; i < words; i++) {
        INDEX(i);
        if (at + 8 > end || *(const u64 *) at != *(const u64 *) (bytes + i * 8))
            return 0;
        at += 8;
    }
    ENDS(u64);
}

SEC("filter") int
filter_path(const struct context *context)
{
    u32 key = 0;
    const volatile u64 *generation = lookup(&generations, &key);
    struct counter *counter;
    u64 before;
    int accepted;

    if (!generation)
        return 0;
    do {
        const struct prefix *prefix;

        before = *generation;
        BARRIER();
        key = before & 1;
        prefix = lookup(&prefixes, &key);
        if (!prefix)
            return 0;
        accepted = matches(context, prefix);
        BARRIER();
        /* A generation published meanwhile may be followed by a write to this slot: look again. */
    } while (__builtin_expect(*generation != before, 0));

    key = !accepted;
    counter = lookup(&counters, &key);
    if (!counter)
        return 0;
    __sync_fetch_and_add(&counter->count, 1);
    return accepted;
}
