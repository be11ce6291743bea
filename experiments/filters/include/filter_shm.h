/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the controller makes and nginx's workers read and count in.
 * crates/controller/src/layout.rs is the same in Rust. Change FILTER_SHM_VERSION with either. */

#ifndef FILTER_SHM_H
#define FILTER_SHM_H

#include "filter_counters.h"
#include "filter_match.h"

#define FILTER_SHM_MAGIC 0x7265746c69666374ull /* "tcfilter" */
#define FILTER_SHM_VERSION 1

struct filter_shm_prefix {
    uint32_t length;
    unsigned char bytes[FILTER_PREFIX_MAX];
};

/* Two slots and a generation instead of a seqlock: the slot in use is never the one being written,
 * so that a writer that dies midway leaves readers with the old prefix instead of a spin. */
struct filter_shm {
    uint64_t magic; /* stored last when the memory is made */
    uint32_t version;
    uint32_t owner; /* process of the controller, for messages only: liveness is its file lock */
    uint64_t generation; /* the prefix in force is prefixes[generation % 2] */
    struct filter_counters counters;
    _Alignas(FILTER_CACHE_LINE) struct filter_shm_prefix prefixes[2];
};

_Static_assert(sizeof(struct filter_shm_prefix) == 4096, "a prefix takes 4096 bytes");
_Static_assert(sizeof(struct filter_shm) == 8384, "layout.rs has the same size");

/* Return a number that changes with the prefix. */
static inline uint64_t
filter_shm_generation(const struct filter_shm *shm)
{
    return __atomic_load_n(&shm->generation, __ATOMIC_ACQUIRE);
}

/* Return 1 if the prefix in force accepts the URI, else 0. */
static inline int
filter_shm_match(const struct filter_shm *shm, const void *uri, size_t length)
{
    for (;;) {
        uint64_t generation = filter_shm_generation(shm);
        const struct filter_shm_prefix *prefix = &shm->prefixes[generation % 2];
        int accepted = filter_match(uri, length, prefix->bytes,
                                    __atomic_load_n(&prefix->length, __ATOMIC_RELAXED));

        /* A generation published meanwhile may be followed by a write to this slot: look again. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shm->generation, __ATOMIC_RELAXED) == generation) {
            return accepted;
        }
    }
}

/* Copy the prefix in force, whole, for a filter that keeps its own. Return its generation. */
static inline uint64_t
filter_shm_copy(const struct filter_shm *shm, struct filter_shm_prefix *copy)
{
    for (;;) {
        uint64_t generation = filter_shm_generation(shm);

        *copy = shm->prefixes[generation % 2];
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shm->generation, __ATOMIC_RELAXED) == generation) {
            return generation;
        }
    }
}

#endif
