/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of a simulated card that several tenants share: memory, programs, execution contexts, matching rules, events.
 *
 * A program boots a machine, opens tenants on it, allocates their resources, adds packets and advances simulated time. Time
 * advances only during calls, and there are no callbacks. docs/guides/tenants.md has an example.
 *
 * Every function except spinet_last_error returns SPINET_OK or a negative error code. On an error nothing has changed, nothing
 * is written through pointers, and spinet_last_error returns the reason. Any function may return SPINET_E_ARGUMENT and
 * SPINET_E_THREAD. A function with a handle as argument may also return SPINET_E_UNKNOWN, SPINET_E_GONE or
 * SPINET_E_FOREIGN. Its comment lists further codes. A bug in the simulator ends the process with exit code 70.
 *
 * Handles are unique numbers other than 0. The value of a spinet_machine_t pointer is such a number, too: after a
 * shutdown, functions return SPINET_E_GONE for this pointer. A machine must be used on the thread that booted it, and
 * lives until it is shut down, even after that thread ends. Machines are independent. Strings are UTF-8. Times are in
 * ps of simulated time, at most 5 hours. Functions copy the data that they are given.
 */
#ifndef SPINET_DRIVER_H
#define SPINET_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPINET_OK 0
#define SPINET_E_ARGUMENT (-1)   /* a pointer is NULL, or a value or string is not allowed */
#define SPINET_E_UNKNOWN (-2)    /* a handle that does not exist */
#define SPINET_E_GONE (-3)       /* a handle that was freed, removed, taken or closed */
#define SPINET_E_FOREIGN (-4)    /* a handle of another tenant */
#define SPINET_E_IN_USE (-5)     /* another object uses it and must be released first */
#define SPINET_E_BUSY (-6)       /* an operation on it is in progress; run the simulation */
#define SPINET_E_EXHAUSTED (-7)  /* not enough free space */
#define SPINET_E_BEYOND (-8)     /* an access exceeds the end */
#define SPINET_E_TAKEN (-9)      /* a program's addresses are in use; the error text names a free range */
#define SPINET_E_INSTALLED (-10) /* the same rule is already installed */
#define SPINET_E_PROGRAM (-11)   /* not a program for this card, or it has no such handler */
#define SPINET_E_CARD (-12)      /* the card does not exist or does not answer */
#define SPINET_E_THREAD (-13)    /* the machine belongs to another thread */

/* A card and its driver. Programs must not dereference pointers to it. */
typedef struct spinet_machine spinet_machine_t;

typedef uint64_t spinet_tenant_t;
typedef uint64_t spinet_memory_t;  /* an allocated part of a card's memory */
typedef uint64_t spinet_program_t; /* a program loaded into the card */
typedef uint64_t spinet_host_t;    /* registered memory of the host */
typedef uint64_t spinet_context_t; /* an execution context */
typedef uint64_t spinet_rule_t;
typedef uint64_t spinet_ticket_t; /* a host access to the card */

/* The error text of the last failed call on this thread. It lives until the next failed call. */
const char *spinet_last_error(void);

/* ---- The card ---- */

/*
 * Boot a card with the runtime in the ELF file `runtime`. `nic` is the name of a preset ("pspin", "pspin-paper",
 * "pspin-rtl") or the path of a card's file. The same seed gives the same simulation. Also SPINET_E_CARD,
 * SPINET_E_PROGRAM.
 */
int spinet_boot(const char *nic, const char *runtime, uint64_t seed, spinet_machine_t **machine);

/*
 * The same with parameters that differ from the preset: `n_settings` strings such as "n_clusters=2" or
 * "delivery.when_full=drop"; `spinet nic show pspin` lists them. NULL and 0 for none.
 */
int spinet_boot_with(const char *nic, const char *const *settings, size_t n_settings, const char *runtime, uint64_t seed,
                     spinet_machine_t **machine);

