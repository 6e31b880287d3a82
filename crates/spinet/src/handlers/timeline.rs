//! The driver's actions at given times of a run.

use crate::driver::{ContextId, Driver, DriverError, MemoryId, Remaining, RuleId, RuleSpec, TenantId};
use crate::experiment::{ActionSpec, Checked, PlacedContext};
use crate::files::read_at_most;
use crate::handlers::HandlerError;
use crate::summary::ActionSummary;
use kernel::{Clock, Cycle};
use std::collections::VecDeque;
use std::path::Path;

/// A context of the experiment, as the driver knows it.
pub(crate) struct Known {
    pub tenant: TenantId,
    pub id: ContextId,
    pub rule: Option<RuleId>,
    /// Its handler memory; `None` if it has no bytes.
    pub memory: Option<MemoryId>,
    pub spec: RuleSpec,
}

/// One action.
enum Act {
    Install(usize),
    Remove(usize, Remaining),
    Write { context: usize, offset: u32, data: Vec<u8>, wait: bool },
    Read { context: usize, offset: u32, size: u32 },
}

/// Actions in order of time.
#[derive(Default)]
pub(crate) struct Timeline {
    acts: VecDeque<(Cycle, String, Act)>,
    pub known: Vec<Known>,
    done: Vec<ActionSummary>,
}

impl Timeline {
    /// The actions of an experiment; reads its files.
    pub fn new(
        checked: &Checked,
        placed: &[PlacedContext],
        clock: Clock,
        known: Vec<Known>,
    ) -> Result<Self, HandlerError> {
        let mut acts = Vec::new();
        for (number, ActionSpec { time, write, install, remove, read }) in checked.experiment.at.iter().enumerate() {
            let at = clock.cycle_at_or_after(time.time());
            let index = |name: &str| checked.context_index(name).expect("the check found it");
            let within = |key: &str, context: usize, offset: u32, size: u64| {
                let allowed = u64::from(placed[context].context.handler_mem.size);
                let end = u64::from(offset) + size;
                let context = placed[context].name.clone();
                let place = || checked.place(&["at", &number.to_string(), key]);
                match end > allowed {
                    true => Err(HandlerError::BeyondMemory { place: place(), time: *time, context, end, allowed }),
                    false => Ok(()),
                }
            };
            if let Some(spec) = write {
                let fail = |source| HandlerError::Data { file: spec.data.clone(), source };
                let (context, offset, wait) = (index(&spec.context), spec.offset, spec.wait);
                let allowed = u64::from(placed[context].context.handler_mem.size);
                let data = read_at_most(Path::new(&spec.data), allowed).map_err(fail)?;
                within("write", context, offset, data.len() as u64)?;
                acts.push((at, format!("write {}", spec.context), Act::Write { context, offset, data, wait }));
            }
            if let Some(spec) = install {
                acts.push((at, format!("install {}", spec.context), Act::Install(index(&spec.context))));
            }
            if let Some(spec) = remove {
                acts.push((at, format!("remove {}", spec.context), Act::Remove(index(&spec.context), spec.messages)));
            }
            if let Some(spec) = read {
                let (context, offset, size) = (index(&spec.context), spec.offset, spec.size);
                within("read", context, offset, size.into())?;
                acts.push((at, format!("read {}", spec.context), Act::Read { context, offset, size }));
            }
        }
        acts.sort_by_key(|(at, ..)| *at);
        Ok(Timeline { acts: acts.into(), known, done: Vec::new() })
    }

    /// Cycle of the next action.
    pub fn next(&self) -> Option<Cycle> {
        self.acts.front().map(|(at, ..)| *at)
    }

    /// Executes all actions that are due.
    pub fn act(&mut self, driver: &mut Driver) -> Result<(), DriverError> {
        while self.next().is_some_and(|at| at <= driver.now()) {
            let (_, what, act) = self.acts.pop_front().expect("just seen");
            let begun = driver.now();
            let data = self.perform(driver, act)?;
            let ns = |cycle| driver.clock().edge(cycle).ps() as f64 / 1e3;
            self.done.push(ActionSummary { what, begun_ns: ns(begun), done_ns: ns(driver.now()), data });
        }
        Ok(())
    }

    /// Performs one action; returns the bytes of a read, in hexadecimal.
    fn perform(&mut self, driver: &mut Driver, act: Act) -> Result<Option<String>, DriverError> {
        match act {
            Act::Install(context) => {
                let known = &mut self.known[context];
                known.rule = Some(driver.install(known.tenant, known.id, &known.spec)?);
            }
            Act::Remove(context, remaining) => {
                let known = &mut self.known[context];
                let rule = known.rule.take().expect("the check saw that it is installed");
                driver.remove(known.tenant, rule, remaining)?;
            }
            Act::Write { context, offset, data, wait } => {
                let known = &self.known[context];
                if let Some(memory) = known.memory {
                    let ticket = driver.write(known.tenant, memory, offset, &data)?;
                    if wait {
                        driver.wait(known.tenant, ticket)?;
                    }
                }
            }
            Act::Read { context, offset, size } => {
                let known = &self.known[context];
                let mut bytes = None;
                if let Some(memory) = known.memory {
                    let ticket = driver.read(known.tenant, memory, offset, size)?;
                    driver.wait(known.tenant, ticket)?;
                    bytes = driver.take(known.tenant, ticket)?;
                }
                return Ok(Some(bytes.iter().flatten().map(|byte| format!("{byte:02x}")).collect()));
            }
        }
        Ok(None)
    }

    /// The actions that were executed.
    pub fn summary(&self) -> Vec<ActionSummary> {
        self.done.clone()
    }
}
