/* SPDX-License-Identifier: Apache-2.0 */
/* Passing a command to the HPU driver, and waiting for its end. Included by spin_cmd.h. */
#ifndef SPIN_ISSUE_H
#define SPIN_ISSUE_H

/* Wait until the command has finished. 1 store, granted when it has. */
static inline int spin_cmd_wait(spin_cmd_t handle)
{
    MMIO_WRITE(CMD_WAIT, handle);
    SPIN_COMPILER_BARRIER();
    return SPIN_OK;
}

/* Ask whether the command has finished. 1 store, 1 load. */
static inline int spin_cmd_test(spin_cmd_t handle, bool *completed)
{
    MMIO_WRITE(CMD_TEST, handle);
    *completed = MMIO_READ(CMD_TEST) != 0;
    SPIN_COMPILER_BARRIER();
    return SPIN_OK;
}

/*
 * Hand a command over: 6 stores, then 1 load that waits for one of four handles. Nothing comes between them, and what
 * the program stored before is in memory before the NIC reads it.
 */
static inline spin_cmd_t spin_cmd_issue_nic(uint32_t dest, uint32_t fid, const void *data, uint32_t length)
{
    spin_cmd_t handle;
    __asm__ volatile("sw %z[dest], 0x90(%[driver])\n\t"
                     "sw %z[fid], 0x94(%[driver])\n\t"
                     "sw %z[data], 0x98(%[driver])\n\t"
                     "sw x0, 0x9C(%[driver])\n\t"
                     "sw %z[length], 0xA0(%[driver])\n\t"
                     "sw %z[info], 0x8C(%[driver])\n\t"
                     "lw %[handle], 0x80(%[driver])"
                     : [handle] "=r"(handle)
                     : [driver] "r"(HWSCHED_BASE_ADDR), [dest] "rJ"(dest), [fid] "rJ"(fid), [data] "rJ"(data),
                       [length] "rJ"(length), [info] "rJ"(HWSCHED_INFO_NIC)
                     : "memory");
    return handle;
}

/* Likewise for a host command, whose two address words are in the other order. */
static inline spin_cmd_t spin_cmd_issue_host(uint64_t host, uintptr_t word2, uint32_t word3, uint32_t word4,
                                             uint32_t info)
{
    spin_cmd_t handle;
    __asm__ volatile("sw %z[high], 0x94(%[driver])\n\t"
                     "sw %z[low], 0x90(%[driver])\n\t"
                     "sw %z[word2], 0x98(%[driver])\n\t"
                     "sw %z[word3], 0x9C(%[driver])\n\t"
                     "sw %z[word4], 0xA0(%[driver])\n\t"
                     "sw %z[info], 0x8C(%[driver])\n\t"
                     "lw %[handle], 0x80(%[driver])"
                     : [handle] "=r"(handle)
                     : [driver] "r"(HWSCHED_BASE_ADDR), [low] "rJ"((uint32_t)host), [high] "rJ"((uint32_t)(host >> 32)),
                       [word2] "rJ"(word2), [word3] "rJ"(word3), [word4] "rJ"(word4), [info] "rJ"(info)
                     : "memory");
    return handle;
}

#endif
