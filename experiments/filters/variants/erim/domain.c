/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "domain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct domain_rights domain_rights __attribute__((aligned(DOMAIN_PAGE), visibility("hidden")));

/* The rights of this thread: two bits a key, of which the lower forbids all use. */
static uint32_t
rights_now(void)
{
    uint32_t rights, nothing;

    __asm__ volatile("rdpkru" : "=a"(rights), "=d"(nothing) : "c"(0));
    return rights;
}

int
domain_set_up(char *why, size_t size)
{
    int key;

    if (domain_rights.key != 0) {
        return 0;
    }
    key = pkey_alloc(0, PKEY_DISABLE_ACCESS | PKEY_DISABLE_WRITE);
    if (key <= 0) {
        snprintf(why, size, "this machine gives no memory protection key (%s): it takes a CPU and a "
                 "kernel with the flag ospke in /proc/cpuinfo, and one of 15 keys that is free",
                 strerror(errno));
        return -1;
    }
    domain_rights.closed = rights_now();
    domain_rights.open = domain_rights.closed & ~(3u << (2 * key));
    domain_rights.key = key;
    if (mprotect(&domain_rights, sizeof(domain_rights), PROT_READ) != 0) {
        snprintf(why, size, "the rights of the domain cannot be made read-only: %s", strerror(errno));
        return -1;
    }
    return 0;
}

int
domain_take(void *pages, size_t length, char *why, size_t size)
{
    if (pkey_mprotect(pages, length, PROT_READ | PROT_WRITE, domain_rights.key) != 0) {
        snprintf(why, size, "memory cannot be given to the domain: %s", strerror(errno));
        return -1;
    }
    return 0;
}
