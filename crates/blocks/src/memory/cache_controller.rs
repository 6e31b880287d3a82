//! `cache-controller`: tags and timing of a write-through cache whose data is in a separate memory.
//!
//! Ports:   `requester` (memory, answers); `cache` (memory, asks): the data of the lines, from address 0, for example
//!           a `multiported-memory`; `memory` (memory, asks): the cached memory; `snooped` (seen-references,
//!           receives, optional): writes by others, which invalidate a line from the edge on at which they are seen.
//! Timing:  one reference at a time. A read that hits is forwarded to `cache`, and a read that misses to `memory`, at
//!           the edge that sees it; the answer returns at the edge that sees it. A line fill reads the whole line,
//!           and the next reference waits until the line is in `cache`. A write is answered when `memory` has
//!           answered, and `cache` too if it holds the line.
//! Order:   references are answered in order. A reference that crosses the end of a line is not cached: it goes to
//! memory, and a write also invalidates its lines.
//! Source:  thesis, table 3.2 and 3.2.2: write-through, tags of all cached blocks, variable latency at both ports.

mod params;
mod tags;

use crate::activity::busy_if;
use crate::bus::{Access, Data, Reference, Reply, Requester, Responder};
use crate::interconnect::Seen;
use crate::policy::AccessSpan;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, RandomStream, Rx};
pub use params::CacheControllerParams;
use tags::CacheTags;

/// The ports of a [`CacheController`].
pub struct CacheControllerPorts {
    /// The requester.
    pub requester: Responder,
    /// The memory that holds the lines' data.
    pub cache: Requester,
    /// The cached memory.
    pub memory: Requester,
    /// Writes by others.
    pub snooped: Option<Rx<Seen>>,
}

/// A write-through cache: serves references from a data memory or from the memory behind it.
pub struct CacheController {
    params: CacheControllerParams,
    requester: Responder,
    cache: Requester,
    memory: Requester,
    snooped: Option<Rx<Seen>>,
    tags: CacheTags,
    state: State,
    read_hits: Counter,
    read_misses: Counter,
    write_hits: Counter,
    write_misses: Counter,
    lines_brought: Counter,
    /// Lines invalidated by writes of others, or by a write across the end of a line.
    lines_invalidated: Counter,
}

/// Progress of the current reference.
enum State {
    Idle,
    /// Waits for one port's answer, which is forwarded unchanged.
    Passed {
        from_cache: bool,
    },
    /// Waits for the answers of memory, and of `cache` if `in_cache`, to a write. Afterwards the line of `fill` is
    /// fetched.
    Writing {
        in_cache: bool,
        answer: Option<Reply>,
        fill: Option<AccessSpan>,
    },
    /// Waits for a line from memory; `waits` is the read that needs it, if any.
    Filling {
        slot: usize,
        line: u64,
        is_stale: bool,
        waits: Option<(u32, AccessSpan)>,
    },
    /// Waits until `cache` has stored a line.
    Storing {
        slot: usize,
        line: u64,
        is_stale: bool,
    },
}

impl CacheController {
    /// The controller of an empty cache; `draws` is the stream for random replacement.
    pub fn new(params: CacheControllerParams, ports: CacheControllerPorts, draws: RandomStream) -> CacheController {
        let CacheControllerPorts { requester, cache, memory, snooped } = ports;
        CacheController {
            tags: CacheTags::new(&params, draws),
            params,
            requester,
            cache,
            memory,
            snooped,
            state: State::Idle,
            read_hits: Counter::default(),
            read_misses: Counter::default(),
            write_hits: Counter::default(),
            write_misses: Counter::default(),
            lines_brought: Counter::default(),
            lines_invalidated: Counter::default(),
        }
    }

    /// Invalidates lines that others have written.
    fn snoop(&mut self) {
        while let Some(Seen(span)) = self.snooped.as_ref().and_then(Rx::take) {
            if span.is_write {
                self.invalidate(span);
            }
        }
    }

    fn invalidate(&mut self, span: AccessSpan) {
        let lines = self.tags.touched(span);
        self.lines_invalidated.add(self.tags.invalidate(&lines));
        if let State::Filling { line, is_stale, .. } | State::Storing { line, is_stale, .. } = &mut self.state {
            *is_stale |= lines.contains(line);
        }
    }

    /// Starts the next reference.
    fn begin(&mut self) -> bool {
        let Some(reference) = self.requester.references.peek() else { return false };
        let span = AccessSpan::from(&*reference);
        drop(reference);
        if !self.requester.replies.has_room() || !self.memory.references.has_room() || !self.cache.references.has_room()
        {
            return false;
        }
        let reference = self.requester.references.take().expect("a reference is there");
        let lines = self.tags.touched(span);
        // Memory keeps the links, so linked accesses bypass the cache.
        let is_linked = matches!(reference.access, Access::Linked(_));
        let is_whole = span.bytes > 0 && lines.start() == lines.end() && !is_linked;
        let slot = self.tags.slot(*lines.start()).filter(|_| is_whole);
        if !is_whole {
            if span.is_write {
                self.invalidate(span);
            }
            self.pass(reference, false);
        } else if span.is_write {
            self.write(reference, span, slot);
        } else if let Some(slot) = slot {
            self.read_hits.add(1);
            self.tags.use_slot(slot);
            self.pass(Reference { addr: self.tags.slot_addr(slot, span.addr), ..reference }, true);
        } else {
            self.read_misses.add(1);
            if self.params.allocates_on_read {
                self.fill(span, Some((reference.id, span)));
            } else {
                self.pass(reference, false);
            }
        }
        true
    }

