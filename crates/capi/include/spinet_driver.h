/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of a simulated card that several tenants share: memory, programs, execution contexts, matching rules, events.
 *
 * A program boots a machine, opens tenants on it, gives each what it asks for, adds packets and lets simulated time go on.
 * Nothing happens between two calls, and nothing calls back. docs/guides/tenants.md tells the story.
 *
 * Every function but spinet_last_error returns SPINET_OK or one of the negative codes below; with one of these nothing has
 * changed, nothing is written through its pointers, and spinet_last_error says why. Any function may return
 * SPINET_E_ARGUMENT, SPINET_E_THREAD, and, where it is given a handle, SPINET_E_UNKNOWN, SPINET_E_GONE or SPINET_E_FOREIGN;
 * its comment names the others. A mistake of the simulator itself ends the process with exit code 70.
 *
 * Handles are numbers that the driver hands out, never 0 and never twice, and so is what a spinet_machine_t pointer holds: one
 * that was shut down is SPINET_E_GONE for ever. A machine is used on the thread that booted it, and lives until it is shut
 * down, whatever becomes of the thread; several machines know nothing of each other. Texts are UTF-8. Times are in ps of simulated time, at most 5 hours. What is
 * given to a function is copied.
 */
#ifndef SPINET_DRIVER_H
#define SPINET_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPINET_OK 0
#define SPINET_E_ARGUMENT (-1)   /* a pointer is NULL, or a value or text is none of those that are allowed */
#define SPINET_E_UNKNOWN (-2)    /* a handle that was never handed out */
#define SPINET_E_GONE (-3)       /* a handle that was freed, removed, taken or closed before */
#define SPINET_E_FOREIGN (-4)    /* a handle of another tenant */
#define SPINET_E_IN_USE (-5)     /* something else uses it, and must end first */
#define SPINET_E_BUSY (-6)       /* something of it is under way; let time go on */
#define SPINET_E_EXHAUSTED (-7)  /* there is no room for so much */
#define SPINET_E_BEYOND (-8)     /* an access reaches beyond the end */
#define SPINET_E_TAKEN (-9)      /* a program is linked where somebody else is; the text names a place that is free */
#define SPINET_E_INSTALLED (-10) /* the same rule is installed */
#define SPINET_E_PROGRAM (-11)   /* not a program for this card, or it has no such handler */
#define SPINET_E_CARD (-12)      /* no such card, or it does not answer */
#define SPINET_E_THREAD (-13)    /* the machine is another thread's */

/* A card and its driver. There are only pointers to it, which nobody may follow. */
typedef struct spinet_machine spinet_machine_t;

typedef uint64_t spinet_tenant_t;
typedef uint64_t spinet_memory_t;  /* a part of a memory of the card */
typedef uint64_t spinet_program_t; /* a program in the card */
typedef uint64_t spinet_host_t;    /* registered memory of the host */
typedef uint64_t spinet_context_t; /* an execution context */
typedef uint64_t spinet_rule_t;
typedef uint64_t spinet_ticket_t; /* an access of the host to the card */

/* Why the last call on this thread that was refused was refused. The text lives until the next one is. */
const char *spinet_last_error(void);

/* ---- The card ---- */

/*
 * Boot the card `nic`, a preset by name ("pspin", "pspin-paper", "pspin-rtl") or by the path of a file, with the runtime in
 * the ELF file `runtime`. The same seed gives the same simulation. Also SPINET_E_CARD, SPINET_E_PROGRAM.
 */
int spinet_boot(const char *nic, const char *runtime, uint64_t seed, spinet_machine_t **machine);

/*
 * The same with parameters of the card that differ from the preset: `n_settings` texts such as "n_clusters=2" or
 * "delivery.when_full=drop"; `spinet nic show pspin` lists them. NULL and 0 for none.
 */
int spinet_boot_with(const char *nic, const char *const *settings, size_t n_settings, const char *runtime, uint64_t seed,
                     spinet_machine_t **machine);

/*
 * End a machine, which may be NULL, and free its memory, that of spinet_sent_t and spinet_line_t included. One that was shut
 * down before is refused.
 */
int spinet_shutdown(spinet_machine_t *machine);

typedef struct spinet_memory_left {
    uint64_t bytes;   /* in all */
    uint64_t free;    /* that nobody has */
    uint64_t largest; /* the most that one can get in one part */
    uint64_t at;      /* address of that part; in a scratchpad from its start */
} spinet_memory_left_t;

