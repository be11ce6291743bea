/* SPDX-License-Identifier: Apache-2.0 */
/* What a filter library must bring whose filter runs in a guest: ../library/guest_library.c makes the
 * functions of filter_abi.h from it, and keeps prefix and counters. */

#ifndef FILTER_GUEST_H
#define FILTER_GUEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins every message. */
extern const char guest_name[];

/* Each function that fails leaves a sentence in this, of static storage or the guest's own. */
typedef const char *guest_reason;

/* Takes the guest in, in nginx's master, for every new configuration: what is started from now on is
 * this one. 0 or -1. */
int guest_load(guest_reason *why);

/* Ends what guest_load began, whether or not it failed: the new guest is kept, or the one before is
 * back again, for the workers that the master may yet have to replace. */
void guest_settle(int keep);

/* A new guest as it was loaded, without a prefix: in a worker before its first request, and again
 * after the guest failed. 0 or -1. */
int guest_start(guest_reason *why);

/* Ends what guest_start made; nothing, if it made nothing. */
void guest_stop(void);

/* Gives the guest a prefix. 0 or -1, after which the guest must be stopped. */
int guest_set_prefix(const void *prefix, size_t length, guest_reason *why);

/* The guest's answer, 1 or 0; -1 when it gave none, after which it must be stopped. */
int guest_filter(const void *url, size_t length, guest_reason *why);

#ifdef __cplusplus
}
#endif

#endif
