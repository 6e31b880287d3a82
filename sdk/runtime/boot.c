/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up of core 0 of each cluster, before the cluster runs handlers. Called from crt0.S, in machine mode. */
#include <event_unit.h>
#include <handler.h>

/* From the linker script. */
extern uint32_t __bss_start[], __bss_end[];

/* Optional in an application. */
extern __typeof__(init_handlers) init_handlers __attribute__((weak));

static void clear_bss(void)
{
    for (volatile uint32_t *word = __bss_start; word < __bss_end; word++) {
        *word = 0;
    }
}

static void enable_instruction_cache(uint32_t cluster)
{
    MMIO_WRITE(CLUSTER_ICACHE_ENABLE, -1);
    MMIO_WRITE(CLUSTER_ICACHE_FLUSH, 1);
    MMIO_WRITE(CLUSTER_ICACHE_GLOBAL + cluster * CLUSTER_STRIDE, -1);
}

/* Cores 1 to 7 sleep on the dispatch FIFO; they ignore the value. */
static void wake_the_other_cores(void)
{
    MMIO_WRITE(EU_DEMUX_BASE + EU_DISPATCH_TEAM, (1 << NB_CORES) - 2);
    MMIO_WRITE(EU_DEMUX_BASE + EU_DISPATCH_FIFO, 0);
}

void spin_boot_cluster(uint32_t cluster)
{
    enable_instruction_cache(cluster);
    if (cluster == 0) {
        clear_bss();
        if (init_handlers) {
            handler_fn header = NULL, payload = NULL, tail = NULL;
            void *handler_mem = NULL;
            init_handlers(&header, &payload, &tail, &handler_mem);
        }
    }
    wake_the_other_cores();
}
