//! Where a core gets instructions that are not in its scratchpad.

use super::code::{InstructionCache, Slot};
use super::refer::DataPort;
use crate::bus::{Access, Reference, Requester};
use kernel::Cycle;

/// Decode and execute: a line that was asked for this much too late still comes in time for its instruction.
const SLACK: Cycle = 2;

/// The instruction cache and the port that fills it, a line at a time.
pub(super) struct Fetch {
    pub requester: Requester,
    pub cache: InstructionCache,
    /// Lines that were asked for.
    pub fills: u64,
    under_way: Option<Fill>,
    /// The line that came last, until the core gets to it, and the cycle for which it came in time.
    came: Option<(u32, Cycle)>,
}

/// A line that was asked for.
struct Fill {
    line: u32,
    /// By how many cycles too late.
    late: u64,
    /// Whether what comes may go into the cache.
    is_wanted: bool,
}

impl Fetch {
    pub fn new(requester: Requester, cache: InstructionCache) -> Fetch {
        Fetch { requester, cache, fills: 0, under_way: None, came: None }
    }

    /// Asks for the line around `pc`, which was wanted in cycle `wanted`, unless it waits for one already, or the core's own
    /// store to it is still on its way to `memory`.
    pub fn ask(&mut self, now: Cycle, wanted: Cycle, pc: u32, memory: &DataPort) {
        let line = self.cache.line(pc);
        let is_new = self.cache.minds_stores() && memory.is_storing(line, self.cache.line_bytes());
        if is_new || self.under_way.is_some() || !self.requester.references.has_room() {
            return;
        }
        let access = Access::Read(self.cache.line_bytes());
        self.requester.references.send(Reference { id: self.fills as u32, addr: line.into(), access });
        self.fills += 1;
        self.under_way = Some(Fill { line, late: (now - wanted).min(SLACK), is_wanted: true });
    }

    /// The instruction at `pc`, if it is here, and the cycle for which it came in time if that is news.
    #[inline(always)]
    pub fn slot(&mut self, pc: u32) -> Option<(Slot, Option<Cycle>)> {
        let slot = self.cache.slot(pc)?;
        let line = self.cache.line(pc);
        let came = if self.came.is_some() { self.came.take_if(|came| came.0 == line) } else { None };
        Some((slot, came.map(|(_, cycle)| cycle)))
    }

    /// Takes the line that has come; if nobody answered, says at which address.
    pub fn take(&mut self, now: Cycle) -> Option<u32> {
        let reply = self.requester.replies.take()?;
        let Fill { line, late, is_wanted } = self.under_way.take().expect("an answer is to a reference");
        match reply.result {
            Ok(data) if is_wanted => {
                assert_eq!(data.len(), self.cache.line_bytes() as usize, "an answer is as long as was asked");
                self.cache.fill(line, &data);
                self.came = Some((line, now - late));
                None
            }
            Ok(_) => None,
            Err(_) => is_wanted.then_some(line),
        }
    }

    /// The core stores to `addr`: what is here of it, or comes, is old, if the cache minds.
    pub fn stored(&mut self, addr: u32) {
        if self.cache.stored(addr)
            && let Some(fill) = self.under_way.as_mut().filter(|fill| fill.line == self.cache.line(addr))
        {
            fill.is_wanted = false;
        }
    }

    /// Forgets all lines, also one that is under way.
    pub fn forget(&mut self) {
        self.cache.clear();
        if let Some(fill) = &mut self.under_way {
            fill.is_wanted = false;
        }
    }
}
