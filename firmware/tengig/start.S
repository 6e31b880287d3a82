/* First instructions of every processor: a stack of 1 KiB each, at the top of control memory. */
    .set noreorder
    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    lui $t0, 0xC000        /* REGISTERS + CPU_ID */
    lw $t1, 0($t0)
    lui $sp, 0x0004        /* CONTROL_BYTES */
    sll $t1, $t1, 10
    subu $sp, $sp, $t1
    jal start
    addiu $sp, $sp, -16    /* Space for the callee's four arguments (O32 ABI). */
    .size _start, . - _start
