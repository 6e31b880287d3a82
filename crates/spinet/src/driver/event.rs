//! Events of contexts, for their tenants.

use super::ContextId;
use kernel::Cycle;
use pspin::host_events::HostEvent;

/// Something that happened to a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The cycle in which the host receives the event.
    pub at: Cycle,
    /// The context of the event.
    pub context: ContextId,
    /// The event.
    pub what: HostEvent,
}

impl Event {
    /// Its name, and its numbers by name.
    pub fn describe(&self) -> (&'static str, Vec<(&'static str, u64)>) {
        describe(&self.what)
    }
}

/// The name of an event, and its numbers by name.
pub fn describe(event: &HostEvent) -> (&'static str, Vec<(&'static str, u64)>) {
    match *event {
        HostEvent::MessageDone { msgid } => ("message_done", vec![("msgid", msgid.into())]),
        HostEvent::HandlerError(error) => (
            "handler_error",
            vec![
                ("packet", error.packet.0),
                ("msgid", error.msgid.into()),
                ("stage", error.stage as u64),
                ("handler", error.handler.into()),
                ("cause", error.cause.into()),
                ("pc", error.pc.into()),
                ("addr", error.addr.into()),
                ("cluster", error.cluster.into()),
                ("core", error.core.into()),
            ],
        ),
        HostEvent::MessageTimeout { msgid, dropped, .. } => {
            ("message_timeout", vec![("msgid", msgid.into()), ("dropped", dropped.into())])
        }
        HostEvent::MessageKilled { msgid, dropped } => {
            ("message_killed", vec![("msgid", msgid.into()), ("dropped", dropped.into())])
        }
        HostEvent::MessageEvicted { msgid, dropped } => {
            ("message_evicted", vec![("msgid", msgid.into()), ("dropped", dropped.into())])
        }
        HostEvent::TranslationFault { packet, addr, write } => {
            ("translation_fault", vec![("packet", packet.0), ("addr", addr), ("write", write.into())])
        }
    }
}