/*
 * End a machine and free its memory, including that of spinet_sent_t and spinet_line_t. `machine` may be NULL. A second
 * shutdown is an error.
 */
int spinet_shutdown(spinet_machine_t *machine);

typedef struct spinet_memory_left {
    uint64_t bytes;   /* total */
    uint64_t free;    /* unallocated */
    uint64_t largest; /* largest free part */
    uint64_t at;      /* address of that part; for scratchpads relative to their start */
} spinet_memory_left_t;

typedef struct spinet_capabilities {
    uint32_t n_clusters;
    uint32_t n_cores;          /* HPUs per cluster */
    uint32_t n_message_queues; /* messages that can be processed concurrently */
    uint32_t reserved_message_queues; /* queues reserved for each tenant with a rule, or an equal share if that is less */
    uint32_t max_copy_bytes;   /* most bytes of a packet that can be copied to L1 */
    uint32_t watchdog_cycles;  /* default and maximum run time of a handler; 0 is unlimited */
    uint8_t reliable;          /* 1: the network delivers every packet exactly once; see spinet_network */
    uint8_t in_order;          /* 1: the network keeps the order of packets; see spinet_network */
    uint8_t isolated;          /* 1: handlers cannot access other tenants' memory */
    uint8_t reports_errors;    /* 1: errors of handlers are written to the host, see spinet_error_record */
    spinet_memory_left_t program_memory;
    spinet_memory_left_t handler_memory;
    spinet_memory_left_t scratchpad_memory; /* in each cluster */
} spinet_capabilities_t;

/* Get the card's capabilities and free memory. */
int spinet_capabilities(spinet_machine_t *machine, spinet_capabilities_t *card);

/* ---- Tenants and their resources ---- */

/* Open a tenant. Its rules apply only to packets that match `scope`, a match expression; NULL means all packets. */
int spinet_open(spinet_machine_t *machine, const char *name, const char *scope, spinet_tenant_t *tenant);

/* A tenant's share of the HPUs, and its rights for commands and for the clusters' DMA. docs/guides/tenants.md has the rules. */
typedef struct spinet_tenant_spec {
    uint32_t weight;          /* 1 to 1000; for rules of sharing.schedule, io_schedule and cluster_dma_schedule that use it */
    uint32_t priority;        /* 0 to 7; commands and cluster DMA transfers of tenants with a higher priority go first */
    const char *host_rate;    /* highest rate between card and host, such as "10G", in bit/s; NULL is unlimited */
    const char *egress_rate;  /* highest rate to the network */
    const char *cluster_rate; /* highest rate between L1 and L2 by the DMA of a cluster; each cluster counts its own transfers */
} spinet_tenant_spec_t;

/* Fill in the specification that spinet_open uses: weight 1, priority 0 and no limits. */
int spinet_tenant_spec(spinet_tenant_spec_t *spec);

/*
 * Open a tenant with weight, priority and limits. Priority and limits need a card whose sharing.io_schedule is not in_order, for
 * example after spinet_boot_with and "sharing.io_schedule=round_robin". For priority and cluster_rate, a sharing.cluster_dma_schedule
 * that is not in_order is enough.
 */
int spinet_open_with(spinet_machine_t *machine, const char *name, const char *scope, const spinet_tenant_spec_t *spec,
                     spinet_tenant_t *tenant);

/* Close a tenant and free its resources. Also SPINET_E_IN_USE by a rule, SPINET_E_BUSY with packets in the card. */
int spinet_close(spinet_machine_t *machine, spinet_tenant_t tenant);

#define SPINET_HANDLER_MEMORY 1 /* L2 handler memory */
#define SPINET_PROGRAM_MEMORY 2
#define SPINET_SCRATCHPAD 3 /* the same part of every cluster's L1; the host cannot access it */

/*
 * Allocate `bytes` of a memory. The memory is cleared when a rule is installed whose handlers can use it; on "pspin-rtl",
 * scratchpads keep their old contents. Also SPINET_E_EXHAUSTED.
 */
