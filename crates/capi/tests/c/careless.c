/* A driver that ignores all results except the last, like PsPIN's examples. */
#include "gdriver.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    int contexts = 0;
    gdriver_init(argc, argv, NULL, &contexts);
    gdriver_add_ectx("build/handlers", NULL, "show_ph", NULL, NULL, NULL, 0, NULL, 0);
    gdriver_run();
    return gdriver_fini() ? EXIT_SUCCESS : EXIT_FAILURE;
}
