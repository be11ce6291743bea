/* SPDX-License-Identifier: Apache-2.0 */
/* The guest: the matching rule that all filters share. */

#include "filter_match.h"
#include "guest.h"

static unsigned char prefix[FILTER_PREFIX_MAX];
static size_t prefix_length;

int
filter_set_prefix(const unsigned char *bytes, size_t length)
{
    if (length > sizeof(prefix)) {
        return -1;
    }
    memcpy(prefix, bytes, length);
    prefix_length = length;
    return 0;
}

int
filter_url(const unsigned char *url, size_t length)
{
    return filter_match(url, length, prefix, prefix_length);
}
