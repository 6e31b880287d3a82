//! The NIC's edge: packets and host accesses that wait for the NIC, and pending calls to the C program.
//!
//! The C program may call the library from every callback, so no borrow is held while one runs.

use crate::callbacks::{Call, Callbacks, UserPtr, deliver, read_host};
use crate::ffi::print;
use crate::library;
use crate::watch::cluster_of;
use kernel::trace::{self, Sink};
use kernel::{Clock, Cycle};
use pspin::events::Event;
use pspin::iommu::{SharedPageTables, whole_pages};
use pspin::protocol::{Context, IoTerms, Protection, Region, Weight};
use pspin::world::{Arrival, Completions, Console, Departure, Egress, HostMemory, PacketDone, PacketSource};
use pspin::{PspinParams, map};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Number of clusters for which `spin_ec_t` has scratchpads.
const NUM_CLUSTERS: usize = 4;

/// `spin_ec_t`
#[repr(C, packed)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct SpinEc {
    pub handler_mem_addr: u32,
    pub handler_mem_size: u32,
    pub host_mem_addr: u64,
    pub host_mem_size: u32,
    pub hh_addr: u32,
    pub hh_size: u32,
    pub ph_addr: u32,
    pub ph_size: u32,
    pub th_addr: u32,
    pub th_size: u32,
    pub scratchpad_addr: [u32; NUM_CLUSTERS],
    pub scratchpad_size: [u32; NUM_CLUSTERS],
}

/// Size of a program's static data at the start of L2, in bytes. Source: PsPIN RTL a49fec8, `hpu_driver.sv`.
const DATA_BYTES: u32 = 0x1_0000;

impl SpinEc {
    fn context(&self, id: u32, nic: &PspinParams) -> Context {
        let region = |addr, size| Region { addr, size };
        let (addrs, sizes) = (self.scratchpad_addr, self.scratchpad_size);
        // On a machine with more clusters than the struct has, the further clusters repeat its scratchpads.
        let of = |cluster: usize| region(addrs[cluster % NUM_CLUSTERS], sizes[cluster % NUM_CLUSTERS]);
        // The struct has no code and data regions. Handlers may access all of the program's, as with PsPIN's driver.
        let protection = Protection {
            code: region(map::PROGRAM_BASE, nic.l2.program_bytes),
            data: vec![region(map::L2_HANDLER_BASE, DATA_BYTES)],
            watchdog_cycles: nic.isolation.watchdog_cycles,
            error_addr: None,
        };
        Context {
            id,
            tenant: 0,
            weight: Weight::default(),
            io: IoTerms::default(),
            handler_mem: region(self.handler_mem_addr, self.handler_mem_size),
            host_mem_addr: self.host_mem_addr,
            host_mem_size: self.host_mem_size,
            header: region(self.hh_addr, self.hh_size),
            payload: region(self.ph_addr, self.ph_size),
            completion: region(self.th_addr, self.th_size),
            scratchpads: (0..nic.n_clusters as usize).map(of).collect(),
            protection,
            delivery: nic.delivery,
        }
    }
}

/// A packet that a C program added.
#[derive(Clone, Debug)]
pub struct Packet {
    pub ec: SpinEc,
    pub msgid: u16,
    pub eom: bool,
    pub bytes: Vec<u8>,
    pub l1_size: u32,
    pub wait_cycles: u32,
    pub user: u64,
}

/// A host access to the NIC's memories.
#[derive(Clone, Debug)]
pub enum Access {
    /// Bytes to write, and the user pointer.
    Write(Vec<u8>, UserPtr),
    /// Number of bytes, their destination, and the user pointer.
    Read(u32, UserPtr, UserPtr),
}

/// Pending work on both sides of the edge.
#[derive(Default)]
pub struct Edge {
    pub callbacks: Callbacks,
    /// The last cycle that has begun.
    pub now: Cycle,
    /// Packets in order, each with the first cycle in which the NIC may take it.
    packets: VecDeque<(Cycle, Packet)>,
    /// Accesses in order, with their addresses.
    pub accesses: VecDeque<(u32, Access)>,
    /// Pending calls by cycle, rank and order of scheduling.
    calls: BTreeMap<(Cycle, u8, u64), Call>,
    n_calls: u64,
    /// Cycle of the event that the running callback reports.
    calling: Option<Cycle>,
    /// Number of host memory bytes that were requested.
    pub bytes_requested: u64,
    /// Number of packets that the NIC took, and number of these that are not done.
    taken: u64,
    in_nic: u64,
    /// Cycle of a feedback that was reported before the NIC's own notice.
    reported_early: Option<Cycle>,
    /// True if packets were added since the NIC last asked.
    has_new: bool,
    /// True after the end of the packet stream.
    eos: bool,
    /// For each message queue with an unfinished message, the message's identity.
    open: BTreeMap<u16, u16>,
}

