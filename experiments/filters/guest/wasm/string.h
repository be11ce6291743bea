/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the C library that guests use; WebAssembly brings none. */

#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t length);
int memcmp(const void *left, const void *right, size_t length);

#endif
