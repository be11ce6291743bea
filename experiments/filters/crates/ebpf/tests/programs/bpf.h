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
#define __array(name, value) __typeof__(value) *name[]

/* The kernel's second opinion: the same program for a packet. */
#ifdef KERNEL
struct context {
    u32 start;
    u32 end;
};
#define START(context) ((const u8 *) (long) (context)->start)
#define END(context) ((const u8 *) (long) (context)->end)
#else
struct context {
    const u8 *start;
    const u8 *end;
};
#define START(context) (context)->start
#define END(context) (context)->end
#endif

/* A helper by its number. */
#define HELPER(number, result, name, ...) static result (*const name)(__VA_ARGS__) = (void *) number

HELPER(1, void *, bpf_map_lookup_elem, void *map, const void *key);
HELPER(2, long, bpf_map_update_elem, void *map, const void *key, const void *value, u64 flags);
HELPER(3, long, bpf_map_delete_elem, void *map, const void *key);
HELPER(5, u64, bpf_ktime_get_ns, void);
HELPER(6, long, bpf_trace_printk, const char *format, u32 size, ...);
HELPER(8, u32, bpf_get_smp_processor_id, void);
HELPER(12, long, bpf_tail_call, const void *context, void *programs, u32 index);
HELPER(130, long, bpf_ringbuf_output, void *ring, const void *data, u64 size, u64 flags);
HELPER(131, void *, bpf_ringbuf_reserve, void *ring, u64 size, u64 flags);
HELPER(132, void, bpf_ringbuf_submit, void *data, u64 flags);
HELPER(133, void, bpf_ringbuf_discard, void *data, u64 flags);
HELPER(134, u64, bpf_ringbuf_query, void *ring, u64 what);
HELPER(181, long, bpf_loop, u32 count, void *function, void *context, u64 flags);
HELPER(182, long, bpf_strncmp, const char *text, u32 size, const char *constant);
