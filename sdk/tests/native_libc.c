/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the runtime's own printf and memory functions with those of the machine that runs the tests.
 *
 * The runtime's functions are included under other names, so that the C library's can be called too.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define printf ours_printf
#define vprintf ours_vprintf
#define snprintf ours_snprintf
#define vsnprintf ours_vsnprintf
#define puts ours_puts
#include "../runtime/stdio.c"
#undef printf
#undef snprintf

#define memcpy ours_memcpy
#define memmove ours_memmove
#define memset ours_memset
#define memcmp ours_memcmp
#define strlen ours_strlen
#define strcmp ours_strcmp
#define strncmp ours_strncmp
#include "../runtime/string.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#undef strcmp

static unsigned checks;

static void require(int holds, const char *what)
{
    checks++;
    if (!holds) {
        printf("differs: %s\n", what);
        abort();
    }
}

#define SAME(...)                                                                        \
    do {                                                                                 \
        char ours[64] = {0}, theirs[64] = {0};                                           \
        int n_ours = ours_snprintf(ours, sizeof ours, __VA_ARGS__);                      \
        int n_theirs = snprintf(theirs, sizeof theirs, __VA_ARGS__);                     \
        require(n_ours == n_theirs && strcmp(ours, theirs) == 0, #__VA_ARGS__);          \
    } while (0)

static void formats(void)
{
    const int values[] = {0, 1, -1, 9, 10, -128, 255, 65535, 65536, 2147483647, -2147483647 - 1};
    const long long wide[] = {0, 4294967296, -4294967297, 9223372036854775807, -9223372036854775807 - 1};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        int v = values[i];
        SAME("%d|%i|%u|%x|%X|%o", v, v, v, v, v, v);
        SAME("%5d|%-5d|%05d|%+d|% d", v, v, v, v, v);
        SAME("%#x|%#X|%#o|%08x|%-8x|", v, v, v, v, v);
        SAME("%.3d|%8.3d|%-8.3d|%08.3d|%.0d", v, v, v, v, v);
        SAME("%hhd|%hd|%hhu|%hu", v, v, v, v);
        SAME("%*d|%-*d|%.*d", 7, v, 7, v, 4, v);
        SAME("%c", v);
    }
    for (unsigned i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        SAME("%lld|%llu|%llx", wide[i], wide[i], wide[i]);
    }
    SAME("%s|%6s|%-6s|%.2s|%%", "text", "text", "text", "text");
    SAME("no conversion at all");
    SAME("longer than the room for it: %060d", 5);
    SAME("%s", "");
}

static void memory(void)
{
    static uint8_t ours[64], theirs[64], from[64];
    for (unsigned i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 37 + 1);
    }
    for (unsigned n = 0; n < 20; n++) {
        for (unsigned to = 0; to < 8; to++) {
            for (unsigned at = 0; at < 8; at++) {
                ours_memset(ours, 0xAB, sizeof ours);
                memset(theirs, 0xAB, sizeof theirs);
                ours_memcpy(ours + to, from + at, n);
                memcpy(theirs + to, from + at, n);
                require(memcmp(ours, theirs, sizeof ours) == 0, "memcpy");
                ours_memmove(ours + to, ours + at, n);
                memmove(theirs + to, theirs + at, n);
                require(memcmp(ours, theirs, sizeof ours) == 0, "memmove");
                ours_memset(ours + to, (int)at, n);
                memset(theirs + to, (int)at, n);
                require(memcmp(ours, theirs, sizeof ours) == 0, "memset");
            }
        }
    }
    require(ours_memcmp("abc", "abd", 3) < 0 && ours_memcmp("abc", "abd", 2) == 0, "memcmp");
    require(ours_strlen("four") == 4 && ours_strcmp("a", "b") < 0 && ours_strncmp("ab", "ac", 1) == 0, "strings");
}

int main(void)
{
    formats();
    memory();
    printf("%u checks\n", checks);
    return 0;
}