typedef struct spinet_capabilities {
    uint32_t n_clusters;
    uint32_t n_cores;          /* HPUs of a cluster */
    uint32_t n_message_queues; /* messages that can be under way */
    uint32_t reserved_message_queues; /* of them, those that each tenant with a rule is sure of, or an equal part if that is less */
    uint32_t max_copy_bytes;   /* most bytes of a packet that can be copied to L1 */
    uint32_t watchdog_cycles;  /* that a handler may run where its context says nothing, and at most; 0 is for ever */
    uint8_t reliable;          /* 1: the network delivers all packets, and none twice; see spinet_network */
    uint8_t in_order;          /* 1: in the order in which they were sent; the same */
    uint8_t isolated;          /* 1: handlers reach nothing of other tenants */
    uint8_t reports_errors;    /* 1: errors of handlers are written to the host, see spinet_error_record */
    spinet_memory_left_t program_memory;
    spinet_memory_left_t handler_memory;
    spinet_memory_left_t scratchpad_memory; /* in each cluster */
} spinet_capabilities_t;

/* What the card can do, and what is left of its memories. */
int spinet_capabilities(spinet_machine_t *machine, spinet_capabilities_t *card);

/* ---- Tenants and what they own ---- */

/* Open a tenant, whose rules can take packets of `scope` alone, a match expression; of all packets if NULL. */
int spinet_open(spinet_machine_t *machine, const char *name, const char *scope, spinet_tenant_t *tenant);

/* Close a tenant, and give back all that it has. Also SPINET_E_IN_USE by a rule, SPINET_E_BUSY with packets in the card. */
int spinet_close(spinet_machine_t *machine, spinet_tenant_t tenant);

#define SPINET_HANDLER_MEMORY 1 /* L2 handler memory */
#define SPINET_PROGRAM_MEMORY 2
#define SPINET_SCRATCHPAD 3 /* the same part of every cluster's L1, which the host cannot reach */

/*
 * Allocate `bytes` of a memory, which are 0 once a rule is installed that lets handlers use them; on "pspin-rtl" a scratchpad is as
 * it was left. Also SPINET_E_EXHAUSTED.
 */
int spinet_allocate(spinet_machine_t *machine, spinet_tenant_t tenant, int kind, uint32_t bytes, spinet_memory_t *memory);

/* Where it lies, as handlers name it; a scratchpad from the start of the scratchpads. */
int spinet_address(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t *address);

/* Give memory back. Also SPINET_E_IN_USE by a context. */
int spinet_free(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory);

/*
 * Begin to write `size` bytes into handler or program memory through the card's host port, `offset` bytes from the start of
 * the memory, in the next cycle and after all accesses that began before. `ticket` may be NULL; a ticket is gone when its
 * write is over. Also SPINET_E_BEYOND.
 */
int spinet_write(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t offset,
                 const void *data, uint32_t size, spinet_ticket_t *ticket);

/* Begin to read `size` bytes in the same way; spinet_take has them when they are here. Also SPINET_E_BEYOND. */
int spinet_read(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_memory_t memory, uint32_t offset, uint32_t size,
                spinet_ticket_t *ticket);

/* Let time go on until an access is over. Also SPINET_E_CARD after 10,000,000 cycles without an answer. */
int spinet_wait(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket);

/* Whether an access is over: `*over` becomes 1, else 0. */
int spinet_is_over(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket, uint8_t *over);

/* Take the bytes of a read, once; `size` is what was asked for. Also SPINET_E_BUSY while it is under way. */
int spinet_take(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_ticket_t ticket, void *data, uint32_t size);

/* Register `bytes` of host memory, which are 0, for contexts to name. Also SPINET_E_EXHAUSTED. */
int spinet_register(spinet_machine_t *machine, spinet_tenant_t tenant, uint32_t bytes, spinet_host_t *host);

/* Its address, as handlers and the card name it. */
int spinet_host_address(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint64_t *address);

/* The tenant itself reads and writes its host memory, which takes no time. Also SPINET_E_BEYOND. */
int spinet_host_read(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint32_t offset, void *data,
                     uint32_t size);
int spinet_host_write(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host, uint32_t offset,
                      const void *data, uint32_t size);

/* The card may reach it no more. Also SPINET_E_IN_USE by a context. */
int spinet_unregister(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_host_t host);

