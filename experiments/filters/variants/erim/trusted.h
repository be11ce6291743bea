/* SPDX-License-Identifier: Apache-2.0 */
/* What is done inside the domain, as seen from outside: through the gates. */

#ifndef TRUSTED_H
#define TRUSTED_H

#include "filter_state.h"

/* 1 accepts, 0 rejects; counted. */
int gate_filter(const char *url, size_t length);

/* Puts a prefix and counters in force, whose pages are in the domain. 0, or -1 for anybody but the
 * process that did so first. */
int gate_replace(const struct filter_state *next);

/* Both counters, in registers. */
struct trusted_counts {
    uint64_t accepted, rejected;
};
struct trusted_counts gate_counters(void);

/* Gives the domain its own pages. 0, or -1 and a sentence in `why`. */
int trusted_set_up(char *why, size_t size);

#endif
