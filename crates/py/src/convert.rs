//! Converts tables and progress of runs to Python's types.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spinet::columns::{Column, TableSpec};
use spinet::run::Progress;

/// Columns of a table: name, NumPy type, meaning, names of values.
pub type Described = Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)>;

/// The columns of a table.
pub fn described(table: &TableSpec) -> Described {
    let described = |column: &Column| (column.name, column.kind.dtype(), column.about, (table.words)(column.name));
    table.columns.iter().map(described).collect()
}

/// Columns of little-endian numbers, by name.
pub fn by_name<'py>(py: Python<'py>, columns: Vec<(&'static str, Vec<u8>)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, data) in columns {
        dict.set_item(name, PyBytes::new(py, &data))?;
    }
    Ok(dict)
}

/// The progress of a run, by key.
pub fn progress(py: Python<'_>, progress: Progress) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("done", progress.is_done)?;
    dict.set_item("packets_in", progress.packets_in)?;
    dict.set_item("packets_done", progress.packets_done)?;
    dict.set_item("packets_total", progress.packets_total)?;
    dict.set_item("fraction", progress.fraction)?;
    dict.set_item("simulated_ps", progress.simulated.ps())?;
    dict.set_item("cycles", progress.cycles)?;
    Ok(dict)
}
