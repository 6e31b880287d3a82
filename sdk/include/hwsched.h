/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HPU driver: the device beside each core that hands it tasks and takes its commands.
 *
 * Every core sees its own driver at the same address. All accesses take the fast path next to the core: granted in the
 * cycle they are made, data one cycle later, unless the text below says that they wait.
 * Source: PsPIN RTL a49fec8, hpu_driver.sv.
 */
#ifndef SPIN_HWSCHED_H
#define SPIN_HWSCHED_H

#include <spin_conf.h>
#include <stdint.h>

#define MMIO_READ(addr) (*(volatile uint32_t *)(uintptr_t)(addr))
#define MMIO_WRITE(addr, value) (*(volatile uint32_t *)(uintptr_t)(addr) = (uint32_t)(value))

/* The task window. Reads wait until this core has a task. */
#define HWSCHED_BASE_ADDR 0x1B205000u
#define HWSCHED_HANDLER_FUN_ADDR (HWSCHED_BASE_ADDR + 0x00)
#define HWSCHED_HANDLER_FUN_SIZE (HWSCHED_BASE_ADDR + 0x04)
#if NB_CLUSTERS > 4
#define HWSCHED_TASK_ADDR (HWSCHED_BASE_ADDR + 0x108) /* task_t with 16 scratchpads; not in PsPIN's RTL */
#else
#define HWSCHED_TASK_ADDR (HWSCHED_BASE_ADDR + 0x08) /* where task_t begins */
#endif
#define HWSCHED_HOME_CLUSTER_ID (HWSCHED_BASE_ADDR + 0x48)
#define HWSCHED_FLOW_ID (HWSCHED_BASE_ADDR + 0x4C)
#define HWSCHED_DOORBELL (HWSCHED_BASE_ADDR + 0x50) /* any access ends the task */
#define HWSCHED_ERROR (HWSCHED_BASE_ADDR + 0x54)    /* write: report a trap cause */

/* The command window. */
#define HWSCHED_CMD_ISSUE (HWSCHED_BASE_ADDR + 0x80) /* read: issue, returns the handle; waits for a free handle */
#define HWSCHED_CMD_WAIT (HWSCHED_BASE_ADDR + 0x84)  /* write a handle: waits until it has finished */
#define HWSCHED_CMD_TEST (HWSCHED_BASE_ADDR + 0x88)  /* write a handle, then read: 1 if it has finished */
#define HWSCHED_CMD_INFO (HWSCHED_BASE_ADDR + 0x8C)  /* write: one of the kinds below */
#define HWSCHED_CMD_WORD0 (HWSCHED_BASE_ADDR + 0x90)
#define HWSCHED_CMD_WORD1 (HWSCHED_BASE_ADDR + 0x94)
#define HWSCHED_CMD_WORD2 (HWSCHED_BASE_ADDR + 0x98)
#define HWSCHED_CMD_WORD3 (HWSCHED_BASE_ADDR + 0x9C)
#define HWSCHED_CMD_WORD4 (HWSCHED_BASE_ADDR + 0xA0)

/* CMD_INFO: bits [2:1] name the unit that runs the command, bit 0 asks for an event (stored, never raised). */
#define HWSCHED_INFO_HOST_DMA 0u
#define HWSCHED_INFO_NIC 2u
#define HWSCHED_INFO_HOST_DIRECT 4u

#endif
