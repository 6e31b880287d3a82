//! GOAL schedules for callers: files, runs, results and the table of operations.

mod summary;
mod table;

pub use net::goal::patterns::{Options, Pattern};
pub use net::goal::{GoalError, Schedule};
pub use net::loggops::{Model, Params, RunError};
pub use summary::{Counts, GoalSummary, Ns, StepRow};
pub use table::OPERATIONS;

use crate::columns::Columns;
use crate::files;
use kernel::Time;
use net::goal::{binary, text, write};
use net::loggops::{Outcome, Run, Step};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// Maximum size of a binary file, in bytes.
const MAX_BYTES: u64 = 1 << 36; // assumed: more than the operations that a schedule may have take.

/// Reads a schedule, as text or in the binary form: the first bytes tell which.
pub fn read(path: &Path) -> Result<Schedule, GoalError> {
    let name = path.display().to_string();
    let io = |error: std::io::Error| GoalError::io(&name, &error);
    let mut file = files::open(path).map_err(io)?;
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(io)?;
    if binary::is_binary(&start) {
        return binary::read(&files::read_at_most(path, MAX_BYTES).map_err(io)?, &name);
    }
    if file.rewind().is_err() {
        return text::read(BufReader::new(start.chain(file)), &name); // A device cannot be rewound.
    }
    text::read(BufReader::with_capacity(1 << 16, file), &name)
}

/// Reads the text of a schedule. Errors call it `name`.
pub fn parse(text: &str, name: &str) -> Result<Schedule, GoalError> {
    text::read(text.as_bytes(), name)
}

/// A schedule as text.
pub fn to_text(schedule: &Schedule) -> String {
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write::text(schedule, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a schedule into a file: as text, or in the binary form.
pub fn write_file(schedule: &Schedule, path: &Path, as_binary: bool) -> Result<(), GoalError> {
    let written = || {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        match as_binary {
            true => write::binary(schedule, &mut out)?,
            false => write::text(schedule, &mut out)?,
        }
        out.flush()
    };
    written().map_err(|error| GoalError::io(&path.display().to_string(), &error))
}

/// A schedule that has run.
pub struct Finished {
    schedule: Arc<Schedule>,
    params: Params,
    model: Model,
    outcome: Outcome,
    path: Vec<Step>,
    /// True for operations on the critical path.
    is_critical: Vec<bool>,
    /// The first operation that [`Finished::take_operations`] has not returned yet.
    next: usize,
    /// The network card of the hosts.
    nic: String,
}

/// Runs a schedule on hosts with the plain network card. `continues` is called from time to time; the run ends with `None` if it
/// returns false.
pub fn run(
    schedule: &Arc<Schedule>,
    params: &Params,
    model: Model,
    with_record: bool,
    mut continues: impl FnMut() -> bool,
) -> Result<Option<Finished>, RunError> {
    const EVENTS: u64 = 1 << 18; // assumed: some tenths of a second.
    let mut run = Run::new(schedule, *params, model, with_record)?;
    while !run.advance(EVENTS)? {
        if !continues() {
            return Ok(None);
        }
    }
    Ok(Some(Finished::new(schedule, *params, model, run.finish()?, "plain".into())))
}

impl Finished {
    /// A schedule that has run on hosts with this network card.
    pub(crate) fn new(
        schedule: &Arc<Schedule>,
        params: Params,
        model: Model,
        outcome: Outcome,
        nic: String,
    ) -> Finished {
        let path = outcome.record.as_ref().map(|record| record.critical_path(schedule)).unwrap_or_default();
        let mut is_critical = vec![false; if outcome.record.is_some() { schedule.ops().len() } else { 0 }];
        for step in &path {
            is_critical[step.op as usize] = true;
            let partner = outcome.record.as_ref().and_then(|record| record.timing(schedule, step.op as usize).partner);
            if let (true, Some(partner)) = (step.is_at_receiver(schedule), partner) {
                is_critical[partner as usize] = true;
            }
        }
        Finished { schedule: schedule.clone(), params, model, outcome, path, is_critical, next: 0, nic }
    }

    /// The end of the last host.
    pub fn finish(&self) -> Time {
        self.outcome.finish
    }

    /// The critical path from time 0 to the end.
    pub fn path(&self) -> &[Step] {
        &self.path
    }

    /// The next rows of the table of operations; nothing when all were returned, or if they were not recorded.
    pub fn take_operations(&mut self, most: usize) -> Vec<(&'static str, Vec<u8>)> {
        let mut columns = Columns::new(OPERATIONS.columns);
        if let Some(record) = &self.outcome.record {
            let end = self.next.saturating_add(most).min(self.schedule.ops().len());
            for op in self.next..end {
                table::push(&mut columns, &self.schedule, record, op, self.is_critical[op]);
            }
            self.next = end;
        }
        columns.take()
    }
}
