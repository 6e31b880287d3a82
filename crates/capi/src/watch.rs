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
use pspin::{Pspin, PspinParams, events as ev, map};
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
/// Bytes to which the NIC model rounds a packet in packet memory.
const SEGMENT_BYTES: u64 = 64;

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

/// Packet memory as PsPIN's inbound engine keeps it: a ring in which packets become free in order.
#[derive(Default)]
struct Ring {
    head: u64,
    tail: u64,
    in_flight: u64,
    /// Where the used part ends, if the newest packet lies before the oldest.
    cut: Option<u64>,
    /// The last end of the used part.
    last_cut: u64,
    /// Packets that are done and wait for older ones: offset and bytes.
    done: BTreeMap<u64, u64>,
}

impl Ring {
    fn rounded(bytes: u64) -> u64 {
        bytes.next_multiple_of(SEGMENT_BYTES)
    }

    fn allocate(&mut self, addr: u64, bytes: u64) -> String {
        let (offset, size) = (addr - u64::from(map::L2_PACKET_BASE), Self::rounded(bytes));
        if offset == 0 && self.tail != 0 {
            self.last_cut = self.tail;
            match self.in_flight {
                0 => self.head = 0,
                _ => self.cut = Some(self.tail),
            }
        }
        self.tail = offset + size;
        self.in_flight += 1;
        let Ring { head, tail, in_flight, .. } = self;
        format!(
            "NIC inbound engine: allocated {size} bytes; head_ptr: {head}; tail_ptr: {tail}; in_flight_packets: {in_flight}"
        )
    }

    /// A line for each packet that becomes free.
    fn free(&mut self, addr: u64, bytes: u64) -> Vec<String> {
        self.done.insert(addr - u64::from(map::L2_PACKET_BASE), Self::rounded(bytes));
        let mut lines = Vec::new();
        while let Some(size) = self.done.remove(&self.head) {
            self.head += size;
            self.in_flight -= 1;
            let Ring { head, tail, in_flight, cut, last_cut, .. } = self;
            lines.push(format!(
                "NIC inbound engine: freeing {size} bytes; head_ptr: {head}; tail_ptr: {tail}; \
                 in_flight_packets: {in_flight}; cut: {}; cut_ptr: {last_cut}",
                u8::from(cut.is_some()),
            ));
            if *cut == Some(*head) {
                (*head, *cut) = (0, None);
                lines.push(format!("NIC inbound engine: resetting head_ptr! cut_ptr: {last_cut};"));
            }
        }
        lines
    }
}

/// Writes down what somebody asked for.
pub struct Watch {
    has_transcript: bool,
    waves: Option<Waves>,
    /// By time in ps, then in the order in which they came.
    waiting: BTreeMap<(u64, u64), Heard>,
    n_heard: u64,
    packets: BTreeMap<u64, Stored>,
    ring: Ring,
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
        let (waiting, packets, ring, handlers) = Default::default();
        Ok(Some(Rc::new(RefCell::new(Watch { has_transcript, waves, waiting, n_heard: 0, packets, ring, handlers }))))
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
            if self.has_transcript {
                self.lines(at, &heard).iter().for_each(|line| print(line));
            }
            self.note(at, &heard)?;
        }
        Ok(())
    }

    /// The lines of PsPIN's models for an event.
    fn lines(&mut self, at: u64, heard: &Heard) -> Vec<String> {
        let value = |index: usize| heard.values[index];
        let cluster = heard.cluster;
        let packet = heard.values.first().and_then(|packet| self.packets.get(packet));
        let (place, texts) = match () {
            () if heard.is(&ev::PACKET_IN) => ("NICInbound.hpp", vec![self.ring.allocate(value(3), value(2))]),
            () if heard.is(&ev::HER_SENT) => {
                ("NICInbound.hpp", packet.map(|packet| format!("HER sent ({:#x})", packet.addr)).into_iter().collect())
            }
            () if heard.is(&ev::PACKET_DONE) => {
                let Some(&Stored { at: since, bytes, addr, .. }) = packet else { return Vec::new() };
                let feedback = format!("INFO FEEDBACK {addr:#x} {} {bytes}", at.saturating_sub(since));
                ("NICInbound.hpp", [vec![feedback], self.ring.free(addr, bytes)].concat())
            }
            () if heard.is(&ev::SEND_TAKEN) => {
                let (addr, bytes, flow) = (value(1), value(2), value(3));
                let text = format!(
                    "NIC outbound got new command: source_addr: {addr:#x}; length: {bytes}; FID: {flow} (>0 is RDMA)"
                );
                ("NICOutbound.hpp", vec![text])
            }
            () if heard.is(&ev::PACKET_SENT) => ("NICOutbound.hpp", vec![format!("packet sent; size: {}", value(1))]),
            () if heard.is(&ev::HOST_READ) => {
                let text = format!("PCIe: got read request: address {:#x}, {} bytes", value(0), value(1));
                ("PCIeSlave.hpp", vec![text])
            }
            () if heard.is(&ev::TASK_ASSIGNED) => ("synt", vec![format!("INFO HANDLER_START {cluster} {}", value(2))]),
            () if heard.is(&ev::HPU_IDLE) => ("synt", vec![format!("INFO HPU_TIME {cluster} {}", value(0))]),
            () if heard.is(&ev::HANDLER_END) => {
                let (core, handler) = (value(2), self.handlers.get(&(cluster, value(2))));
                let Some((Stored { msgid, bytes, addr, .. }, handler)) = packet.zip(handler) else { return Vec::new() };
                let text = format!("INFO HANDLER_TIME {cluster} {core} {msgid} {handler:08x} {addr:08x} {bytes}");
                ("synt", vec![text])
            }
            () => return Vec::new(),
        };
        // The hardware's lines have a colon alone, the models' stand with their file.
        texts.iter().map(|text| format!("[{at}][{place}]: {text}\n")).collect()
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