/*
 * Load the handlers in an ELF file, which must be linked for memory that nobody has: spinet_capabilities says where that is.
 * It brings no runtime, that of the card runs it. Also SPINET_E_TAKEN, SPINET_E_PROGRAM.
 */
int spinet_load(spinet_machine_t *machine, spinet_tenant_t tenant, const char *elf, spinet_program_t *program);

/* Take a program out. Also SPINET_E_IN_USE by a context. */
int spinet_unload(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_program_t program);

/* ---- Execution contexts and matching rules ---- */

#define SPINET_DEFAULT 0xffffffffu                          /* what the card does by itself */
#define SPINET_DEFAULT_CYCLES UINT64_C(0xffffffffffffffff) /* the same where there are more bits */

/* What a packet meets that finds no room in packet memory. */
#define SPINET_FULL_STALL 0    /* it waits, and all packets behind it: back-pressure */
#define SPINET_FULL_DROP 1     /* it is dropped */
#define SPINET_FULL_MARK_ECN 2 /* packets that can be marked are, from the threshold on, and wait; others are dropped */
#define SPINET_FULL_KILL 3     /* what has come and is to come of its message is dropped: SPINET_MESSAGE_KILLED */

/* What a packet meets that is known not to be the first of its message, and comes before it to a context with a header handler. */
#define SPINET_EARLY_BUFFER 0 /* it waits, as early_packets of a message may; further ones are dropped */
#define SPINET_EARLY_DROP 1   /* it is dropped */

typedef struct spinet_context_spec {
    spinet_program_t program;
    const char *handler;            /* common name of its handlers; may be NULL if those of the program have one name */
    const char *symbols[3];         /* functions of header, payload and completion handler; NULL as named, "" for none */
    spinet_memory_t handler_memory; /* 0 for none */
    spinet_memory_t scratchpad;     /* 0 for none */
    spinet_host_t host;             /* 0 for none */
    uint32_t copy_bytes;            /* of a packet, to L1; SPINET_DEFAULT for all */
    uint32_t watchdog_cycles;       /* that a handler may run: 1 to what the card says, or if that is 0 any, 0 for ever */
    /* Delivery. For all numbers from copy_bytes on, SPINET_DEFAULT is what the card says. */
    uint32_t when_full;             /* SPINET_FULL_... */
    uint32_t ecn_threshold_percent; /* of packet memory that is occupied: SPINET_FULL_MARK_ECN marks above it; 0 to 100 */
    uint32_t early_payload;         /* SPINET_EARLY_... */
    uint32_t early_packets;         /* 1 to 65536 */
    uint64_t timeout_cycles;        /* without a packet until a message is given up, 0 never, at most 18000000000000;
                                       SPINET_DEFAULT_CYCLES for what the card says: SPINET_MESSAGE_TIMEOUT */
} spinet_context_spec_t;

/* Fill in a specification: the handlers of a program, no memory, defaults. */
int spinet_context_spec(spinet_program_t program, spinet_context_spec_t *spec);

/* Build a context. It gets packets when a rule is installed. Also SPINET_E_PROGRAM, SPINET_E_EXHAUSTED. */
int spinet_build(spinet_machine_t *machine, spinet_tenant_t tenant, const spinet_context_spec_t *spec,
                 spinet_context_t *context);

/* Take a context apart; its memories stay. Also SPINET_E_IN_USE by a rule or message, SPINET_E_BUSY with packets. */
int spinet_destroy(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context);

/*
 * Send packets to a context from the next cycle on. `match` is a match expression ("udp.dst_port == 7"), NULL for all that
 * the tenant may have; `message` says what packets are one message ("each", "by flow count 8"), NULL for "each". Rules of
 * higher priority are asked first, of equal ones the older. First time goes on until all that was written is in the card.
 * Also SPINET_E_INSTALLED, SPINET_E_CARD.
 */
int spinet_install(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context, const char *match,
                   const char *message, int32_t priority, spinet_rule_t *rule);

#define SPINET_END 0  /* messages that have begun get their packets until the last */
#define SPINET_KILL 1 /* messages that have begun end at once, and what is in the card of them is dropped */

/*
 * Remove a rule from the next cycle on; `remaining` is SPINET_END or SPINET_KILL. A rule that was removed with SPINET_END can be
 * removed once more with SPINET_KILL while messages of it have not ended.
 */
int spinet_remove(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_rule_t rule, int remaining);

/* ---- Packets and time ---- */

