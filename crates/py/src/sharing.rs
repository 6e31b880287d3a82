//! Policies of tenants that are written in Python.

use crate::policy::{Failure, Object};
use kernel::Cycle;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString};
use spinet::driver::{Choice, TenantNames, TenantPolicy, WaitingTenant};
use std::collections::BTreeMap;

/// A tenant, as a policy sees it.
#[pyclass(frozen, get_all, module = "spinet._native", name = "WaitingTenant")]
pub struct Waiting {
    name: Py<PyString>,
    weight: u32,
    priority: u8,
    bytes: u32,
    in_service: u32,
    used: u64,
    active_cycles: u64,
}

/// An object with a method `choose`. Optional: methods `began`, `started`, `ended`, and an attribute `holds_back`.
pub struct OwnTenantPolicy {
    object: Object,
    hears_began: bool,
    hears_started: bool,
    hears_ended: bool,
    holds_back: bool,
    names: TenantNames,
    /// The names that were requested so far.
    known: BTreeMap<u32, Py<PyString>>,
}

impl OwnTenantPolicy {
    /// Wraps the policy of a part of the card.
    pub fn new(
        py: Python<'_>,
        part: &str,
        object: Py<PyAny>,
        names: TenantNames,
        failure: Failure,
    ) -> PyResult<OwnTenantPolicy> {
        let object = Object::new(py, object, &format!("`{part}`"), "choose(now, waiting)", failure)?;
        let has = |name| object.has(py, name);
        let (hears_began, hears_started, hears_ended) = (has("began")?, has("started")?, has("ended")?);
        let holds_back = has("holds_back")? && object.object.bind(py).getattr("holds_back")?.is_truthy()?;
        let known = BTreeMap::new();
        Ok(OwnTenantPolicy { object, hears_began, hears_started, hears_ended, holds_back, names, known })
    }

    fn name(&mut self, py: Python<'_>, number: u32) -> Py<PyString> {
        let names = &self.names;
        let name = self.known.entry(number).or_insert_with(|| {
            let name = names.get(number).unwrap_or_else(|| number.to_string());
            PyString::new(py, &name).unbind()
        });
        name.clone_ref(py)
    }

    fn show(&mut self, py: Python<'_>, tenant: &WaitingTenant) -> Waiting {
        let &WaitingTenant { number, weight, priority, bytes, in_service, used, active_cycles, .. } = tenant;
        Waiting { name: self.name(py, number), weight, priority, bytes, in_service, used, active_cycles }
    }

    /// Reads the answer of `choose`. `places` are the positions of the tenants in `waiting`.
    fn choice(
        &self,
        now: Cycle,
        answer: &Bound<'_, PyAny>,
        waiting: &[Py<PyString>],
        places: &[usize],
    ) -> PyResult<Choice> {
        if answer.is_none() {
            return Ok(Choice::Nobody);
        }
        if let Ok(name) = answer.cast::<PyString>() {
            let name = name.to_str()?;
            for (known, &place) in waiting.iter().zip(places) {
                if known.bind(answer.py()).to_str()? == name {
                    return Ok(Choice::Start(place));
                }
            }
        } else if !answer.is_instance_of::<PyBool>()
            && let Ok(cycle) = answer.extract::<Cycle>()
            && cycle > now
        {
            return Ok(Choice::NobodyBefore(cycle));
        }
        let names: Vec<String> = waiting.iter().map(|name| format!("`{name}`")).collect();
        let allowed = format!("the name of a tenant that waits ({}), None, or a cycle after {now}", names.join(", "));
        Err(self.object.refuse("choose", answer, &allowed))
    }

    /// Calls a method with a tenant.
    fn tell(&mut self, method: &str, now: Cycle, tenant: &WaitingTenant) {
        Python::attach(|py| {
            let tenant = self.show(py, tenant);
            self.object.call(py, (), |object| object.call_method1(method, (now, tenant)).map(drop));
        });
    }
}

impl TenantPolicy for OwnTenantPolicy {
    fn choose(&mut self, now: Cycle, tenants: &[WaitingTenant]) -> Choice {
        let places: Vec<usize> = (0..tenants.len()).filter(|&place| tenants[place].waits).collect();
        Python::attach(|py| {
            let waiting: Vec<Waiting> = places.iter().map(|&place| self.show(py, &tenants[place])).collect();
            let names: Vec<Py<PyString>> = waiting.iter().map(|tenant| tenant.name.clone_ref(py)).collect();
            // After an error the run ends, so the choice does not matter.
            self.object.call(py, Choice::Start(places[0]), |object| {
                let waiting = waiting.into_iter().map(|tenant| Py::new(py, tenant)).collect::<PyResult<Vec<_>>>()?;
                let answer = object.call_method1(intern!(py, "choose"), (now, PyList::new(py, waiting)?))?;
                self.choice(now, &answer, &names, &places)
            })
        })
    }

    fn holds_back(&self) -> bool {
        self.holds_back
    }

    fn began(&mut self, now: Cycle, place: usize, tenants: &[WaitingTenant]) {
        if self.hears_began {
            self.tell("began", now, &tenants[place]);
        }
    }

    fn started(&mut self, now: Cycle, place: usize, tenants: &[WaitingTenant]) {
        if self.hears_started {
            self.tell("started", now, &tenants[place]);
        }
    }

    fn ended(&mut self, now: Cycle, number: u32) {
        if self.hears_ended {
            Python::attach(|py| {
                let name = self.name(py, number);
                self.object.call(py, (), |object| object.call_method1(intern!(py, "ended"), (now, name)).map(drop));
            });
        }
    }
}

/// Wraps the policies of a card's parts: an object for each, or a list of them for parts that the card has several times.
pub fn own(
    py: Python<'_>,
    policies: BTreeMap<String, Py<PyAny>>,
    names: &TenantNames,
    failure: &Failure,
) -> PyResult<Vec<(String, OwnTenantPolicy)>> {
    let mut own = Vec::new();
    for (part, object) in policies {
        let mut add = |object: Py<PyAny>, shown: &str| {
            let policy = OwnTenantPolicy::new(py, shown, object, names.clone(), failure.clone())?;
            own.push((part.clone(), policy));
            Ok::<_, PyErr>(())
        };
        match object.extract::<Vec<Py<PyAny>>>(py) {
            Ok(list) if list.is_empty() => {
                return Err(crate::input(format!("policies: the list for `{part}` is empty, must have a policy")));
            }
            Ok(list) => {
                list.into_iter().enumerate().try_for_each(|(i, object)| add(object, &format!("{part}[{i}]")))?
            }
            Err(_) => add(object, &part)?,
        }
    }
    Ok(own)
}

/// Boxes the policies for a driver.
pub fn boxed(policies: Vec<(String, OwnTenantPolicy)>) -> Vec<(String, Box<dyn TenantPolicy>)> {
    policies.into_iter().map(|(part, policy)| (part, Box::new(policy) as Box<dyn TenantPolicy>)).collect()
}
