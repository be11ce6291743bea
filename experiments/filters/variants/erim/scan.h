/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for instructions that change the register of rights, wherever in the code they may begin. */

#ifndef SCAN_H
#define SCAN_H

#include <stddef.h>

/* Whether WRPKRU or XRSTOR begins at `code`, of which `length` bytes may be read. */
int scan_is_stray(const unsigned char *code, size_t length);

/* Scans what may be executed of this library, gates apart. 0, or -1 and a sentence in `why`. */
int scan_library(char *why, size_t size);

#endif
