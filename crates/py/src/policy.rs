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
    metadata: u64,
}

impl From<&Arrival> for PacketArrival {
    fn from(arrival: &Arrival) -> PacketArrival {
        let &Arrival { now, class, flow, bytes, priority, slack_cycles, metadata } = arrival;
        PacketArrival { now, traffic_class: class, flow, bytes, priority, slack_cycles, metadata }
    }
}

/// An object with a method `rank`, and if it likes `served`, `dropped` and `eligible`.
pub struct OwnPolicy {
    object: Py<PyAny>,
    /// How errors call it: `LeastAttainedService, the policy of service `work``.
    name: String,
    hears_served: bool,
    hears_dropped: bool,
    says_eligible: bool,
    failure: Failure,
}

impl OwnPolicy {
    /// The policy of a service that `object` is.
    pub fn new(py: Python<'_>, service: &str, object: Py<PyAny>, failure: Failure) -> PyResult<OwnPolicy> {
        let class = object.bind(py).get_type().name()?.to_string();
        let name = format!("{class}, the policy of service `{service}`");
        if !object.bind(py).hasattr("rank")? {
            return Err(crate::input(format!("policies: {name}, has no method `rank(packet)`")));
        }
        let has = |name| object.bind(py).hasattr(name);
        let (hears_served, hears_dropped, says_eligible) = (has("served")?, has("dropped")?, has("eligible")?);
        Ok(OwnPolicy { object, name, hears_served, hears_dropped, says_eligible, failure })
    }

    /// Calls a method. Once one has failed, none is called any more: the run is about to end. What it raises says whose it is.
    fn call<'py, R>(&self, py: Python<'py>, otherwise: R, call: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<R>) -> R {
        if self.failure.is_noted() {
            return otherwise;
        }
        call(self.object.bind(py)).unwrap_or_else(|error| {
            // An exception that takes no notes is raised without one.
            let _ = error.value(py).call_method1("add_note", (format!("in {}", self.name),));
            self.failure.note(error);
            otherwise
        })
    }

    /// A number that a method says.
    fn number<'py>(&self, method: &str, said: &Bound<'py, PyAny>) -> PyResult<u64> {
        said.extract().map_err(|_| {
            let found = said.repr().map_or_else(|_| "something unspeakable".to_owned(), |repr| repr.to_string());
            let most = u64::MAX;
            crate::input(format!(
                "policies: `{method}` of {} says {found}, must be a whole number from 0 to {most}",
                self.name
            ))
        })
    }
}

impl Policy for OwnPolicy {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        Python::attach(|py| {
            self.call(py, u64::MAX, |object| {
                self.number("rank", &object.call_method1("rank", (PacketArrival::from(arrival),))?)
            })
        })
    }

    fn served(&mut self, rank: u64) {
        if self.hears_served {
            Python::attach(|py| self.call(py, (), |object| object.call_method1("served", (rank,)).map(drop)));
        }
    }

    fn dropped(&mut self, arrival: &Arrival, rank: u64) {
        if self.hears_dropped {
            let arrival = PacketArrival::from(arrival);
            Python::attach(|py| self.call(py, (), |object| object.call_method1("dropped", (arrival, rank)).map(drop)));
        }
    }

    fn eligible(&self, rank: u64) -> Cycle {
        if !self.says_eligible {
            return 0;
        }
        Python::attach(|py| {
            self.call(py, 0, |object| self.number("eligible", &object.call_method1("eligible", (rank,))?))
        })
    }
}
