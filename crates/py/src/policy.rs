//! Policies that are written in Python.

use kernel::Cycle;
use pyo3::intern;
use pyo3::prelude::*;
use spinet::chains::{Arrival, Policy};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of the Python code that a run calls: policies, host programs, the exchange of processes. It ends the run.
#[derive(Clone, Default)]
pub struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    /// Takes the exception, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_noted(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps this exception, unless there is an earlier one.
    pub fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Counts the calls that may change the state of a run's policies: objects may share state, or be the policy of two services.
#[derive(Clone, Default)]
pub struct Changes(Arc<AtomicU64>);

impl Changes {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// State that the policies of a run share.
#[derive(Clone, Default)]
pub struct Shared {
    /// The first exception.
    pub failure: Failure,
    changes: Changes,
}

/// A packet that arrives at a service, as a policy sees it.
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

/// A user's object, with its name for errors, such as: LeastAttainedService, the policy of service `work`.
pub struct Object {
    pub object: Py<PyAny>,
    pub name: String,
    pub failure: Failure,
}

impl Object {
    /// Wraps the policy of `what`. It must have this method.
    pub fn new(py: Python<'_>, object: Py<PyAny>, what: &str, method: &str, failure: Failure) -> PyResult<Object> {
        let class = object.bind(py).get_type().name()?.to_string();
        let name = format!("{class}, the policy of {what}");
        if !object.bind(py).hasattr(method.split('(').next().unwrap_or(method))? {
            return Err(crate::input(format!("policies: {name}, has no method `{method}`")));
        }
        Ok(Object { object, name, failure })
    }

    pub fn has(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.object.bind(py).hasattr(name)
    }

    /// Calls a method, and adds the policy's name to an exception. After a first exception, no policy is called any more,
    /// because the run is about to end.
    pub fn call<'py, R>(
        &self,
        py: Python<'py>,
        otherwise: R,
        call: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<R>,
    ) -> R {
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

    /// The error for an answer of a method that is not `allowed`.
    pub fn refuse(&self, method: &str, found: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
        let found =
            found.repr().map_or_else(|_| "a value without a representation".to_owned(), |repr| repr.to_string());
        crate::input(format!("policies: `{method}` of {} returned {found}, must be {allowed}", self.name))
    }
}

/// An object with a method `rank`, and optionally `served`, `dropped` and `eligible`.
pub struct OwnPolicy {
    object: Object,
    has_served: bool,
    has_dropped: bool,
    has_eligible: bool,
    changes: Changes,
    /// The packet's rank, the count of changes, and the answer of `eligible` at its last call. The scheduler asks in every cycle, so
    /// the answer is used again until something changes.
    answer: Cell<Option<(u64, u64, Cycle)>>,
}

impl OwnPolicy {
    /// Wraps the policy of a service.
    pub fn new(py: Python<'_>, service: &str, object: Py<PyAny>, shared: Shared) -> PyResult<OwnPolicy> {
        let Shared { failure, changes } = shared;
        let object = Object::new(py, object, &format!("service `{service}`"), "rank(packet)", failure)?;
        let has = |name| object.has(py, name);
        let (has_served, has_dropped, has_eligible) = (has("served")?, has("dropped")?, has("eligible")?);
        Ok(OwnPolicy { object, has_served, has_dropped, has_eligible, changes, answer: Cell::new(None) })
    }

    /// The number that a method returned.
    fn number<'py>(&self, method: &str, found: &Bound<'py, PyAny>) -> PyResult<u64> {
        let allowed = || format!("a whole number from 0 to {}", u64::MAX);
        found.extract().map_err(|_| self.object.refuse(method, found, &allowed()))
    }
}

impl Policy for OwnPolicy {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        self.changes.add();
        Python::attach(|py| {
            self.object.call(py, u64::MAX, |object| {
                self.number(
                    "rank",
                    &object.call_method1(intern!(object.py(), "rank"), (PacketArrival::from(arrival),))?,
                )
            })
        })
    }

    fn served(&mut self, rank: u64) {
        if self.has_served {
            self.changes.add();
            Python::attach(|py| {
                self.object
                    .call(py, (), |object| object.call_method1(intern!(object.py(), "served"), (rank,)).map(drop))
            });
        }
    }

    fn dropped(&mut self, arrival: &Arrival, rank: u64) {
        if self.has_dropped {
            self.changes.add();
            let arrival = PacketArrival::from(arrival);
            Python::attach(|py| {
                self.object.call(py, (), |object| {
                    object.call_method1(intern!(object.py(), "dropped"), (arrival, rank)).map(drop)
                })
            });
        }
    }

    fn eligible(&self, rank: u64) -> Cycle {
        if !self.has_eligible {
            return 0;
        }
        let changes = self.changes.count();
        if let Some((at_rank, since, cycle)) = self.answer.get()
            && (at_rank, since) == (rank, changes)
        {
            return cycle;
        }
        let cycle = Python::attach(|py| {
            self.object.call(py, 0, |object| {
                self.number("eligible", &object.call_method1(intern!(object.py(), "eligible"), (rank,))?)
            })
        });
        self.answer.set(Some((rank, changes, cycle)));
        cycle
    }
}
