//! The module `spinet._native`: the facade as Python sees it, one to one.
//!
//! Texts are experiments, expressions and JSON. Long calls release the interpreter's lock.

mod convert;
mod goal;
mod machine;
mod peers;
mod policy;
mod program;
mod run;
mod sharing;
mod tools;
mod unit;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use spinet::exhaustion::Allocator;
use spinet::nics::{self, Setting};
use spinet::worker::WorkerGone;
use std::fmt::Display;

/// Ends the process with a message if there is no memory, where Rust would abort.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

create_exception!(spinet._native, SpinetError, PyException, "Base of all errors of spinet.");
create_exception!(spinet._native, InputError, SpinetError, "Something that the user gave cannot be used.");
create_exception!(spinet._native, InternalError, SpinetError, "A bug in spinet.");

/// The exception for an error in the user's input.
fn input(error: impl Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The exception for a bug in spinet.
fn internal(error: impl Display) -> PyErr {
    InternalError::new_err(error.to_string())
}

/// The thread does not answer: it was closed, the system refused it, or spinet has a bug.
fn gone(error: WorkerGone) -> PyErr {
    match error {
        WorkerGone::Closed | WorkerGone::NoThread { .. } => input(error),
        WorkerGone::Panicked { .. } => internal(error),
    }
}

/// A value as JSON.
fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(internal)
}

/// Reads settings such as `cluster.n_hpus=4`, which replace values of a card's file.
fn settings(sets: &[String]) -> PyResult<Vec<Setting>> {
    sets.iter().map(|set| nics::parse_setting(set).map_err(input)).collect()
}

/// The module.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("SpinetError", m.py().get_type::<SpinetError>())?;
    m.add("InputError", m.py().get_type::<InputError>())?;
    m.add("InternalError", m.py().get_type::<InternalError>())?;
    m.add_class::<policy::PacketArrival>()?;
    m.add_class::<sharing::Waiting>()?;
    m.add_function(wrap_pyfunction!(tools::kind_of_nic, m)?)?;
    m.add_function(wrap_pyfunction!(tools::kind_of_experiment, m)?)?;
    m.add_function(wrap_pyfunction!(tools::chain_services, m)?)?;
    m.add_class::<machine::Machine>()?;
    m.add_class::<run::Run>()?;
    m.add_function(wrap_pyfunction!(run::table_columns, m)?)?;
    m.add_function(wrap_pyfunction!(run::path_causes, m)?)?;
    m.add_function(wrap_pyfunction!(tools::kinds_of_cards, m)?)?;
    m.add_function(wrap_pyfunction!(tools::version, m)?)?;
    m.add_function(wrap_pyfunction!(tools::guard_command, m)?)?;
    m.add_function(wrap_pyfunction!(tools::unguard_command, m)?)?;
    m.add_function(wrap_pyfunction!(tools::watch_partial, m)?)?;
    m.add_function(wrap_pyfunction!(tools::unwatch_partial, m)?)?;
    m.add_function(wrap_pyfunction!(tools::nic_list, m)?)?;
    m.add_function(wrap_pyfunction!(tools::nic_show, m)?)?;
    m.add_function(wrap_pyfunction!(tools::nic_cost, m)?)?;
    m.add_function(wrap_pyfunction!(tools::fpga_cost, m)?)?;
    m.add_function(wrap_pyfunction!(tools::card_text, m)?)?;
    m.add_function(wrap_pyfunction!(tools::card_design, m)?)?;
    m.add_function(wrap_pyfunction!(tools::card_firmware, m)?)?;
    m.add_function(wrap_pyfunction!(tools::card_design_of, m)?)?;
    m.add_function(wrap_pyfunction!(tools::card_modules, m)?)?;
    m.add_function(wrap_pyfunction!(tools::schema, m)?)?;
    m.add_function(wrap_pyfunction!(tools::check_experiment, m)?)?;
    m.add_function(wrap_pyfunction!(tools::network_overview, m)?)?;
    m.add_function(wrap_pyfunction!(tools::offered, m)?)?;
    m.add_function(wrap_pyfunction!(tools::match_expression, m)?)?;
    m.add_function(wrap_pyfunction!(tools::match_capture, m)?)?;
    m.add_function(wrap_pyfunction!(tools::elf_info, m)?)?;
    m.add_function(wrap_pyfunction!(tools::check_limits, m)?)?;
    m.add_function(wrap_pyfunction!(tools::span_ps, m)?)?;
    m.add_function(wrap_pyfunction!(tools::window_ps, m)?)?;
    m.add_function(wrap_pyfunction!(tools::exec_elf, m)?)?;
    m.add_function(wrap_pyfunction!(tools::diff_trace, m)?)?;
    m.add_function(wrap_pyfunction!(unit::run_unit, m)?)?;
    m.add_class::<goal::GoalSchedule>()?;
    m.add_class::<goal::GoalRun>()?;
    m.add_function(wrap_pyfunction!(goal::goal_columns, m)?)?;
    m.add_function(wrap_pyfunction!(goal::goal_patterns, m)?)?;
    Ok(())
}
