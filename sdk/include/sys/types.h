/* SPDX-License-Identifier: Apache-2.0 */
/* The short names of types that newlib, the C library of PsPIN's handlers, has here; stdio.h brings them, as there. */
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
