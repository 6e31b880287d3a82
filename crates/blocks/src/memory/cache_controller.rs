//! A cache controller: tags and timing of a write-through cache whose bytes are in a memory of their own.

use crate::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder};
use crate::checks;
use crate::interconnect::Seen;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use crate::policy::{Head, Replacement, Replacer};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Stream};

/// Parameters of a [`CacheController`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheControllerParams {
    /// Bytes of a line, a power of two.
    pub line_bytes: u32,
    /// Sets, a power of two.
    pub sets: u32,
    /// Lines of a set, 1 to 64.
    pub ways: u32,
    /// Which line of a set has to go.
    pub replacement: Replacement,
    /// Whether a read that misses brings its line in. Source: thesis, 3.2.2: no read allocate, as printed; the sentence
    /// behind it has a miss load its line, so that both are possible here.
    pub allocates_on_read: bool,
    /// Whether a write that misses brings its line in.
    pub allocates_on_write: bool,
}

/// Serves references from a cache, or from the memory behind it; what is written goes through to memory.
///
/// Ports:   `requester` (memory, answers); `cache` (memory, asks): the bytes of the lines, from 0 on, such as a
///          `multiported-memory`; `memory` (memory, asks): what is cached; `snooped` (references in, optional): what others
///          write to memory, which makes a line that has it invalid from the edge on at which it is seen.
/// Timing:  one reference at a time. A read that hits is passed to `cache` at the edge that sees it, a read that misses to
///          `memory`; the answer goes back at the edge that sees it. A line that is brought in is read whole, and the
///          next reference waits until it is in `cache`. A write is answered when `memory`, and `cache` where it has the
///          line, have answered.
/// A reference across the end of a line is not cached: it goes to memory, and if it writes, its lines become invalid.
/// Source:  thesis, table 3.2 and 3.2.2: write-through, tags of all cached blocks, a variable latency behind both ports.
pub struct CacheController {
    params: CacheControllerParams,
    requester: Responder,
    cache: Requester,
    memory: Requester,
    snooped: Option<Rx<Seen>>,
    /// The line number in each way of each set.
    tags: Vec<Option<u64>>,
    replacer: Replacer,
    state: State,
    read_hits: Counter,
    read_misses: Counter,
    write_hits: Counter,
    write_misses: Counter,
    lines_brought: Counter,
    /// Lines that became invalid: others wrote them, or a reference across their end did.
    lines_invalidated: Counter,
}

/// What is being done.
enum State {
    Idle,
    /// One port owes the answer, which goes back as it is.
    Passed {
        from_cache: bool,
    },
    /// Memory, and `cache` if `in_cache`, owe the answers to a write; then the line of `fill` is to be brought in.
    Writing {
        in_cache: bool,
        answer: Option<Reply>,
        fill: Option<Head>,
    },
    /// Memory owes a line; the read that waits for it, if one does.
    Filling {
        slot: usize,
        line: u64,
        is_stale: bool,
        waits: Option<(u32, Head)>,
    },
    /// `cache` owes the answer to a line that is put in.
    Putting {
        slot: usize,
        line: u64,
        is_stale: bool,
    },
}

impl CacheController {
    fn line(&self, addr: u64) -> u64 {
        addr / u64::from(self.params.line_bytes)
    }

    fn set(&self, line: u64) -> usize {
        (line & u64::from(self.params.sets - 1)) as usize
    }

    /// The slot, that is set and way, of a line that is cached.
    fn slot(&self, line: u64) -> Option<usize> {
        let ways = self.params.ways as usize;
        let first = self.set(line) * ways;
        (first..first + ways).find(|&slot| self.tags[slot] == Some(line))
    }

    fn use_slot(&mut self, slot: usize) {
        let ways = self.params.ways as usize;
        self.replacer.used(slot / ways, slot % ways);
    }

    /// Address of a byte in the memory of lines.
    fn place(&self, slot: usize, addr: u64) -> u64 {
        let line = u64::from(self.params.line_bytes);
        slot as u64 * line + addr % line
    }

    /// Forgets what others have written.
    fn snoop(&mut self) {
        while let Some(Seen(head)) = self.snooped.as_ref().and_then(Rx::take) {
            if head.is_write {
                self.invalidate(head);
            }
        }
    }

