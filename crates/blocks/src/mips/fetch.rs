//! Fetching of instructions that are not in the scratchpad.

use super::code::InstructionCache;
use super::refer::DataPort;
use crate::bus::{Access, Reference, Requester};
use kernel::Cycle;

/// Cycles of decode and execute: a line requested this much too late still arrives in time for its instruction.
const SLACK: Cycle = 2;

/// The instruction cache, and the port that fills it one line at a time.
pub(super) struct Fetch {
    pub requester: Requester,
    pub cache: InstructionCache,
    /// Number of lines requested.
    pub fills: u64,
    under_way: Option<Fill>,
    /// The last line received, until the core uses it, and the fetch cycle for which it arrived in time.
    arrived: Option<(u32, Cycle)>,
}

/// An outstanding line.
struct Fill {
    line: u32,
    /// How many cycles too late it was requested.
    late: u64,
    /// True if the line may enter the cache.
    is_wanted: bool,
}

impl Fetch {
    pub fn new(requester: Requester, cache: InstructionCache) -> Fetch {
        Fetch { requester, cache, fills: 0, under_way: None, arrived: None }
    }

    /// Requests the line of `pc`, which was needed in cycle `wanted`, unless a line is outstanding or the core's own
    /// store to it is still outstanding at `memory`.
    pub fn ask(&mut self, now: Cycle, wanted: Cycle, pc: u32, memory: &DataPort) {
        let line = self.cache.line(pc);
        let is_new = self.cache.drops_stored_lines() && memory.is_storing(line, self.cache.line_bytes());
        if is_new || self.under_way.is_some() || !self.requester.references.has_room() {
            return;
        }
        let access = Access::Read(self.cache.line_bytes());
        self.requester.references.send(Reference { id: self.fills as u32, addr: line.into(), access });
        self.fills += 1;
        self.under_way = Some(Fill { line, late: (now - wanted).min(SLACK), is_wanted: true });
    }

    /// Returns true if a line is outstanding.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Uses the line of `pc` if it is cached. If it is new, returns the fetch cycle for which it arrived in time.
    pub fn turn_to(&mut self, pc: u32) -> Option<Cycle> {
        let line = self.cache.line(pc);
        if !self.cache.turn_to(line) {
            return None;
        }
        self.arrived.take_if(|arrived| arrived.0 == line).map(|(_, cycle)| cycle)
    }

    /// Takes a line that has arrived. Returns its address if memory refused it.
    pub fn take(&mut self, now: Cycle) -> Option<u32> {
        let reply = self.requester.replies.take()?;
        let Fill { line, late, is_wanted } = self.under_way.take().expect("an answer belongs to a request");
        match reply.result {
            Ok(data) if is_wanted => {
                assert_eq!(data.len(), self.cache.line_bytes() as usize, "an answer is as long as requested");
                self.cache.fill(line, &data);
                self.arrived = Some((line, now - late));
                None
            }
            Ok(_) => None,
            Err(_) => is_wanted.then_some(line),
        }
    }

    /// Handles a store of the core to `addr`: drops the line, even an outstanding one, if the cache drops stored lines.
    pub fn stored(&mut self, addr: u32) {
        if self.cache.stored(addr)
            && let Some(fill) = self.under_way.as_mut().filter(|fill| fill.line == self.cache.line(addr))
        {
            fill.is_wanted = false;
        }
    }

    /// Drops all lines, including an outstanding one.
    pub fn forget(&mut self) {
        self.cache.clear();
        if let Some(fill) = &mut self.under_way {
            fill.is_wanted = false;
        }
    }
}