typedef struct spinet_packet {
    uint64_t after_ps; /* arrival, after now or after the card is ready, whichever is later */
    const void *data;  /* from its Ethernet header on */
    size_t size;       /* bytes, 1 to max_copy_bytes of the card */
} spinet_packet_t;

/* Let `n` packets arrive, in the order of their times, which must not descend. */
int spinet_add_packets(spinet_machine_t *machine, const spinet_packet_t *packets, size_t n);

#define SPINET_SNAPPED_PAD 0  /* zeros stand for what was not captured */
#define SPINET_SNAPPED_KEEP 1 /* packets are as short as they were captured */

typedef struct spinet_traffic {
    const char *source; /* a capture's path (pcap, pcapng), or a description such as "udp:size=64,count=100,rate=10G" */
    const char *pacing; /* when they arrive: "times", "times:0.5", "line:400G", "asap"; NULL is "times" */
    uint64_t count;     /* at most so many packets; 0 for all */
    uint64_t seed;      /* decides what is random in a description that names no seed */
    uint32_t snapped;   /* SPINET_SNAPPED_..., for captures */
} spinet_traffic_t;

/*
 * Let the packets of a capture or of the generator arrive, the first from the next cycle on. A packet that is too long for the
 * card to copy is dropped there; see spinet_take_done. docs/reference/packets.md describes sources and paces.
 */
int spinet_add_traffic(spinet_machine_t *machine, const spinet_traffic_t *traffic);

/*
 * What the network does to packets that are added from now on: "loss=0.01,duplicate=1/1000,reorder=0.02:8", NULL or "" for
 * nothing. The seed decides which; each call that adds packets draws anew, and reorders its own. spinet_capabilities promises
 * no more than that.
 */
int spinet_network(spinet_machine_t *machine, const char *faults, uint64_t seed);

/* Whether all packets that were added have arrived and the card is done with them: `*idle` becomes 1, else 0. */
int spinet_is_idle(spinet_machine_t *machine, uint8_t *idle);

/* Simulated time, in ps. */
int spinet_now(spinet_machine_t *machine, uint64_t *ps);

/* Let time go on until `ps`, in whole cycles; nothing if that is over. Also SPINET_E_CARD. */
int spinet_run_until(spinet_machine_t *machine, uint64_t ps);

typedef struct spinet_sent {
    uint64_t time_ps;
    const uint8_t *data; /* lives until the next spinet_take_sent; NULL if there is no packet */
    size_t size;
} spinet_sent_t;

/* Take the oldest packet that the card sent and nobody took; all tenants' are together. */
int spinet_take_sent(spinet_machine_t *machine, spinet_sent_t *sent);

/* What became of a packet. Others than these went the ordinary way, and are not told of. */
#define SPINET_DROPPED 1          /* by the card; see SPINET_DROP_... */
#define SPINET_TRAPPED 3          /* one of its handlers did */
#define SPINET_SENT 4             /* its handlers sent packets */
#define SPINET_TO_HOST 5          /* its handlers wrote to host memory */
#define SPINET_SENT_AND_TO_HOST 6 /* both */
#define SPINET_CONSUMED 7         /* none of these */

#define SPINET_DROP_EMPTY 0
#define SPINET_DROP_TOO_LARGE 1          /* for packet memory */
#define SPINET_DROP_COPY_TOO_LARGE 2     /* for a ring in L1 */
#define SPINET_DROP_FULL 3               /* packet memory was, and its context asks for it */
#define SPINET_DROP_MESSAGE_KILLED 4     /* by its context's choice, or with its rule */
#define SPINET_DROP_BEFORE_HEADER 5      /* and it could not wait */
#define SPINET_DROP_MESSAGE_TIMEOUT 6    /* its message stopped arriving */
#define SPINET_DROP_MESSAGE_EVICTED 7    /* its message had to leave its queue */
#define SPINET_DROP_SHARE 8              /* its tenant had as much of packet memory as it may have beside others */

/* One handler's run for a packet. */
typedef struct spinet_handler_run {
    uint64_t start_ps; /* the core read its address */
    uint64_t end_ps;   /* the core rang the doorbell */
    uint64_t instructions;
    uint32_t cluster;
    uint32_t core;
    uint32_t ran;   /* 1; 0 if there was none, and all else means nothing */
    uint32_t cause; /* of its trap, as in mcause; SPINET_DEFAULT if it did not trap */
} spinet_handler_run_t;

