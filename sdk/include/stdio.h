/* SPDX-License-Identifier: Apache-2.0 */
/* Text output: a line appears when its '\n' is written. About 4 cycles a character, plus the formatting. */
#ifndef SPIN_STDIO_H
#define SPIN_STDIO_H

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

int putchar(int character);
int puts(const char *text);

/* d i u x X o c s p %, flags - 0 + space #, width, precision, lengths hh h l ll z. No floating point. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list args);
int snprintf(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *buffer, size_t size, const char *format, va_list args);

#endif
