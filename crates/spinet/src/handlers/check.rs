//! The memory checker of PsPIN: the memories that a handler may use, and the findings of a run.

use super::HandlerCard;
use super::record::SharedRecord;
use crate::check::{self, Checker, Finding, Kind, Memories, Occurrence, Other, Shadow, Work};
use crate::debug::Cores;
use crate::elf::Elf;
use crate::lines::SourceLine;
use crate::program::STAGES;
use crate::summary::{grouped, ns};
use blocks::debug::Task;
use pspin::{PspinParams, map};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// The checker of a card, which its cores' probes share.
pub(super) type SharedChecker = Rc<RefCell<Checker<Layout>>>;

/// Findings of the memory checker, with `--check`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CheckSummary {
    /// Uses of memory that nobody has written.
    pub uninitialised: u64,
    /// Accesses outside the memory that a handler may use.
    pub bounds: u64,
    /// Accesses of two cores that nothing orders.
    pub races: u64,
    /// Locks that were lost, or released without being held.
    pub locks: u64,
    /// The places, each once, in the order in which they were found.
    pub findings: Vec<FindingSummary>,
}

/// A place in the program with a mistake.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindingSummary {
    /// `uninitialised`, `bounds`, `race` or `lock`.
    pub kind: &'static str,
    /// A description of the first time.
    pub text: String,
    /// How often it happened.
    pub count: u64,
    /// Where it happened first.
    #[serde(flatten)]
    pub first: FindingPlace,
    /// For a race, the earlier access; for a lock, where another core took it.
    pub other: Option<FindingPlace>,
    /// Where an undefined value was loaded, if the finding is elsewhere.
    pub loaded: Option<SourceLine>,
}

/// Where and when something happened.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindingPlace {
    /// Number of the packet in the traffic.
    pub frame: u64,
    /// Number of its message in its context.
    pub message: u64,
    /// Its context.
    pub context: String,
    /// `header`, `payload` or `completion`.
    pub stage: &'static str,
    /// The core's cluster.
    pub cluster: u32,
    /// The core's number in the cluster.
    pub core: u32,
    /// Simulated time.
    pub time_ns: f64,
    /// The same in cycles.
    pub cycle: u64,
    /// Address of the instruction.
    pub pc: String,
    /// Function and offset.
    pub place: String,
    /// Source line, and functions inlined there.
    #[serde(flatten)]
    pub source: SourceLine,
}

/// A memory: its address and its bytes.
type Range = (u32, u32);

/// Returns true if `bytes` from `addr` on are within a range.
fn holds((base, size): Range, addr: u32, bytes: u32) -> bool {
    u64::from(addr.wrapping_sub(base)) + u64::from(bytes) <= u64::from(size)
}

/// The memories of a card with its programs.
pub(super) struct Layout {
    n_cores: u32,
    n_clusters: u32,
    l1_bytes: u32,
    record: SharedRecord,
    elfs: Vec<Rc<Elf>>,
    /// L2 handler memory and packet memory.
    l2: [Range; 2],
    /// Variables with sizes: name and range, in order of their addresses.
    objects: Vec<(String, Range)>,
    /// Static data of programs, in L2 and in every L1.
    data: Vec<Range>,
    /// Constants, which often have no symbols.
    constants: Vec<Range>,
    /// For each context, its handler memory and its scratchpads by cluster.
    contexts: Vec<(Range, Vec<Range>)>,
}

