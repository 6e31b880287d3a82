/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the generic driver: two contexts from build/handlers, one of them with a fill callback. Logs host writes. */
#include "gdriver.h"
#include "log.h"

static uint32_t fill(uint32_t message, uint32_t packet, uint8_t *buffer, uint32_t size, uint32_t *l1_size)
{
    printf("fill message %" PRIu32 ", packet %" PRIu32 ", %" PRIu32 " bytes\n", message, packet, size);
    make_packet(buffer, size, (uint8_t)packet);
    *l1_size = 1; /* Unused. */
    return size;
}

static int match(char *source, char *context)
{
    return strcmp(source, context) == 0;
}

int main(int argc, char **argv)
{
    int contexts = 0;
    int ended = gdriver_init(argc, argv, match, &contexts);
    if (ended != GDRIVER_OK) {
        printf("%d contexts\n", contexts);
        return ended;
    }
    CHECK(pspinsim_cb_set_pcie_slv_write(log_write));
    CHECK(pspinsim_cb_set_pkt_out(log_out));
    char image[] = "what the host puts there, as much as a packet of this test has";
    CHECK(gdriver_add_ectx("build/handlers", "note_hh", "note_ph", "note_th", fill, NULL, 0, "10.0.0.1", 9));
    CHECK(gdriver_add_ectx("build/handlers", NULL, "show_ph", "no_such_th", NULL, image, sizeof(image), "10.0.0.2", 9));
    if (gdriver_run() != GDRIVER_OK)
        puts("gdriver_run failed");
    return gdriver_fini();
}
