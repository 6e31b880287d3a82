/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers for the tests of libpspin: words to and from the host, all three stages, and a line of text. */
#include <handler.h>

/* Write a word that says what ran: the stage, the message, and the first byte of the packet. */
static void note(handler_args_t *args, uint64_t stage)
{
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint64_t first = *(volatile uint8_t *)task->pkt_mem;
    spin_cmd_t written;
    spin_write_to_host(host + 8 * first, stage << 32 | (uint64_t)task->flow_id << 8 | first, &written);
}

__handler__ void note_hh(handler_args_t *args)
{
    note(args, 1);
}

__handler__ void note_ph(handler_args_t *args)
{
    note(args, 2);
}

__handler__ void note_th(handler_args_t *args)
{
    note(args, 3);
    printf("message %u of %u bytes is done\n", (unsigned)args->task->flow_id, (unsigned)args->task->pkt_mem_size);
}

/* Replace the packet by as many bytes of host memory, and send it. */
__handler__ void fetch_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t fetched, sent;
    spin_dma_from_host(host, (uint32_t)task->pkt_mem, task->pkt_mem_size, 1, &fetched);
    spin_cmd_wait(fetched);
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
}

/* Send the first bytes of handler memory in place of the packet. */
__handler__ void show_ph(handler_args_t *args)
{
    spin_cmd_t sent;
    spin_send_packet(args->task->handler_mem, args->task->pkt_mem_size, &sent);
}

/* Loop forever. */
__handler__ void wait_ph(handler_args_t *args)
{
    (void)args;
    (void)*(volatile uint32_t *)0x1B204800; /* the own FIFO, into which nobody writes */
}
