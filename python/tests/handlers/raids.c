/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile tenant and its victim, both with all three handlers, on the same HPUs; see test_raids.py. The raider's
 * header, payload and completion handlers all perform the action in its packets.
 * The payload of a packet is the number of an action and three words.
 */
#include <handler.h>
#include <spin_net.h>
#include <spin_xpulp.h>
#include <spin_xpulp_loops.h>

#define WORD(address) (*(volatile uint32_t *)(address))
#define HALF(address) (*(volatile uint16_t *)(address))
#define BYTE(address) (*(volatile uint8_t *)(address))
#define SECRET 0x5EC12E75u
#define PAYLOAD 42
#define DRIVER 0x1B205000u
#define SET(offset, value) (WORD(DRIVER + (offset)) = (uint32_t)(value)) /* a register of the driver */
#define ERROR 0x54
#define ISSUE 0x80
#define INFO 0x8C
#define WORD0 0x90

/* The deeds; the test reads their names here. */
enum deed {
    NOTHING, READ_CSR, WRITE_CSR, EXECUTE, RUN_AT, RUN_OWN_WORDS, BRANCH_OFF, FALL_OFF, LOAD, STORE, LOAD_BYTE, STORE_BYTE, ADD,
    RESERVE, ELW, STRADDLE, COPY, COPY_AND_RUN, SEND, TO_HOST, FROM_HOST, TO_HOST_DIRECT, RETURN_WITH_S0, RETURN_TO,
    RETURN_WITH_SP, RETURN_WITH_LOOPS, NEVER_RING, RING_BY_AMO, RING_AND_LOOK, FORGE_ERROR, ARM_TRAPS, RESERVE_AND_LEAVE,
    TELL_CSRS, TELL_RING, TELL_SCRATCH, LEAVE_COMMANDS, LEAVE_COPIES, RUN_CYCLES, READ_FLOOD, SMALL_FLOOD, REMOTE_FLOOD,
    PRINT, OVERFLOW, TRAP_TWICE, KEEP_LAST,
};

static uint64_t host_of(const task_t *task) { return (uint64_t)task->host_mem_high << 32 | task->host_mem_low; }

static void dma(uint32_t from, uint32_t to, uint32_t size)
{
    spin_dma_t copy;
    spin_dma((void *)from, (void *)to, size, 0, 0, &copy);
    spin_dma_wait(copy);
}

/* The victim: copies packet by packet to handler memory and scratchpads, and from there to the host. Its handler memory:
/  for each of
 * 8 messages 16 words: the header's tag, packets, sum of their words; then its packets. Their payload: message, packet. */
static volatile int32_t *account(const task_t *task)
{
    return (volatile int32_t *)task->handler_mem + 16 * (((const uint8_t *)task->pkt_mem)[PAYLOAD] & 7);
}

static __attribute__((noinline)) uint32_t sum_of(const task_t *task)
{
    volatile uint32_t copy[40];
    for (uint32_t i = 0; i < 40; i++) {
        copy[i] = ((const uint32_t *)task->pkt_mem)[i];
    }
    return spin_xpulp_sum_words((const uint32_t *)copy, 40);
}

static void leave_secrets(void)
{
    for (uint32_t i = 2; i < 7; i++) {
        SET(WORD0 + 4 * i, SECRET);
    }
    WORD(0x1B204400) = SECRET;
    __asm__ volatile("csrwi 0x000, 17\n\tmv t3, %0\n\tmv t4, %0\n\tmv a7, %0\n\tcsrw 0x005, %0\n\tsw %0, -8(sp)\n\tsw %0, -120(sp)"
                     ::"r"(SECRET) : "t3", "t4", "a7", "memory");
}

__handler__ void prey_hh(handler_args_t *args)
{
    account(args->task)[0] = (int32_t)(0xFACE0000u | *((const uint8_t *)args->task->pkt_mem + PAYLOAD));
    leave_secrets();
}

__handler__ void prey_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile int32_t *mine = account(task);
    spin_cmd_t copied, sent;
    amo_add(mine + 1, 1);
    amo_add(mine + 2, (int32_t)sum_of(task));
    amo_add((volatile int32_t *)task->scratchpad[args->cluster_id], 1);
    uint32_t place = ((const uint8_t *)task->pkt_mem)[PAYLOAD + 1], copy = (uint32_t)task->handler_mem + 1024 + 256 * place;
    dma((uint32_t)task->pkt_mem, copy, task->pkt_mem_size);
    spin_dma_to_host(host_of(task) + 4096 + 256 * place, copy, task->pkt_mem_size, false, &copied);
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
    spin_cmd_wait(copied);
    spin_cmd_wait(sent);
    leave_secrets();
}

