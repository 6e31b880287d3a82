/* SPDX-License-Identifier: Apache-2.0 */
/* Formatted output. Plain C: sdk/tests compares it with the C library of the machine that runs the tests. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A program may bring its own. */
#pragma weak printf
#pragma weak vprintf
#pragma weak snprintf
#pragma weak vsnprintf
#pragma weak puts

/* Where formatted text goes: into a buffer if there is one, else to stdout. */
struct sink {
    char *buffer;
    size_t room;    /* bytes that still fit into the buffer */
    size_t written; /* characters produced so far, fitting or not */
};

struct spec {
    bool left, zeros, alternate;
    char sign; /* prefix of numbers that are not negative: '+', ' ' or nothing */
    int width;
    int precision; /* -1: not given */
};

static void emit(struct sink *sink, char character)
{
    sink->written++;
    if (sink->buffer == NULL) {
        putchar(character);
    } else if (sink->room > 0) {
        *sink->buffer++ = character;
        sink->room--;
    }
}

static void emit_n(struct sink *sink, char character, int n)
{
    while (n-- > 0) {
        emit(sink, character);
    }
}

/* `text` with `prefix` before it, padded to the width on the side and with the character that the spec wants. */
static void emit_padded(struct sink *sink, const struct spec *spec, const char *prefix, int zeros, const char *text, int n)
{
    int prefix_length = 0;
    while (prefix[prefix_length] != '\0') {
        prefix_length++;
    }
    int padding = spec->width - prefix_length - zeros - n;
    if (!spec->left) {
        emit_n(sink, ' ', padding);
    }
    for (int i = 0; i < prefix_length; i++) {
        emit(sink, prefix[i]);
    }
    emit_n(sink, '0', zeros);
    for (int i = 0; i < n; i++) {
        emit(sink, text[i]);
    }
    if (spec->left) {
        emit_n(sink, ' ', padding);
    }
}

/*
 * Divide `*value` by a base of at most 16 and return the remainder. One division of some 30 cycles while the value fits
 * a register; else one for each 16 bits, which is still less than the compiler's function for 64 bits.
 */
static unsigned divide(uint64_t *value, uint32_t base)
{
    if (*value <= UINT32_MAX) {
        uint32_t low = (uint32_t)*value;
        *value = low / base;
        return low - (uint32_t)*value * base;
    }
    uint64_t quotient = 0;
    uint32_t rest = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
        uint32_t part = rest << 16 | (uint16_t)(*value >> shift);
        quotient = quotient << 16 | part / base;
        rest = part % base;
    }
    *value = quotient;
    return rest;
}

static void emit_number(struct sink *sink, const struct spec *spec, const char *prefix, uint64_t value, unsigned base,
                        bool upper)
{
    char text[22]; /* 64 bits in octal */
    int n = 0;
    int prefix_length = prefix[0] == '\0' ? 0 : prefix[1] == '\0' ? 1 : 2;
    while (value != 0) {
        unsigned digit = divide(&value, base);
        text[sizeof text - 1 - n++] = (digit < 10 ? '0' : (upper ? 'A' : 'a') - 10) + digit;
    }
    int digits = spec->precision >= 0 ? spec->precision : 1;
    if (spec->precision < 0 && spec->zeros && !spec->left && spec->width - prefix_length > digits) {
        digits = spec->width - prefix_length;
    }
    emit_padded(sink, spec, prefix, digits > n ? digits - n : 0, text + sizeof text - n, n);
}

static void emit_string(struct sink *sink, const struct spec *spec, const char *text)
{
    int n = 0;
    if (text == NULL) {
        text = "(null)";
    }
    while (text[n] != '\0' && (spec->precision < 0 || n < spec->precision)) {
        n++;
    }
    emit_padded(sink, spec, "", 0, text, n);
}