int spinet_allocate(spinet_machine_t *machine, spinet_tenant_t tenant, int kind, uint32_t bytes, spinet_memory_t *memory);

/* Address of a memory for handlers. The address of a scratchpad is relative to the start of the scratchpads. */
int spinet_address(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t *address);

/* Free memory. Also SPINET_E_IN_USE by a context. */
int spinet_free(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory);

/*
 * Start a write of `size` bytes to handler or program memory through the card's host port, at `offset` from the start of the
 * memory. It starts in the next cycle, after all earlier accesses. `ticket` may be NULL. The ticket is gone when its write is
 * complete. Also SPINET_E_BEYOND.
 */
int spinet_write(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t offset,
                 const void *data, uint32_t size, spinet_ticket_t *ticket);

/* Start a read of `size` bytes in the same way; spinet_take returns the bytes. Also SPINET_E_BEYOND. */
int spinet_read(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t offset, uint32_t size,
                spinet_ticket_t *ticket);

/* Run until an access is complete. Also SPINET_E_CARD after 10,000,000 cycles without an answer. */
int spinet_wait(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket);

/* `*over` becomes 1 if an access is complete, else 0. */
int spinet_is_over(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket, uint8_t *over);

/* Take the bytes of a read, once. `size` must be that of the read. Also SPINET_E_BUSY while it is in progress. */
int spinet_take(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket, void *data, uint32_t size);

/* Register `bytes` of zeroed host memory for use in contexts. Also SPINET_E_EXHAUSTED. */
int spinet_register(spinet_machine_t *machine, spinet_tenant_t tenant, uint32_t bytes, spinet_host_t *host);

/* Address of host memory for handlers and the card. */
int spinet_host_address(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint64_t *address);

/* Read and write the tenant's own host memory. This takes no simulated time. Also SPINET_E_BEYOND. */
int spinet_host_read(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint32_t offset, void *data,
                     uint32_t size);
int spinet_host_write(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint32_t offset,
                      const void *data, uint32_t size);

/* Unregister host memory. Also SPINET_E_IN_USE by a context. */
int spinet_unregister(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host);

/*
 * Load the handlers in an ELF file. It must be linked for unallocated memory, which spinet_capabilities reports, and must not
 * contain a runtime, because the card's runtime calls the handlers. Also SPINET_E_TAKEN, SPINET_E_PROGRAM.
 */
int spinet_load(spinet_machine_t *machine, spinet_tenant_t tenant, const char *elf, spinet_program_t *program);

/* Unload a program. Also SPINET_E_IN_USE by a context. */
int spinet_unload(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_program_t program);

/* ---- Execution contexts and matching rules ---- */

#define SPINET_DEFAULT 0xffffffffu                          /* the card's default */
#define SPINET_DEFAULT_CYCLES UINT64_C(0xffffffffffffffff) /* the same for 64-bit values */

/* Action for a packet that does not fit in packet memory. */
#define SPINET_FULL_STALL 0    /* back-pressure: it waits, and all packets after it */
#define SPINET_FULL_DROP 1     /* it is dropped */
#define SPINET_FULL_MARK_ECN 2 /* above the threshold, ECN-capable packets are marked and wait; others are dropped */
#define SPINET_FULL_KILL 3     /* its message is dropped, including later packets: SPINET_MESSAGE_KILLED */

/*
 * Action for a packet that arrives before the known first packet of its message, in a context with a header handler.
 */
#define SPINET_EARLY_BUFFER 0 /* up to early_packets packets of a message wait; further ones are dropped */
#define SPINET_EARLY_DROP 1   /* it is dropped */

