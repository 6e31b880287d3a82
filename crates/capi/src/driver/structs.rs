//! Structs of `spinet_driver.h`.

use super::optional;
use super::refusal::Refusal;
use pspin::host_events::HostEvent;
use spinet::driver::{Capabilities, ContextSpec, HostId, MemoryId, MemoryLeft, ProgramId};
use std::ffi::{c_char, c_void};
use std::ptr;

/// What the card says counts: `SPINET_DEFAULT`.
const DEFAULT: u32 = u32::MAX;

/// `spinet_context_spec_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Spec {
    program: u64,
    handler: *const c_char,
    symbols: [*const c_char; 3],
    handler_memory: u64,
    scratchpad: u64,
    host: u64,
    copy_bytes: u32,
    watchdog_cycles: u32,
}

impl Spec {
    /// The handlers of a program, without any memory.
    pub fn new(program: u64) -> Self {
        Spec {
            program,
            handler: ptr::null(),
            symbols: [ptr::null(); 3],
            handler_memory: 0,
            scratchpad: 0,
            host: 0,
            copy_bytes: DEFAULT,
            watchdog_cycles: DEFAULT,
        }
    }

    /// The same for the driver.
    ///
    /// # Safety
    /// Texts are NULL or C texts.
    pub unsafe fn read(&self) -> Result<ContextSpec, Refusal> {
        // SAFETY: the caller's promise.
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
            ..ContextSpec::new(ProgramId(self.program))
        })
    }
}

/// `spinet_memory_left_t`
#[repr(C)]
pub struct Left {
    bytes: u64,
    free: u64,
    largest: u64,
    at: u64,
}

impl From<MemoryLeft> for Left {
    fn from(MemoryLeft { bytes, free, largest, at }: MemoryLeft) -> Self {
        Left { bytes, free, largest, at }
    }
}

/// `spinet_capabilities_t`
#[repr(C)]
pub struct Card {
    n_clusters: u32,
    n_cores: u32,
    n_message_queues: u32,
    max_copy_bytes: u32,
    watchdog_cycles: u32,
    reliable: u8,
    in_order: u8,
    isolated: u8,
    reports_errors: u8,
    program_memory: Left,
    handler_memory: Left,
    scratchpad_memory: Left,
}

impl From<Capabilities> for Card {
    fn from(card: Capabilities) -> Self {
        Card {
            n_clusters: card.n_clusters,
            n_cores: card.n_cores,
            n_message_queues: card.n_message_queues,
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
pub struct Told {
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

impl Told {
    /// What happened to a context, and when.
    pub fn new(time_ps: u64, context: u64, event: HostEvent) -> Self {
        let nothing = Told { time_ps, context, ..Told::default() };
        match event {
            HostEvent::MessageDone { msgid } => Told { what: 1, msgid: msgid.into(), ..nothing },
            HostEvent::HandlerError(error) => Told {
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
            HostEvent::MessageTimeout { msgid, dropped } => Told { what: 3, msgid: msgid.into(), dropped, ..nothing },
            HostEvent::MessageKilled { msgid, dropped } => Told { what: 4, msgid: msgid.into(), dropped, ..nothing },
            HostEvent::TranslationFault { addr, write, .. } => {
                Told { what: 5, address: addr, write: write.into(), ..nothing }
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

/// `spinet_sent_t`
#[repr(C)]
pub struct Sent {
    pub time_ps: u64,
    pub data: *const u8,
    pub size: usize,
}

/// `spinet_line_t`
#[repr(C)]
pub struct Printed {
    pub time_ps: u64,
    pub text: *const c_char,
    pub cluster: u32,
    pub core: u32,
}