impl Layout {
    fn of(card: &HandlerCard) -> Self {
        let params = &card.checked.nic;
        let l1 = |cluster: u32| map::L1_BASE + cluster * map::L1_STRIDE;
        let in_l1 = |offset: u32, bytes: u32| (0..params.n_clusters).map(move |id| (l1(id) + offset, bytes));
        let everywhere = |(addr, bytes): Range| -> Vec<Range> {
            match addr.wrapping_sub(map::ALIAS_BASE).min(addr.wrapping_sub(map::L1_BASE)) {
                offset if offset < params.cluster.l1_bytes => in_l1(offset, bytes).collect(),
                _ => vec![(addr, bytes)],
            }
        };
        let code = |addr: u32| addr.wrapping_sub(map::PROGRAM_BASE) < params.l2.program_bytes;
        let segments = card.elfs.iter().flat_map(|elf| &elf.segments).filter(|part| !code(part.addr) && part.size > 0);
        let constants = card.elfs.iter().flat_map(|elf| &elf.sections).filter(|part| part.place.contains("rodata"));
        let variables =
            card.elfs.iter().flat_map(|elf| &elf.symbols).filter(|symbol| !symbol.is_code && symbol.size > 0);
        let named = |name: &str, range| everywhere(range).into_iter().map(|range| (name.to_owned(), range)).collect();
        let mut objects: Vec<(String, Range)> =
            variables.flat_map(|it| -> Vec<(String, Range)> { named(&it.name, (it.addr, it.size)) }).collect();
        objects.sort_by_key(|(_, range)| *range);
        let contexts = card.placed.iter().map(|placed| {
            let scratchpads = (0..).zip(&placed.context.scratchpads);
            let at = |addr: u32| params.cluster.scratchpad_offset.wrapping_add(addr);
            let handler_mem = placed.context.handler_mem;
            let scratchpads = scratchpads.map(|(id, region)| (l1(id).wrapping_add(at(region.addr)), region.size));
            ((handler_mem.addr, handler_mem.size), scratchpads.collect())
        });
        Layout {
            n_cores: params.cluster.n_cores,
            n_clusters: params.n_clusters,
            l1_bytes: params.cluster.l1_bytes,
            record: card.record().clone(),
            elfs: card.elfs.clone(),
            l2: [(map::L2_HANDLER_BASE, params.l2.handler_bytes), (map::L2_PACKET_BASE, params.l2.packet_bytes)],
            objects,
            data: segments.flat_map(|part| everywhere((part.addr, part.size))).collect(),
            constants: constants.map(|part| (part.addr, part.size)).collect(),
            contexts: contexts.collect(),
        }
    }

    /// Memory as it is at reset. Static data and memory that the host writes are defined: handler memory, and
    /// scratchpads if the host clears them.
    fn at_reset(&self, params: &PspinParams) -> Shadow {
        let mut shadow = Shadow::default();
        for cluster in 0..self.n_clusters {
            shadow.fill(map::L1_BASE + cluster * map::L1_STRIDE, self.l1_bytes, u8::MAX);
        }
        self.l2.iter().for_each(|&(addr, bytes)| shadow.fill(addr, bytes, u8::MAX));
        self.data.iter().for_each(|&(addr, bytes)| shadow.fill(addr, bytes, 0));
        for ((addr, bytes), scratchpads) in &self.contexts {
            shadow.fill(*addr, *bytes, 0);
            for &(addr, bytes) in scratchpads.iter().filter(|_| params.isolation.host_clears_scratchpads) {
                shadow.fill(addr, bytes, 0);
            }
        }
        shadow
    }

    /// The memories of a task besides static data, with their names.
    fn regions(&self, core: usize, task: &Task, work: &Work) -> impl Iterator<Item = (Region, Range)> {
        let (handler_mem, scratchpads) = &self.contexts[work.context];
        let copy = (self.shared(core, task.copy.0).unwrap_or(0), task.copy.1);
        let own = [
            (Region::Stack, self.stack(core)),
            (Region::Packet, copy),
            (Region::StoredPacket, task.stored),
            (Region::HandlerMemory, *handler_mem),
        ];
        let scratchpads = scratchpads.iter().enumerate().map(|(id, &range)| (Region::Scratchpad(id), range));
        own.into_iter().chain(scratchpads).filter(|(_, (_, bytes))| *bytes > 0)
    }

    /// The object at an address. If there is none, the position of the first object after the address.
    fn object(&self, addr: u32) -> Result<&(String, Range), usize> {
        let behind = self.objects.partition_point(|(_, (base, _))| *base <= addr);
        let found = self.objects[..behind].iter().rev().find(|(_, range)| holds(*range, addr, 1));
        found.ok_or(behind)
    }
}