    fn invalidate(&mut self, head: Head) {
        let last = self.line(head.addr.saturating_add(u64::from(head.bytes.max(1) - 1)));
        let lines = self.line(head.addr)..=last;
        for tag in &mut self.tags {
            if tag.take_if(|line| lines.contains(line)).is_some() {
                self.lines_invalidated.add(1);
            }
        }
        if let State::Filling { line, is_stale, .. } | State::Putting { line, is_stale, .. } = &mut self.state {
            *is_stale |= lines.contains(line);
        }
    }

    /// Begins with the next reference.
    fn begin(&mut self) -> bool {
        let Some(reference) = self.requester.references.peek() else { return false };
        let head = Head::from(&*reference);
        drop(reference);
        if !self.requester.replies.has_room() || !self.memory.references.has_room() || !self.cache.references.has_room()
        {
            return false;
        }
        let reference = self.requester.references.take().expect("a reference is there");
        let last = head.addr.saturating_add(u64::from(head.bytes.max(1) - 1));
        let line = self.line(head.addr);
        let is_whole = head.bytes > 0 && self.line(last) == line;
        let slot = self.slot(line).filter(|_| is_whole);
        if !is_whole {
            if head.is_write {
                self.invalidate(head);
            }
            self.pass(reference, false);
        } else if head.is_write {
            self.write(reference, head, slot);
        } else if let Some(slot) = slot {
            self.read_hits.add(1);
            self.use_slot(slot);
            self.pass(Reference { addr: self.place(slot, head.addr), ..reference }, true);
        } else {
            self.read_misses.add(1);
            if self.params.allocates_on_read {
                self.fill(head, Some((reference.id, head)));
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

    fn write(&mut self, reference: Reference, head: Head, slot: Option<usize>) {
        if let Some(slot) = slot {
            self.write_hits.add(1);
            self.use_slot(slot);
            let copy = Reference { addr: self.place(slot, head.addr), ..reference.clone() };
            self.cache.references.send(copy);
        } else {
            self.write_misses.add(1);
        }
        self.memory.references.send(reference);
        let fill = (slot.is_none() && self.params.allocates_on_write).then_some(head);
        self.state = State::Writing { in_cache: slot.is_some(), answer: None, fill };
    }

    /// Asks memory for the line of `head`.
    fn fill(&mut self, head: Head, waits: Option<(u32, Head)>) {
        let line = self.line(head.addr);
        let (set, ways) = (self.set(line), self.params.ways as usize);
        let first = set * ways;
        let free = (first..first + ways).find(|&slot| self.tags[slot].is_none());
        let slot = free.unwrap_or_else(|| first + self.replacer.victim(set));
        self.tags[slot] = None;
        let addr = line * u64::from(self.params.line_bytes);
        self.memory.references.send(Reference { id: 0, addr, access: Access::Read(self.params.line_bytes) });
        self.state = State::Filling { slot, line, is_stale: false, waits };
    }

    /// Goes on with what is being done. The result is whether something happened.
    fn go_on(&mut self) -> bool {
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
            State::Writing { in_cache, answer, fill } => self.go_on_writing(in_cache, answer, fill),
            State::Filling { slot, line, is_stale, waits } => {
                let Some(reply) = self.memory.replies.take() else {
                    self.state = State::Filling { slot, line, is_stale, waits };
                    return false;
                };
                self.bring(slot, line, is_stale, waits, reply.result);
                true
            }
            State::Putting { slot, line, is_stale } => {
                let Some(reply) = self.cache.replies.take() else {
                    self.state = State::Putting { slot, line, is_stale };
                    return false;
                };
                if !is_stale && reply.result.is_ok() {
                    self.tags[slot] = Some(line);
                    self.use_slot(slot);
                }
                true
            }
        }
    }

    fn go_on_writing(&mut self, in_cache: bool, answer: Option<Reply>, fill: Option<Head>) -> bool {
        let from_cache = if in_cache { self.cache.replies.take() } else { None };
        let is_new = answer.is_none();
        let answer = answer.or_else(|| self.memory.replies.take());
        let came = from_cache.is_some() || (is_new && answer.is_some());
        let in_cache = in_cache && from_cache.is_none();
        match (in_cache, answer) {
            (false, Some(reply)) if fill.is_none() || self.memory.references.has_room() => {
                // A line that memory does not have is not brought in.
                let fill = fill.filter(|_| reply.result.is_ok());
                self.requester.replies.send(reply);
                if let Some(head) = fill {
                    self.fill(head, None);
                }
                true
            }
            (in_cache, answer) => {
                self.state = State::Writing { in_cache, answer, fill };
                came
            }
        }
    }

    /// A line has come: answers who waits for it and puts it where it belongs.
    fn bring(
        &mut self,
        slot: usize,
        line: u64,
        is_stale: bool,
        waits: Option<(u32, Head)>,
        result: Result<Data, BusError>,
    ) {
        if let Some((id, head)) = waits {
            let first = (head.addr % u64::from(self.params.line_bytes)) as usize;
            match &result {
                Ok(bytes) => {
                    let part = Data::from_slice(&bytes[first..first + head.bytes as usize]);
                    self.requester.replies.send(Reply { id, result: Ok(part) });
                }
                // The line is not all there, but what is asked for may be.
                Err(_) => self.pass(Reference { id, addr: head.addr, access: Access::Read(head.bytes) }, false),
            }
        }
        if let Ok(bytes) = result {
            self.lines_brought.add(1);
            let addr = self.place(slot, 0);
            self.cache.references.send(Reference { id: 0, addr, access: Access::Write(bytes) });
            self.state = State::Putting { slot, line, is_stale };
        }
    }
}

impl Component for CacheController {
    fn tick(&mut self, _now: Cycle) -> Activity {
        self.snoop();
        let went_on = self.go_on();
        if went_on { Activity::Busy } else { Activity::Idle }
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

impl CacheController {
    /// A controller of an empty cache; `draws` is for random replacement.
    pub fn new(params: CacheControllerParams, ports: CachePorts, draws: Stream) -> Self {
        let CachePorts { requester, cache, memory, snooped } = ports;
        let (sets, ways) = (params.sets as usize, params.ways as usize);
        CacheController {
            tags: vec![None; sets * ways],
            replacer: Replacer::new(params.replacement, sets, ways, draws),
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
}

/// The ports of a [`CacheController`].
pub struct CachePorts {
    /// Who is served.
    pub requester: Responder,
    /// Where the bytes of the lines are.
    pub cache: Requester,
    /// What is cached.
    pub memory: Requester,
    /// What others write to memory.
    pub snooped: Option<Rx<Seen>>,
}

impl Module for CacheControllerParams {
    const NAME: &'static str = "cache-controller";
    const ABOUT: &'static str = "Tags and timing of a write-through cache whose bytes are in a memory of their own.";
    const EXAMPLE: &'static str = r#"line_bytes = 32
sets = 128
ways = 2
replacement = "lru"
allocates_on_read = true
allocates_on_write = false"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("requester"),
            PortSpec::from::<Memory>("cache"),
            PortSpec::from::<Memory>("memory"),
            PortSpec::to::<OneWay<Seen>>("snooped").optional(),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::power_of_two("line_bytes", self.line_bytes, 4, 4096)?;
        checks::power_of_two("sets", self.sets, 1, 1 << 16)?;
        checks::within("ways", self.ways, 1, 64)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = CachePorts {
            requester: site.to::<Memory>("requester"),
            cache: site.from::<Memory>("cache"),
            memory: site.from::<Memory>("memory"),
            snooped: site.try_to::<OneWay<Seen>>("snooped"),
        };
        let draws = site.system.stream(site.path);
        Built::new(CacheController::new(self, ports, draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answers, asks};
    use expect_test::{Expect, expect};

    /// Two sets of two lines of four bytes; `>` is the cached memory, which takes two cycles, `#` the lines. `snooped` are
    /// cycles and addresses of bytes that others have written.
    fn check(allocates: (bool, bool), script: &str, snooped: &[(Cycle, u64)], want: Expect) {
        let params = CacheControllerParams {
            line_bytes: 4,
            sets: 2,
            ways: 2,
            replacement: Replacement::Lru,
            allocates_on_read: allocates.0,
            allocates_on_write: allocates.1,
        };
        want.assert_eq(&testkit::bench(200, |bench| {
            let seen = |addr| Seen(Head { addr, bytes: 1, is_write: true });
            let snooped = snooped.iter().map(|&(at, addr)| (at, seen(addr))).collect();
            let ports = CachePorts {
                requester: asks(bench, "core", script, 0),
                cache: answers(bench, "#", 0),
                memory: answers(bench, ">", 1),
                snooped: Some(bench.input("snooped", 2, snooped)),
            };
            bench.add("cache", CacheController::new(params.clone(), ports, Stream::new(1, "cache")));
            bench.log_counters();
        }));
    }

    #[test]
    fn a_miss_brings_the_line_in_and_a_hit_stays_inside() {
        check(
            (true, false),
            "1 r 42+2; 20 r 41+1; 30 r 44+4",
            &[],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 4243
            21   # r 1+1
            23   core 1 01
            31   > r 44+4
            34   # w 8=44454647
            34   core 2 44454647
            cache.read_hits 1
            cache.read_misses 2
            cache.lines_brought 2
        "#]],
        );
    }

    #[test]
    fn without_read_allocation_as_the_thesis_prints_it_reads_bring_nothing_in() {
        check(
            (false, true),
            "1 r 42+2; 20 w 43=aa; 40 r 40+1",
            &[],
            expect![[r#"
            2    > r 42+2
            5    core 0 4243
            21   > w 43=aa
            24   > r 40+4
            24   core 1 done
            27   # w 0=40414243
            41   # r 0+1
            43   core 2 00
            cache.read_hits 1
            cache.read_misses 1
            cache.write_misses 1
            cache.lines_brought 1
        "#]],
        );
    }

    #[test]
    fn writes_go_through() {
        check(
            (true, false),
            "1 r 40+4; 20 w 41=aabb; 40 w 50=cc",
            &[],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 40414243
            21   # w 1=aabb
            21   > w 41=aabb
            24   core 1 done
            41   > w 50=cc
            44   core 2 done
            cache.read_misses 1
            cache.write_hits 1
            cache.write_misses 1
            cache.lines_brought 1
        "#]],
        );
    }

    #[test]
    fn the_line_used_longest_ago_has_to_go() {
        // Lines 10, 12 and 14 share set 0.
        check(
            (true, false),
            "1 r 40+1; 20 r 48+1; 40 r 41+1; 60 r 50+1; 80 r 42+1; 100 r 48+1",
            &[],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 40
            21   > r 48+4
            24   # w 4=48494a4b
            24   core 1 48
            41   # r 1+1
            43   core 2 01
            61   > r 50+4
            64   # w 4=50515253
            64   core 3 50
            81   # r 2+1
            83   core 4 02
            101  > r 48+4
            104  # w 4=48494a4b
            104  core 5 48
            cache.read_hits 2
            cache.read_misses 4
            cache.lines_brought 4
        "#]],
        );
    }

    #[test]
    fn what_others_write_is_forgotten_even_on_its_way() {
        check(
            (true, false),
            "1 r 40+1; 20 r 40+1; 40 r 40+1",
            &[(15, 0x43), (17, 0x44)],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 40
            21   > r 40+4
            24   # w 0=40414243
            24   core 1 40
            41   # r 0+1
            43   core 2 00
            cache.read_hits 1
            cache.read_misses 2
            cache.lines_brought 2
            cache.lines_invalidated 1
        "#]],
        );
        check(
            (true, false),
            "1 r 40+1; 20 r 40+1; 40 r 40+1",
            &[(4, 0x40)],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 40
            21   > r 40+4
            24   # w 0=40414243
            24   core 1 40
            41   # r 0+1
            43   core 2 00
            cache.read_hits 1
            cache.read_misses 2
            cache.lines_brought 2
        "#]],
        );
    }

    #[test]
    fn what_crosses_a_line_is_not_cached() {
        check(
            (true, false),
            "1 r 40+4; 20 r 42+4; 40 w 43=aabb; 60 r 40+4",
            &[],
            expect![[r#"
            2    > r 40+4
            5    # w 0=40414243
            5    core 0 40414243
            21   > r 42+4
            24   core 1 42434445
            41   > w 43=aabb
            44   core 2 done
            61   > r 40+4
            64   # w 0=40414243
            64   core 3 40414243
            cache.read_misses 2
            cache.lines_brought 2
            cache.lines_invalidated 1
        "#]],
        );
    }
}
