//! Observation of a simulation: the transcript of PsPIN's models, waveforms, and instruction traces.
//!
//! Transcript and waveforms come from the NIC's events, sorted by time. Sorting is necessary because a core that runs
//! ahead reports early and the inbound engine reports the end of a packet one cycle late.
//!
//! Source of the lines: PsPIN a49fec8, `hw/verilator_model/src` and `hpu_driver.sv`. Differs: there are no source line
//! numbers.

use crate::Error;
use crate::ffi::print;
use crate::waves::Waves;
use kernel::Clock;
use kernel::trace::{self, Sink};
use pspin::events::Event;
use pspin::{Pspin, PspinParams, map};
use spinet::instructions::{Choice, CoreTraces};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Any value except an empty one enables the transcript.
const TRANSCRIPT_VARIABLE: &str = "SPINET_TRANSCRIPT";
/// Path of the waveform file.
const WAVES_VARIABLE: &str = "SPINET_WAVES";
/// Folder of the instruction traces, which have one file per core.
const INSTRUCTIONS_VARIABLE: &str = "SPINET_INSTRUCTIONS";
/// Upper bound of the delay of an event, in cycles.
const LATE_CYCLES: u64 = 8;
/// Cycle of PsPIN's models, in ps.
const CYCLE_PS: u64 = 1000;
/// Granularity of packets in the model's packet memory, in bytes.
const SEGMENT_BYTES: u64 = 64;

/// Returns true if waveforms are enabled.
pub fn wants_waves() -> bool {
    wanted(WAVES_VARIABLE).is_some()
}

/// Starts instruction traces of all cores of a new NIC, in the folder that the environment names. Creates the folder.
/// Does nothing if the variable is unset.
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

/// An event that waits for earlier ones.
struct PendingEvent {
    /// Index of its cluster; 0 if it belongs to none.
    cluster: u64,
    what: Event,
}

/// A packet in packet memory.
struct Stored {
    at: u64,
    msgid: u64,
    bytes: u64,
    addr: u64,
}

/// Packet memory of PsPIN's inbound engine: a ring that frees packets in order.
#[derive(Default)]
struct Ring {
    head: u64,
    tail: u64,
    in_flight: u64,
    /// End of the used part if the newest packet is before the oldest one.
    cut: Option<u64>,
    /// The previous `cut`.
    last_cut: u64,
    /// Offset and size of packets that are done but wait for older ones.
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

    /// Frees a packet. Returns one line for each packet that leaves the ring.
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

/// Writes the observations that the environment asks for.
pub struct Watch {
    has_transcript: bool,
    waves: Option<Waves>,
    /// Pending events by time in ps, then by order of arrival.
    waiting: BTreeMap<(u64, u64), PendingEvent>,
    n_events: u64,
    packets: BTreeMap<u64, Stored>,
    ring: Ring,
    /// Address of the running handler, by cluster and core.
    handlers: BTreeMap<(u64, u64), u64>,
}

/// Shared by the NIC, which reports events, and the simulation, which triggers writing.
pub type SharedWatch = Rc<RefCell<Watch>>;

impl Watch {
    /// Creates what the environment asks for; `None` if it asks for nothing.
    pub fn from_environment(params: &PspinParams) -> Result<Option<SharedWatch>, Error> {
        let has_transcript = wanted(TRANSCRIPT_VARIABLE).is_some();
        let waves = wanted(WAVES_VARIABLE).map(|file| Waves::create(file.as_ref(), params)).transpose()?;
        if !has_transcript && waves.is_none() {
            return Ok(None);
        }
        let (waiting, packets, ring, handlers) = Default::default();
        Ok(Some(Rc::new(RefCell::new(Watch { has_transcript, waves, waiting, n_events: 0, packets, ring, handlers }))))
    }

    /// Writes all events more than `LATE_CYCLES` before this time, in ps. Events that are reported late may still come
    /// between later ones.
    pub fn write_until(&mut self, ps: u64) -> Result<(), Error> {
        let sure = ps.saturating_sub(LATE_CYCLES * CYCLE_PS);
        self.write(sure)
    }

    /// Writes the remaining events.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.write(u64::MAX)?;
        self.waves.as_mut().map_or(Ok(()), Waves::flush)
    }