impl Edge {
    /// Adds a packet of the C program. `n_mpqs` maps messages to queues.
    pub fn add(&mut self, packet: Packet, n_mpqs: u32) {
        let queue = packet.msgid % n_mpqs.min(0x8000) as u16;
        match packet.eom {
            true => self.open.remove(&queue),
            false => self.open.insert(queue, packet.msgid),
        };
        let earliest = self.calling.map_or(0, |cycle| cycle + 1);
        self.packets.push_back((earliest, packet));
        self.has_new = true;
    }

    /// Ends the packet stream.
    pub fn end(&mut self) {
        self.eos = true;
    }

    /// Schedules a call in `cycle`.
    pub fn schedule(&mut self, cycle: Cycle, call: Call) {
        self.calls.insert((cycle, call.rank(), self.n_calls), call);
        self.n_calls += 1;
    }

    /// Handles the NIC's notice that a packet is done.
    fn done(&mut self, done: &PacketDone, clock: &Clock) {
        self.in_nic -= 1;
        if self.reported_early.take() != Some(done.feedback) {
            self.report_feedback(done, clock);
        }
    }

    /// Reports the feedback of the last cycle early: the NIC's notice comes one cycle later.
    pub fn report_early(&mut self, done: &PacketDone, clock: &Clock) {
        self.reported_early = Some(done.feedback);
        self.report_feedback(done, clock);
    }

    /// Returns true if the NIC's notice of an early feedback is still to come.
    pub fn awaits_notice(&self) -> bool {
        self.reported_early.is_some()
    }

    fn report_feedback(&mut self, done: &PacketDone, clock: &Clock) {
        let [nic_arrival, her, feedback] =
            [done.nic_arrival, done.her, done.feedback].map(|cycle| clock.edge(cycle).ps());
        self.schedule(done.feedback, Call::Feedback([done.user, nic_arrival, her, feedback]));
    }

    /// Takes the next call that is due.
    pub fn begin_call(&mut self, cycle: Cycle) -> Option<(Call, Callbacks)> {
        let first = self.calls.first_entry().filter(|first| first.key().0 <= cycle)?;
        self.calling = Some(first.key().0);
        Some((first.remove(), self.callbacks))
    }

    /// Begins a host read. Its bytes return in `cycle`.
    pub fn begin_read(&mut self, cycle: Cycle) -> Callbacks {
        self.calling = Some(cycle);
        self.callbacks
    }

    /// Ends the current callback.
    pub fn end_call(&mut self) {
        self.calling = None;
    }

    /// Returns true if packets were added, or if a pending call may add some. Resets the flag.
    pub fn expects_packets(&mut self) -> bool {
        let calls = self.calls.first_key_value().is_some_and(|(&(cycle, ..), _)| cycle <= self.now);
        std::mem::take(&mut self.has_new) || calls
    }

    /// Returns true if nothing waits for the NIC or for the C program.
    pub fn is_quiet(&self) -> bool {
        !self.has_new && self.accesses.is_empty() && self.calls.is_empty()
    }

    /// Number of packets that the NIC took, and number of these that are done.
    pub fn packets_in_and_done(&self) -> (u64, u64) {
        (self.taken, self.taken - self.in_nic)
    }

    /// Returns true if all packets are done and the stream has ended.
    pub fn is_done(&self) -> bool {
        self.eos && self.is_quiet() && self.open.is_empty() && self.packets.is_empty() && self.in_nic == 0
    }

    /// The reason why the simulation cannot continue although packets are left.
    pub fn stuck_reason(&self) -> String {
        let left = self.in_nic + self.packets.len() as u64;
        let open: Vec<String> = self.open.values().map(u16::to_string).collect();
        match (left, &open[..]) {
            (0, []) => "all packets are done, but pspinsim_packet_eos was not called".into(),
            (0, _) => {
                format!("all packets are done, but messages wait for their last packet (eom): {}", open.join(", "))
            }
            _ => format!("deadlock: {left} packets are not done, and no event is pending"),
        }
    }
}

/// The edge as the NIC sees it.
pub struct Port {
    /// The NIC's clock.
    pub clock: Clock,
    pub nic: PspinParams,
    /// Contexts of packets so far. Packets with equal contexts share one.
    contexts: BTreeMap<SpinEc, Rc<Context>>,
    page_tables: SharedPageTables,
}

impl Port {
    /// One of the NIC's ports to the edge.
    pub fn new(clock: Clock, nic: &PspinParams, page_tables: SharedPageTables) -> Self {
        Port { clock, nic: nic.clone(), contexts: BTreeMap::new(), page_tables }
    }

    /// PsPIN's interface has no call to register host memory. The first use of a context registers its memory.
    fn context(&mut self, ec: &SpinEc) -> Rc<Context> {
        let id = self.contexts.len() as u32;
        let met = self.contexts.entry(*ec).or_insert_with(|| {
            let context = ec.context(id, &self.nic);
            if context.host_mem_size > 0 {
                let (addr, bytes) = whole_pages(context.host_mem_addr, context.host_mem_size.into());
                let registered = self.page_tables.borrow_mut().register(id, addr, addr, bytes, true);
                registered.expect("a context is new, and whole pages are registered");
            }
            Rc::new(context)
        });
        met.clone()
    }
}

