/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every name of PsPIN's handler headers (a49fec8), used as in programs for PsPIN: with its argument types, without a
   semicolon after macros that contain one, and with types by their tags. Available results are written
 * to the host, one word each.
 */
#include <handler.h>
#include <hal/pulp.h>
#include <hwsched.h>
#include <inttypes.h>
#include <libaxidma.h>
#include <packets.h>
#include <pspin.h>
#include <pspin_rt.h>
#include <spin_conf.h>
#include <spin_dma.h>
#include <util.h>

#define WORDS 32
#define REGISTER 0x014 /* a macro in place of a register's number */

static uint32_t found[WORDS];
static volatile __attribute__((section(".l2_handler_data"))) uint32_t table[] = {7, 8};

typedef void (*operation_t)(struct handler_args *args);

/* Nothing here refers to it; the host would put its address into NIC memory. */
void asked_for_by_the_host() __attribute__((used));
void asked_for_by_the_host() { printf("called by address\n"); }

static uint64_t host_of(task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

static int register_of(uint32_t addr) { return (int)(addr - HWSCHED_HANDLER_FUN_ADDR); }

static void registers_of_the_driver(task_t *task, int at)
{
    found[at++] = MMIO_READ(HWSCHED_PKT_ADDR) == (uint32_t)task->pkt_mem;
    found[at++] = MMIO_READ(HWSCHED_PKT_SIZE) == task->pkt_mem_size;
    found[at++] = MMIO_READ(HWSCHED_HANDLER_MEM_ADDR) == (uint32_t)task->handler_mem;
    found[at++] = MMIO_READ(HWSCHED_SCRATCHPAD_3_ADDR) == (uint32_t)task->scratchpad[3];
    found[at++] = MMIO_READ(HWSCHED_SCRATCHPAD_0_SIZE) == task->scratchpad_size[0];
    found[at++] = MMIO_READ(HWSCHED_HOST_MEM_ADDR_LOW) == task->host_mem_low;
    found[at++] = MMIO_READ(HWSCHED_HOST_L2_PKT_ADDR) == (uint32_t)task->l2_pkt_mem;
    found[at++] = register_of(CMD_WORD6) + register_of(HWSCHED_ERROR) + register_of(CMD_INFO);
}

static void locks(task_t *task, int at)
{
    spin_lock_t *lock = (spin_lock_t *)task->scratchpad[0];
    struct spin_rw_lock *shared = (struct spin_rw_lock *)(lock + 1);
    futex_t *futex = lock;
    spin_lock_init(lock);
    found[at] = spin_lock_try_lock(lock) << 1;
    found[at++] |= spin_lock_try_lock(lock);
    spin_lock_unlock(lock);
    found[at] = futex_lock(futex);
    futex_unlock(futex);
    found[at] += futex_lock_s(futex);
    found[at++] += futex_try_lock(futex);
    futex_init(futex);
    spin_lock_init(&shared->glock);
    shared->num_readers = 0;
    spin_rw_lock_r_lock(shared);
    spin_rw_lock_r_lock(shared);
    found[at++] = shared->num_readers << 1 | shared->glock;
    spin_rw_lock_r_unlock(shared);
    spin_rw_lock_r_unlock(shared);
    found[at++] = shared->num_readers << 1 | shared->glock;
    /* Readers that are counted from elsewhere than 0 never take the lock, so a writer does not wait for them. */
    shared->num_readers = 32;
    spin_rw_lock_r_lock(shared);
    spin_rw_lock_w_lock(shared);
    found[at++] = shared->num_readers << 1 | shared->glock;
    spin_rw_lock_w_unlock(shared);
}

static void atomics(task_t *task, int at)
{
    volatile int32_t *word = (volatile int32_t *)task->scratchpad[0];
    volatile uint32_t *unsigned_word = (volatile uint32_t *)word;
    volatile uint32_t *shared = (uint32_t *)task->handler_mem;
    amo_store(unsigned_word, 5);
    found[at] = amo_swap(unsigned_word, 6);
    found[at++] += 10 * amo_add(word, 4);
    found[at] = amo_or(unsigned_word, 5);
    found[at] += 100 * amo_xor(unsigned_word, 1);
    found[at++] += 10000 * amo_and(unsigned_word, 12);
    found[at] = amo_max(word, -3);
    found[at] += 100 * amo_maxu(unsigned_word, 20);
    found[at] += 10000 * amo_min(word, -3);
    found[at++] += amo_minu(unsigned_word, 2);
    shared[0] = 9;
    asm_mem_fence();
    found[at++] = compare_and_swap(shared, 8, 1);  /* fails, because the word is 9 */
    found[at++] = compare_and_swap(shared, 9, 10); /* done */
    found[at] = load_reserved((volatile const uint32_t *const)shared);
    found[at++] += store_conditional(shared, 3) == 0;
    rt_time_wait_cycles(40);
}

static void copies(task_t *task, uint32_t cluster, int at)
{
    spin_dma_t copied;
    uint32_t done = 0;
    axidma__dma_conf_t *engine = (axidma__dma_conf_t *)(PRIVATE_DMA_BASE);
    volatile uint32_t *near = (uint32_t *)((uint8_t *)task->scratchpad[cluster] + 64);
    uint32_t *far = (uint32_t *)task->handler_mem + 16;
    far[0] = 0x11;
    found[at++] = spin_dma(far, (void *)near, 0, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma((void *)far, (void *)near, 4, SPIN_DMA_EXT2LOC, 0, &copied);
    spin_dma_wait(copied);
    spin_dma_test(copied, &done);
    found[at++] = near[0] + done;
    far[0] = 0x22;
    axidma__set_seg_addr(engine, 0, 0);
    axidma__clear_seg_addr(engine);
    axidma__wait_for_tf_completion(engine, axidma__launch_oned_64(engine, far, 0, (void *)near, 0, 4));
    found[at++] = near[0] + (axidma__read_completed_id(engine) >= copied);
    far[0] = 0x33;
    spin__memcpy(far, (void *)near, 4);
    found[at++] = near[0] + spin__tf_completed(copied) + axidma__tf_completed(engine, copied);
    engine->src_addr_low = (uint32_t)far;
    engine->dst_addr_low = (uint32_t)(near + 1);
    engine->num_bytes = 4;
    asm_mem_fence();
    copied = engine->tf_id;
    while (engine->done_id < copied);
    found[at++] = near[1];
}

__handler__ void names_ph(handler_args_t *args)
{
    task_t *task = args->task;
    struct task *same = task;
    struct ip_hdr *ip = (struct ip_hdr *)(same->pkt_mem);
    struct pkt_hdr *header = (pkt_hdr_t *)ip;
    uint32_t id, length;
    uint8_t *payload;
    int at = 0;
    ip->ihl = 5;
    ip->length = 60;
    GET_IP_UDP_PLD(ip, payload, length)
    found[at++] = length * 100 + (payload - (uint8_t *)header);
    read_csr(REGISTER, id)
    found[at++] = id == (args->cluster_id << 5 | args->hpu_id);
    found[at++] = rt_core_id() == args->hpu_id && rt_cluster_id() == args->cluster_id;
    found[at++] = ALIGN_UP(payload + 1, MEM_ALIGNMENT) - (uint32_t)payload;
    found[at++] = MIN(3, 4) + MAX(3, 4) + DIV_CEIL(9, 2) + FAST_DIV(64, 3) + FAST_MOD(13, 8) + AND(6, 3) + sizeof(STRINGIFY(id));
    found[at++] = CORE_COUNT + NUM_CLUSTER_HPUS + PKT_SIZE + PULP_CSR_PRIVLV;
    registers_of_the_driver(task, at);
    locks(task, at + 8);
    atomics(task, at + 13);
    copies(task, args->cluster_id, at + 19);
    LABEL(here);
    TRACING_DUMMY_INSTR();
    ASSERT(at > 0)
    DEBUG_PRINT("never %d\n", 1)
    SPIN_PRINTF("%" PRIu32 " %" PRIx64 " %" PRIdPTR "\n", table[1], (uint64_t)host_of(task), (intptr_t)table);
    if (at == 0) TERMINATE
    spin_cmd_t copied;
    spin_dma_to_host(host_of(task), (uint32_t)found, sizeof found, false, &copied);
    spin_cmd_wait(copied);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = {NULL, names_ph, NULL};
    *hh = handlers[0];
    *ph = handlers[1];
    *th = handlers[2];
    *handler_mem_ptr = (void *)table;
}
