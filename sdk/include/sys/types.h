/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of types, as in newlib, the C library of PsPIN's handlers. stdio.h includes them, as newlib's does. */
#ifndef SPIN_SYS_TYPES_H
#define SPIN_SYS_TYPES_H

#include <machine/endian.h>
#include <stddef.h>

typedef unsigned char u_char;
typedef unsigned short u_short, ushort;
typedef unsigned int u_int, uint;
typedef unsigned long u_long;
typedef __PTRDIFF_TYPE__ ssize_t;

#endif