typedef struct spinet_context_spec {
    spinet_program_t program;
    const char *handler;            /* common name of its handlers; may be NULL if the program has only one */
    const char *symbols[3];         /* header, payload and completion function; NULL: by `handler`; "": none */
    spinet_memory_t handler_memory; /* 0 for none */
    spinet_memory_t scratchpad;     /* 0 for none */
    spinet_host_t host;             /* 0 for none */
    uint32_t copy_bytes;            /* bytes of a packet to copy to L1; SPINET_DEFAULT for all */
    uint32_t watchdog_cycles;       /* maximum run time of a handler: 1 to the card's limit; if the card has none, any,
                                       and 0 is unlimited */
    /* Delivery. For copy_bytes and all fields after it, SPINET_DEFAULT selects the card's default. */
    uint32_t when_full;             /* SPINET_FULL_... */
    uint32_t ecn_threshold_percent; /* occupancy of packet memory above which SPINET_FULL_MARK_ECN marks; 0 to 100 */
    uint32_t early_payload;         /* SPINET_EARLY_... */
    uint32_t early_packets;         /* 1 to 65536 */
    uint64_t timeout_cycles;        /* time without a packet after which a message ends with SPINET_MESSAGE_TIMEOUT; 0 is
                                       never, at most 18000000000000; SPINET_DEFAULT_CYCLES for the card's default */
} spinet_context_spec_t;

/* Fill in a specification with the handlers of a program, no memory, and defaults. */
int spinet_context_spec(spinet_program_t program, spinet_context_spec_t *spec);

/* Build a context. It receives packets once a rule is installed. Also SPINET_E_PROGRAM, SPINET_E_EXHAUSTED. */
int spinet_build(spinet_machine_t *machine, spinet_tenant_t tenant, const spinet_context_spec_t *spec,
                 spinet_context_t *context);

/* Destroy a context. Its memories stay allocated. Also SPINET_E_IN_USE by a rule or message, SPINET_E_BUSY with packets. */
int spinet_destroy(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context);

/*
 * Install a rule that sends packets to a context from the next cycle on. `match` is a match expression
 * ("udp.dst_port == 7"); NULL means all packets of the tenant. `message` defines messages ("each", "by flow count 8"); NULL
 * means "each". A rule with higher priority comes first; among equal ones, the older rule. The call first runs until all
 * earlier writes are complete. Also SPINET_E_INSTALLED, SPINET_E_CARD.
 */
int spinet_install(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context, const char *match,
                   const char *message, int32_t priority, spinet_rule_t *rule);

#define SPINET_END 0  /* started messages continue to their last packet */
#define SPINET_KILL 1 /* started messages end at once, and their packets in the card are dropped */

/*
 * Remove a rule from the next cycle on. `remaining` is SPINET_END or SPINET_KILL. After SPINET_END, the rule can be removed
 * again with SPINET_KILL while messages of it are unfinished.
 */
int spinet_remove(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_rule_t rule, int remaining);

/* ---- Packets and time ---- */

typedef struct spinet_packet {
    uint64_t after_ps; /* arrival time relative to now, or to the time when the card is ready if that is later */
    const void *data;  /* starts with the Ethernet header */
    size_t size;       /* in bytes, 1 to the card's max_copy_bytes */
} spinet_packet_t;

/* Add `n` packets. Their arrival times must not decrease. */
int spinet_add_packets(spinet_machine_t *machine, const spinet_packet_t *packets, size_t n);

#define SPINET_SNAPPED_PAD 0  /* pad truncated packets with zeros */
#define SPINET_SNAPPED_KEEP 1 /* keep the captured length */

typedef struct spinet_traffic {
    const char *source; /* a capture's path (pcap, pcapng), or a description such as "udp:size=64,count=100,rate=10G" */
    const char *pacing; /* arrival times: "times", "times:0.5", "line:400G", "asap"; NULL is "times" */
    uint64_t count;     /* maximum number of packets; 0 for all */
    uint64_t seed;      /* seed of a description without its own seed */
    uint32_t snapped;   /* SPINET_SNAPPED_..., for captures */
} spinet_traffic_t;

