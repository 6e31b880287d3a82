/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers whose cycles can be computed on paper; see test_pspin_timing.py. K is a number of additions. */
#include <handler.h>

__handler__ void chain_hh(handler_args_t *args)
{
    (void)args;
    __asm__ volatile(".option push\n.option norvc\n.rept %0\naddi t0, t0, 1\n.endr\n.option pop" ::"i"(K) : "t0");
}
__handler__ void chain_ph(handler_args_t *args) { (void)args; }
__handler__ void chain_th(handler_args_t *args) { (void)args; }

__handler__ void empty_ph(handler_args_t *args) { (void)args; }

__handler__ void send_ph(handler_args_t *args)
{
    spin_cmd_t sent;
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &sent);
    spin_cmd_wait(sent);
}

__handler__ void to_host_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t copied;
    spin_dma_to_host(host, (uintptr_t)task->l2_pkt_mem, task->pkt_mem_size, false, &copied);
    spin_cmd_wait(copied);
}
