//! Actions at given times: the network goes down and comes back, memories of the card are written and read.

use super::card::WiredCard;
use super::experiment::{LinkState, MemoryWriteSpec, WiredActionSpec};
use super::setup::Fault;
use crate::experiment::Problem;
use crate::files::read_at_most;
use crate::summary::ActionSummary;
use blocks::feeders::{FrameSinkParams, PacketFeederParams};
use blocks::memory::{Contents, memories, sizes};
use blocks::netlist::{Card, Design, Module};
use diagnostics::near::nearest;
use kernel::Time;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

type Memory = Rc<RefCell<dyn Contents>>;

/// One action.
enum Action {
    Network { is_up: bool },
    Write { memory: Memory, offset: u64, data: Vec<u8> },
    Read { memory: Memory, offset: u64, size: u32 },
}

/// The actions of a run, in order of time.
#[derive(Default)]
pub(super) struct Timeline {
    actions: VecDeque<(Time, String, Action)>,
    pub done: Vec<ActionSummary>,
}

/// Checks actions against the memories and the network of a card that is not built yet.
pub(super) fn check(specs: &[WiredActionSpec], design: &Design, base_dir: &Path) -> Result<(), Fault> {
    let memories = sizes(design);
    for (i, spec) in specs.iter().enumerate() {
        let fail = |key: &str, problem| (vec!["at".to_owned(), i.to_string(), key.to_owned()], problem);
        let size_of = |key, name: &str| {
            let found = memories.iter().find(|(path, _)| path == name).map(|&(_, size)| size);
            found.ok_or_else(|| fail(key, no_memory(name, &memories)))
        };
        if spec.is_empty() {
            let allowed = "`network`, `write`, `read`";
            return Err((vec!["at".into(), i.to_string()], Problem::Nothing { allowed }));
        }
        let is_network = |module| module == PacketFeederParams::NAME || module == FrameSinkParams::NAME;
        if spec.network.is_some() && !design.parts.iter().any(|part| is_network(part.module)) {
            return Err(fail("network", Problem::NoNetwork));
        }
        if let Some(write) = &spec.write {
            data_of(write, size_of("write", &write.memory)?, base_dir).map_err(|problem| fail("write", problem))?;
        }
        if let Some(read) = &spec.read {
            let size = size_of("read", &read.memory)?;
            within(read.offset.0, read.size.into(), size).map_err(|problem| fail("read", problem))?;
        }
    }
    Ok(())
}

fn no_memory(name: &str, memories: &[(String, u64)]) -> Problem {
    let names = || memories.iter().map(|(path, _)| path.as_str());
    let near = nearest(name, names()).map(str::to_owned);
    let known = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let allowed = match known.is_empty() {
        true => "this card has none".to_owned(),
        false => format!("must be one of {known}"),
    };
    Problem::NoMemory { found: name.to_owned(), allowed, near }
}

fn within(offset: u64, size: u64, allowed: u64) -> Result<(), Problem> {
    match offset.checked_add(size).is_some_and(|end| end <= allowed) {
        true => Ok(()),
        false => Err(Problem::OutsideMemory { offset, size, allowed }),
    }
}

/// The bytes that an action writes into a memory of this size.
fn data_of(spec: &MemoryWriteSpec, size: u64, base_dir: &Path) -> Result<Vec<u8>, Problem> {
    let data = read_at_most(&base_dir.join(&spec.data), size)
        .map_err(|source| Problem::File { file: spec.data.clone(), source })?;
    within(spec.offset.0, data.len() as u64, size)?;
    Ok(data)
}

impl Timeline {
    /// The actions that `specs` lists, which [`check`] has passed; reads their files, whose paths count from `base_dir`.
    pub fn new(specs: &[WiredActionSpec], card: &Card, base_dir: &Path) -> Result<Timeline, Fault> {
        let memories = if specs.is_empty() { Vec::new() } else { memories(card) };
        let find = |name: &String| {
            let found = memories.iter().find(|(path, _)| path == name);
            found.map(|(_, memory)| memory.clone()).expect("the memory was checked")
        };
        let mut actions = Vec::new();
        for (i, spec) in specs.iter().enumerate() {
            let time = spec.time.time();
            if let Some(state) = spec.network {
                actions.push((
                    time,
                    format!("network {}", state.name()),
                    Action::Network { is_up: state == LinkState::Up },
                ));
            }
            if let Some(spec) = &spec.write {
                let memory = find(&spec.memory);
                let size = memory.borrow().size();
                let fail = |problem| (vec!["at".to_owned(), i.to_string(), "write".to_owned()], problem);
                let data = data_of(spec, size, base_dir).map_err(fail)?;
                let action = Action::Write { memory, offset: spec.offset.0, data };
                actions.push((time, format!("write {}", spec.memory), action));
            }
            if let Some(spec) = &spec.read {
                let action = Action::Read { memory: find(&spec.memory), offset: spec.offset.0, size: spec.size };
                actions.push((time, format!("read {}", spec.memory), action));
            }
        }
        actions.sort_by_key(|&(time, ..)| time);
        Ok(Timeline { actions: actions.into(), done: Vec::new() })
    }

    /// The simulated time of the next action.
    pub fn next(&self) -> Option<Time> {
        self.actions.front().map(|&(time, ..)| time)
    }
}

impl WiredCard {
    /// Executes the actions that are due.
    pub(super) fn act(&mut self) {
        let now = self.simulated(self.now);
        while self.timeline.next().is_some_and(|time| time <= now) {
            let (_, what, action) = self.timeline.actions.pop_front().expect("an action is due");
            let data = self.perform(action);
            let ns = now.fs() as f64 / 1e6;
            self.timeline.done.push(ActionSummary { what, begun_ns: ns, done_ns: ns, data });
        }
    }

    /// Executes an action. Returns the bytes of a read, in hexadecimal.
    fn perform(&mut self, action: Action) -> Option<String> {
        match action {
            Action::Network { is_up } => {
                self.feeders.iter().for_each(|feeder| feeder.borrow_mut().set_up(is_up));
                self.sinks.iter().for_each(|sink| sink.borrow_mut().set_up(is_up));
                None
            }
            Action::Write { memory, offset, data } => {
                memory.borrow_mut().poke(offset, &data);
                None
            }
            Action::Read { memory, offset, size } => {
                let bytes = memory.borrow().peek(offset, size);
                Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }
        }
    }

    /// The time of the next action on the card's clock, if nothing more is skipped.
    pub(super) fn next_action(&self) -> Option<Time> {
        self.timeline.next().map(|time| self.on_card(time).max(self.now))
    }
}
