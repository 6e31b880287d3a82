/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant that knows all addresses of its neighbour (the macros that test_tenants.py defines), and attacks them.
 * Each handler is one attack, made by every packet.
 */
#include <handler.h>

#define ATTACK(name) __handler__ void name##_ph(handler_args_t *args)
#define WORD(address) (*(volatile uint32_t *)(address))
#define L1(cluster) (0x10000000u + (cluster) * 0x400000u)
#define OWN_L1 0x1B000000u

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

/* Stores: one each, because the first refused store ends the handler. The packet selects the attack. */
static uint32_t choice(const handler_args_t *args) { return ((const uint8_t *)args->task->pkt_mem)[42]; }

ATTACK(wild_store)
{
    const uint32_t targets[] = {
        VICTIM_MEMORY, VICTIM_MEMORY + 64, VICTIM_DATA, VICTIM_CODE,
        L1(0) + VICTIM_SCRATCHPAD, L1(1) + VICTIM_SCRATCHPAD, L1(2) + VICTIM_SCRATCHPAD, L1(3) + VICTIM_SCRATCHPAD,
        OWN_L1 + VICTIM_SCRATCHPAD, OWN_L1 + 0x100000 + VICTIM_SCRATCHPAD, /* own cluster, by both of its addresses */
        OWN_L1 + 0x4400, OWN_L1 + 0x4400 + 0x4000,                        /* packets of others in L1 */
        OWN_L1 + ((args->hpu_id + 1) % 8) * 0x400 + 0x380,                /* a neighbour's stack */
        OWN_L1 + ((args->hpu_id + 1) % 8) * 0x400 + 0x3F0,
        0x1C400000, 0x1C400040,                                           /* packets of others in L2 */
        0x1D000080, 0x1B200000, 0x1B201400, 0x1A103080, 0,                /* code, cluster, cache, system */
    };
    WORD(targets[choice(args) % (sizeof targets / sizeof *targets)]) = 0xDEADBEEF;
}

ATTACK(wild_amo)
{
    const uint32_t targets[] = {VICTIM_MEMORY, VICTIM_MEMORY + 64, VICTIM_DATA, L1(0) + VICTIM_SCRATCHPAD,
                                L1(1) + VICTIM_SCRATCHPAD, L1(2) + VICTIM_SCRATCHPAD, L1(3) + VICTIM_SCRATCHPAD};
    amo_add((volatile int32_t *)targets[choice(args) % (sizeof targets / sizeof *targets)], 1000);
}

/* Loads that would reveal the secret. */
ATTACK(steal_by_load)
{
    uint32_t *packet = args->task->pkt_mem;
    packet[16] = WORD(VICTIM_MEMORY + 4 * (choice(args) % 16));
    spin_cmd_t sent;
    spin_send_packet(packet, args->task->pkt_mem_size, &sent);
}

/* Cluster DMA to and from the neighbour's memory. */
ATTACK(wild_dma)
{
    const uint32_t targets[] = {VICTIM_MEMORY, VICTIM_DATA, L1(0) + VICTIM_SCRATCHPAD, L1(1) + VICTIM_SCRATCHPAD,
                                0x1C400000, L1(args->cluster_id) + 0x4400, L1(args->cluster_id) + 0x380};
    uint32_t which = choice(args), target = targets[which / 2 % (sizeof targets / sizeof *targets)];
    spin_dma_t copy;
    if (which % 2) {
        spin_dma(args->task->pkt_mem, (void *)target, 64, 0, 0, &copy);
    } else {
        spin_dma((void *)target, args->task->pkt_mem, 64, 0, 0, &copy);
    }
    spin_dma_wait(copy);
    spin_cmd_t sent;
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &sent);
}

/* Commands for the neighbour's memory, in the card and in the host. */
ATTACK(wild_command)
{
    task_t *task = args->task;
    spin_cmd_t done;
    switch (choice(args) % 8) {
    case 0: spin_send_packet((void *)VICTIM_MEMORY, 64, &done); break;
    case 1: spin_send_packet((void *)(L1(0) + VICTIM_SCRATCHPAD), 64, &done); break;
    case 2: spin_dma_to_host(VICTIM_HOST, (uint32_t)task->pkt_mem, 64, 0, &done); break;
    case 3: spin_dma_to_host(host_of(task), VICTIM_MEMORY, 64, 0, &done); break;
    case 4: spin_dma_from_host(host_of(task), VICTIM_MEMORY, 64, 0, &done); break;
    case 5: spin_dma_from_host(VICTIM_HOST, (uint32_t)task->pkt_mem, 64, 0, &done); break;
    case 6: spin_write_to_host(VICTIM_HOST, 0xDEADBEEFDEADBEEF, &done); break;
    case 7: spin_dma_to_host(host_of(task) + task->host_mem_size - 32, (uint32_t)task->pkt_mem, 64, 0, &done); break;
    }
}

ATTACK(endless_loop) { for (;;) __asm__ volatile(""); }

ATTACK(endless_atomics)
{
    for (;;) {
        amo_add((volatile int32_t *)args->task->scratchpad[args->cluster_id], 1);
    }
}

ATTACK(sleep_for_ever) { __asm__ volatile("wfi"); }

/* The maximum number of commands, each of maximum size. */
ATTACK(flood_of_packets)
{
    spin_cmd_t sent;
    for (int i = 0; i < 32; i++) {
        spin_send_packet((void *)args->task->handler_mem, 1024, &sent);
    }
}

ATTACK(flood_of_host_writes)
{
    spin_cmd_t written;
    for (int i = 0; i < 32; i++) {
        spin_dma_to_host(host_of(args->task), (uint32_t)args->task->handler_mem, 4096, 0, &written);
    }
}

ATTACK(flood_of_copies)
{
    spin_dma_t copy;
    for (int i = 0; i < 32; i++) {
        spin_dma((void *)args->task->handler_mem,
                 (void *)(L1(args->cluster_id) + 0x14400 + ATTACKER_SCRATCHPAD), 4096, 0, 0, &copy);
    }
}

static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above);
#pragma clang diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above)
{
    volatile uint32_t here[16] = {*above};
    return deeper(here) + here[0];
}
ATTACK(stack_overflow) { volatile uint32_t bottom = 1; deeper(&bottom); }

/* Stack pointer into the neighbour's memory, then a push. */
ATTACK(foreign_stack)
{
    __asm__ volatile("mv sp, %0\n\tsw ra, -4(sp)" ::"r"(VICTIM_MEMORY + 128));
}

/* The neighbour's code, with our own memory as its context. */
ATTACK(run_their_code) { ((void (*)(handler_args_t *))VICTIM_CODE)(args); }

/* Ends the task, then continues under the name of the next one. */
ATTACK(early_doorbell)
{
    (void)WORD(0x1B205050);
    for (int i = 0; i < 100; i++) {
        WORD(0x1B205000 + 0x90) = VICTIM_MEMORY;
        (void)WORD(0x1B205000 + 0x80);
        WORD(VICTIM_MEMORY) = 0xDEADBEEF;
    }
}

ATTACK(machine_mode) { __asm__ volatile("csrw pmpaddr0, %0\n\tmret" ::"r"(-1)); }
