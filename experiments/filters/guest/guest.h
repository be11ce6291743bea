/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest offers its host. A guest is compiled to WebAssembly or, for the sandbox that does
 * nothing, natively; its addresses are its own. */

#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>

#ifdef __wasm__
#define GUEST_EXPORT(name) __attribute__((export_name(#name))) name
#else
#define GUEST_EXPORT(name) name
#endif

/* Room of `length` bytes for the host to write to, the same each time; NULL when there is not so
 * much. */
unsigned char *GUEST_EXPORT(filter_buffer)(size_t length);

/* Takes a copy of the prefix. 0, or anything else to refuse it. */
int GUEST_EXPORT(filter_set_prefix)(const unsigned char *prefix, size_t length);

/* 1 accepts, 0 rejects; anything else is no answer. */
int GUEST_EXPORT(filter_url)(const unsigned char *url, size_t length);

#endif
