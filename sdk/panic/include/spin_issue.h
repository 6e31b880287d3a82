/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands, in a PANIC unit: a packet that a handler sends replaces the received one in its chain, and goes to that
   chain's exit. The same holds for a packet that it copies to host memory. A unit reaches neither host memory nor another
 * node: a handler that needs either does not link.
 */
#ifndef SPIN_ISSUE_H
#define SPIN_ISSUE_H

/* sdk/runtime/panic/handlers.c. A second answer to one packet is a trap. */
void spin_unit_answer(const void *data, uint32_t length);

/* These functions have no body, so a use does not link. Without optimisation, unused calls stay; then they are traps. */
#ifdef __OPTIMIZE__
void a_PANIC_unit_cannot_put_by_RDMA(void);
void a_PANIC_unit_cannot_write_single_words_to_host_memory(void);
void a_PANIC_unit_cannot_read_host_memory(void);
#else
#define a_PANIC_unit_cannot_put_by_RDMA __builtin_trap
#define a_PANIC_unit_cannot_write_single_words_to_host_memory __builtin_trap
#define a_PANIC_unit_cannot_read_host_memory __builtin_trap
#endif

static inline int spin_cmd_wait(spin_cmd_t handle)
{
    (void)handle;
    return SPIN_OK;
}

static inline int spin_cmd_test(spin_cmd_t handle, bool *completed)
{
    (void)handle;
    *completed = true;
    return SPIN_OK;
}

static inline spin_cmd_t spin_cmd_issue_nic(uint32_t dest, uint32_t fid, const void *data, uint32_t length)
{
    (void)dest;
    if (fid != 0) {
        a_PANIC_unit_cannot_put_by_RDMA();
    }
    spin_unit_answer(data, length);
    return 0;
}

static inline spin_cmd_t spin_cmd_issue_host(uint64_t host, uintptr_t word2, uint32_t word3, uint32_t word4,
                                             uint32_t info)
{
    (void)host;
    if ((info & HWSCHED_INFO_HOST_DIRECT) != 0) {
        a_PANIC_unit_cannot_write_single_words_to_host_memory();
    } else if (word4 == 0) {
        a_PANIC_unit_cannot_read_host_memory();
    } else {
        spin_unit_answer((const void *)word2, word3);
    }
    return 0;
}

#endif
