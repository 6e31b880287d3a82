/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a foreign runtime, and handlers that report their core. */
#include <handler.h>
#include <pspin_rt.h>

#define USER_MODE (3 << 11) /* cleared in mstatus */

volatile __attribute__((section(".data_tiny_l1"))) uint32_t first_sp[NUM_CLUSTER_HPUS];
static volatile uint32_t boots; /* each core sets it to 0 before it counts itself */

void run(void)
{
    handler_args_t args;
    read_register(x10, args.cluster_id)
    read_register(x11, args.hpu_id)
    args.hpu_gid = args.cluster_id * NB_CORES + args.hpu_id;
    args.task = (task_t *)HWSCHED_HANDLER_MEM_ADDR;
    for (;;) {
        handler_fn handler = (handler_fn)MMIO_READ(HWSCHED_HANDLER_FUN_ADDR);
        handler(&args);
        MMIO_READ(HWSCHED_DOORBELL);
    }
}

extern void on_trap(void); /* start.S */

void prepare_cluster(void)
{
    MMIO_WRITE(0x1B201400, -1); /* instruction cache: banks on, flush, enable */
    MMIO_WRITE(0x1B201404, 1);
    MMIO_WRITE(0x10201400 + rt_cluster_id() * 0x400000, -1);
}

void enter(void)
{
    uint32_t core = rt_core_id(), cluster = rt_cluster_id(), sp;
    boots++;
    clear_csr(PULP_CSR_MSTATUS, USER_MODE)
    write_csr(PULP_CSR_MEPC, run)
    write_csr(PULP_CSR_MTVEC, on_trap)
    read_register(sp, sp)
    first_sp[core] = sp;
    __asm__ volatile("mv x10, %0\n\tmv x11, %1\n\tmret" ::"r"(cluster), "r"(core) : "x10", "x11");
}

/* A word for each run: the handler and the core. Then an invalid store, if the packet requests it. */
static void tell(handler_args_t *args, uint64_t who)
{
    task_t *task = args->task;
    volatile uint8_t *packet = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t written;
    uint64_t place = args->cluster_id << 16 | args->hpu_id << 8 | args->hpu_gid;
    spin_write_to_host(host + 8 * packet[42], who << 32 | place, &written);
    if (packet[43] != 0) *(volatile uint32_t *)0 = 1;
}

__handler__ void red_ph(handler_args_t *args) { tell(args, 1); }
__handler__ void blue_ph(handler_args_t *args) { tell(args, 2); }
