/* SPDX-License-Identifier: Apache-2.0 */
/* Names of PsPIN's runtime: its control and status registers, and which core this is. */
#ifndef SPIN_PSPIN_RT_H
#define SPIN_PSPIN_RT_H

#include <assert.h>
#include <hal/pulp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define PULP_CSR_MSTATUS 0x300
#define PULP_CSR_MTVEC 0x305
#define PULP_CSR_MEPC 0x341
#define PULP_CSR_MCAUSE 0x342
#define PULP_CSR_PRIVLV 0xC10

/* Protection follows the task, whatever is written here. */
#define PULP_CSR_PMPCFG0 0x3A0
#define PULP_CSR_PMPCFG1 0x3A1
#define PULP_CSR_PMPCFG2 0x3A2
#define PULP_CSR_PMPCFG3 0x3A3
#define PULP_CSR_PMPADDR0 0x3B0
#define PULP_CSR_PMPADDR1 0x3B1
#define PULP_CSR_PMPADDR2 0x3B2
#define PULP_CSR_PMPADDR3 0x3B3
#define PULP_CSR_PMPADDR4 0x3B4
#define PULP_CSR_PMPADDR5 0x3B5
#define PULP_CSR_PMPADDR6 0x3B6
#define PULP_CSR_PMPADDR7 0x3B7
#define PULP_CSR_PMPADDR8 0x3B8
#define PULP_CSR_PMPADDR9 0x3B9
#define PULP_CSR_PMPADDR10 0x3BA
#define PULP_CSR_PMPADDR11 0x3BB
#define PULP_CSR_PMPADDR12 0x3BC
#define PULP_CSR_PMPADDR13 0x3BD
#define PULP_CSR_PMPADDR14 0x3BE
#define PULP_CSR_PMPADDR15 0x3BF

static inline uint32_t rt_core_id(void) { return hal_core_id(); }
static inline uint32_t rt_cluster_id(void) { return hal_cluster_id(); }

#endif
