//! GOAL schedules and their runs.

use crate::convert::{self, Described};
use crate::{input, json};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spinet::goal::{self, Counts, Finished, Model, OPERATIONS, Options, Params, Pattern, Schedule};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A checked schedule.
#[pyclass(frozen, module = "spinet._native")]
pub struct GoalSchedule {
    schedule: Arc<Schedule>,
}

#[pymethods]
impl GoalSchedule {
    /// Reads a file, text or binary.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<GoalSchedule> {
        py.detach(|| goal::read(&path).map(GoalSchedule::new).map_err(input))
    }

    /// Reads a text. Errors call it `name`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<GoalSchedule> {
        py.detach(|| goal::parse(text, name).map(GoalSchedule::new).map_err(input))
    }

    /// Makes the schedule of a pattern.
    #[staticmethod]
    #[pyo3(signature = (pattern, *, ranks, bytes, segment, ways, seed))]
    fn make(
        py: Python<'_>,
        pattern: &str,
        ranks: u32,
        bytes: u64,
        segment: u64,
        ways: u32,
        seed: u64,
    ) -> PyResult<GoalSchedule> {
        let options = Options { ranks, bytes, segment, ways, seed };
        py.detach(|| Pattern::named(pattern)?.make(&options)).map(GoalSchedule::new).map_err(input)
    }

    /// The size of the schedule, as JSON.
    fn counts(&self) -> PyResult<String> {
        json(&Counts::of(&self.schedule))
    }

    /// The schedule as text.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| goal::to_text(&self.schedule))
    }

    /// Writes the schedule into a file.
    fn write(&self, py: Python<'_>, path: PathBuf, binary: bool) -> PyResult<()> {
        py.detach(|| goal::write_file(&self.schedule, &path, binary).map_err(input))
    }

    /// Runs the schedule on hosts with the plain network card.
    #[pyo3(signature = (*, loggops, model, record))]
    fn run(&self, py: Python<'_>, loggops: &str, model: &str, record: bool) -> PyResult<GoalRun> {
        let params = Params::parse(loggops).map_err(|error| input(format!("loggops: {error}")))?;
        let model = Model::named(model).map_err(|error| input(format!("model: {error}")))?;
        let mut signals = Ok(());
        let finished = py.detach(|| {
            goal::run(&self.schedule, &params, model, record, || {
                signals = Python::attach(|py| py.check_signals());
                signals.is_ok()
            })
        });
        signals?;
        let finished = finished.map_err(input)?.ok_or_else(|| input("the run was stopped"))?;
        Ok(GoalRun { finished: Mutex::new(finished) })
    }
}

impl GoalSchedule {
    fn new(schedule: Schedule) -> GoalSchedule {
        GoalSchedule { schedule: Arc::new(schedule) }
    }
}

/// A schedule that has run.
#[pyclass(frozen, module = "spinet._native")]
pub struct GoalRun {
    finished: Mutex<Finished>,
}

#[pymethods]
impl GoalRun {
    /// The summary, as JSON.
    fn summary(&self) -> PyResult<String> {
        json(&self.finished.lock().unwrap_or_else(PoisonError::into_inner).summary())
    }

    /// The critical path as JSON. If it has more than `most` steps, only the longest steps.
    fn steps(&self, most: usize) -> PyResult<String> {
        json(&self.finished.lock().unwrap_or_else(PoisonError::into_inner).steps(most))
    }

    /// The next rows of the table of operations, by column; empty when all were returned.
    fn take_operations<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyDict>> {
        let rows = py.detach(|| self.finished.lock().unwrap_or_else(PoisonError::into_inner).take_operations(most));
        convert::by_name(py, rows)
    }
}

/// Columns of the table of operations: name, NumPy type, meaning, names of values.
#[pyfunction]
pub fn goal_columns() -> Described {
    convert::described(&OPERATIONS)
}

/// Patterns: name, LogGOPSim's name, and a line about each.
#[pyfunction]
pub fn goal_patterns() -> Vec<(&'static str, &'static str, &'static str)> {
    Pattern::ALL.iter().map(|&(_, name, theirs, about)| (name, theirs, about)).collect()
}
