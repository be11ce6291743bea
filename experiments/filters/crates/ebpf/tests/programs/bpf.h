/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the ordinary programs share: types, sections, map declarations and helpers, as libbpf names them. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name

struct context {
    const u8 *start;
    const u8 *end;
};

/* A helper by its number. */
#define HELPER(number, result, name, ...) static result (*const name)(__VA_ARGS__) = (void *) number

HELPER(1, void *, bpf_map_lookup_elem, void *map, const void *key);
HELPER(2, long, bpf_map_update_elem, void *map, const void *key, const void *value, u64 flags);
HELPER(3, long, bpf_map_delete_elem, void *map, const void *key);
HELPER(130, long, bpf_ringbuf_output, void *ring, const void *data, u64 size, u64 flags);
HELPER(182, long, bpf_strncmp, const char *text, u32 size, const char *constant);
