/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers for older versions of the generic driver: one context whose packets show an image, or two contexts without
 * matching. Argument: `one` or `plain`, then the options.
 */
#include "gdriver.h"
#include "log.h"

/* Exit code of PsPIN's drivers. */
#define EXIT_CODE(fini) ((fini) ? EXIT_SUCCESS : EXIT_FAILURE)

static uint32_t fill(uint32_t message, uint32_t packet, uint8_t *buffer, uint32_t size, uint32_t *l1_size)
{
    printf("fill message %" PRIu32 ", packet %" PRIu32 ", %" PRIu32 " bytes, %" PRIu32 " of them to L1\n", message, packet,
           size, *l1_size);
    make_packet(buffer, size, (uint8_t)(message << 4 | packet));
    *l1_size = 32 + packet;
    return size - 16 * packet;
}

static uint32_t fill_too_much(uint32_t message, uint32_t packet, uint8_t *buffer, uint32_t size, uint32_t *l1_size)
{
    (void)message, (void)packet, (void)buffer, (void)l1_size;
    return size + 1;
}

static int one(int argc, char **argv)
{
    uint8_t image[64];
    if (gdriver_init(argc, argv, "build/handlers", NULL, "show_ph", NULL) != GDRIVER_OK)
        return EXIT_FAILURE;
    CHECK(gdriver_set_packet_fill_callback(strcmp(argv[0], "too much") == 0 ? fill_too_much : fill));
    CHECK(gdriver_set_l2_img(image, sizeof(image)));
    CHECK(pspinsim_cb_set_pkt_out(log_out));
    /* gdriver_run reads the image, so it may still change. */
    for (size_t i = 0; i < sizeof(image); i++)
        image[i] = (uint8_t)(0xA0 + i);
    printf("gdriver_run returns %d\n", gdriver_run());
    return EXIT_CODE(gdriver_fini());
}

static int plain(int argc, char **argv)
{
    char image[] = "an image";
    if (gdriver_init(argc, argv) != GDRIVER_OK)
        return EXIT_FAILURE;
    CHECK(pspinsim_cb_set_pcie_slv_write(log_write));
    CHECK(gdriver_add_ectx("build/handlers", "note_hh", NULL, NULL, fill, NULL, 0));
    CHECK(gdriver_add_ectx("build/handlers", NULL, "note_ph", NULL, NULL, image, sizeof(image)));
    CHECK(gdriver_run());
    return EXIT_CODE(gdriver_fini());
}

int main(int argc, char **argv)
{
    return strcmp(argv[1], "plain") == 0 ? plain(argc - 1, argv + 1) : one(argc - 1, argv + 1);
}
