//! The channels between the parts of the NIC.

use crate::cluster::{DmaPorts, Links};
use crate::cluster_noc::ClusterNoc;
use crate::cmd_unit::UnitPort;
use crate::host_link::{HOST_CHANNEL_ITEMS, HOST_DATA, HostPort, HostTarget};
use crate::memories::{BurstPort, LINE_REQUEST_CYCLES, LINE_REQUESTS, MemoryPorts, late_beats};
use crate::nhi::{NhiMap, NhiMaster, NhiPort};
use crate::params::{InterconnectParams, PspinParams};
use crate::protocol::{Command, CommandResponse, WriteAddress};
use crate::remap::{REMAP_MESSAGES, Remap};
use kernel::{Rx, SystemBuilder, Tx};

/// Capacity for bursts at a memory, or replies at an initiator; initiators limit themselves to fewer.
const BURSTS: usize = 20;
/// Entries of a spill register. Source: PsPIN RTL a49fec8, `spill_register.sv`.
pub const REGISTER: usize = 2;
/// Cycles from L2 to the off-cluster DMA in the RTL.
const L2_REPLY_CYCLES: u32 = 3;
/// Beats of L2 on their way to the off-cluster DMA in the RTL: one in the bank, and those in a register. Source: the same,
/// `stream_to_mem.sv`, BufDepth 1; `axi_demux.sv`, SpillR. One more place, because a taken item frees its room a cycle
/// later.
const L2_BEATS: usize = 1 + REGISTER + 1;
/// Beats of an L1 that wait for their initiator: BufDepth of `nhi_port_wrap.sv`, and one more, because `stream_to_mem.sv` line 77 also
/// sends a request in the cycle in which a beat leaves.
const L1_BEATS: usize = 4 + 1;

/// Creates `n` equal channels: their sending ends and their receiving ends.
pub fn channels<T: 'static>(
    b: &mut SystemBuilder,
    name: &str,
    n: usize,
    capacity: usize,
    latency: u64,
) -> (Vec<Tx<T>>, Vec<Rx<T>>) {
    (0..n).map(|i| b.channel(&format!("{name}[{i}]"), capacity, latency)).unzip()
}

/// Creates a unit's channels: the command unit's end, and the unit's.
pub fn unit(b: &mut SystemBuilder, name: &str) -> (UnitPort, (Rx<Command>, Tx<CommandResponse>)) {
    let (commands, unit_commands) = b.channel(&format!("{name}_commands"), 2, 1);
    let (unit_responses, responses) = b.channel(&format!("{name}_responses"), 2, 1);
    (UnitPort { commands, responses }, (unit_commands, unit_responses))
}

/// Connects an initiator on the NIC-host interconnect to L2 and to the given L1s.
pub fn master(
    b: &mut SystemBuilder,
    name: &str,
    map: NhiMap,
    interconnect: &InterconnectParams,
    memories: &mut MemoryPorts,
    l1s: &mut [Vec<BurstPort>],
) -> NhiMaster {
    let l2 = l2_port(b, name, BURSTS, interconnect, memories);
    NhiMaster::new(map, l2, l1_ports(b, name, BURSTS, interconnect, l1s))
}

/// Connects the outbound engine and the off-cluster DMA, which read L1 through one channel, to the NIC-host
/// interconnect. Also returns the off-cluster DMA's end of the remapper.
pub fn readers(
    b: &mut SystemBuilder,
    params: &PspinParams,
    memories: &mut MemoryPorts,
    l1s: &mut [Vec<BurstPort>],
) -> ([NhiMaster; 2], Remap) {
    let interconnect = &params.interconnect;
    let outbound_l2 = l2_port(b, "outbound", BURSTS, interconnect, memories);
    // assumed: a longer path has a register for each further cycle, so that it keeps its rate.
    let further = interconnect.nhi_reply_cycles.saturating_sub(L2_REPLY_CYCLES) as usize;
    let host_dma_l2 = l2_port(b, "host_dma_reads", L2_BEATS + REGISTER * further, interconnect, memories);
    let further = interconnect.nhi_l1_reply_cycles.saturating_sub(1) as usize;
    let clusters = l1_ports(b, "outbound", L1_BEATS + REGISTER * further, interconnect, l1s);
    let (requests, from_host_dma) = b.channel("host_dma_reads_l1", REGISTER, 1);
    let (to_host_dma, replies) = b.channel("host_dma_reads_l1_replies", REGISTER, 1);
    let (reads_tell, writes_hear) = b.channel("remap_reads", REMAP_MESSAGES, 1);
    let (writes_tell, reads_hear) = b.channel("remap_writes", REMAP_MESSAGES, 1);
    let noc = ClusterNoc::new(clusters, (from_host_dma, to_host_dma), Remap::new(reads_tell, reads_hear));
    let outbound = NhiMaster::around(NhiMap::all(params), outbound_l2, noc);
    let host_dma = NhiMaster::through(NhiMap::all(params), host_dma_l2, NhiPort { requests, replies });
    let is_silent = params.rtl_mistakes.unmapped_commands_succeed;
    let masters = [outbound, host_dma.beat_by_beat()].map(|master| master.with_silent_errors(is_silent));
    (masters, Remap::new(writes_tell, writes_hear))
}

fn l2_port(
    b: &mut SystemBuilder,
    name: &str,
    room: usize,
    interconnect: &InterconnectParams,
    memories: &mut MemoryPorts,
) -> NhiPort {
    let latencies = (interconnect.nhi_request_cycles, interconnect.nhi_reply_cycles);
    link(b, format!("{name}_l2"), room, latencies, &mut memories.bursts)
}