/*
 * Add the packets of a capture or of the generator. The first packet arrives in the next cycle or later. The card drops
 * packets that are too long to copy; see spinet_take_done. docs/reference/packets.md describes sources and pacing.
 */
int spinet_add_traffic(spinet_machine_t *machine, const spinet_traffic_t *traffic);

/*
 * Set the faults of the network for packets added from now on: "loss=0.01,duplicate=1/1000,reorder=0.02:8"; NULL or "" for
 * none. `seed` determines the affected packets. Each later call that adds packets makes new draws and reorders only its own
 * packets. The fields `reliable` and `in_order` of spinet_capabilities follow this setting.
 */
int spinet_network(spinet_machine_t *machine, const char *faults, uint64_t seed);

/* `*idle` becomes 1 if all added packets have arrived and the card is done with them, else 0. */
int spinet_is_idle(spinet_machine_t *machine, uint8_t *idle);

/* Simulated time, in ps. */
int spinet_now(spinet_machine_t *machine, uint64_t *ps);

/* Run until `ps`, in whole cycles. Does nothing if `ps` is in the past. Also SPINET_E_CARD. */
int spinet_run_until(spinet_machine_t *machine, uint64_t ps);

typedef struct spinet_sent {
    uint64_t time_ps;
    const uint8_t *data; /* lives until the next spinet_take_sent; NULL if there is no packet */
    size_t size;
} spinet_sent_t;

/* Take the oldest sent packet that was not taken yet, of any tenant. */
int spinet_take_sent(spinet_machine_t *machine, spinet_sent_t *sent);

/* Fate of a packet. Only finished packets that matched a rule, and dropped ones, are reported. */
#define SPINET_DROPPED 1          /* dropped by the card; see SPINET_DROP_... */
#define SPINET_TRAPPED 3          /* a handler trapped */
#define SPINET_SENT 4             /* its handlers sent packets */
#define SPINET_TO_HOST 5          /* its handlers wrote to host memory */
#define SPINET_SENT_AND_TO_HOST 6 /* both */
#define SPINET_CONSUMED 7         /* handlers ran without output */

#define SPINET_DROP_EMPTY 0
#define SPINET_DROP_TOO_LARGE 1          /* exceeds packet memory */
#define SPINET_DROP_COPY_TOO_LARGE 2     /* exceeds an L1 packet buffer ring */
#define SPINET_DROP_FULL 3               /* packet memory was full, and the context drops then */
#define SPINET_DROP_MESSAGE_KILLED 4     /* by its context's when_full, or with its rule */
#define SPINET_DROP_BEFORE_HEADER 5      /* arrived before the header packet and could not wait */
#define SPINET_DROP_MESSAGE_TIMEOUT 6    /* its message timed out */
#define SPINET_DROP_MESSAGE_EVICTED 7    /* its message lost its queue */
#define SPINET_DROP_SHARE 8              /* its tenant exceeded its share of packet memory */

/* The run of one handler for a packet. */
typedef struct spinet_handler_run {
    uint64_t start_ps; /* the core read its address */
    uint64_t end_ps;   /* the core rang the doorbell */
    uint64_t instructions;
    uint32_t cluster;
    uint32_t core;
    uint32_t ran;   /* 1 if the handler ran; if 0, the other fields are meaningless */
    uint32_t cause; /* trap cause, as in mcause; SPINET_DEFAULT if it did not trap */
} spinet_handler_run_t;

