//! Programs of hosts that are written in Python: an object gets events and returns actions.

use crate::policy::Failure;
use kernel::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyTuple};
use spinet::network::NodeId;
use spinet::network::host::{BuildProgram, Entry, EntryId, Event, Host, MessageId, Payload, Program, Region};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program. `driver` has the methods of `spinet.host_program.Driver`.
struct OwnProgram {
    driver: Py<PyAny>,
    failure: Failure,
    /// The driver's numbers of incomplete messages and entries.
    messages: BTreeMap<MessageId, u64>,
    entries: BTreeMap<EntryId, u64>,
    is_waiting: bool,
}

/// The program raised an exception. The run raises it, too.
#[derive(Debug)]
struct Raised(String);

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// Makes programs with `factory`, which takes the number of the node.
pub fn build(factory: Py<PyAny>, failure: Failure) -> BuildProgram {
    let factory = Arc::new(factory);
    BuildProgram::new(move |place| {
        let number = place.node.0;
        let driver = Python::attach(|py| factory.call1(py, (number,)));
        let driver = driver.map_err(|error| note(&failure, error))?;
        let (messages, entries) = (BTreeMap::new(), BTreeMap::new());
        let failure = failure.clone();
        Ok(Box::new(OwnProgram { driver, failure, messages, entries, is_waiting: false }) as Box<dyn Program>)
    })
}

fn note(failure: &Failure, error: PyErr) -> Raised {
    let raised = Raised(Python::attach(|py| error.value(py).to_string()));
    failure.note(error);
    raised
}

/// An event: its kind, the driver's number for it, and its content.
type Notice<'py> = (&'static str, u64, Bound<'py, PyTuple>);

impl OwnProgram {
    fn notify(&mut self, host: &mut Host, event: Option<Event>) {
        let done = Python::attach(|py| {
            let notice = match event {
                None => Some(("start", 0, PyTuple::empty(py))),
                Some(event) => self.notice(py, event)?,
            };
            let mut notices: Vec<Notice<'_>> = notice.into_iter().collect();
            while let Some((kind, key, content)) = notices.pop() {
                let args = (host.now().ps(), kind, key, content);
                let answer = self.driver.bind(py).call_method1("handle", args)?;
                let (actions, is_waiting): (Vec<Bound<'_, PyTuple>>, bool) = answer.extract()?;
                self.is_waiting = is_waiting;
                // Reads are answered at once, in order.
                let mut read = Vec::new();
                for action in actions {
                    read.extend(self.act(py, host, &action)?);
                }
                notices.extend(read.into_iter().rev());
            }
            Ok(())
        });
        if let Err(error) = done {
            host.fail(note(&self.failure, error));
        }
    }

    fn notice<'py>(&mut self, py: Python<'py>, event: Event) -> PyResult<Option<Notice<'py>>> {
        let bytes = |bytes: Option<Vec<u8>>| bytes.map(|bytes| PyBytes::new(py, &bytes));
        Ok(match event {
            Event::Sent(id) => self.messages.remove(&id).map(|key| ("sent", key, PyTuple::empty(py))),
            Event::Received(found) => match self.entries.remove(&found.entry) {
                None => None,
                Some(key) => {
                    let times = (found.first.ps(), found.last.ps());
                    let content = (found.from.0, found.tag, found.len, bytes(found.bytes), times.0, times.1);
                    Some(("received", key, content.into_pyobject(py)?))
                }
            },
            Event::Reply(found) => match self.messages.remove(&found.id) {
                None => None,
                Some(key) => {
                    let times = (found.first.ps(), found.last.ps());
                    let content = (found.from.0, found.tag, found.len, bytes(found.bytes), times.0, times.1);
                    Some(("reply", key, content.into_pyobject(py)?))
                }
            },
            Event::Timer(key) => Some(("timer", key, PyTuple::empty(py))),
            Event::Served(_) | Event::Frame(_) | Event::Written { .. } | Event::Card(_) => None,
        })
    }

    /// Performs an action of the program. Returns the answer to a read.
    fn act<'py>(
        &mut self,
        py: Python<'py>,
        host: &mut Host,
        action: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Notice<'py>>> {
        let span = |ps: u64| Time::from_fs(ps.saturating_mul(1000));
        let number = |at: usize| action.get_item(at)?.extract::<u64>();
        let node = |at: usize| Ok::<_, PyErr>(NodeId(action.get_item(at)?.extract()?));
        let name = action.get_item(0)?;
        match name.extract::<&str>()? {
            "put" => {
                let data = action.get_item(4)?;
                let payload = match data.cast::<PyInt>() {
                    Ok(len) => Payload::Zeros(len.extract()?),
                    Err(_) => Payload::Bytes(data.extract::<Vec<u8>>()?.into()),
                };
                let id = host.put(node(2)?, number(3)?, payload);
                self.messages.insert(id, number(1)?);
            }
            "get" => {
                let id = host.get(node(2)?, number(3)?, action.get_item(4)?.extract()?);
                self.messages.insert(id, number(1)?);
            }
            "append" => {
                let source: Option<u32> = action.get_item(2)?.extract()?;
                let region: Option<(u64, u64)> = action.get_item(6)?.extract()?;
                let (bits, ignore) = (number(3)?, number(4)?);
                let is_persistent = action.get_item(5)?.extract()?;
                let memory = region.map(|(addr, bytes)| Region { addr, bytes });
                let source = source.map(NodeId);
                let id = host.append(Entry { bits, ignore, source, is_persistent, memory, cpu: Some(0) });
                if !is_persistent {
                    self.entries.insert(id, number(1)?);
                }
            }
            "wait" => host.wait(span(number(2)?), number(1)?),
            "compute" => host.compute(action.get_item(3)?.extract()?, span(number(2)?), number(1)?),
            "write" => host.write(number(1)?, &action.get_item(2)?.extract::<Vec<u8>>()?),
            "read" => {
                let mut data = vec![0; number(3)? as usize];
                host.read(number(2)?, &mut data);
                return Ok(Some(("read", number(1)?, (PyBytes::new(py, &data),).into_pyobject(py)?)));
            }
            "send" => host.send(action.get_item(1)?.extract::<Vec<u8>>()?),
            other => return Err(crate::internal(format!("a host's program has the unknown action `{other}`"))),
        }
        Ok(None)
    }
}

impl Program for OwnProgram {
    fn start(&mut self, host: &mut Host) {
        self.notify(host, None);
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        self.notify(host, Some(event));
    }

    fn waits_for(&self) -> Option<String> {
        let waits_for = |py: Python<'_>| self.driver.bind(py).call_method0("waits_for")?.extract();
        Python::attach(waits_for).unwrap_or(None)
    }

    fn is_waiting(&self) -> bool {
        self.is_waiting
    }
}