static const char *read_flags(const char *at, struct spec *spec)
{
    for (;; at++) {
        switch (*at) {
        case '-': spec->left = true; break;
        case '0': spec->zeros = true; break;
        case '#': spec->alternate = true; break;
        case '+': spec->sign = '+'; break;
        case ' ': spec->sign = spec->sign == '+' ? '+' : ' '; break;
        default: return at;
        }
    }
}

static const char *read_count(const char *at, int *count)
{
    for (*count = 0; *at >= '0' && *at <= '9'; at++) {
        *count = *count * 10 + (*at - '0');
    }
    return at;
}

static void format_to(struct sink *sink, const char *at, va_list args)
{
    for (; *at != '\0'; at++) {
        if (*at != '%') {
            emit(sink, *at);
            continue;
        }
        struct spec spec = {.precision = -1};
        at = read_flags(at + 1, &spec);
        if (*at == '*') {
            spec.width = va_arg(args, int);
            spec.left = spec.left || spec.width < 0;
            spec.width = spec.width < 0 ? -spec.width : spec.width;
            at++;
        } else {
            at = read_count(at, &spec.width);
        }
        if (*at == '.') {
            if (at[1] == '*') {
                spec.precision = va_arg(args, int);
                at += 2;
            } else {
                at = read_count(at + 1, &spec.precision);
            }
        }
        int longs = 0, shorts = 0;
        for (; *at == 'l' || *at == 'h' || *at == 'z' || *at == 't' || *at == 'j'; at++) {
            longs += *at == 'l' ? 1 : *at == 'j' ? 2 : 0;
            shorts += *at == 'h';
        }
        const char conversion = *at;
        switch (conversion) {
        case 'd':
        case 'i': {
            int64_t value = longs >= 2 ? va_arg(args, long long) : va_arg(args, int);
            value = shorts >= 2 ? (int8_t)value : shorts == 1 ? (int16_t)value : value;
            const char sign[] = {value < 0 ? '-' : spec.sign, '\0'};
            emit_number(sink, &spec, sign, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, false);
            break;
        }
        case 'u':
        case 'o':
        case 'x':
        case 'X': {
            uint64_t value = longs >= 2 ? va_arg(args, unsigned long long) : va_arg(args, unsigned);
            value = shorts >= 2 ? (uint8_t)value : shorts == 1 ? (uint16_t)value : value;
            unsigned base = conversion == 'u' ? 10 : conversion == 'o' ? 8 : 16;
            const char *prefix = !spec.alternate || value == 0 || base == 10 ? ""
                                 : base == 8                                 ? "0"
                                 : conversion == 'X'                         ? "0X"
                                                                             : "0x";
            emit_number(sink, &spec, prefix, value, base, conversion == 'X');
            break;
        }
        case 'p':
            emit_number(sink, &spec, "0x", (uintptr_t)va_arg(args, void *), 16, false);
            break;
        case 'c': {
            const char character = (char)va_arg(args, int);
            emit_padded(sink, &spec, "", 0, &character, 1);
            break;
        }
        case 's':
            emit_string(sink, &spec, va_arg(args, const char *));
            break;
        case '\0':
            return; /* the format ends within a conversion */
        default:
            if (conversion != '%') {
                emit(sink, '%');
            }
            emit(sink, conversion);
        }
    }
}

int vprintf(const char *format, va_list args)
{
    struct sink sink = {0};
    format_to(&sink, format, args);
    return (int)sink.written;
}

int printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vprintf(format, args);
    va_end(args);
    return written;
}

int vsnprintf(char *buffer, size_t size, const char *format, va_list args)
{
    char nothing;
    struct sink sink = {.buffer = size > 0 ? buffer : &nothing, .room = size > 0 ? size - 1 : 0};
    format_to(&sink, format, args);
    if (size > 0) {
        *sink.buffer = '\0';
    }
    return (int)sink.written;
}

int snprintf(char *buffer, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vsnprintf(buffer, size, format, args);
    va_end(args);
    return written;
}

int puts(const char *text)
{
    for (; *text != '\0'; text++) {
        putchar(*text);
    }
    return putchar('\n');
}
