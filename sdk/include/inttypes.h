/* SPDX-License-Identifier: Apache-2.0 */
/* How printf writes the types of stdint.h. There is no maximal width to convert. */
#ifndef SPIN_INTTYPES_H
#define SPIN_INTTYPES_H

#include <stdint.h>

#define PRId8 "hhd"
#define PRIi8 "hhi"
#define PRIo8 "hho"
#define PRIu8 "hhu"
#define PRIx8 "hhx"
#define PRIX8 "hhX"
#define PRId16 "hd"
#define PRIi16 "hi"
#define PRIo16 "ho"
#define PRIu16 "hu"
#define PRIx16 "hx"
#define PRIX16 "hX"
/* The compiler decides whether the 32-bit types are int or long; both have the same size. */
#define PRId32 SPIN_INT32_LENGTH "d"
#define PRIi32 SPIN_INT32_LENGTH "i"
#define PRIo32 SPIN_INT32_LENGTH "o"
#define PRIu32 SPIN_INT32_LENGTH "u"
#define PRIx32 SPIN_INT32_LENGTH "x"
#define PRIX32 SPIN_INT32_LENGTH "X"
#define PRId64 "lld"
#define PRIi64 "lli"
#define PRIo64 "llo"
#define PRIu64 "llu"
#define PRIx64 "llx"
#define PRIX64 "llX"
#define PRIdPTR "d"
#define PRIiPTR "i"
#define PRIuPTR "u"
#define PRIxPTR "x"
#define PRIXPTR "X"

#ifdef __INT32_FMTd__ /* clang defines this */
#define SPIN_INT32_LENGTH ""
#else /* gcc for bare RISC-V */
#define SPIN_INT32_LENGTH "l"
#endif

#endif