    fn write(&mut self, sure: u64) -> Result<(), Error> {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 < sure) {
            let at = first.key().0;
            let event = first.remove();
            if self.has_transcript {
                self.lines(at, &event).iter().for_each(|line| print(line));
            }
            self.update(at, &event)?;
        }
        Ok(())
    }

    /// The lines of PsPIN's models for an event.
    fn lines(&mut self, at: u64, event: &PendingEvent) -> Vec<String> {
        let cluster = event.cluster;
        let (place, texts) = match event.what {
            Event::PacketIn { bytes, addr, .. } => ("NICInbound.hpp", vec![self.ring.allocate(addr, bytes)]),
            Event::HerSent { packet, .. } => {
                let packet = self.packets.get(&packet);
                ("NICInbound.hpp", packet.map(|packet| format!("HER sent ({:#x})", packet.addr)).into_iter().collect())
            }
            Event::PacketDone { packet } => {
                let Some(&Stored { at: since, bytes, addr, .. }) = self.packets.get(&packet) else { return Vec::new() };
                let feedback = format!("INFO FEEDBACK {addr:#x} {} {bytes}", at.saturating_sub(since));
                ("NICInbound.hpp", [vec![feedback], self.ring.free(addr, bytes)].concat())
            }
            Event::SendTaken { addr, bytes, flow, .. } => {
                let text = format!(
                    "NIC outbound got new command: source_addr: {addr:#x}; length: {bytes}; FID: {flow} (>0 is RDMA)"
                );
                ("NICOutbound.hpp", vec![text])
            }
            Event::PacketSent { bytes, .. } => ("NICOutbound.hpp", vec![format!("packet sent; size: {bytes}")]),
            Event::HostRead { addr, bytes } => {
                ("PCIeSlave.hpp", vec![format!("PCIe: got read request: address {addr:#x}, {bytes} bytes")])
            }
            Event::TaskAssigned { hpu, .. } => ("synt", vec![format!("INFO HANDLER_START {cluster} {hpu}")]),
            Event::HpuIdle { hpu } => ("synt", vec![format!("INFO HPU_TIME {cluster} {hpu}")]),
            Event::HandlerEnd { packet, hpu, .. } => {
                let running = self.packets.get(&packet).zip(self.handlers.get(&(cluster, hpu)));
                let Some((Stored { msgid, bytes, addr, .. }, handler)) = running else { return Vec::new() };
                let text = format!("INFO HANDLER_TIME {cluster} {hpu} {msgid} {handler:08x} {addr:08x} {bytes}");
                ("synt", vec![text])
            }
            _ => return Vec::new(),
        };
        texts.iter().map(|text| format!("[{at}][{place}]: {text}\n")).collect()
    }

    /// Updates the state for later lines, and the waveforms.
    fn update(&mut self, at: u64, event: &PendingEvent) -> Result<(), Error> {
        let cluster = event.cluster;
        match event.what {
            Event::PacketIn { packet, msgid, bytes, addr } => {
                self.packets.insert(packet, Stored { at, msgid, bytes, addr });
            }
            Event::PacketDone { packet } | Event::PacketDropped { packet, .. } => drop(self.packets.remove(&packet)),
            Event::HandlerStart { hpu, handler, .. } => drop(self.handlers.insert((cluster, hpu), handler)),
            Event::HandlerEnd { hpu, .. } => drop(self.handlers.remove(&(cluster, hpu))),
            _ => {}
        }
        let n_packets = self.packets.len() as u64;
        let Some(waves) = &mut self.waves else { return Ok(()) };
        match event.what {
            Event::PacketIn { .. } | Event::PacketDone { .. } | Event::PacketDropped { .. } => {
                waves.packets(at, n_packets)
            }
            Event::HerSent { .. } => waves.her(at),
            Event::TaskDispatched { cluster, .. } => waves.task(at, cluster, 1),
            Event::TaskDone { .. } => waves.task(at, cluster, -1),
            Event::HandlerStart { hpu, stage, .. } => waves.handler(at, cluster, hpu, Some(stage)),
            Event::HandlerEnd { hpu, .. } => waves.handler(at, cluster, hpu, None),
            Event::PacketSent { bytes, .. } => waves.sent(at, bytes),
            Event::HostWritten { bytes, .. } => waves.host(at, bytes, 0),
            Event::HostRead { bytes, .. } => waves.host(at, 0, bytes),
            _ => Ok(()),
        }
    }
}

/// The cluster's index in a path such as `nic.cluster[2]`; 0 if there is none.
pub fn cluster_of(source: &str) -> u64 {
    let digits = source.strip_prefix("nic.cluster[").and_then(|rest| rest.split_once(']'));
    digits.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0)
}

/// The trace sink of the NIC.
pub struct Watcher(pub SharedWatch);

impl Sink for Watcher {
    fn event(&mut self, event: &trace::Event<'_>) {
        let Some(what) = Event::of(event) else { return };
        let watch = &mut *self.0.borrow_mut();
        let pending = PendingEvent { cluster: cluster_of(event.source), what };
        watch.waiting.insert((event.at().ps(), watch.n_events), pending);
        watch.n_events += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_cluster_indices() {
        assert_eq!(["nic.cluster[3]", "nic.cluster[12].dma", "nic.inbound"].map(cluster_of), [3, 12, 0]);
    }
}
