/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers that misbehave on packets to UDP port 666. They send back all other packets unchanged, so that a test sees if
 * the card still works.
 */
#include <handler.h>
#include <spin_net.h>

#define HOSTILE(name) \
    static void name##_deed(handler_args_t *args); \
    __handler__ void name##_ph(handler_args_t *args) \
    { \
        spin_udp_t *udp = spin_udp(spin_pkt(args->task->pkt_mem, args->task->pkt_mem_size)); \
        spin_cmd_t sent; \
        if (udp != NULL && udp->dst_port == spin_htons(666)) { \
            name##_deed(args); \
        } else { \
            spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &sent); \
        } \
    } \
    static __attribute__((noinline)) void name##_deed(handler_args_t *args)

#define WORD(address) (*(volatile uint32_t *)(address))

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

/* Stores and loads */
HOSTILE(store_to_null) { WORD(0) = 1; }
HOSTILE(load_from_nowhere) { (void)WORD(0xFFFFFFF0u); }
HOSTILE(store_to_program) { WORD(0x1D000100) = 1; }
/* The handler memory of another context, where a test puts one; see test_hostile.py. */
HOSTILE(store_to_other_context) { WORD(0x1C200000) = 0xBAD; }
HOSTILE(misaligned_atomic) { amo_add((volatile int32_t *)((uint32_t)args->task->pkt_mem + 1), 1); }

/* Control */
HOSTILE(jump_to_null) { ((void (*)(void))0)(); }
HOSTILE(jump_outside) { ((void (*)(void))0x1D100000)(); }
HOSTILE(jump_into_packet) { ((void (*)(void))args->task->pkt_mem)(); }
HOSTILE(illegal_instruction) { __asm__ volatile(".4byte 0"); }
HOSTILE(machine_csr) { __asm__ volatile("csrw mtvec, zero"); }
HOSTILE(machine_return) { __asm__ volatile("mret"); }
HOSTILE(environment_call) { __asm__ volatile("ecall"); }
HOSTILE(breakpoint) { __asm__ volatile("ebreak"); }
HOSTILE(sleep_for_ever) { __asm__ volatile("wfi"); }
HOSTILE(endless_loop) { for (;;) __asm__ volatile(""); }
HOSTILE(take_a_lock_twice)
{
    spin_lock_t *lock = (spin_lock_t *)args->task->handler_mem;
    spin_lock_lock(lock);
    spin_lock_lock(lock);
}

static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above);
#pragma clang diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above)
{
    volatile uint32_t here[16] = {*above};
    return deeper(here) + here[0];
}
HOSTILE(stack_overflow) { volatile uint32_t bottom = 1; deeper(&bottom); }
HOSTILE(no_stack) { __asm__ volatile("li sp, 0\n\tsw ra, -4(sp)"); }

/* Cluster DMA */
HOSTILE(dma_from_nowhere)
{
    spin_dma_t copy;
    spin_dma((void *)0x30000000, args->task->pkt_mem, 64, 0, 0, &copy);
    spin_dma_wait(copy);
}
HOSTILE(dma_to_nowhere)
{
    spin_dma_t copy;
    spin_dma(args->task->pkt_mem, (void *)0x30000000, 64, 0, 0, &copy);
    spin_dma_wait(copy);
}
HOSTILE(dma_over_the_end_of_memory)
{
    spin_dma_t copy;
    spin_dma(args->task->pkt_mem, (void *)0x1C7FFFF0, 64, 0, 0, &copy);
    spin_dma_wait(copy);
}
HOSTILE(dma_of_4_gib)
{
    spin_dma_t copy;
    spin_dma(args->task->pkt_mem, args->task->handler_mem, 0xFFFFFFFF, 0, 0, &copy);
    spin_dma_wait(copy);
}

/* Commands */
HOSTILE(send_from_nowhere) { spin_cmd_t c; spin_send_packet((void *)0x30000000, 64, &c); spin_cmd_wait(c); }
HOSTILE(send_nothing) { spin_cmd_t c; spin_send_packet(args->task->pkt_mem, 0, &c); spin_cmd_wait(c); }
HOSTILE(send_4_gib) { spin_cmd_t c; spin_send_packet(args->task->pkt_mem, 0xFFFFFFFF, &c); spin_cmd_wait(c); }
HOSTILE(send_a_jumbo) { spin_cmd_t c; spin_send_packet(args->task->handler_mem, 65536, &c); spin_cmd_wait(c); }
HOSTILE(copy_to_host_from_nowhere)
{
    spin_cmd_t c;
    spin_dma_to_host(host_of(args->task), 0x30000000, 64, false, &c);
    spin_cmd_wait(c);
}
HOSTILE(copy_nothing_to_host)
{
    spin_cmd_t c;
    spin_dma_to_host(host_of(args->task), (uint32_t)args->task->pkt_mem, 0, false, &c);
    spin_cmd_wait(c);
}
HOSTILE(copy_4_gib_to_host)
{
    spin_cmd_t c;
    spin_dma_to_host(host_of(args->task), (uint32_t)args->task->pkt_mem, 0xFFFFFFFF, false, &c);
    spin_cmd_wait(c);
}
HOSTILE(copy_outside_host_memory)
{
    spin_cmd_t c;
    spin_dma_to_host(0xFFFFFFFFFFFFFFF0u, (uint32_t)args->task->pkt_mem, 64, false, &c);
    spin_cmd_wait(c);
}
HOSTILE(write_outside_host_memory) { spin_cmd_t c; spin_write_to_host(8, 0x123456789ABCDEF, &c); spin_cmd_wait(c); }
HOSTILE(wait_for_what_was_never_asked) { spin_cmd_wait(3); spin_cmd_wait(0xFFFFFFFF); }
HOSTILE(unknown_command)
{
    MMIO_WRITE(CMD_INFO, 0xFFFFFFFF);
    (void)MMIO_READ(CMD_ISSUE);
}
HOSTILE(flood_of_commands)
{
    spin_cmd_t c;
    for (uint32_t i = 0; i < 500; i++) {
        spin_write_to_host(host_of(args->task) + 8 * i, i + 1, &c);
    }
}
HOSTILE(ring_the_doorbell) { (void)MMIO_READ(HWSCHED_DOORBELL); }
