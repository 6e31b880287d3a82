/* SPDX-License-Identifier: Apache-2.0 */
/* A driver written for PsPIN: the generic driver sends packets to the handler `ping_pong` in build/handlers. */
#include <gdriver.h>
#include <stddef.h>
#include <string.h>

static int match(char *source, char *context)
{
    return strcmp(source, context) == 0;
}

int main(int argc, char **argv)
{
    int contexts = 0;
    int ended = gdriver_init(argc, argv, match, &contexts);
    if (ended != GDRIVER_OK)
        return ended;
    if (gdriver_add_ectx("build/handlers", NULL, "ping_pong_ph", NULL, NULL, NULL, 0, "10.0.0.1", 9) != GDRIVER_OK)
        return 1;
    if (gdriver_run() != GDRIVER_OK)
        return 1;
    return gdriver_fini();
}
