/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One character of output: a store to the stdout page, which the core's own collector intercepts; at '\n' it prints the
 * line with the core's number before it. The collector ignores the offset within the page; it distinguishes the cores for
 * an observer of the bus. Source: PsPIN RTL a49fec8, virtual_stdout_demux.sv.
 */
#include <hal/pulp.h>
#include <stdint.h>
#include <stdio.h>

#pragma weak putchar /* a program may bring its own */

#define STDOUT_BASE 0x1A104000u

int putchar(int character)
{
    uint32_t place = (hal_cluster_id() << 7) + (hal_core_id() << 3);
    *(volatile uint32_t *)(STDOUT_BASE + place) = (uint8_t)character;
    return (uint8_t)character;
}