    fn pass(&mut self, reference: Reference, from_cache: bool) {
        let port = if from_cache { &self.cache } else { &self.memory };
        port.references.send(reference);
        self.state = State::Passed { from_cache };
    }

    fn write(&mut self, reference: Reference, span: AccessSpan, slot: Option<usize>) {
        if let Some(slot) = slot {
            self.write_hits.add(1);
            self.tags.use_slot(slot);
            let copy = Reference { addr: self.tags.slot_addr(slot, span.addr), ..reference.clone() };
            self.cache.references.send(copy);
        } else {
            self.write_misses.add(1);
        }
        self.memory.references.send(reference);
        let fill = (slot.is_none() && self.params.allocates_on_write).then_some(span);
        self.state = State::Writing { in_cache: slot.is_some(), answer: None, fill };
    }

    /// Requests the line of `span` from memory.
    fn fill(&mut self, span: AccessSpan, waits: Option<(u32, AccessSpan)>) {
        let line = self.tags.of(span.addr);
        let slot = self.tags.free_slot(line);
        let addr = self.tags.addr(line);
        self.memory.references.send(Reference { id: 0, addr, access: Access::Read(self.params.line_bytes) });
        self.state = State::Filling { slot, line, is_stale: false, waits };
    }

    /// Continues the current reference. Returns true if something changed.
    fn advance(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.begin(),
            State::Passed { from_cache } => {
                let port = if from_cache { &self.cache } else { &self.memory };
                let Some(reply) = port.replies.take() else {
                    self.state = State::Passed { from_cache };
                    return false;
                };
                self.requester.replies.send(reply);
                true
            }
            State::Writing { in_cache, answer, fill } => self.advance_write(in_cache, answer, fill),
            State::Filling { slot, line, is_stale, waits } => {
                let Some(reply) = self.memory.replies.take() else {
                    self.state = State::Filling { slot, line, is_stale, waits };
                    return false;
                };
                self.finish_fill(slot, line, is_stale, waits, reply);
                true
            }
            State::Storing { slot, line, is_stale } => {
                let Some(reply) = self.cache.replies.take() else {
                    self.state = State::Storing { slot, line, is_stale };
                    return false;
                };
                if !is_stale && reply.result.is_ok() {
                    self.tags.put(slot, line);
                }
                true
            }
        }
    }

    fn advance_write(&mut self, in_cache: bool, answer: Option<Reply>, fill: Option<AccessSpan>) -> bool {
        let from_cache = if in_cache { self.cache.replies.take() } else { None };
        let is_new = answer.is_none();
        let answer = answer.or_else(|| self.memory.replies.take());
        let is_answered = from_cache.is_some() || (is_new && answer.is_some());
        let in_cache = in_cache && from_cache.is_none();
        match (in_cache, answer) {
            (false, Some(reply)) if fill.is_none() || self.memory.references.has_room() => {
                // A line is not fetched if memory refused the write.
                let fill = fill.filter(|_| reply.result.is_ok());
                self.requester.replies.send(reply);
                if let Some(span) = fill {
                    self.fill(span, None);
                }
                true
            }
            (in_cache, answer) => {
                self.state = State::Writing { in_cache, answer, fill };
                is_answered
            }
        }
    }

    /// Handles a line from memory: answers the read that waits for it and stores the line.
    fn finish_fill(
        &mut self,
        slot: usize,
        line: u64,
        is_stale: bool,
        waits: Option<(u32, AccessSpan)>,
        Reply { result, waited, .. }: Reply,
    ) {
        if let Some((id, span)) = waits {
            let first = (span.addr % u64::from(self.params.line_bytes)) as usize;
            match &result {
                Ok(bytes) => {
                    let part = Data::from_slice(&bytes[first..first + span.bytes as usize]);
                    self.requester.replies.send(Reply::new(id, Ok(part)).having_waited(waited));
                }
                // Part of the line is unreadable, but the requested bytes may not be.
                Err(_) => self.pass(Reference { id, addr: span.addr, access: Access::Read(span.bytes) }, false),
            }
        }
        if let Ok(bytes) = result {
            self.lines_brought.add(1);
            let addr = self.tags.slot_addr(slot, 0);
            self.cache.references.send(Reference { id: 0, addr, access: Access::Write(bytes) });
            self.state = State::Storing { slot, line, is_stale };
        }
    }
}

impl Component for CacheController {
    fn tick(&mut self, _now: Cycle) -> Activity {
        self.snoop();
        busy_if(self.advance())
    }

    fn ports(&self, ports: &mut Ports) {
        self.requester.port("requester", ports);
        self.cache.port("cache", ports);
        self.memory.port("memory", ports);
        if let Some(snooped) = &self.snooped {
            ports.input("snooped", snooped);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("read_hits", self.read_hits.total());
        counters.add("read_misses", self.read_misses.total());
        counters.add("write_hits", self.write_hits.total());
        counters.add("write_misses", self.write_misses.total());
        counters.add("lines_brought", self.lines_brought.total());
        counters.add("lines_invalidated", self.lines_invalidated.total());
    }
}

#[cfg(test)]
mod tests;