/* A packet that the card is done with. Times are 0 for what did not happen. */
typedef struct spinet_done {
    spinet_context_t context;
    uint64_t number;     /* of the packet in the call that added it, from 0 */
    uint64_t message;    /* number of its message in its rule, from 0 */
    uint64_t arrival_ps; /* on the wire */
    uint64_t stored_ps;  /* in packet memory */
    uint64_t done_ps;    /* its room was free again */
    uint64_t sent_ps;    /* the last packet left that its handlers sent */
    uint64_t sent_bytes; /* of these packets */
    uint32_t bytes;
    uint32_t msgid;
    uint32_t last;         /* 1: of its message */
    uint32_t fate;         /* SPINET_DROPPED to SPINET_CONSUMED */
    uint32_t reason;       /* SPINET_DROP_..., or SPINET_DEFAULT if it was not dropped */
    uint32_t sent_packets; /* that its handlers sent */
    uint32_t host_writes;  /* commands of its handlers that write host memory */
    uint32_t faults;       /* commands that were refused */
    spinet_handler_run_t handlers[3]; /* header, payload, completion handler */
} spinet_done_t;

/* Keep packets that contexts are done with from now on, if `keep` is not 0; else forget them, as at first. */
int spinet_keep_done(spinet_machine_t *machine, int keep);

/* Take the oldest packets that are done, at most `room` of them; `*n` becomes how many. The others stay. */
int spinet_take_done(spinet_machine_t *machine, spinet_done_t *done, size_t room, size_t *n);

typedef struct spinet_line {
    uint64_t time_ps;
    const char *text; /* lives until the next spinet_take_line; NULL if there is no line */
    uint32_t cluster;
    uint32_t core;
} spinet_line_t;

/* Take the oldest line that handlers printed and nobody took. */
int spinet_take_line(spinet_machine_t *machine, spinet_line_t *line);

/* ---- Events ---- */

#define SPINET_MESSAGE_DONE 1      /* msgid: all its handlers have ended */
#define SPINET_HANDLER_ERROR 2     /* msgid, stage, handler, cause, pc, address, cluster, core */
#define SPINET_MESSAGE_TIMEOUT 3   /* msgid, dropped: it stopped arriving */
#define SPINET_MESSAGE_KILLED 4    /* msgid, dropped */
#define SPINET_TRANSLATION_FAULT 5 /* address, write: a command named host memory that is not registered */
#define SPINET_MESSAGE_EVICTED 6   /* msgid, dropped: it had to leave its queue to another tenant, which is sure of it */

/* What happened to a context; `what` says which of the numbers count, the others are 0. */
typedef struct spinet_event {
    uint64_t time_ps; /* when the host had it */
    spinet_context_t context;
    uint64_t address; /* that was accessed, or the instruction, as in mtval; for 5 the host address */
    uint32_t what;
    uint32_t msgid;
    uint32_t dropped; /* packets that were in the message's queue */
    uint32_t stage;   /* 0 header, 1 payload, 2 completion handler */
    uint32_t handler; /* address of its code */
    uint32_t cause;   /* as in mcause of RISC-V; 24 is the watchdog */
    uint32_t pc;
    uint32_t cluster;
    uint32_t core;  /* in its cluster */
    uint32_t write; /* 1: the command would have written */
} spinet_event_t;

/* Take a tenant's oldest events, at most `room` of them; `*n` becomes how many. The others stay. */
int spinet_take_events(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_event_t *events, size_t room, size_t *n);

/* What the card wrote last into the context's descriptor in host memory. */
typedef struct spinet_error_record {
    uint32_t cause;   /* as in mcause; 24 the watchdog, 25 a message that stopped arriving, 26 one that was killed */
    uint32_t address; /* as in mtval */
    uint32_t pc;
    uint32_t handler;
    uint32_t msgid;
    uint32_t stage; /* as in spinet_event_t */
    uint32_t hpu;   /* cluster * n_cores + core */
    uint32_t count; /* errors that this HPU has reported, with this one; 0 if there is no record */
} spinet_error_record_t;

/* Look at the error record of a context. */
int spinet_error_record(spinet_machine_t *machine, spinet_tenant_t tenant, spinet_context_t context,
                        spinet_error_record_t *record);

/*
 * Write a text of `room` bytes at most, 65 are enough, that stands for all that the card did so far: the same calls at the same
 * times give the same one.
 */
int spinet_digest(spinet_machine_t *machine, char *text, size_t room);

#ifdef __cplusplus
}
#endif

#endif
