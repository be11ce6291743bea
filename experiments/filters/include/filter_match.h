/* SPDX-License-Identifier: Apache-2.0 */
/* The matching rule that every native filter of this experiment shares. */

#ifndef FILTER_MATCH_H
#define FILTER_MATCH_H

#include <stddef.h>
#include <string.h>

/* The longest prefix: what is left of 4096 bytes beside the 4 of its length. */
#define FILTER_PREFIX_MAX 4092

/* 1 when the URI begins with the prefix, else 0. Neither needs a terminator; both may hold any byte. */
static inline int
filter_match(const void *uri, size_t uri_length, const void *prefix, size_t prefix_length)
{
    return uri_length >= prefix_length && memcmp(uri, prefix, prefix_length) == 0;
}

#endif
