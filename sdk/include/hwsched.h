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
#define HWSCHED_TASK_ADDR (HWSCHED_BASE_ADDR + 0x08) /* start of task_t */
#endif
#define HWSCHED_HANDLER_MEM_ADDR (HWSCHED_BASE_ADDR + 0x08)
#define HWSCHED_HANDLER_MEM_SIZE (HWSCHED_BASE_ADDR + 0x0C)
#define HWSCHED_PKT_ADDR (HWSCHED_BASE_ADDR + 0x10)
#define HWSCHED_PKT_SIZE (HWSCHED_BASE_ADDR + 0x14)
#define HWSCHED_SCRATCHPAD_0_ADDR (HWSCHED_BASE_ADDR + 0x18)
#define HWSCHED_SCRATCHPAD_1_ADDR (HWSCHED_BASE_ADDR + 0x1C)
#define HWSCHED_SCRATCHPAD_2_ADDR (HWSCHED_BASE_ADDR + 0x20)
#define HWSCHED_SCRATCHPAD_3_ADDR (HWSCHED_BASE_ADDR + 0x24)
#define HWSCHED_SCRATCHPAD_0_SIZE (HWSCHED_BASE_ADDR + 0x28)
#define HWSCHED_SCRATCHPAD_1_SIZE (HWSCHED_BASE_ADDR + 0x2C)
#define HWSCHED_SCRATCHPAD_2_SIZE (HWSCHED_BASE_ADDR + 0x30)
#define HWSCHED_SCRATCHPAD_3_SIZE (HWSCHED_BASE_ADDR + 0x34)
#define HWSCHED_HOST_MEM_ADDR_HIGH (HWSCHED_BASE_ADDR + 0x38)
#define HWSCHED_HOST_MEM_ADDR_LOW (HWSCHED_BASE_ADDR + 0x3C)
#define HWSCHED_HOST_MEM_SIZE (HWSCHED_BASE_ADDR + 0x40)
#define HWSCHED_HOST_L2_PKT_ADDR (HWSCHED_BASE_ADDR + 0x44)
#define HWSCHED_HOME_CLUSTER_ID (HWSCHED_BASE_ADDR + 0x48)
#define HWSCHED_FLOW_ID (HWSCHED_BASE_ADDR + 0x4C)
#define HWSCHED_DOORBELL (HWSCHED_BASE_ADDR + 0x50) /* any access ends the task */
#define HWSCHED_ERROR (HWSCHED_BASE_ADDR + 0x54)    /* write: report a trap cause */

/* The command window. */
#define CMD_ISSUE (HWSCHED_BASE_ADDR + 0x80) /* read: issue, returns the handle; waits for a free handle */
#define CMD_WAIT (HWSCHED_BASE_ADDR + 0x84)  /* write a handle: waits until it has finished */
#define CMD_TEST (HWSCHED_BASE_ADDR + 0x88)  /* write a handle, then read: 1 if it has finished */
#define CMD_INFO (HWSCHED_BASE_ADDR + 0x8C)  /* write: one of the kinds below */
#define CMD_WORD0 (HWSCHED_BASE_ADDR + 0x90)
#define CMD_WORD1 (HWSCHED_BASE_ADDR + 0x94)
#define CMD_WORD2 (HWSCHED_BASE_ADDR + 0x98)
#define CMD_WORD3 (HWSCHED_BASE_ADDR + 0x9C)
#define CMD_WORD4 (HWSCHED_BASE_ADDR + 0xA0)
#define CMD_WORD5 (HWSCHED_BASE_ADDR + 0xA4)
#define CMD_WORD6 (HWSCHED_BASE_ADDR + 0xA8)

/* CMD_INFO: bits [2:1] name the unit that runs the command, bit 0 asks for an event (stored, never raised). */
#define HWSCHED_INFO_HOST_DMA 0u
#define HWSCHED_INFO_NIC 2u
#define HWSCHED_INFO_HOST_DIRECT 4u

#endif
