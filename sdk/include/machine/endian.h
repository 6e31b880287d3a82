/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from and to network byte order, under newlib's names. spin_bytes.h has names that keep the orders apart. */
#ifndef SPIN_MACHINE_ENDIAN_H
#define SPIN_MACHINE_ENDIAN_H

#define __htonl(x) __builtin_bswap32(x)
#define __htons(x) __builtin_bswap16(x)
#define __ntohl(x) __builtin_bswap32(x)
#define __ntohs(x) __builtin_bswap16(x)

#endif