/// A memory of a task.
#[derive(Clone, Copy)]
enum Region {
    Stack,
    Packet,
    StoredPacket,
    HandlerMemory,
    Scratchpad(usize),
}

impl Region {
    fn name(self) -> String {
        match self {
            Region::Stack => "the core's stack".to_owned(),
            Region::Packet => "the packet".to_owned(),
            Region::StoredPacket => "the packet in L2".to_owned(),
            Region::HandlerMemory => "the handler memory".to_owned(),
            Region::Scratchpad(cluster) => format!("the scratchpad in cluster {cluster}"),
        }
    }
}

/// Distance of an access from a memory, and a text about it. Bytes inside the memory are not counted.
fn distance(name: &str, (base, size): Range, addr: u32, bytes: u32) -> (u32, String) {
    let (end, last) = (base.saturating_add(size), addr.saturating_add(bytes));
    if addr < base {
        let before = base - addr;
        return (before, format!("{} bytes before {name}", grouped(before.into())));
    }
    if addr < end {
        return (0, format!("the last {} of {bytes} bytes are past the end of {name}", last - end));
    }
    (addr - end, format!("{} bytes past the end of {name}", grouped((addr - end).into())))
}

impl Memories for Layout {
    fn shared(&self, core: usize, addr: u32) -> Option<u32> {
        let own = map::L1_BASE + core as u32 / self.n_cores * map::L1_STRIDE;
        let offset = addr.wrapping_sub(map::ALIAS_BASE);
        if offset < map::CLUSTER_PERIPHERALS {
            return Some(own + offset % self.l1_bytes);
        }
        let offset = addr.wrapping_sub(map::L1_BASE);
        if offset / map::L1_STRIDE < self.n_clusters {
            let (cluster, offset) = (offset / map::L1_STRIDE, offset % map::L1_STRIDE);
            let base = map::L1_BASE + cluster * map::L1_STRIDE;
            return (offset < map::CLUSTER_PERIPHERALS).then_some(base + offset % self.l1_bytes);
        }
        self.l2.iter().any(|&range| holds(range, addr, 1)).then_some(addr)
    }

    fn stack(&self, core: usize) -> (u32, u32) {
        let (cluster, core) = (core as u32 / self.n_cores, core as u32 % self.n_cores);
        (map::L1_BASE + cluster * map::L1_STRIDE + core * map::STACK_BYTES, map::STACK_BYTES)
    }

    fn work(&self, task: &Task) -> Option<Work> {
        let record = self.record.borrow();
        let row = record.window.inside.get(task.packet)?;
        let (frame, context, message) = (row.frame, row.context, row.message);
        (context < self.contexts.len()).then_some(Work {
            frame,
            context,
            message,
            queue: task.queue,
            stage: task.stage,
        })
    }

    fn refuses(&self, core: usize, task: &Task, work: &Work, addr: u32, bytes: u32) -> Option<String> {
        if self.regions(core, task, work).any(|(_, range)| holds(range, addr, bytes)) {
            return None;
        }
        let objects = |behind: usize| self.objects[behind.saturating_sub(1)..].iter().take(2);
        if self.data.iter().any(|&range| holds(range, addr, bytes)) {
            let last = addr + bytes - 1;
            let is_constant = self.constants.iter().any(|&range| holds(range, addr, bytes));
            let behind = match (self.object(addr), self.object(last)) {
                _ if is_constant || self.objects.is_empty() => return None,
                (Ok(_), Ok(_)) => return None,
                (Err(behind), _) => behind,
                (Ok((name, range)), Err(_)) => return Some(distance(&format!("`{name}`"), *range, addr, bytes).1),
            };
            // An access between two objects was meant for the one before it.
            return objects(behind).next().map(|(name, range)| distance(&format!("`{name}`"), *range, addr, bytes).1);
        }
        let near = self.regions(core, task, work).map(|(region, range)| distance(&region.name(), range, addr, bytes));
        let behind = self.object(addr).err().unwrap_or(0);
        let variables = objects(behind).map(|(name, range)| distance(&format!("`{name}`"), *range, addr, bytes));
        near.chain(variables).min_by_key(|(bytes, _)| *bytes).map(|(_, text)| text)
    }

