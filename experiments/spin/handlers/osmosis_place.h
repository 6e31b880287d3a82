/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OSMOSIS_PLACE_H
#define OSMOSIS_PLACE_H

/*
 * Places the function that follows as `address` is within 64 bytes, so that lines of the instruction cache begin at the
 * same instructions. OSMOSIS's logs of the RTL print the addresses of their handlers (ph_addr).
 */
#define PLACE(function, address)                                 \
    __asm__(".pushsection .text.place_" #function ",\"ax\",@progbits\n" \
            ".balign 64\n"                                       \
            ".skip " #address " % 64\n"                           \
            ".popsection\n");                                    \
    __attribute__((section(".text.place_" #function), aligned(2)))

#endif
