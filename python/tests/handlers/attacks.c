/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile tenant and its victim, who share HPUs; see test_attacks.py. The attacker's packet selects its action: its
 * payload is the number of an action and three words. The victim relies on its own memory and reports to its host.
 */
#include <handler.h>
#include <spin_net.h>
#include <spin_xpulp.h>
#include <spin_xpulp_loops.h>

#define WORD(address) (*(volatile uint32_t *)(address))
#define HALF(address) (*(volatile uint16_t *)(address))
#define SECRET 0x5EC12E75u
#define PAYLOAD 42
#define STACK 0x10000000u /* stack of core 0; its first bytes hold the runtime's data */

/* The actions; the test reads their names here. */
enum deed {
    NOTHING, LOAD, STORE, LOAD_HALF, STORE_HALF, ADD, RESERVE, STORE_CONDITIONALLY, STORE_AND_STEP, LOAD_IN_LOOP,
    DMA_FROM, DMA_TO, SEND, COPY_TO_HOST, COPY_TO_HOST_AT, COPY_FROM_HOST, WRITE_TO_HOST_AT, COMMAND, JUMP,
    ENTER_THE_LOOP, RETURN_WITH_SP, RETURN_WITH_S0, SPOIL_GP, SPOIL_ARGS, USER_RETURN, ENTER_THE_TRAP_HANDLER,
    LOOP_OVER_THE_VICTIM, LOOP_OVER_THE_TRAP_HANDLER, COPY_OVER_THE_STACK_LATE, COPY_THE_STACK_LATE, TELL_REGISTERS,
    TELL_STACK, TELL_COMMAND, TELL_DMA, TELL_TAIL_IN_L1, TELL_TAIL_IN_L2, RING_TWICE, RING_FOR_EVER, REPORT_ERRORS,
    ASK_AGAIN, WRITE_ALL_WORDS, WAIT_FOR_OTHERS, REPORT_FOR_EVER, DMA_FLOOD, SEND_FLOOD, COPY_FLOOD, WRITE_FLOOD,
    FENCE_FLOOD, ADD_FLOOD, PRINT_FLOOD, SLEEP,
};

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

/* Returns its argument. */
uint32_t victims_own(uint32_t value);

/* Copies words to the stack and sums them with a hardware loop, slowly enough that a late copy would change the sum. */
static __attribute__((noinline)) uint32_t sum_of(const task_t *task)
{
    volatile uint32_t copy[64];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 64; i++) {
        copy[i] = ((const uint32_t *)task->pkt_mem)[i % (task->pkt_mem_size / 4)];
    }
    for (uint32_t again = 0; again < 8; again++) {
        sum += spin_xpulp_sum_words((const uint32_t *)copy, 64);
    }
    return victims_own(sum);
}

static uint32_t calls; /* shared .bss, as both are one program; neither relies on it */

__handler__ void victim_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *mine = task->handler_mem, *scratch = task->scratchpad[args->cluster_id];
    spin_cmd_t sent;
    uint32_t n = mine[0], record[6] = {0x10C0FFEE, n, sum_of(task), mine[1], *scratch, args->hpu_gid};
    mine[0] = n + 1;
    mine[1] += record[2];
    *scratch += record[2];
    __asm__ volatile("mv t3, %0\n\tmv t4, %0\n\tsw %0, -4(sp)\n\tsw %0, -200(sp)" ::"r"(SECRET) : "t3", "t4", "memory");
    for (uint32_t i = 0; i < 3; i++) {
        spin_write_to_host(host_of(task) + 24 * n + 8 * i, (uint64_t)record[2 * i + 1] << 32 | record[2 * i], &sent);
        spin_cmd_wait(sent);
    }
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
    /* Leaves values in the registers for the next command and copy. */
    for (uint32_t i = 2; i < 7; i++) {
        MMIO_WRITE(CMD_WORD0 + 4 * i, SECRET);
    }
    MMIO_WRITE(0x1B204400, SECRET);
}

/* Hardware loops whose registers the attacker leaves set: they end at a later label. */
#define LP_STARTI(id, halves) ".insn i 0x7b, 0, " id ", x0, " halves "\n"
#define LP_ENDI(id, halves) ".insn i 0x7b, 1, " id ", x0, " halves "\n"
#define LP_COUNT(id, reg) ".insn i 0x7b, 2, " id ", " reg ", 0\n"

void trap(void);
void taken_over(void);
void end_at_trap(uint32_t offset);
void loop_over_victim(void);
/*
 * end_at_trap: the loop begins at taken_over and ends with the first instruction of the runtime's trap handler, which
 * lies ahead. Both are at multiples of 256 bytes, so it jumps to the lp.endi that has this distance.
 * taken_over: runs if the loop also acts in machine mode.
 */