impl PacketSource for Port {
    /// Makes the calls of earlier cycles first. Packets that they add may enter now, as in PsPIN's models.
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        deliver(now.saturating_sub(1));
        let (earliest, packet) = library::edge(|edge| {
            let packet = edge.packets.pop_front();
            edge.taken += u64::from(packet.is_some());
            edge.in_nic += u64::from(packet.is_some());
            packet
        })?;
        Some(Arrival {
            earliest,
            gap: packet.wait_cycles.into(),
            bytes: packet.bytes.into(),
            msgid: packet.msgid,
            som: None,
            eom: packet.eom,
            xfer_size: packet.l1_size,
            context: self.context(&packet.ec),
            evicts: None,
            user: packet.user,
        })
    }
}

impl Completions for Port {
    fn done(&mut self, done: PacketDone) {
        library::edge(|edge| edge.done(&done, &self.clock));
    }
}

impl Egress for Port {
    fn send(&mut self, departure: Departure) {
        library::edge(|edge| edge.schedule(departure.cycle, Call::PktOut(departure.bytes.into())));
    }
}

impl HostMemory for Port {
    /// Called one cycle before the bytes return. Earlier calls of the program come first.
    fn read(&mut self, addr: u64, data: &mut [u8]) {
        let now = library::edge(|edge| edge.now);
        deliver(now);
        read_host(now + 1, addr, data);
    }

    /// Called one cycle before the bytes are written.
    fn write(&mut self, addr: u64, data: &[u8]) {
        library::edge(|edge| edge.schedule(edge.now + 1, Call::HostWrite(addr, data.into())));
    }
}

impl Sink for Port {
    /// Prints a line for a handler that ends with an exception, as PsPIN's hardware simulation does.
    fn event(&mut self, event: &trace::Event<'_>) {
        match Event::of(event) {
            // Only cards that `SPINET_NIC` selects drop packets. Only the end of the run depends on this count.
            Some(Event::PacketDropped { .. }) => library::edge(|edge| edge.in_nic -= 1),
            Some(Event::HandlerTrap { hpu, cause, .. }) => {
                let (time, cluster) = (event.at().ps(), cluster_of(event.source));
                print(&format!("[{time}][synt]: HPU ({cluster} {hpu}) HANDLER ERROR: {cause}\n"));
            }
            _ => {}
        }
    }
}

impl Console for Port {
    fn line(&mut self, _at: Cycle, cluster: u32, core: u32, text: &str) {
        print(&format!("[{cluster},{core}] {text}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn packet(msgid: u16, eom: bool) -> Packet {
        Packet { ec: SpinEc::default(), msgid, eom, bytes: vec![0], l1_size: 1, wait_cycles: 0, user: 0 }
    }

    #[test]
    fn calls_are_ordered_by_cycle_then_as_in_pspins_models() {
        let mut edge = Edge::default();
        let null = UserPtr::new(std::ptr::null_mut());
        edge.schedule(11, Call::HostWrite(0, vec![1]));
        edge.schedule(10, Call::MstWrite(null));
        edge.schedule(10, Call::HostWrite(8, vec![2]));
        edge.schedule(10, Call::HostWrite(4, vec![3]));
        edge.schedule(10, Call::PktOut(vec![4]));
        edge.schedule(9, Call::MstWrite(null));
        edge.schedule(10, Call::Feedback([5, 6, 7, 8]));
        let mut shown = String::new();
        for cycle in [8, 10, 11] {
            while let Some((call, _)) = edge.begin_call(cycle) {
                shown += &format!("{cycle}: {call:?}\n");
                edge.end_call();
            }
        }
        expect![[r#"
            10: MstWrite(UserPtr(0))
            10: Feedback([5, 6, 7, 8])
            10: PktOut([4])
            10: HostWrite(8, [2])
            10: HostWrite(4, [3])
            10: MstWrite(UserPtr(0))
            11: HostWrite(0, [1])
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn a_packet_added_by_a_callback_enters_one_cycle_later() {
        let mut edge = Edge::default();
        edge.add(packet(1, true), 256);
        edge.schedule(40, Call::PktOut(Vec::new()));
        assert!(edge.begin_call(40).is_some());
        edge.add(packet(2, true), 256);
        edge.end_call();
        edge.add(packet(3, true), 256);
        let earliest: Vec<_> = edge.packets.iter().map(|(earliest, packet)| (*earliest, packet.msgid)).collect();
        assert_eq!(earliest, [(0, 1), (41, 2), (0, 3)]);
    }

    #[test]
    fn a_run_is_done_when_all_messages_are() {
        let mut edge = Edge::default();
        assert!(!edge.is_done());
        edge.end();
        edge.has_new = false;
        assert!(edge.is_done());
        edge.add(packet(7, false), 256);
        edge.packets.clear();
        edge.has_new = false;
        assert!(!edge.is_done(), "message 7 is open");
        assert_eq!(edge.stuck_reason(), "all packets are done, but messages wait for their last packet (eom): 7");
        // A later message of the same queue ends it, as in the hardware.
        edge.add(packet(7 + 256, true), 256);
        assert!(!edge.is_done(), "a packet waits");
    }
}
