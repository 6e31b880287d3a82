//! Actions at given times: the network goes down and comes back, memories of the card are written and read.

use super::card::WiredCard;
use super::experiment::{LinkState, WiredActionSpec};
use super::setup::Fault;
use crate::experiment::Problem;
use crate::files::read_at_most;
use crate::summary::ActionSummary;
use blocks::feeders::{FrameSink, PacketFeeder};
use blocks::memory::{Contents, memories};
use blocks::netlist::Card;
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

impl Timeline {
    /// The actions that `specs` lists, checked against the memories of the card; reads their files, whose paths count from `base_dir`.
    pub fn new(specs: &[WiredActionSpec], card: &Card, base_dir: &Path) -> Result<Timeline, Fault> {
        let memories = if specs.is_empty() { Vec::new() } else { memories(card) };
        let mut actions = Vec::new();
        for (i, spec) in specs.iter().enumerate() {
            let fail = |key: &str, problem| (vec!["at".to_owned(), i.to_string(), key.to_owned()], problem);
            let find = |key, name: &String| {
                let names = || memories.iter().map(|(path, _)| path.as_str());
                let found = memories.iter().find(|(path, _)| path == name).map(|(_, memory)| memory.clone());
                found.ok_or_else(|| {
                    let near = nearest(name, names()).map(str::to_owned);
                    let known = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                    let allowed = match known.is_empty() {
                        true => "this card has none".to_owned(),
                        false => format!("must be one of {known}"),
                    };
                    fail(key, Problem::NoMemory { found: name.clone(), allowed, near })
                })
            };
            let within = |key, memory: &Memory, offset: u64, size: u64| {
                let allowed = memory.borrow().size();
                match offset.checked_add(size).is_some_and(|end| end <= allowed) {
                    true => Ok(()),
                    false => Err(fail(key, Problem::OutsideMemory { offset, size, allowed })),
                }
            };
            if spec.is_empty() {
                let allowed = "`network`, `write`, `read`";
                return Err((vec!["at".into(), i.to_string()], Problem::Nothing { allowed }));
            }
            let time = spec.time.time();
            if let Some(state) = spec.network {
                if card.parts::<PacketFeeder>().is_empty() && card.parts::<FrameSink>().is_empty() {
                    return Err(fail("network", Problem::NoNetwork));
                }
                actions.push((
                    time,
                    format!("network {}", state.name()),
                    Action::Network { is_up: state == LinkState::Up },
                ));
            }
            if let Some(spec) = &spec.write {
                let memory = find("write", &spec.memory)?;
                let path = base_dir.join(&spec.data);
                let data = read_at_most(&path, memory.borrow().size())
                    .map_err(|source| fail("write", Problem::File { file: spec.data.clone(), source }))?;
                within("write", &memory, spec.offset.0, data.len() as u64)?;
                let action = Action::Write { memory, offset: spec.offset.0, data };
                actions.push((time, format!("write {}", spec.memory), action));
            }
            if let Some(spec) = &spec.read {
                let memory = find("read", &spec.memory)?;
                within("read", &memory, spec.offset.0, spec.size.into())?;
                let action = Action::Read { memory, offset: spec.offset.0, size: spec.size };
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
