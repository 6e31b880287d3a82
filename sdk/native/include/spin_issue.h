/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, natively: functions of the runner (native.c), which execute them immediately; the card executes them later. */
#ifndef SPIN_ISSUE_H
#define SPIN_ISSUE_H

spin_cmd_t spin_cmd_issue_nic(uint32_t dest, uint32_t fid, const void *data, uint32_t length);
spin_cmd_t spin_cmd_issue_host(uint64_t host, uintptr_t word2, uint32_t word3, uint32_t word4, uint32_t info);

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

#endif