fn l1_ports(
    b: &mut SystemBuilder,
    name: &str,
    room: usize,
    interconnect: &InterconnectParams,
    l1s: &mut [Vec<BurstPort>],
) -> Vec<NhiPort> {
    let latencies = (interconnect.nhi_request_cycles, interconnect.nhi_l1_reply_cycles);
    l1s.iter_mut().enumerate().map(|(i, ends)| link(b, format!("{name}_l1[{i}]"), room, latencies, ends)).collect()
}

/// Connects the inbound engine, which writes packets to L2, to the NIC-host interconnect. Also returns its channel for
/// addresses. The multiplexer passes data after their address. The request for a packet leaves with the response.
pub fn writer(
    b: &mut SystemBuilder,
    map: NhiMap,
    interconnect: &InterconnectParams,
    memories: &mut MemoryPorts,
) -> (NhiMaster, Tx<WriteAddress>) {
    let latencies = (interconnect.nhi_request_cycles + 1, (interconnect.nhi_reply_cycles - 1).max(1));
    let (addresses, of_memory) = b.channel("inbound_addresses", 2, interconnect.nhi_request_cycles.into());
    memories.addresses = Some((memories.bursts.len(), of_memory));
    let l2 = link(b, "inbound_l2".to_owned(), BURSTS, latencies, &mut memories.bursts);
    (NhiMaster::new(map, l2, Vec::new()), addresses)
}

/// Creates a request channel and a reply channel with `room` replies.
fn link(
    b: &mut SystemBuilder,
    name: String,
    room: usize,
    (request_cycles, reply_cycles): (u32, u32),
    ends: &mut Vec<BurstPort>,
) -> NhiPort {
    let (requests, target_requests) = b.channel(&name, BURSTS.max(2 * request_cycles as usize), request_cycles.into());
    let room = if room == BURSTS { room.max(2 * reply_cycles as usize) } else { room };
    let (target_replies, replies) = b.channel(&format!("{name}_replies"), room, reply_cycles.into());
    ends.push((target_requests, target_replies));
    NhiPort { requests, replies }
}

/// Creates a channel with this capacity and latency.
fn way<T: 'static>(b: &mut SystemBuilder, name: String, (room, cycles): (usize, u64)) -> (Tx<T>, Rx<T>) {
    b.channel(&name, room, cycles)
}

impl Links {
    /// Creates the channels between cluster `id` and the memories, whose ends go to `memories`.
    pub fn new(b: &mut SystemBuilder, id: usize, params: &PspinParams, memories: &mut MemoryPorts) -> Links {
        let (n, cores) = (params.n_clusters as usize, params.cluster.n_cores as usize);
        // A core has one access in flight.
        let name = |what: &str| format!("{what}[{id}]");
        let ways = &params.interconnect;
        let single = |cycles: u32| (cores + cycles as usize + 1, u64::from(cycles));
        let burst = |cycles: u32| (BURSTS.max(2 * cycles as usize), u64::from(cycles));
        let remote = |cycles: u32| (n * cores, u64::from(cycles));
        let (pe_requests, pe_rx) = way(b, name("pe"), single(ways.core_request_cycles));
        let (pe_tx, pe_replies) = way(b, name("pe_replies"), single(ways.core_reply_cycles));
        let (dma_requests, dma_rx) = way(b, name("dma"), burst(ways.dma_request_cycles));
        let (dma_tx, dma_replies) = way(b, name("dma_replies"), burst(ways.dma_reply_cycles));
        let (dma_held, held_rx) = way(b, name("dma_held"), (2, 1));
        let (late_tx, dma_late) = way(b, name("dma_late"), (late_beats(ways.dma_reply_cycles), 1));
        let (line_requests, line_rx) = way(b, name("lines"), (LINE_REQUESTS, LINE_REQUEST_CYCLES));
        let line_latency = u64::from(params.cluster.icache.miss_cycles - crate::cluster::MISS_PATH);
        // A cache controller has one line in flight.
        let (line_tx, line_replies) = way(b, name("line_replies"), (cores, line_latency));
        let (code_tx, code) = way(b, name("code"), (2, 1));
        let (remote_tx, remote_requests) = way(b, name("remote"), remote(ways.remote_request_cycles));
        let (remote_replies, remote_rx) = way(b, name("remote_replies"), remote(ways.remote_reply_cycles));
        memories.pe.push((pe_rx, pe_tx));
        memories.dma.push((dma_rx, dma_tx));
        memories.dma_back.push((held_rx, late_tx));
        memories.lines.push((line_rx, line_tx));
        memories.code.push(code_tx);
        memories.remote.push((remote_tx, remote_rx));
        let pe = (pe_requests, pe_replies);
        let dma = DmaPorts { requests: dma_requests, replies: dma_replies, held: dma_held, late: dma_late };
        let lines = (line_requests, line_replies);
        Links { pe, dma, lines, code, remote: (remote_requests, remote_replies) }
    }
}

/// The channels between an initiator of host accesses and the path to the host, with room for `writes` write beats.
pub fn host_channels(b: &mut SystemBuilder, name: &str, writes: usize) -> (HostPort, HostTarget) {
    let (bursts, target_bursts) = b.channel(&format!("{name}_host_bursts"), HOST_CHANNEL_ITEMS, 1);
    let (writes, target_writes) = b.channel(&format!("{name}_host_writes"), writes, 1);
    let (target_written, written) = b.channel(&format!("{name}_host_written"), 2, 1);
    let (reads, target_reads) = b.channel(&format!("{name}_host_reads"), HOST_CHANNEL_ITEMS, 1);
    let (target_data, data) = b.channel(&format!("{name}_host_data"), HOST_DATA, 1);
    let target = HostTarget {
        bursts: target_bursts,
        writes: target_writes,
        written: target_written,
        reads: target_reads,
        data: target_data,
    };
    (HostPort { bursts, writes, written, reads, data }, target)
}
