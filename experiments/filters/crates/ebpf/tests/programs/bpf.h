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

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *) 1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *) 2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *) 3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *) 5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *) 8;
static long (*const bpf_perf_event_output)(const void *context, void *map, u64 flags, const void *data, u64 size) = (void *) 25;
static long (*const bpf_ringbuf_output)(void *ring, const void *data, u64 size, u64 flags) = (void *) 130;
static long (*const bpf_loop)(u32 turns, void *callback, void *argument, u64 flags) = (void *) 181;
static long (*const bpf_strncmp)(const char *text, u32 size, const char *constant) = (void *) 182;
