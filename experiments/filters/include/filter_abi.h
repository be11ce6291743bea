/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter library exports to nginx's dynamic filter module. */

#ifndef FILTER_ABI_H
#define FILTER_ABI_H

#include <stddef.h>
#include <stdint.h>

#define FILTER_EXPORT __attribute__((visibility("default")))

/* Called in nginx's master before it forks its workers, and again with each new configuration.
 * Returns 0, or anything else to refuse; a library writes the reason to standard error. */
FILTER_EXPORT int module_initialize(const char *prefix);

/* 1 accepts, anything else rejects. Must count what it decides. */
FILTER_EXPORT int module_url_filter(const char *url);

/* What was accepted and rejected so far. Not called while requests are measured. */
FILTER_EXPORT void module_get_counters(uint64_t *accepted, uint64_t *rejected);

/* Optional. The same decision by pointer and length, without a terminator: nginx's own form of a
 * URI. A library without it is given a terminated copy, one more step a request. */
FILTER_EXPORT int module_url_filter_n(const char *url, size_t length);

/* Optional. Called in each worker after it was forked, before its first request. */
FILTER_EXPORT void module_start_worker(void);

#endif
