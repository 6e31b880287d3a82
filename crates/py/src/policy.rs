//! Policies that are written in Python.

use kernel::Cycle;
use pyo3::prelude::*;
use spinet::chains::{Arrival, Policy};
use std::sync::{Arc, Mutex, PoisonError};

/// The first thing that went wrong in a policy; the run that meets it ends.
#[derive(Clone, Default)]
pub struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// What went wrong, once.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_noted(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A packet that comes to a service, as a policy sees it.
#[pyclass(frozen, get_all, module = "spinet._native", name = "PacketArrival")]
pub struct PacketArrival {
    now: Cycle,
    traffic_class: usize,
    flow: u32,
    bytes: u32,
    priority: u32,
    slack_cycles: u64,
}

impl From<&Arrival> for PacketArrival {
    fn from(arrival: &Arrival) -> PacketArrival {
        let &Arrival { now, class, flow, bytes, priority, slack_cycles } = arrival;
        PacketArrival { now, traffic_class: class, flow, bytes, priority, slack_cycles }
    }
}

/// An object with a method `rank`, and if it likes `served`, `dropped` and `eligible`.
pub struct OwnPolicy {
    object: Py<PyAny>,
    hears_served: bool,
    hears_dropped: bool,
    says_eligible: bool,
    failure: Failure,
}

impl OwnPolicy {
    /// The policy that `object` is.
    pub fn new(py: Python<'_>, object: Py<PyAny>, failure: Failure) -> PyResult<OwnPolicy> {
        let has = |name| object.bind(py).hasattr(name);
        let (hears_served, hears_dropped, says_eligible) = (has("served")?, has("dropped")?, has("eligible")?);
        Ok(OwnPolicy { object, hears_served, hears_dropped, says_eligible, failure })
    }

    /// Calls a method. Once one has failed, none is called any more: the run is about to end.
    fn call<R>(&self, otherwise: R, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> R {
        if self.failure.is_noted() {
            return otherwise;
        }
        Python::attach(|py| call(self.object.bind(py))).unwrap_or_else(|error| {
            self.failure.note(error);
            otherwise
        })
    }
}

impl Policy for OwnPolicy {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        self.call(u64::MAX, |object| object.call_method1("rank", (PacketArrival::from(arrival),))?.extract())
    }

    fn served(&mut self, rank: u64) {
        if self.hears_served {
            self.call((), |object| object.call_method1("served", (rank,)).map(drop));
        }
    }

    fn dropped(&mut self, arrival: &Arrival, rank: u64) {
        if self.hears_dropped {
            self.call((), |object| object.call_method1("dropped", (PacketArrival::from(arrival), rank)).map(drop));
        }
    }

    fn eligible(&self, rank: u64) -> Cycle {
        if !self.says_eligible {
            return 0;
        }
        self.call(0, |object| object.call_method1("eligible", (rank,))?.extract())
    }
}
