/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PsPIN's generic driver: packets by number and size or from a trace, for up to two execution contexts.
 *
 * Source compatible with examples/generic_driver of PsPIN a49fec8, and part of libpspin. The command line of the program is
 * that of the driver; --help lists it.
 */
#ifndef SPINET_GDRIVER_H
#define SPINET_GDRIVER_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GDRIVER_OK 0
#define GDRIVER_ERR 1

#define GDRIVER_MATCHING_CTX_MAXSIZE 256

/*
 * Fill a packet: message, packet, its buffer and the bytes in it. Returns how many bytes are copied to L1; what it writes
 * through the last pointer is not used.
 */
typedef uint32_t (*fill_packet_fun_t)(uint32_t, uint32_t, uint8_t *, uint32_t, uint32_t *);
/* Whether a packet of a trace with this source belongs to the context with this matching context. */
typedef int (*match_packet_fun_t)(char *, char *);

/* Read the command line and make the simulation. `*ectx_num` becomes how many contexts there may be, or -1. */
int gdriver_init(int argc, char **argv, match_packet_fun_t matching_cb, int *ectx_num);
/* Add a context; the handlers are functions of the ELF file `hfile`, or NULL. `l2_img` goes to its handler memory. */
int gdriver_add_ectx(const char *hfile, const char *hh, const char *ph, const char *th, fill_packet_fun_t fill_cb,
                     void *l2_img, size_t l2_img_size, void *matching_ctx, size_t matching_ctx_size);
int gdriver_run(void);
/* Print statistics. Returns GDRIVER_OK if all packets came to their end. */
int gdriver_fini(void);

#ifdef __cplusplus
}
#endif

#endif