__asm__(".text\n.balign 256\n.option push\n.option norvc\n"
        "end_at_trap: j 1f\n"
        ".irp k, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n" LP_ENDI(
            "x0", "(256 * \\k - (8 * \\k - 4)) / 2") "j 2f\n"
        ".endr\n"
        "1: srli t0, a0, 5\nla t1, end_at_trap\nadd t0, t0, t1\naddi t0, t0, -4\njr t0\n"
        "2: li t0, 2\n" LP_STARTI("x0", "8") LP_COUNT("x0", "t0") "ecall\nnop\n"
        "nop\nnop\n"
        "taken_over: li t1, 0x1C200000\nsw t1, 4(t1)\nli t0, 0x1B205000\nj trap + 4\n"
        "loop_over_victim: li t0, -1\n" LP_STARTI("x1", "12") LP_ENDI("x1", "6") LP_COUNT("x1", "t0") "ret\n"
        "victims_own: nop\nret\n"
        "li a0, 0\nret\n"
        ".option pop\n");

static void dma(uint32_t from, uint32_t to, uint32_t size)
{
    spin_dma_t copy;
    spin_dma((void *)from, (void *)to, size, 0, 0, &copy);
}

static void dump(const task_t *task, const volatile uint32_t *words, uint32_t n)
{
    spin_cmd_t c;
    volatile uint32_t *mine = task->handler_mem;
    for (uint32_t i = 0; i < n; i++) {
        mine[i] = words[i];
    }
    spin_dma_to_host(host_of(task), (uint32_t)mine, 4 * n, false, &c);
}