__handler__ void prey_th(handler_args_t *args)
{
    task_t *task = args->task;
    volatile int32_t *mine = account(task);
    spin_cmd_t command;
    int32_t counted = 0;
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        counted += *(volatile int32_t *)task->scratchpad[cluster];
    }
    uint32_t at = (uint32_t)mine - (uint32_t)task->handler_mem;
    spin_write_to_host(host_of(task) + at, (uint64_t)(uint32_t)mine[1] << 32 | (uint32_t)mine[0], &command);
    spin_cmd_wait(command);
    spin_write_to_host(host_of(task) + at + 8, (uint64_t)(counted >= mine[1]) << 32 | (uint32_t)mine[2], &command);
    spin_cmd_wait(command);
    leave_secrets();
}

/* Table of control registers by number, and of system instructions: entries of 8 bytes. */
void csr_reads(void);
void csr_writes(void);
void instructions(void);
void edge(void);
void own_words(void);
#define CSRS "0x000,0x004,0x005,0x040,0x041,0x042,0x043,0x044,0x014,0x180,0x300,0x301,0x304,0x305,0x306,0x320,0x323,0x340," \
             "0x341,0x342,0x343,0x344,0x3a0,0x3b0,0x3bf,0x780,0x79f,0x7a0,0x7a1,0x7b0,0x7b1,0x7b2,0x7c0,0x7c1,0x7c2,0x7c6,"   \
             "0xb00,0xb02,0xb80,0xc00,0xc01,0xc02,0xc10,0xc80,0xcc0,0xcc1,0xf11,0xf14,0xfff"
__asm__(".text\n.option push\n.option norvc\n.option norelax\n.balign 16\n"
        "csr_reads:\n.irp csr, " CSRS "\n.4byte 0x00002573 | (\\csr << 20)\nret\n.endr\n"  /* csrrs a0, csr, x0 */
        "csr_writes:\n.irp csr, " CSRS "\n.4byte 0x00051573 | (\\csr << 20)\nret\n.endr\n" /* csrrw a0, csr, a0 */
        "instructions:\n.irp word, 0x30200073, 0x10200073, 0x20200073, 0x7b200073, 0x10500073, 0x12000073, 0x00000073, "
        "0x00100073, 0x0000100f, 0x00000000, 0xffffffff, 0x9002, 0x0000000f, 0x0000007b, 0x0000305b, 0x04c0006f\n"
        ".4byte \\word\nret\n.endr\n"
        "own_words: .4byte 0x00008067, 0x00008067\n" /* ret */
        ".option pop\n");

static void tell(const task_t *task, const volatile uint32_t *words, uint32_t n)
{
    spin_cmd_t command;
    volatile uint32_t *mine = task->handler_mem;
    for (uint32_t i = 0; i < n; i++) {
        mine[i] = words[i];
    }
    spin_dma_to_host(host_of(task), (uint32_t)mine, 4 * n, false, &command);
    spin_cmd_wait(command);
}

static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above);
#pragma clang diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) uint32_t deeper(volatile uint32_t *above)
{
    volatile uint32_t here[24] = {*above};
    return deeper(here) + here[0];
}

void run_loop(void);
void trap(void);

