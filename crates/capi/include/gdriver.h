/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PsPIN's generic driver: packets by number and size or from a trace, for up to two execution contexts.
 *
 * Source compatible with examples/generic_driver of PsPIN a49fec8, and part of libpspin. The command line of the program is
 * that of the driver; --help lists it. Drivers for the interfaces before it compile too: see the end.
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

/*
 * What PsPIN's generic driver was until October 2022: gdriver_init names the handlers of the only context, which has all of
 * handler memory, host memory and scratchpads. The number of arguments says which is meant:
 *
 *     gdriver_init(argc, argv, hfile, hh, ph, th)                     is gdriver_init_handlers
 *     gdriver_init(argc, argv)                                        is gdriver_init_plain: up to two contexts
 *     gdriver_add_ectx(hfile, hh, ph, th, fill_cb, l2_img, size)      has no matching context
 *
 * After these a packet has as many bytes as its fill callback returns, and what the callback writes through the last pointer
 * is copied to L1; after gdriver_init_handlers, messages and packets are counted from 0 in steps of 1. gdriver_fini
 * returns 1 if all packets came to their end, else 0.
 */
int gdriver_init_handlers(int argc, char **argv, const char *hfile, const char *hh, const char *ph, const char *th);
int gdriver_init_plain(int argc, char **argv);
int gdriver_set_packet_fill_callback(fill_packet_fun_t fill_cb);
/* Let gdriver_run write an image to handler memory, and make packets once it is there. It must live until then. */
int gdriver_set_l2_img(void *img, size_t size);

#ifdef __cplusplus
}
#endif

/* The name behind sixteen arguments; commas within braces make a call longer, and then it is today's. */
#define GDRIVER_NAME_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define GDRIVER_ADD_PLAIN_(...) (gdriver_add_ectx)(__VA_ARGS__, NULL, 0)
#define gdriver_init(...)                                                                                              \
    GDRIVER_NAME_(__VA_ARGS__, gdriver_init, gdriver_init, gdriver_init, gdriver_init, gdriver_init, gdriver_init,     \
                  gdriver_init, gdriver_init, gdriver_init, gdriver_init, gdriver_init_handlers, gdriver_init,         \
                  gdriver_init, gdriver_init, gdriver_init_plain, gdriver_init, )(__VA_ARGS__)
#define gdriver_add_ectx(...)                                                                                          \
    GDRIVER_NAME_(__VA_ARGS__, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx,                 \
                  gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx,            \
                  GDRIVER_ADD_PLAIN_, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx, gdriver_add_ectx,          \
                  gdriver_add_ectx, gdriver_add_ectx, )(__VA_ARGS__)

#endif
