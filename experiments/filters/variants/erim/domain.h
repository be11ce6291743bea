/* SPDX-License-Identifier: Apache-2.0 */
/* The protected domain: memory with a protection key that only the code behind the gates may use. */

#ifndef DOMAIN_H
#define DOMAIN_H

#include <stddef.h>
#include <stdint.h>

#define DOMAIN_PAGE 4096

/* What the gates write to the register of rights, and hold it against afterwards. On a page of its
 * own that nobody may write once nginx serves. gates.S knows the order. */
struct domain_rights {
    uint32_t open;   /* as closed, and the domain may be used */
    uint32_t closed; /* as it was when nginx started: the domain may not be used */
    int key;         /* 0: not set up */
    _Alignas(DOMAIN_PAGE) char rest[0];
};

extern struct domain_rights domain_rights;

/* Reserves a key, and closes the domain for this thread and all that come from it. Does nothing the
 * second time. 0, or -1 and a sentence in `why`: there is no running without protection. */
int domain_set_up(char *why, size_t size);

/* Makes whole pages a part of the domain. 0 or -1, with the sentence. */
int domain_take(void *pages, size_t length, char *why, size_t size);

#endif
