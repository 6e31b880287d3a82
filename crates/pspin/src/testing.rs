//! What tests of several components share.

use crate::protocol::{Context, Her, PacketId, Region};
use kernel::Cycle;
use std::rc::Rc;

/// A context with the handlers that `handlers` names: h header, p payload, c completion.
pub fn context(handlers: &str) -> Rc<Context> {
    let region = |letter: char, addr| Region { addr: if handlers.contains(letter) { addr } else { 0 }, size: 4096 };
    let (header, payload, completion) = (region('h', 0x1d00_0100), region('p', 0x1d00_0200), region('c', 0x1d00_0300));
    Rc::new(Context { header, payload, completion, ..Context::default() })
}

/// A request from `cycle:msgid`, with `!` behind the last of its message.
pub fn her(packet: usize, word: &str, context: &Rc<Context>) -> (Cycle, Her) {
    let (cycle, rest) = word.split_once(':').expect("a colon stands between cycle and message");
    let msgid = rest.trim_end_matches('!').parse().expect("a message is a number");
    let addr = 0x1c40_0000 + 64 * packet as u32;
    let packet = PacketId(packet as u64);
    let her = Her { packet, msgid, eom: rest.ends_with('!'), addr, size: 64, xfer_size: 64, context: context.clone() };
    (cycle.parse().expect("a cycle is a number"), her)
}
