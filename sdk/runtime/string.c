/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and strings; the compiler also calls the first four by itself. */
#include <stdint.h>
#include <string.h>

/* A program may bring its own. */
#pragma weak memcpy
#pragma weak memmove
#pragma weak memset
#pragma weak memcmp
#pragma weak strlen
#pragma weak strcmp
#pragma weak strncmp

static int aligned_alike(const void *a, const void *b) { return (((uintptr_t)a ^ (uintptr_t)b) & 3) == 0; }

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    if (aligned_alike(to, from)) {
        while (n > 0 && ((uintptr_t)to & 3) != 0) {
            *to++ = *from++;
            n--;
        }
        for (; n >= 4; n -= 4, to += 4, from += 4) {
            *(uint32_t *)to = *(const uint32_t *)from;
        }
    }
    while (n-- > 0) {
        *to++ = *from++;
    }
    return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    if (to <= from || to >= from + n) {
        return memcpy(dst, src, n);
    }
    while (n-- > 0) {
        to[n] = from[n];
    }
    return dst;
}

void *memset(void *dst, int byte, size_t n)
{
    uint8_t *to = dst;
    const uint32_t word = (uint8_t)byte * 0x01010101u;
    while (n > 0 && ((uintptr_t)to & 3) != 0) {
        *to++ = (uint8_t)byte;
        n--;
    }
    for (; n >= 4; n -= 4, to += 4) {
        *(uint32_t *)to = word;
    }
    while (n-- > 0) {
        *to++ = (uint8_t)byte;
    }
    return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (; n > 0; n--, x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end != '\0') {
        end++;
    }
    return (size_t)(end - text);
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        if (*a != *b || *a == '\0') {
            return (uint8_t)*a - (uint8_t)*b;
        }
    }
    return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }
