//! Structs of `spinet_driver.h`.

use super::optional;
use super::refusal::Refusal;
use pspin::delivery::{EarlyPayload, WhenFull};
use pspin::host_events::HostEvent;
use spinet::driver::{Capabilities, ContextSpec, HostId, MemoryId, MemoryLeft, ProgramId};
use spinet::experiment::{DeliverySpec, IoSpec};
use spinet::handlers::packets::{Row, TaskRow};
use std::ffi::{c_char, c_void};
use std::ptr;

/// Value that selects the card's default: `SPINET_DEFAULT`, and `SPINET_DEFAULT_CYCLES` for 64 bits.
const DEFAULT: u32 = u32::MAX;
const DEFAULT_CYCLES: u64 = u64::MAX;

/// `spinet_tenant_spec_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TenantArgs {
    weight: u32,
    priority: u32,
    host_rate: *const c_char,
    egress_rate: *const c_char,
    cluster_rate: *const c_char,
}

impl Default for TenantArgs {
    fn default() -> Self {
        let unlimited = ptr::null();
        TenantArgs { weight: 1, priority: 0, host_rate: unlimited, egress_rate: unlimited, cluster_rate: unlimited }
    }
}

impl TenantArgs {
    /// The weight, and the other rights.
    ///
    /// # Safety
    /// Strings are NULL or C strings.
    pub unsafe fn read(&self) -> Result<(u32, IoSpec), Refusal> {
        // SAFETY: the caller guarantees it.
        let owned = |what, text| Ok::<_, Refusal>(unsafe { optional(what, text) }?.map(str::to_owned));
        let io = IoSpec {
            priority: self.priority,
            host_rate: owned("host_rate", self.host_rate)?,
            egress_rate: owned("egress_rate", self.egress_rate)?,
            cluster_rate: owned("cluster_rate", self.cluster_rate)?,
        };
        Ok((self.weight, io))
    }
}

/// `spinet_context_spec_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ContextArgs {
    program: u64,
    handler: *const c_char,
    symbols: [*const c_char; 3],
    handler_memory: u64,
    scratchpad: u64,
    host: u64,
    copy_bytes: u32,
    watchdog_cycles: u32,
    when_full: u32,
    ecn_threshold_percent: u32,
    early_payload: u32,
    early_packets: u32,
    timeout_cycles: u64,
}

impl ContextArgs {
    /// A specification with the handlers of a program and without any memory.
    pub fn new(program: u64) -> Self {
        ContextArgs {
            program,
            handler: ptr::null(),
            symbols: [ptr::null(); 3],
            handler_memory: 0,
            scratchpad: 0,
            host: 0,
            copy_bytes: DEFAULT,
            watchdog_cycles: DEFAULT,
            when_full: DEFAULT,
            ecn_threshold_percent: DEFAULT,
            early_payload: DEFAULT,
            early_packets: DEFAULT,
            timeout_cycles: DEFAULT_CYCLES,
        }
    }

    /// Converts to the driver's type.
    ///
    /// # Safety
    /// Strings are NULL or C strings.
    pub unsafe fn read(&self) -> Result<ContextSpec, Refusal> {
        // SAFETY: the caller guarantees it.
        let owned = |what, text| Ok::<_, Refusal>(unsafe { optional(what, text) }?.map(str::to_owned));
        let [header, payload, completion] = self.symbols;
        let handle = |number: u64| (number != 0).then_some(number);
        let value = |value: u32| (value != DEFAULT).then_some(value);
        Ok(ContextSpec {
            handler: owned("handler", self.handler)?,
            symbols: [owned("symbols[0]", header)?, owned("symbols[1]", payload)?, owned("symbols[2]", completion)?],
            handler_memory: handle(self.handler_memory).map(MemoryId),
            scratchpad: handle(self.scratchpad).map(MemoryId),
            host: handle(self.host).map(HostId),
            copy_bytes: value(self.copy_bytes),
            watchdog_cycles: value(self.watchdog_cycles),
            delivery: self.delivery()?,
            ..ContextSpec::new(ProgramId(self.program))
        })
    }
}

impl ContextArgs {
    /// The context's delivery settings.
    fn delivery(&self) -> Result<DeliverySpec, Refusal> {
        let value = |value: u32| (value != DEFAULT).then_some(value);
        let when_full = match self.when_full {
            DEFAULT => None,
            0 => Some(WhenFull::Stall),
            1 => Some(WhenFull::Drop),
            2 => Some(WhenFull::MarkEcn),
            3 => Some(WhenFull::KillMessage),
            other => {
                let allowed = "SPINET_FULL_STALL (0), SPINET_FULL_DROP (1), SPINET_FULL_MARK_ECN (2), SPINET_FULL_KILL (3) or SPINET_DEFAULT";
                return Err(Refusal::argument("when_full", other, allowed));
            }
        };
        let early_payload = match self.early_payload {
            DEFAULT => None,
            0 => Some(EarlyPayload::Buffer),
            1 => Some(EarlyPayload::Drop),
            other => {
                let allowed = "SPINET_EARLY_BUFFER (0), SPINET_EARLY_DROP (1) or SPINET_DEFAULT";
                return Err(Refusal::argument("early_payload", other, allowed));
            }
        };
        Ok(DeliverySpec {
            when_full,
            ecn_threshold_percent: value(self.ecn_threshold_percent),
            early_payload,
            early_packets: value(self.early_packets),
            timeout_cycles: (self.timeout_cycles != DEFAULT_CYCLES).then_some(self.timeout_cycles),
        })
    }
}

/// `spinet_memory_left_t`
#[repr(C)]
pub struct FreeMemory {
    bytes: u64,
    free: u64,
    largest: u64,
    at: u64,
}