    fn name(&self, task: &Task, work: &Work, addr: u32) -> String {
        // Stacks and packets of other tasks have no better name than their address.
        let copy = self.regions(0, task, work).filter(|(region, _)| !matches!(region, Region::Stack | Region::Packet));
        let offset = |name: &str, base: u32| match addr - base {
            0 => name.to_owned(),
            offset => format!("{name}, byte {}", grouped(offset.into())),
        };
        if let Ok((name, (base, _))) = self.object(addr) {
            return offset(&format!("`{name}`"), *base);
        }
        let n = (self.n_clusters * self.n_cores) as usize;
        if let Some(core) = (0..n).find(|&core| holds(self.stack(core), addr, 1)) {
            let (cluster, core) = (core as u32 / self.n_cores, core as u32 % self.n_cores);
            return format!("the stack of HPU {cluster}.{core}, at {addr:#010x}");
        }
        let found = { copy }.find(|(_, range)| holds(*range, addr, 1));
        found.map_or_else(|| format!("{addr:#010x}"), |(region, (base, _))| offset(&region.name(), base))
    }

    fn program(&self, pc: u32) -> Option<&Rc<Elf>> {
        let holds = |elf: &&Rc<Elf>| elf.sections.iter().any(|part| part.addr <= pc && u64::from(pc) < part.end());
        self.elfs.iter().find(holds)
    }
}

impl HandlerCard {
    /// Lets the cores report to a memory checker.
    pub(super) fn start_check(&mut self) {
        let layout = Layout::of(self);
        let shadow = layout.at_reset(&self.checked.nic);
        let n = (layout.n_clusters * layout.n_cores) as usize;
        let checker = Rc::new(RefCell::new(Checker::new(n, layout, shadow)));
        self.observe(&|core, _| {
            let checker = checker.clone();
            Box::new(move |report| checker.borrow_mut().see(core, report))
        });
        self.checker = Some(checker);
    }

    /// Findings of the memory checker; `None` without one.
    pub(super) fn check_summary(&self) -> Option<CheckSummary> {
        let checker = self.checker.as_ref()?.borrow();
        let findings = checker.findings();
        let count = |kind: Kind| findings.iter().filter(|found| found.kind == kind).map(|found| found.count).sum();
        Some(CheckSummary {
            uninitialised: count(Kind::Uninitialised),
            bounds: count(Kind::Bounds),
            races: count(Kind::Race),
            locks: count(Kind::Lock),
            findings: findings.iter().map(|found| self.finding(found)).collect(),
        })
    }

    fn finding(&self, found: &Finding) -> FindingSummary {
        let line = |pc: u32| crate::lines::line_of(self.elf_at(pc), pc);
        FindingSummary {
            kind: match found.kind {
                check::Kind::Uninitialised => "uninitialised",
                check::Kind::Bounds => "bounds",
                check::Kind::Race => "race",
                check::Kind::Lock => "lock",
            },
            text: found.text.clone(),
            count: found.count,
            first: self.finding_place(&found.place),
            other: match found.other {
                Some(Other::Access(place)) => Some(self.finding_place(&place)),
                _ => None,
            },
            loaded: match found.other {
                Some(Other::Loaded(pc)) => Some(line(pc)),
                _ => None,
            },
        }
    }

    fn finding_place(&self, place: &Occurrence) -> FindingPlace {
        let n = self.checked.nic.cluster.n_cores;
        FindingPlace {
            frame: place.work.frame,
            message: place.work.message,
            context: self.placed[place.work.context].name.clone(),
            stage: STAGES[usize::from(place.work.stage)].0,
            cluster: place.core as u32 / n,
            core: place.core as u32 % n,
            time_ns: ns(self.driver.clock(), place.at as f64),
            cycle: place.at,
            pc: format!("{:#010x}", place.pc),
            place: self.elf_at(place.pc).place(place.pc),
            source: crate::lines::line_of(self.elf_at(place.pc), place.pc),
        }
    }
}
