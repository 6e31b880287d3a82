//! What may be seen of a simulation besides its callbacks: the transcript of PsPIN's models, waveforms, and what cores execute.
//!
//! The first two come from the events of the NIC, put in order of time: a core that runs ahead tells early, the inbound engine hears of
//! a packet's end a cycle late.
//!
//! Source: PsPIN a49fec8, `hw/verilator_model/src` and `hpu_driver.sv`, for the lines. Differs: no number of a source line.

use crate::Error;
use crate::ffi::print;
use crate::waves::Waves;
use kernel::Clock;
use kernel::trace::{Event, EventKind, Sink};
use pspin::{Pspin, PspinParams, events as ev};
use spinet::instructions::{Choice, CoreTraces};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Any value but an empty one asks for the transcript.
const TRANSCRIPT_VARIABLE: &str = "SPINET_TRANSCRIPT";
/// Names the file of waveforms.
const WAVES_VARIABLE: &str = "SPINET_WAVES";
/// Names the folder of instruction traces, a file a core.
const INSTRUCTIONS_VARIABLE: &str = "SPINET_INSTRUCTIONS";
/// Cycles by which an event may be told late, and more.
const LATE_CYCLES: u64 = 8;
/// ps of a cycle, in which events of PsPIN's models come.
const CYCLE_PS: u64 = 1000;

/// Whether waveforms are asked for.
pub fn wants_waves() -> bool {
    wanted(WAVES_VARIABLE).is_some()
}

/// Traces of what all cores of a new NIC execute, in the folder that the environment names, which is made; nothing if it names none.
pub fn trace_instructions(nic: &mut Pspin, params: &PspinParams, clock: Clock) -> Result<CoreTraces, Error> {
    let Some(folder) = wanted(INSTRUCTIONS_VARIABLE) else { return Ok(CoreTraces::default()) };
    let folder = Path::new(&folder);
    let write = |source| Error::Write { file: folder.display().to_string(), source };
    std::fs::create_dir_all(folder).map_err(write)?;
    Ok(CoreTraces::start(nic, params, clock, folder, &Choice::ALL)?)
}

