/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PsPIN's generic driver: generated or traced packets for up to two execution contexts.
 *
 * Source compatible with examples/generic_driver of PsPIN a49fec8, and part of libpspin. The driver parses the program's
 * command line; --help lists the options. Programs for older versions of this interface also compile: see the end.
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
 * Fill a packet. Arguments: message number, packet number, buffer, size of the buffer, unused. Returns the number of bytes
 * to copy to L1. The value written through the last pointer is ignored.
 */
typedef uint32_t (*fill_packet_fun_t)(uint32_t, uint32_t, uint8_t *, uint32_t, uint32_t *);
/* Returns true if a traced packet with this source (first argument) belongs to the context with this matching context. */
typedef int (*match_packet_fun_t)(char *, char *);

/* Read the command line and create the simulation. `*ectx_num` becomes the maximum number of contexts, or -1. */
int gdriver_init(int argc, char **argv, match_packet_fun_t matching_cb, int *ectx_num);
/* Add a context. Handlers are functions in the ELF file `hfile`, or NULL. `l2_img` is copied to its handler memory. */
int gdriver_add_ectx(const char *hfile, const char *hh, const char *ph, const char *th, fill_packet_fun_t fill_cb,
                     void *l2_img, size_t l2_img_size, void *matching_ctx, size_t matching_ctx_size);
int gdriver_run(void);
/* Print statistics. Returns GDRIVER_OK if all packets are done. */
int gdriver_fini(void);

/*
 * The interface of PsPIN's generic driver until October 2022: gdriver_init names the handlers of the only context, which
 * owns all handler memory, host memory and scratchpads. The number of arguments selects the version:
 *
 *     gdriver_init(argc, argv, hfile, hh, ph, th)                     is gdriver_init_handlers
 *     gdriver_init(argc, argv)                                        is gdriver_init_plain: up to two contexts
 *     gdriver_add_ectx(hfile, hh, ph, th, fill_cb, l2_img, size)      has no matching context
 *
 * With these versions, the fill callback returns the packet's size and writes the number of bytes to copy to L1 through its
 * last pointer. With gdriver_init_handlers, messages and packets are numbered 0, 1, 2, ... gdriver_fini returns 1 if all
 * packets are done, else 0.
 */
int gdriver_init_handlers(int argc, char **argv, const char *hfile, const char *hh, const char *ph, const char *th);
int gdriver_init_plain(int argc, char **argv);
int gdriver_set_packet_fill_callback(fill_packet_fun_t fill_cb);
/* Set an image that gdriver_run writes to handler memory before it creates packets. It must live until then. */
int gdriver_set_l2_img(void *img, size_t size);

#ifdef __cplusplus
}
#endif

/* Selects the name after sixteen arguments. Commas within braces add arguments; such a call uses the current version. */
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