static void raid(handler_args_t *args, uint32_t role)
{
    task_t *task = args->task;
    uint32_t mine = (uint32_t)task->handler_mem, packet = (uint32_t)task->pkt_mem, deed, a, b, c, old;
    volatile uint32_t found[4];
    __asm__ volatile("sw t3, 0(%0)\n\tsw t4, 4(%0)\n\tsw a7, 8(%0)" ::"r"(found) : "memory");
    void *back = __builtin_return_address(0);
    spin_cmd_t command;
    (void)role;
    __builtin_memcpy(&deed, (void *)(packet + PAYLOAD), 4);
    __builtin_memcpy(&a, (void *)(packet + PAYLOAD + 4), 4);
    __builtin_memcpy(&b, (void *)(packet + PAYLOAD + 8), 4);
    __builtin_memcpy(&c, (void *)(packet + PAYLOAD + 12), 4);
    /* Words for addresses that only this program knows: 1 packet in L1, 2 in L2, 3 stack, 4 scratchpad, 5 handler memory,
    /  6 runtime's
     * loop, 7 its trap handler, 8 own code. The lower half is an offset. */
    uint32_t own_stack = 0x10000000u + args->cluster_id * 0x400000u + args->hpu_id * 0x400u;
    uint32_t places[9] = {0, packet, (uint32_t)task->l2_pkt_mem, own_stack, (uint32_t)task->scratchpad[args->cluster_id], mine,
                          (uint32_t)run_loop, (uint32_t)trap, (uint32_t)own_words};
    if (a >> 16 >= 0xE001 && a >> 16 <= 0xE008) {
        a = places[a >> 16 & 0xF] + (uint32_t)(int16_t)a;
    }
    switch (deed) {
    case NOTHING: break;
    case READ_CSR: ((uint32_t(*)(uint32_t))((uint32_t)csr_reads + 8 * a))(0); break;
    case WRITE_CSR: ((uint32_t(*)(uint32_t))((uint32_t)csr_writes + 8 * a))(b); break;
    case EXECUTE: ((void (*)(void))((uint32_t)instructions + 8 * a))(); break;
    case RUN_AT: ((void (*)(void))a)(); break;
    case RUN_OWN_WORDS: /* write code to own memory and run it: handler memory, stack, packet or scratchpad */
        WORD(a) = 0x00008067;
        WORD(a + 4) = 0x00008067;
        __asm__ volatile("fence.i");
        ((void (*)(void))a)();
        break;
    case BRANCH_OFF: __asm__ volatile("jr %0" ::"r"(a | 1)); break;
    case FALL_OFF: __asm__ volatile("la t0, own_words\n\tsw zero, 0(t0)" ::: "t0", "memory"); break;
    /* One access. */
    case LOAD: (void)WORD(a); break;
    case STORE: WORD(a) = b; break;
    case LOAD_BYTE: (void)BYTE(a); break;
    case STORE_BYTE: BYTE(a) = (uint8_t)b; break;
    case ADD: amo_add((volatile int32_t *)a, (int32_t)b); break;
    case RESERVE: __asm__ volatile("lr.w %0, (%1)" : "=r"(old) : "r"(a) : "memory"); break;
    case ELW: __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(old) : "r"(a) : "memory"); break;
    case STRADDLE: /* word, half word and byte accesses up to the end of its own memory, then one byte beyond */
        (void)WORD(a - 4), (void)WORD(a - 5), (void)HALF(a - 2), (void)HALF(a - 3), (void)BYTE(a - 1);
        WORD(a - 3) = b;
        break;
    /* Transfers and commands. */
    case COPY: dma(a, b, c); break;
    case COPY_AND_RUN:
        dma(a, mine, 64);
        ((void (*)(void))mine)();
        break;
    case SEND: spin_send_packet((void *)a, b, &command); break;
    case TO_HOST: spin_dma_to_host(host_of(task) + b, a, c, false, &command); break;
    case FROM_HOST: spin_dma_from_host(host_of(task) + b, a, c, false, &command); break;
    case TO_HOST_DIRECT: /* a: offset from the own host memory, b: bytes */
        for (uint32_t i = 0; i < 7; i++) {
            SET(WORD0 + 4 * i, i);
        }
        SET(WORD0, task->host_mem_low + a);
        SET(WORD0 + 4, task->host_mem_high);
        SET(WORD0 + 8, b << 1 | 1);
        SET(INFO, 4);
        (void)WORD(DRIVER + ISSUE);
        break;
    /* Returns to the runtime, with wrong values in registers that it relies on. */
    case RETURN_WITH_S0: __asm__ volatile("mv ra, %1\n\tmv s0, %0\n\tret" ::"r"(a), "r"(back)); break;
    case RETURN_TO: __asm__ volatile("mv ra, %0\n\tli s0, 0x1B205000\n\tret" ::"r"(a)); break;
    case RETURN_WITH_SP: __asm__ volatile("mv ra, %1\n\tmv sp, %0\n\tli s0, 0x1B205000\n\tret" ::"r"(a), "r"(back)); break;
    case RETURN_WITH_LOOPS: /* set both loops over the following code, the inner one from the return on, then return */
        __asm__ volatile("li t0, -1\n\t.insn i 0x7b, 0, x0, x0, 12\n\t.insn i 0x7b, 1, x0, x0, 40\n\t.insn i 0x7b, 2, x0, t0, 0\n\t"
                         ".insn i 0x7b, 0, x1, x0, 2\n\t.insn i 0x7b, 1, x1, x0, 12\n\t.insn i 0x7b, 2, x1, t0, 0\n\t"
                         "mv ra, %0\n\tli s0, 0x1B205000\n\tret\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop" ::"r"(back) : "t0");
        break;
    case NEVER_RING: /* run the runtime's loop on own memory in place of the driver; it contains a handler's address */
        WORD(mine) = (uint32_t)back;
        WORD(mine + 0x50) = 0;
        __asm__ volatile("mv ra, %0\n\tmv s0, %1\n\tret" ::"r"(back), "r"(mine));
        break;
    /* The driver. */
    case RING_BY_AMO: amo_add((volatile int32_t *)(DRIVER + 0x50), 1); for (;;) WORD(0x1C200000) = 1;
    case RING_AND_LOOK: /* rings the doorbell in the first half of an access, so that the second half happens during the next task */
        old = WORD(DRIVER + 0x4E + a);
        for (uint32_t i = 0; i < 0x50; i += 4) {
            WORD(mine + i) = WORD(DRIVER + i) + old;
        }
        tell(task, (uint32_t *)mine, 20);
        break;
    case FORGE_ERROR:
        for (uint32_t i = 0; i < 12; i++) {
            SET(ERROR, a + i);
        }
        break;
    case ARM_TRAPS: /* try to enable traps and interrupts of user mode, which the card does not have */
        __asm__ volatile("csrw 0x005, %0\n\tcsrw 0x041, %0\n\tcsrw 0x042, %0\n\tcsrw 0x000, %1" ::"r"(mine), "r"(0x11));
        break;
    case RESERVE_AND_LEAVE: __asm__ volatile("lr.w %0, (%1)" : "=r"(old) : "r"(mine) : "memory"); break;
    /* State of earlier tasks. */
    case TELL_CSRS:
        __asm__ volatile("csrr %0, 0x005\n\tcsrr %1, 0x000" : "=r"(old), "=r"(b));
        found[3] = old | (b != 0 ? SECRET : 0);
        tell(task, found, 4);
        break;
    case TELL_RING: tell(task, (uint32_t *)packet, (task->pkt_mem_size + 3) / 4); break;
    case TELL_SCRATCH: tell(task, (uint32_t *)a, 64); break;
    /* Under way when the handler returns. */
    case LEAVE_COMMANDS:
        for (uint32_t i = 0; i < 2; i++) {
            spin_dma_from_host(host_of(task), mine + 256 * i, 256, false, &command);
        }
        break;
    case LEAVE_COPIES:
        for (uint32_t i = 0; i < 24; i++) {
            spin_dma_t copy;
            spin_dma((void *)(own_stack + 64), (void *)(mine + 1024 * i), 512, 0, 0, &copy);
            spin_dma((void *)(mine + 65536), (void *)(own_stack + 64), 512, 0, 0, &copy);
        }
        break;
    case RUN_CYCLES: /* runs this number of iterations of a hardware loop of two instructions: a boundary case of the watchdog */
        __asm__ volatile(SPIN_LOOP("%0", 2, "nop\nnop\n")::"r"(a));
        break;
    /* Floods. */
    case READ_FLOOD: for (;;) spin_dma_from_host(host_of(task), mine, 65536, false, &command);
    case SMALL_FLOOD: for (;;) spin_send_packet((void *)mine, 1, &command);
    case REMOTE_FLOOD: for (;;) amo_add((volatile int32_t *)task->scratchpad[!args->cluster_id], 1);
    case PRINT: /* characters of all kinds, by bytes, halves and words, without and with ends of lines */
        for (uint32_t i = 0; i < 256; i++) {
            BYTE(0x1A104000) = (uint8_t)(i + a);
            HALF(0x1A104800) = (uint16_t)(i + a);
            WORD(0x1A104FFC) = i * 0x01010101u;
        }
        break;
    case OVERFLOW: found[0] = 1; deeper(found); break;
    case TRAP_TWICE: /* jumps to the runtime's trap handler, as if in machine mode */
        __asm__ volatile("la t0, trap\n\taddi t0, t0, 4\n\tjr t0" ::: "t0");
        break;
    case KEEP_LAST: /* keeps its message's last packet by never ending its completion handler */
        if (role == 2) {
            for (;;) __asm__ volatile("wfi");
        }
        break;
    default: __asm__ volatile("ebreak");
    }
}

__handler__ void raid_hh(handler_args_t *args) { raid(args, 0); }
__handler__ void raid_ph(handler_args_t *args) { raid(args, 1); }
__handler__ void raid_th(handler_args_t *args) { raid(args, 2); }