impl From<MemoryLeft> for FreeMemory {
    fn from(MemoryLeft { bytes, free, largest, at }: MemoryLeft) -> Self {
        FreeMemory { bytes, free, largest, at }
    }
}

/// `spinet_capabilities_t`
#[repr(C)]
pub struct CardInfo {
    n_clusters: u32,
    n_cores: u32,
    n_message_queues: u32,
    reserved_message_queues: u32,
    max_copy_bytes: u32,
    watchdog_cycles: u32,
    reliable: u8,
    in_order: u8,
    isolated: u8,
    reports_errors: u8,
    program_memory: FreeMemory,
    handler_memory: FreeMemory,
    scratchpad_memory: FreeMemory,
}

impl From<Capabilities> for CardInfo {
    fn from(card: Capabilities) -> Self {
        CardInfo {
            n_clusters: card.n_clusters,
            n_cores: card.n_cores,
            n_message_queues: card.n_message_queues,
            reserved_message_queues: card.reserved_message_queues,
            max_copy_bytes: card.max_copy_bytes,
            watchdog_cycles: card.watchdog_cycles,
            reliable: card.reliable.into(),
            in_order: card.in_order.into(),
            isolated: card.isolated.into(),
            reports_errors: card.reports_errors.into(),
            program_memory: card.program_memory.into(),
            handler_memory: card.handler_memory.into(),
            scratchpad_memory: card.scratchpad_memory.into(),
        }
    }
}

/// `spinet_event_t`
#[repr(C)]
#[derive(Default)]
pub struct TenantEvent {
    time_ps: u64,
    context: u64,
    address: u64,
    what: u32,
    msgid: u32,
    dropped: u32,
    stage: u32,
    handler: u32,
    cause: u32,
    pc: u32,
    cluster: u32,
    core: u32,
    write: u32,
}

impl TenantEvent {
    /// Converts an event of a context.
    pub fn new(time_ps: u64, context: u64, event: HostEvent) -> Self {
        let nothing = TenantEvent { time_ps, context, ..TenantEvent::default() };
        match event {
            HostEvent::MessageDone { msgid } => TenantEvent { what: 1, msgid: msgid.into(), ..nothing },
            HostEvent::HandlerError(error) => TenantEvent {
                what: 2,
                address: error.addr.into(),
                msgid: error.msgid.into(),
                stage: error.stage as u32,
                handler: error.handler,
                cause: error.cause,
                pc: error.pc,
                cluster: error.cluster.into(),
                core: error.core.into(),
                ..nothing
            },
            HostEvent::MessageTimeout { msgid, dropped, .. } => {
                TenantEvent { what: 3, msgid: msgid.into(), dropped, ..nothing }
            }
            HostEvent::MessageKilled { msgid, dropped } => {
                TenantEvent { what: 4, msgid: msgid.into(), dropped, ..nothing }
            }
            HostEvent::MessageEvicted { msgid, dropped } => {
                TenantEvent { what: 6, msgid: msgid.into(), dropped, ..nothing }
            }
            HostEvent::TranslationFault { addr, write, .. } => {
                TenantEvent { what: 5, address: addr, write: write.into(), ..nothing }
            }
        }
    }
}

/// `spinet_packet_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Packet {
    pub after_ps: u64,
    pub data: *const c_void,
    pub size: usize,
}

/// `spinet_traffic_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrafficArgs {
    pub source: *const c_char,
    pub pacing: *const c_char,
    pub count: u64,
    pub seed: u64,
    pub snapped: u32,
}

/// `spinet_handler_run_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HandlerRun {
    start_ps: u64,
    end_ps: u64,
    instructions: u64,
    cluster: u32,
    core: u32,
    ran: u32,
    cause: u32,
}

/// `spinet_done_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Done {
    context: u64,
    number: u64,
    message: u64,
    arrival_ps: u64,
    stored_ps: u64,
    done_ps: u64,
    sent_ps: u64,
    sent_bytes: u64,
    bytes: u32,
    msgid: u32,
    last: u32,
    fate: u32,
    reason: u32,
    sent_packets: u32,
    host_writes: u32,
    faults: u32,
    handlers: [HandlerRun; 3],
}

impl Done {
    /// Converts a finished packet. `ps` converts cycles to ps.
    pub fn new(context: u64, row: &Row, ps: impl Fn(u64) -> u64) -> Self {
        let time = |cycle: Option<u64>| cycle.map_or(0, &ps);
        let handler = |task: &TaskRow| HandlerRun {
            start_ps: time(task.start),
            end_ps: time(task.end),
            instructions: task.instructions,
            cluster: task.cluster,
            core: task.hpu,
            ran: task.start.is_some().into(),
            cause: task.trap.map_or(DEFAULT, |trap| trap.cause),
        };
        Done {
            context,
            number: row.frame,
            message: row.message,
            arrival_ps: ps(row.arrival),
            stored_ps: time(row.stored),
            done_ps: time(row.done),
            sent_ps: time(row.sent_at),
            sent_bytes: row.sent_bytes,
            bytes: row.bytes,
            msgid: row.msgid.into(),
            last: row.is_last.into(),
            fate: row.fate() as u32,
            reason: row.dropped.unwrap_or(DEFAULT),
            sent_packets: row.sent_packets,
            host_writes: row.host_writes,
            faults: row.faults,
            handlers: [&row.tasks[0], &row.tasks[1], &row.tasks[2]].map(handler),
        }
    }
}

/// `spinet_sent_t`
#[repr(C)]
pub struct Sent {
    pub time_ps: u64,
    pub data: *const u8,
    pub size: usize,
}

/// `spinet_line_t`
#[repr(C)]
pub struct PrintedLine {
    pub time_ps: u64,
    pub text: *const c_char,
    pub cluster: u32,
    pub core: u32,
}