__handler__ void attack_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t mine = (uint32_t)task->handler_mem, packet = (uint32_t)task->pkt_mem, deed, a, b, c, old;
    volatile uint32_t registers[2];
    __asm__ volatile("sw t3, 0(%0)\n\tsw t4, 4(%0)" ::"r"(registers) : "memory");
    void *back = __builtin_return_address(0);
    spin_cmd_t command;
    __builtin_memcpy(&deed, (void *)(packet + PAYLOAD), 4);
    __builtin_memcpy(&a, (void *)(packet + PAYLOAD + 4), 4);
    __builtin_memcpy(&b, (void *)(packet + PAYLOAD + 8), 4);
    __builtin_memcpy(&c, (void *)(packet + PAYLOAD + 12), 4);
    calls++;
    switch (deed) {
    case NOTHING: break; /* does nothing: the reference for all other actions */
    /* One access, to the address a. */
    case LOAD: (void)WORD(a); break;
    case STORE: WORD(a) = b; break;
    case LOAD_HALF: (void)HALF(a); break;
    case STORE_HALF: HALF(a) = (uint16_t)b; break;
    case ADD: amo_add((volatile int32_t *)a, (int32_t)b); break;
    case RESERVE: __asm__ volatile("lr.w %0, (%1)" : "=r"(old) : "r"(a) : "memory"); break;
    case STORE_CONDITIONALLY:
        __asm__ volatile("lr.w %0, (%1)\n\tsc.w %0, %1, (%2)" : "=&r"(old) : "r"(mine), "r"(a) : "memory");
        break;
    case STORE_AND_STEP: __asm__ volatile(SPIN_SW_POST("%1", "4", "%0") : "+r"(a) : "r"(b) : "memory"); break;
    case LOAD_IN_LOOP:
        __asm__ volatile(SPIN_LOOP("%2", 2, SPIN_LW_POST("%1", "4", "%0") "nop\n")
                         : "+r"(a), "=&r"(old) : "r"(b) : "memory");
        break;
    /* Transfers and commands. */
    case DMA_FROM: dma(a, mine, b); break;
    case DMA_TO: dma(mine, a, b); break;
    case SEND: spin_send_packet((void *)a, b, &command); break;
    case COPY_TO_HOST: spin_dma_to_host(host_of(task), a, b, false, &command); break;
    case COPY_TO_HOST_AT: spin_dma_to_host((uint64_t)a << 32 | b, mine, c, false, &command); break;
    case COPY_FROM_HOST: spin_dma_from_host(host_of(task), a, b, false, &command); break;
    case WRITE_TO_HOST_AT: spin_write_to_host((uint64_t)a << 32 | b, SECRET, &command); break;
    case COMMAND: /* any command with the own host address: a is the info word, b and c are words 2 and 3 */
        (void)spin_cmd_issue_host(host_of(task), b, c, 0, a);
        break;
    /* Jumps to the address a, with wrong values in registers that the runtime relies on. */
    case JUMP: ((void (*)(void))a)(); break;
    case ENTER_THE_LOOP: __asm__ volatile("mv sp, %0\n\tla t0, run_loop\n\tjr t0" ::"r"(a)); break;
    case RETURN_WITH_SP: /* return with another stack pointer */
        __asm__ volatile("mv ra, %1\n\tmv sp, %0\n\tli s0, 0x1B205000\n\tret" ::"r"(a), "r"(back));
        break;
    case RETURN_WITH_S0: /* return with a driver address that is one byte too high: within the registers, but misaligned */
        __asm__ volatile("mv ra, %0\n\tli s0, 0x1B205001\n\tret" ::"r"(back));
        break;
    case SPOIL_GP: __asm__ volatile("li gp, 0\n\tli tp, 0"); break;
    case SPOIL_ARGS: args->task = (task_t *)args; args->cluster_id = 7; args->hpu_gid = 0xBAD; break;
    case USER_RETURN: __asm__ volatile("csrw 0x005, %0\n\tcsrw 0x041, %0\n\t.4byte 0x00200073" ::"r"(a)); break;
    case ENTER_THE_TRAP_HANDLER: for (;;) __asm__ volatile("la t0, trap\n\tjr t0" ::: "t0"); break;
    /* State for the next task, or for the runtime. */
    case LOOP_OVER_THE_VICTIM: loop_over_victim(); break; /* hardware loop from the victim's call to elsewhere */
    case LOOP_OVER_THE_TRAP_HANDLER: end_at_trap((uint32_t)trap - (uint32_t)end_at_trap); break;
    case COPY_OVER_THE_STACK_LATE: /* late copies to and from the stack, when the next task runs */
        dma(mine + 4096, mine + 65536, 16384);
        dma(mine + 4096, STACK + 64, 1024 - 64);
        break;
    case COPY_THE_STACK_LATE:
        spin_dma_to_host(host_of(task) + 65536, mine + 65536, 8192, false, &command);
        spin_dma_to_host(host_of(task), STACK + 64, 1024 - 64, false, &command);
        break;
    case TELL_REGISTERS: dump(task, registers, 2); break;
    case TELL_STACK: dump(task, (uint32_t *)(STACK + 64), 240); break;
    case TELL_COMMAND: /* 24 bytes to the own host, without setting the data */
        MMIO_WRITE(CMD_WORD0, task->host_mem_low);
        MMIO_WRITE(CMD_WORD0 + 4, task->host_mem_high);
        MMIO_WRITE(CMD_WORD0 + 8, 24 << 1 | 1);
        MMIO_WRITE(CMD_INFO, HWSCHED_INFO_HOST_DIRECT);
        (void)MMIO_READ(CMD_ISSUE);
        break;
    case TELL_DMA: old = WORD(0x1B204400); dump(task, &old, 1); break;
    case TELL_TAIL_IN_L1: dump(task, (uint32_t *)(packet + (task->pkt_mem_size & ~3u)), 1); break;
    case TELL_TAIL_IN_L2: dump(task, (uint32_t *)((uint32_t)task->l2_pkt_mem + (task->pkt_mem_size & ~3u)), 1); break;
    /* The driver. */
    case RING_TWICE: (void)MMIO_READ(HWSCHED_DOORBELL); (void)MMIO_READ(HWSCHED_DOORBELL); break;
    case RING_FOR_EVER: for (;;) MMIO_WRITE(HWSCHED_DOORBELL, 1); break;
    case REPORT_ERRORS: for (uint32_t i = 0; i < 8; i++) MMIO_WRITE(HWSCHED_ERROR, 2); break;
    case ASK_AGAIN: for (uint32_t i = 0; i < 8; i++) (void)MMIO_READ(HWSCHED_HANDLER_FUN_ADDR); break;
    case WRITE_ALL_WORDS: for (uint32_t i = 0; i < 256; i++) MMIO_WRITE(CMD_WORD0 + 4 * (i % 28), ~0u); break;
    case WAIT_FOR_OTHERS: for (uint32_t i = 0; i < 256; i++) { MMIO_WRITE(CMD_TEST, i * 0x1234567); spin_cmd_wait(i); } break;
    case REPORT_FOR_EVER: for (;;) MMIO_WRITE(HWSCHED_ERROR, 2); break;
    /* Resources. */
    case DMA_FLOOD: for (;;) dma(mine, mine + 65536, 65536); break;
    case SEND_FLOOD: for (;;) spin_send_packet((void *)mine, 2048, &command); break;
    case COPY_FLOOD: for (;;) spin_dma_to_host(host_of(task), mine, 65536, false, &command); break;
    case WRITE_FLOOD: for (;;) spin_write_to_host(host_of(task), 1, &command); break;
    case FENCE_FLOOD: for (;;) __asm__ volatile("fence.i"); break;
    case ADD_FLOOD: for (;;) amo_add((volatile int32_t *)mine, 1); break;
    case PRINT_FLOOD: for (;;) MMIO_WRITE(0x1A104000, 'x'); break;
    case SLEEP:
    default: __asm__ volatile("wfi");
    }
}