/* A finished packet. Times of events that did not happen are 0. */
typedef struct spinet_done {
    spinet_context_t context;
    uint64_t number;     /* index of the packet within the call that added it */
    uint64_t message;    /* number of its message within its rule, from 0 */
    uint64_t arrival_ps; /* arrived on the wire */
    uint64_t stored_ps;  /* stored in packet memory */
    uint64_t done_ps;    /* its packet memory was freed */
    uint64_t sent_ps;    /* its handlers' last packet was sent */
    uint64_t sent_bytes; /* total size of the packets that its handlers sent */
    uint32_t bytes;
    uint32_t msgid;
    uint32_t last;         /* 1: last packet of its message */
    uint32_t fate;         /* SPINET_DROPPED to SPINET_CONSUMED */
    uint32_t reason;       /* SPINET_DROP_..., or SPINET_DEFAULT if it was not dropped */
    uint32_t sent_packets; /* number of packets that its handlers sent */
    uint32_t host_writes;  /* number of its handlers' host write commands */
    uint32_t faults;       /* number of refused commands */
    spinet_handler_run_t handlers[3]; /* header, payload, completion handler */
} spinet_done_t;

/* Keep finished packets from now on if `keep` is not 0; else discard them, which is the default. */
int spinet_keep_done(spinet_machine_t *machine, int keep);

/* Take the oldest finished packets, at most `room`. `*n` becomes their number. The others stay. */
int spinet_take_done(spinet_machine_t *machine, spinet_done_t *done, size_t room, size_t *n);

typedef struct spinet_line {
    uint64_t time_ps;
    const char *text; /* lives until the next spinet_take_line; NULL if there is no line */
    uint32_t cluster;
    uint32_t core;
} spinet_line_t;

/* Take the oldest line that handlers printed and that was not taken yet. */
int spinet_take_line(spinet_machine_t *machine, spinet_line_t *line);

/* ---- Events ---- */

#define SPINET_MESSAGE_DONE 1      /* msgid: all handlers of the message have ended */
#define SPINET_HANDLER_ERROR 2     /* msgid, stage, handler, cause, pc, address, cluster, core */
#define SPINET_MESSAGE_TIMEOUT 3   /* msgid, dropped: the message stopped arriving */
#define SPINET_MESSAGE_KILLED 4    /* msgid, dropped */
#define SPINET_TRANSLATION_FAULT 5 /* address, write: a command accessed unregistered host memory */
#define SPINET_MESSAGE_EVICTED 6   /* msgid, dropped: its queue was reclaimed for the tenant for which it is reserved */

/* An event of a context. `what` determines the fields that are used; the others are 0. */
typedef struct spinet_event {
    uint64_t time_ps; /* time when the host received it */
    spinet_context_t context;
    uint64_t address; /* accessed address or instruction, as in mtval; for event 5 the host address */
    uint32_t what;
    uint32_t msgid;
    uint32_t dropped; /* packets dropped from the message's queue */
    uint32_t stage;   /* 0 header, 1 payload, 2 completion handler */
    uint32_t handler; /* address of its code */
    uint32_t cause;   /* as in mcause of RISC-V; 24 is the watchdog */
    uint32_t pc;
    uint32_t cluster;
    uint32_t core;  /* in its cluster */
    uint32_t write; /* 1: the command was a write */
} spinet_event_t;

/* Take a tenant's oldest events, at most `room`. `*n` becomes their number. The others stay. */
int spinet_take_events(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_event_t *events, size_t room, size_t *n);

/* The error record that the card wrote last to the context's descriptor in host memory. */
typedef struct spinet_error_record {
    uint32_t cause;   /* as in mcause; 24: watchdog, 25: message timeout, 26: message killed */
    uint32_t address; /* as in mtval */
    uint32_t pc;
    uint32_t handler;
    uint32_t msgid;
    uint32_t stage; /* as in spinet_event_t */
    uint32_t hpu;   /* cluster * n_cores + core */
    uint32_t count; /* errors that this HPU has reported, including this one; 0 if there is no record */
} spinet_error_record_t;

/* Get the error record of a context. */
int spinet_error_record(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context,
                        spinet_error_record_t *record);

/*
 * Write a digest of everything that the card did so far, as a string of at most `room` bytes; 65 are enough. The same calls at
 * the same times give the same digest.
 */
int spinet_digest(spinet_machine_t *machine, char *text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
