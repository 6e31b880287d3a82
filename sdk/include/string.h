/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and strings. Copies move words if both addresses have the same alignment, else bytes. */
#ifndef SPIN_STRING_H
#define SPIN_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

#endif
