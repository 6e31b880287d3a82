//! Exchanges bytes with the other processes of a run through a Python function.

use crate::policy::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use spinet::ranks::Exchange;
use std::error::Error;

/// `exchange` gets a list with the bytes for each rank, and returns a list with the bytes from each rank.
pub struct OwnPeers {
    pub rank: u32,
    pub n_ranks: u32,
    pub exchange: Py<PyAny>,
    /// Keeps an exception of the function.
    pub failure: Failure,
}

impl Exchange for OwnPeers {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn n_ranks(&self) -> u32 {
        self.n_ranks
    }

    fn exchange(&self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        Python::attach(|py| {
            let call = || {
                let outgoing = PyList::new(py, outgoing.iter().map(|bytes| PyBytes::new(py, bytes)))?;
                self.exchange.call1(py, (outgoing,))?.extract::<Vec<Vec<u8>>>(py)
            };
            call().map_err(|error: PyErr| {
                self.failure.note(error.clone_ref(py));
                error.into()
            })
        })
    }
}
