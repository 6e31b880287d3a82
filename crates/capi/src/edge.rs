//! The NIC's edge: packets and accesses of the host that wait to go in, and calls that are to be made.
//!
//! A C program may call back into the library from every callback, so nothing here is held while one runs.

use crate::callbacks::{Call, Callbacks, UserPtr, deliver, read_host};
use crate::ffi::print;
use crate::library;
use crate::watch::cluster_of;
use kernel::trace::{Event, Sink};
use kernel::{Clock, Cycle};
use pspin::events::{HANDLER_TRAP, PACKET_DROPPED};
use pspin::iommu::{SharedPageTables, whole_pages};
use pspin::protocol::{Context, Protection, Region};
use pspin::world::{Arrival, Completions, Console, Departure, Egress, HostMemory, PacketDone, PacketSource};
use pspin::{PspinParams, map};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Clusters that `spin_ec_t` has scratchpads for.
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

/// Bytes of L2 from its start on in which a program's static data lies. Source: PsPIN RTL a49fec8, `hpu_driver.sv`.
const DATA_BYTES: u32 = 0x1_0000;

impl SpinEc {
    fn context(&self, id: u32, nic: &PspinParams) -> Context {
        let region = |addr, size| Region { addr, size };
        let (addrs, sizes) = (self.scratchpad_addr, self.scratchpad_size);
        // A machine of more clusters than the struct knows has scratchpads like the first there.
        let of = |cluster: usize| region(addrs[cluster % NUM_CLUSTERS], sizes[cluster % NUM_CLUSTERS]);
        // The struct names no code and no data: all of the program's, as PsPIN's driver has it.
        let protection = Protection {
            code: region(map::PROGRAM_BASE, nic.l2.program_bytes),
            data: vec![region(map::L2_HANDLER_BASE, DATA_BYTES)],
            watchdog_cycles: nic.isolation.watchdog_cycles,
            error_addr: None,
        };
        Context {
            id,
            tenant: 0,
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

/// An access of the host to the NIC's memories.
#[derive(Clone, Debug)]
pub enum Access {
    /// Bytes to write, and the user pointer.
    Write(Vec<u8>, UserPtr),
    /// Bytes to read, where to, and the user pointer.
    Read(u32, UserPtr, UserPtr),
}

/// What waits on either side.
#[derive(Default)]
pub struct Edge {
    pub callbacks: Callbacks,
    /// The last cycle that has begun.
    pub now: Cycle,
    /// In order, each with the first cycle in which the NIC may take it.
    packets: VecDeque<(Cycle, Packet)>,
    /// In order, with their addresses.
    pub accesses: VecDeque<(u32, Access)>,
    /// Calls by cycle, rank and order.
    calls: BTreeMap<(Cycle, u8, u64), Call>,
    n_calls: u64,
    /// The cycle that the running callback tells of.
    calling: Option<Cycle>,
    /// Bytes of host memory that were asked for.
    pub bytes_asked: u64,
    /// Packets that the NIC has and is not done with.
    in_nic: u64,
    /// The feedback of this cycle was told before the NIC did.
    foretold: Option<Cycle>,
    /// Packets were added since the NIC was told that there are some.
    has_new: bool,
    /// There will be no more packets.
    eos: bool,
    /// By message queue: the identity of a message whose last packet was not added.
    open: BTreeMap<u16, u16>,
}

impl Edge {
    /// Takes a packet from the C program; `n_mpqs` tells queues apart.
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

    /// There will be no more packets.
    pub fn end(&mut self) {
        self.eos = true;
    }

    /// Lets the C program hear of something in `cycle`.
    pub fn tell(&mut self, cycle: Cycle, call: Call) {
        self.calls.insert((cycle, call.rank(), self.n_calls), call);
        self.n_calls += 1;
    }

    /// The NIC is done with a packet.
    fn done(&mut self, done: &PacketDone, clock: &Clock) {
        self.in_nic -= 1;
        if self.foretold.take() != Some(done.feedback) {
            self.tell_feedback(done, clock);
        }
    }

    /// The feedback of the last cycle, of which the NIC tells in the next.
    pub fn foretell(&mut self, done: &PacketDone, clock: &Clock) {
        self.foretold = Some(done.feedback);
        self.tell_feedback(done, clock);
    }

    /// Whether the NIC has yet to tell what was foretold.
    pub fn is_foretold(&self) -> bool {
        self.foretold.is_some()
    }

    fn tell_feedback(&mut self, done: &PacketDone, clock: &Clock) {
        let [nic_arrival, her, feedback] =
            [done.nic_arrival, done.her, done.feedback].map(|cycle| clock.edge(cycle).ps());
        self.tell(done.feedback, Call::Feedback([done.user, nic_arrival, her, feedback]));
    }

    /// The next call that is due.
    pub fn begin_call(&mut self, cycle: Cycle) -> Option<(Call, Callbacks)> {
        let first = self.calls.first_entry().filter(|first| first.key().0 <= cycle)?;
        self.calling = Some(first.key().0);
        Some((first.remove(), self.callbacks))
    }

    /// The host is about to be read; the bytes are back in `cycle`.
    pub fn begin_read(&mut self, cycle: Cycle) -> Callbacks {
        self.calling = Some(cycle);
        self.callbacks
    }

    /// The callback is over.
    pub fn end_call(&mut self) {
        self.calling = None;
    }

    /// Whether the source, or calls that are to be made before it answers, may have packets; asked once for each time.
    pub fn expects_packets(&mut self) -> bool {
        let calls = self.calls.first_key_value().is_some_and(|(&(cycle, ..), _)| cycle <= self.now);
        std::mem::take(&mut self.has_new) || calls
    }

    /// Whether nothing goes into the NIC, and nobody has anything to hear.
    pub fn is_quiet(&self) -> bool {
        !self.has_new && self.accesses.is_empty() && self.calls.is_empty()
    }

    /// Whether all packets are done, and there will be no more.
    pub fn is_done(&self) -> bool {
        self.eos && self.is_quiet() && self.open.is_empty() && self.packets.is_empty() && self.in_nic == 0
    }

    /// Why packets are left though nothing can happen any more, for people.
    pub fn complaint(&self) -> String {
        let left = self.in_nic + self.packets.len() as u64;
        let open: Vec<String> = self.open.values().map(u16::to_string).collect();
        match (left, &open[..]) {
            (0, []) => "all packets are done, but pspinsim_packet_eos was not called".into(),
            (0, _) => {
                format!("all packets are done, but messages wait for their last packet (eom): {}", open.join(", "))
            }
            _ => format!("{left} packets are not done, and nothing can happen any more"),
        }
    }
}

/// The edge as the NIC sees it.
pub struct Port {
    /// Of the NIC.
    pub clock: Clock,
    pub nic: PspinParams,
    /// Contexts that came with packets so far: packets of one context share it.
    contexts: BTreeMap<SpinEc, Rc<Context>>,
    page_tables: SharedPageTables,
}

impl Port {
    /// One of the NIC's ports to the edge.
    pub fn new(clock: Clock, nic: &PspinParams, page_tables: SharedPageTables) -> Self {
        Port { clock, nic: nic.clone(), contexts: BTreeMap::new(), page_tables }
    }

    /// PsPIN's interface registers no host memory: a context's is registered when the context is met, as it lies.
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
    /// First the calls of the cycles before: packets that they add may go in now, as in PsPIN's models.
    fn next(&mut self, now: Cycle) -> Option<Arrival> {
        deliver(now.saturating_sub(1));
        let (earliest, packet) = library::edge(|edge| {
            let packet = edge.packets.pop_front();
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
        library::edge(|edge| edge.tell(departure.cycle, Call::PktOut(departure.bytes.into())));
    }
}

impl HostMemory for Port {
    /// Asked one cycle before the bytes are back. What the program is to hear before that is told first.
    fn read(&mut self, addr: u64, data: &mut [u8]) {
        let now = library::edge(|edge| edge.now);
        deliver(now);
        read_host(now + 1, addr, data);
    }

    /// Told one cycle before the bytes are there.
    fn write(&mut self, addr: u64, data: &[u8]) {
        library::edge(|edge| edge.tell(edge.now + 1, Call::HostWrite(addr, data.into())));
    }
}

impl Sink for Port {
    /// A handler that ends by an exception is worth a line, as in the hardware simulation of PsPIN.
    fn event(&mut self, event: &Event<'_>) {
        if std::ptr::eq(event.kind, &PACKET_DROPPED) {
            // Only cards that `SPINET_NIC` names do. Nobody hears of it but who waits for the end.
            library::edge(|edge| edge.in_nic -= 1);
        } else if std::ptr::eq(event.kind, &HANDLER_TRAP) {
            let [core, cause] = ["hpu", "cause"].map(|field| event.get(field).expect("a field of the event"));
            let (time, cluster) = (event.at.ps(), cluster_of(event.source));
            print(&format!("[{time}][synt]: HPU ({cluster} {core}) HANDLER ERROR: {cause}\n"));
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
    fn calls_come_by_cycle_then_in_the_order_of_pspins_models() {
        let mut edge = Edge::default();
        let nobody = UserPtr::new(std::ptr::null_mut());
        edge.tell(11, Call::HostWrite(0, vec![1]));
        edge.tell(10, Call::MstWrite(nobody));
        edge.tell(10, Call::HostWrite(8, vec![2]));
        edge.tell(10, Call::HostWrite(4, vec![3]));
        edge.tell(10, Call::PktOut(vec![4]));
        edge.tell(9, Call::MstWrite(nobody));
        edge.tell(10, Call::Feedback([5, 6, 7, 8]));
        let mut said = String::new();
        for cycle in [8, 10, 11] {
            while let Some((call, _)) = edge.begin_call(cycle) {
                said += &format!("{cycle}: {call:?}\n");
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
        .assert_eq(&said);
    }

    #[test]
    fn a_packet_that_a_callback_adds_goes_in_a_cycle_later() {
        let mut edge = Edge::default();
        edge.add(packet(1, true), 256);
        edge.tell(40, Call::PktOut(Vec::new()));
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
        assert_eq!(edge.complaint(), "all packets are done, but messages wait for their last packet (eom): 7");
        // Another message of the same queue ends it, as in the hardware.
        edge.add(packet(7 + 256, true), 256);
        assert!(!edge.is_done(), "a packet waits");
    }
}