fn wanted(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// An event that waits for those before it.
struct Heard {
    /// Position of the cluster that it is from; 0 if it is from none.
    cluster: u64,
    kind: &'static EventKind,
    values: Vec<u64>,
}

impl Heard {
    fn is(&self, kind: &'static EventKind) -> bool {
        std::ptr::eq(self.kind, kind)
    }
}

/// A packet in packet memory.
struct Stored {
    at: u64,
    msgid: u64,
    bytes: u64,
    addr: u64,
}

/// Writes down what somebody asked for.
pub struct Watch {
    has_transcript: bool,
    waves: Option<Waves>,
    /// By time in ps, then in the order in which they came.
    waiting: BTreeMap<(u64, u64), Heard>,
    n_heard: u64,
    packets: BTreeMap<u64, Stored>,
    /// Handlers that run, by cluster and core: their address.
    handlers: BTreeMap<(u64, u64), u64>,
}

/// The NIC tells it, and the simulation lets it write.
pub type SharedWatch = Rc<RefCell<Watch>>;

impl Watch {
    /// What the environment asks for; nothing if it asks for nothing.
    pub fn from_environment(params: &PspinParams) -> Result<Option<SharedWatch>, Error> {
        let has_transcript = wanted(TRANSCRIPT_VARIABLE).is_some();
        let waves = wanted(WAVES_VARIABLE).map(|file| Waves::create(file.as_ref(), params)).transpose()?;
        if !has_transcript && waves.is_none() {
            return Ok(None);
        }
        let (waiting, packets, handlers) = Default::default();
        Ok(Some(Rc::new(RefCell::new(Watch { has_transcript, waves, waiting, n_heard: 0, packets, handlers }))))
    }

    /// Writes what happened before this time, in ps, but for what may still have something before it.
    pub fn write_until(&mut self, ps: u64) -> Result<(), Error> {
        let sure = ps.saturating_sub(LATE_CYCLES * CYCLE_PS);
        self.write(sure)
    }

    /// Writes the rest.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.write(u64::MAX)?;
        self.waves.as_mut().map_or(Ok(()), Waves::flush)
    }

    fn write(&mut self, sure: u64) -> Result<(), Error> {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 < sure) {
            let at = first.key().0;
            let heard = first.remove();
            if self.has_transcript
                && let Some(line) = self.line(at, &heard)
            {
                print(&line);
            }
            self.note(at, &heard)?;
        }
        Ok(())
    }

    /// The line of PsPIN's models for an event.
    fn line(&self, at: u64, heard: &Heard) -> Option<String> {
        let value = |index: usize| heard.values[index];
        let packet = || self.packets.get(&heard.values[0]);
        let (place, text) = match () {
            () if heard.is(&ev::PACKET_IN) => {
                let (bytes, addr, n) = (value(2), value(3), self.packets.len() + 1);
                let text = format!("NIC inbound engine: allocated {bytes} bytes at {addr:#x}; in_flight_packets: {n}");
                ("NICInbound.hpp", text)
            }
            () if heard.is(&ev::HER_SENT) => ("NICInbound.hpp", format!("HER sent ({:#x})", packet()?.addr)),
            () if heard.is(&ev::PACKET_DONE) => {
                let Stored { at: since, bytes, addr, .. } = packet()?;
                ("NICInbound.hpp", format!("INFO FEEDBACK {addr:#x} {} {bytes}", at.saturating_sub(*since)))
            }
            () if heard.is(&ev::PACKET_SENT) => ("NICOutbound.hpp", format!("packet sent; size: {}", value(1))),
            () if heard.is(&ev::HOST_READ) => {
                ("PCIeSlave.hpp", format!("PCIe: got read request: address {:#x}, {} bytes", value(0), value(1)))
            }
            () if heard.is(&ev::HANDLER_START) => {
                ("synt", format!("INFO HANDLER_START {} {}", heard.cluster, value(2)))
            }
            () if heard.is(&ev::HANDLER_END) => {
                let Stored { msgid, bytes, addr, .. } = packet()?;
                let handler = self.handlers.get(&(heard.cluster, value(2)))?;
                let (cluster, core) = (heard.cluster, value(2));
                ("synt", format!("INFO HANDLER_TIME {cluster} {core} {msgid} {handler:08x} {addr:08x} {bytes}"))
            }
            () => return None,
        };
        // The hardware's lines have a colon alone, the models' stand with their file.
        Some(format!("[{at}][{place}]: {text}\n"))
    }

    /// Remembers what later lines need, and draws.
    fn note(&mut self, at: u64, heard: &Heard) -> Result<(), Error> {
        let value = |index: usize| heard.values[index];
        if heard.is(&ev::PACKET_IN) {
            let [packet, msgid, bytes, addr] = [0, 1, 2, 3].map(value);
            self.packets.insert(packet, Stored { at, msgid, bytes, addr });
        } else if heard.is(&ev::PACKET_DONE) || heard.is(&ev::PACKET_DROPPED) {
            self.packets.remove(&value(0));
        } else if heard.is(&ev::HANDLER_START) {
            self.handlers.insert((heard.cluster, value(2)), value(3));
        } else if heard.is(&ev::HANDLER_END) {
            self.handlers.remove(&(heard.cluster, value(2)));
        }
        let n_packets = self.packets.len() as u64;
        let Some(waves) = &mut self.waves else { return Ok(()) };
        match () {
            () if heard.is(&ev::PACKET_IN) || heard.is(&ev::PACKET_DONE) || heard.is(&ev::PACKET_DROPPED) => {
                waves.packets(at, n_packets)
            }
            () if heard.is(&ev::HER_SENT) => waves.her(at),
            () if heard.is(&ev::TASK_DISPATCHED) => waves.task(at, value(2), 1),
            () if heard.is(&ev::TASK_DONE) => waves.task(at, heard.cluster, -1),
            () if heard.is(&ev::HANDLER_START) => waves.handler(at, heard.cluster, value(2), Some(value(1))),
            () if heard.is(&ev::HANDLER_END) => waves.handler(at, heard.cluster, value(2), None),
            () if heard.is(&ev::PACKET_SENT) => waves.sent(at, value(1)),
            () if heard.is(&ev::HOST_WRITTEN) => waves.host(at, value(1), 0),
            () if heard.is(&ev::HOST_READ) => waves.host(at, 0, value(1)),
            () => Ok(()),
        }
    }
}

/// The position in a path such as `nic.cluster[2]`; 0 if there is none.
pub fn cluster_of(source: &str) -> u64 {
    let digits = source.strip_prefix("nic.cluster[").and_then(|rest| rest.split_once(']'));
    digits.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0)
}

/// The watch as the NIC sees it.
pub struct Watcher(pub SharedWatch);

impl Sink for Watcher {
    fn event(&mut self, event: &Event<'_>) {
        let watch = &mut *self.0.borrow_mut();
        let heard = Heard { cluster: cluster_of(event.source), kind: event.kind, values: event.values.into() };
        watch.waiting.insert((event.at.ps(), watch.n_heard), heard);
        watch.n_heard += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_known_by_their_paths() {
        assert_eq!(["nic.cluster[3]", "nic.cluster[12].dma", "nic.inbound"].map(cluster_of), [3, 12, 0]);
    }
}
