//! The numbers of a PsPIN NIC, and which of them cannot work together.
//!
//! `presets/pspin.toml` holds the published machine with the source of every number.

use crate::delivery::Delivery;
use blocks::mhz::Mhz;
use blocks::param::{ParamError, must, one_of, power_of_two, within};
use blocks::pcie::PcieParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that can be chosen about a PsPIN NIC.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PspinParams {
    /// Clock of the whole NIC, in MHz.
    pub clock_mhz: Mhz,
    /// Number of clusters; the RTL's field of a command's identity has room for 4.
    pub n_clusters: u32,
    /// The clusters, all alike.
    pub cluster: ClusterParams,
    /// What keeps handlers from each other.
    pub isolation: IsolationParams,
    /// Memories outside the clusters.
    pub l2: L2Params,
    /// Ways between clusters, L2 and engines.
    pub interconnect: InterconnectParams,
    /// Message queues and dispatcher.
    pub scheduler: SchedulerParams,
    /// What tenants cannot take from each other.
    pub sharing: SharingParams,
    /// Commands in flight and the units that execute them.
    pub commands: CommandParams,
    /// NIC outbound engine.
    pub outbound: OutboundParams,
    /// Host memory behind PCIe.
    pub pcie: PcieParams,
    /// Translation of host addresses.
    pub iommu: IommuParams,
    /// What contexts ask for that do not say otherwise.
    pub delivery: Delivery,
    /// What the network promises.
    pub network: NetworkParams,
    /// Mistakes of the published RTL.
    pub rtl_mistakes: RtlMistakes,
}

/// One cluster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterParams {
    /// Cores (HPUs); the RTL's field of a command's identity has room for 8.
    pub n_cores: u32,
    /// Bytes of L1 memory (TCDM).
    pub l1_bytes: u32,
    /// Its word-interleaved 32-bit banks: 16, 32 or 64, superbanks of 16 serving a 64-byte beat.
    pub l1_banks: u32,
    /// First byte of the packet buffer within L1.
    pub packet_buffer_offset: u32,
    /// Bytes of the packet buffer.
    pub packet_buffer_bytes: u32,
    /// Rings into which the packet buffer is split.
    pub packet_buffer_rings: u32,
    /// First byte of the scratchpads within L1.
    pub scratchpad_offset: u32,
    /// Tasks that wait in the cluster scheduler.
    pub task_fifo: u32,
    /// Transfers that wait in the cluster DMA.
    pub dma_fifo: u32,
    /// Bursts of the cluster DMA under way towards L2, each for reads and writes.
    pub dma_bursts: u32,
    /// Commands of one core in flight: 1 to 4, the local field of a command's identity having 2 bits.
    pub core_commands: u32,
    /// Words of an inter-core FIFO.
    pub inter_core_fifo: u32,
    /// A core that waits for a task is clock gated; it wakes in the cycle in which its driver shows the task.
    pub clock_gating: bool,
    /// The shared instruction cache.
    pub icache: IcacheParams,
}

/// What keeps handlers from each other, and tells the host of those that fail.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationParams {
    /// What a handler may touch and run.
    pub regions: Regions,
    /// Cluster DMA, off-cluster DMA and commands move only what the handler may touch, and only its host memory.
    pub check_transfers: bool,
    /// An AMO whose address is no multiple of 4 is an exception; else the lower bits are ignored.
    pub misaligned_amo_traps: bool,
    /// The HPU driver writes errors of handlers to their context's record in host memory.
    pub report_errors: bool,
    /// Cycles that a handler may run where its context says nothing, and a tenant's at most; 0 means for ever.
    pub watchdog_cycles: u32,
    /// The host's port on the NIC-host interconnect reaches every L1 too, so that its driver can clear scratchpads.
    pub host_clears_scratchpads: bool,
}

/// How exact the regions are that a handler may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// As in the RTL: all L1, all program memory, pages and megabytes of L2.
    Coarse,
    /// What the task has and no more.
    Exact,
}

/// The instruction cache that the cores of a cluster share; lines of 16 bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcacheParams {
    /// Bytes in all.
    pub bytes: u32,
    /// Lines a set holds.
    pub ways: u32,
    /// Cycles that a miss adds when nobody else refills.
    pub miss_cycles: u32,
}

/// Memories outside the clusters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct L2Params {
    /// Bytes of L2 handler memory, from 0x1C00_0000.
    pub handler_bytes: u32,
    /// Bytes of L2 packet memory, from 0x1C40_0000.
    pub packet_bytes: u32,
    /// Bytes of program memory, from 0x1D00_0000.
    pub program_bytes: u32,
    /// Atomic operations on handler memory: reads and writes that may be under way.
    pub atomics_depth: u32,
    /// Cycles of the SRAM of packet memory for a load of a core.
    pub packet_load_cycles: u32,
    /// Cycles of either SRAM for a store of a core, until its response.
    pub store_cycles: u32,
    /// Cycles of an atomic operation of a core on packet memory.
    pub packet_amo_cycles: u32,
    /// Cycles from the unit for atomic operations to the SRAM of handler memory and back.
    pub handler_read_cycles: u32,
    /// Cycles from the data of an atomic operation to its response.
    pub amo_response_cycles: u32,
    /// Cycles from the data of an atomic operation until the unit takes the next one.
    pub amo_write_cycles: u32,
}

/// Latencies of the interconnects, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectParams {
    /// From a cluster to an L2 memory, for single accesses of cores. Accesses to other clusters go this way too.
    pub core_request_cycles: u32,
    /// From an L2 memory back to the cluster.
    pub core_reply_cycles: u32,
    /// From there on to another cluster's L1.
    pub remote_request_cycles: u32,
    /// Back from there.
    pub remote_reply_cycles: u32,
    /// Further cycles of a load from another cluster's L1.
    pub remote_load_cycles: u32,
    /// The same for a store.
    pub remote_store_cycles: u32,
    /// The same for an atomic operation.
    pub remote_amo_cycles: u32,
    /// From a cluster's DMA engine to an L2 memory.
    pub dma_request_cycles: u32,
    /// From an L2 memory back to the DMA engine.
    pub dma_reply_cycles: u32,
    /// From an initiator on the NIC-host interconnect to its target.
    pub nhi_request_cycles: u32,
    /// From an L2 memory back to that initiator.
    pub nhi_reply_cycles: u32,
    /// From an L1 back to that initiator.
    pub nhi_l1_reply_cycles: u32,
}

/// Message queues and dispatcher.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerParams {
    /// Message processing queues; a message uses queue `msgid % n_mpqs`. A power of two.
    pub n_mpqs: u32,
    /// Packet descriptors that all queues share, besides the one that each queue owns.
    pub shared_cells: u32,
    /// Tasks that may be in one cluster.
    pub max_tasks_per_cluster: u32,
    /// Cycles of a task on its way to the cluster.
    pub dispatch_cycles: u32,
    /// Cycles of a feedback on its way back.
    pub feedback_cycles: u32,
}

/// What tenants cannot take from each other. Of a card with one tenant nothing here changes a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharingParams {
    /// Message queues that each tenant with a rule is sure of, or an equal part of all if that is less; 0 leaves all queues to
    /// whoever comes first.
    pub reserved_queues: u32,
    /// Their requests for queues, and their tasks, take turns: one whose descriptors are all taken holds up nobody else, and
    /// many messages get no more tasks than one.
    pub turns: bool,
    /// So much of L2 packet memory a tenant may have while several have rules; packets beyond it are dropped, whatever their
    /// context asks for when it is full. 100 is all.
    pub packet_memory_percent: u32,
}

/// Commands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandParams {
    /// Commands in flight at one executing unit, from all cores.
    pub in_flight_per_unit: u32,
    /// Requests that wait at each of the two engines of the off-cluster DMA.
    pub host_dma_fifo: u32,
    /// Requests that wait at the HostDirect unit.
    pub host_direct_fifo: u32,
}

/// NIC outbound engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutboundParams {
    /// Commands that wait or are under way.
    pub command_slots: u32,
    /// Largest packet in bytes.
    pub max_packet_bytes: u32,
    /// Packets that wait for the wire.
    pub queue_packets: u32,
    /// Bytes of the header that an RDMA put adds to each packet.
    pub rdma_header_bytes: u32,
    /// Cycles for each whole 64 bytes of a packet before the next may leave; 0 and 1 are back to back.
    pub cycles_per_beat: u32,
}

/// Translation of the host addresses in commands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IommuParams {
    /// Commands carry virtual addresses of registered memory; else physical ones, and all memory is theirs.
    pub enabled: bool,
    /// Pages in the translation cache.
    pub entries: u32,
    /// Pages of a set of it.
    pub ways: u32,
    /// Cycles until a cached translation is known; one translation a cycle.
    pub hit_cycles: u32,
    /// Cycles that a miss takes for each table on the way: four to a page of 4 KiB, three to one of 2 MiB.
    pub level_cycles: u32,
    /// Misses under way at once.
    pub walks: u32,
}

/// What the network promises to handlers; the application asks its driver for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkParams {
    /// All packets of a message arrive, and none twice: handlers need not be idempotent.
    pub reliable: bool,
    /// Packets of a message arrive in the order in which they were sent.
    pub in_order: bool,
}

/// Mistakes of the published RTL that programs can see in timing or bytes. The model makes those that are true.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtlMistakes {
    /// An issue that has to wait returns the lowest handle that is free when the wait begins (the highest if none is), not the
    /// handle of its command.
    pub stale_handles: bool,
    /// AMOs on another cluster's L1 and on L2 handler memory return 1, not the old value. Memory is updated correctly.
    pub atomics_return_one: bool,
    /// The header of an RDMA packet is zeros behind its data, not destination and flow in front of them.
    pub rdma_headers_behind: bool,
    /// A packet sent from an address that is no multiple of 64 has the bytes from the multiple below on.
    pub unaligned_sends: bool,
    /// Beats behind the first of a DMA's write to an unaligned host address land too low, by the address modulo 64. The write
    /// that follows in the next 4 KiB is right.
    pub unaligned_host_writes: bool,
    /// `CMD_TEST` tests handle 0, whatever was written to it.
    pub tests_handle_0: bool,
    /// Transfers of a core under way are counted modulo 16: with 16 of them its feedback does not wait.
    pub transfer_count_wraps: bool,
    /// A request that comes while its queue is full, and the queue of the request before is not, is lost with its packet. While the
    /// queue of the request before is full, requests for other queues wait, too.
    pub requests_get_lost: bool,
    /// A packet that fills the gap before the oldest packet of an L1 ring exactly lands elsewhere and is not booked. A full ring takes
    /// no packet until it is empty.
    pub l1_gaps_misbooked: bool,
    /// L2 packet memory is freed by the bytes that were copied to L1. Where a packet has more, its ring is blocked for ever.
    pub l2_freed_by_copied_bytes: bool,
}

/// Bytes of L1 below the packet buffer that the runtime of eight cores needs for stacks and its own data.
pub const L1_RUNTIME_BYTES: u32 = 0x2000;
/// The most clusters. The RTL has 4; all its interconnects and schedulers are written for any number, and the memory map
/// has room for 16 before it meets another device.
pub const MAX_CLUSTERS: usize = 16;
/// The most cores of a cluster. The RTL has 8; its hart ids have room for 16, and so has L1 for their stacks.
pub const MAX_CORES: usize = 16;
/// The longest latency of a memory or an interconnect, in cycles: ten times that of the slowest host memory.
const MAX_LATENCY: u32 = 1000;

impl PspinParams {
    /// Refuses what cannot work, and says what can.
    pub fn validate(&self) -> Result<(), ParamError> {
        within("clock_mhz", self.clock_mhz, Mhz::LEAST, Mhz::MOST)?;
        within("n_clusters", self.n_clusters, 1, MAX_CLUSTERS as u32)?;
        self.cluster.validate().map_err(|error| error.inside("cluster"))?;
        self.l2.validate().map_err(|error| error.inside("l2"))?;
        self.interconnect.validate().map_err(|error| error.inside("interconnect"))?;
        self.scheduler.validate(&self.cluster).map_err(|error| error.inside("scheduler"))?;
        within("sharing.reserved_queues", self.sharing.reserved_queues, 0, 1024)?;
        within("sharing.packet_memory_percent", self.sharing.packet_memory_percent, 1, 100)?;
        within("commands.in_flight_per_unit", self.commands.in_flight_per_unit, 1, 1024)?;
        within("commands.host_dma_fifo", self.commands.host_dma_fifo, 1, 1024)?;
        within("commands.host_direct_fifo", self.commands.host_direct_fifo, 1, 1024)?;
        self.outbound.validate().map_err(|error| error.inside("outbound"))?;
        self.pcie.check().map_err(|error| error.inside("pcie"))?;
        self.iommu.validate().map_err(|error| error.inside("iommu"))?;
        self.delivery.validate()
    }
}

impl ClusterParams {
    fn validate(&self) -> Result<(), ParamError> {
        within("n_cores", self.n_cores, 1, MAX_CORES as u32)?;
        one_of("l1_banks", self.l1_banks, &[16, 32, 64])?;
        power_of_two("l1_bytes", self.l1_bytes, 0x8000, 0x10_0000)?;
        self.validate_places()?;
        within("task_fifo", self.task_fifo, 1, 1024)?;
        within("dma_fifo", self.dma_fifo, 1, 1024)?;
        within("dma_bursts", self.dma_bursts, 1, 64)?;
        within("core_commands", self.core_commands, 1, 4)?;
        within("inter_core_fifo", self.inter_core_fifo, 1, 1024)?;
        let icache = &self.icache;
        within("icache.ways", icache.ways, 1, 16)?;
        power_of_two("icache.bytes", icache.bytes, 16 * icache.ways, 0x10_0000)
            .map_err(|error| error.because("at least 16 for each of cluster.icache.ways"))?;
        within("icache.miss_cycles", icache.miss_cycles, crate::cluster::MISS_PATH + 1, 60)
    }

    /// What lies in L1: the runtime's data, the packet buffer, the scratchpads.
    fn validate_places(&self) -> Result<(), ParamError> {
        let (offset, bytes, rings) = (self.packet_buffer_offset, self.packet_buffer_bytes, self.packet_buffer_rings);
        within("packet_buffer_rings", rings, 1, 16)?;
        let are_rings = bytes >= 64 * rings && bytes.is_multiple_of(64 * rings);
        must("packet_buffer_bytes", bytes, are_rings, || format!("{rings} times a multiple of 64"))?;
        must("packet_buffer_offset", offset, offset.is_multiple_of(64), || "a multiple of 64".into())?;
        let runtime = L1_RUNTIME_BYTES.max(self.n_cores * crate::map::STACK_BYTES);
        let scratchpads = self.scratchpad_offset;
        within("packet_buffer_offset", offset, runtime, self.l1_bytes - 64)
            .map_err(|error| error.because("between the cores' stacks and the end of cluster.l1_bytes"))?;
        within("packet_buffer_bytes", bytes, 64, self.l1_bytes - offset)
            .map_err(|error| error.because("what cluster.l1_bytes has behind cluster.packet_buffer_offset"))?;
        within("scratchpad_offset", scratchpads, offset + bytes, self.l1_bytes)
            .map_err(|error| error.because("behind the packet buffer, within cluster.l1_bytes"))?;
        must("scratchpad_offset", scratchpads, scratchpads.is_multiple_of(64), || "a multiple of 64".into())
    }
}

impl L2Params {
    fn validate(&self) -> Result<(), ParamError> {
        power_of_two("handler_bytes", self.handler_bytes, 0x1_0000, 0x40_0000)?;
        power_of_two("packet_bytes", self.packet_bytes, 0x1000, 0x40_0000)?;
        power_of_two("program_bytes", self.program_bytes, 0x1000, 0x10_0000)?;
        within("atomics_depth", self.atomics_depth, 1, 64)?;
        within("packet_load_cycles", self.packet_load_cycles, 0, MAX_LATENCY)?;
        within("store_cycles", self.store_cycles, 0, MAX_LATENCY)?;
        within("packet_amo_cycles", self.packet_amo_cycles, 0, MAX_LATENCY)?;
        within("handler_read_cycles", self.handler_read_cycles, 1, MAX_LATENCY)?;
        within("amo_response_cycles", self.amo_response_cycles, 0, MAX_LATENCY)?;
        within("amo_write_cycles", self.amo_write_cycles, 1, MAX_LATENCY)
    }
}

impl InterconnectParams {
    fn validate(&self) -> Result<(), ParamError> {
        within("core_request_cycles", self.core_request_cycles, 1, MAX_LATENCY)?;
        within("core_reply_cycles", self.core_reply_cycles, 1, MAX_LATENCY)?;
        within("remote_request_cycles", self.remote_request_cycles, 1, MAX_LATENCY)?;
        within("remote_reply_cycles", self.remote_reply_cycles, 1, MAX_LATENCY)?;
        within("remote_load_cycles", self.remote_load_cycles, 0, MAX_LATENCY)?;
        within("remote_store_cycles", self.remote_store_cycles, 0, MAX_LATENCY)?;
        within("remote_amo_cycles", self.remote_amo_cycles, 0, MAX_LATENCY)?;
        within("dma_request_cycles", self.dma_request_cycles, 1, MAX_LATENCY)?;
        within("dma_reply_cycles", self.dma_reply_cycles, 1, MAX_LATENCY)?;
        within("nhi_request_cycles", self.nhi_request_cycles, 1, MAX_LATENCY)?;
        within("nhi_reply_cycles", self.nhi_reply_cycles, 1, MAX_LATENCY)?;
        within("nhi_l1_reply_cycles", self.nhi_l1_reply_cycles, 1, MAX_LATENCY)
    }
}

impl SchedulerParams {
    fn validate(&self, cluster: &ClusterParams) -> Result<(), ParamError> {
        power_of_two("n_mpqs", self.n_mpqs, 1, 1024)?;
        within("shared_cells", self.shared_cells, 0, 65_536)?;
        within("max_tasks_per_cluster", self.max_tasks_per_cluster, 1, cluster.task_fifo)
            .map_err(|error| error.because("as many as cluster.task_fifo holds"))?;
        within("dispatch_cycles", self.dispatch_cycles, 1, MAX_LATENCY)?;
        within("feedback_cycles", self.feedback_cycles, 1, MAX_LATENCY)
    }
}

impl OutboundParams {
    fn validate(&self) -> Result<(), ParamError> {
        within("command_slots", self.command_slots, 1, 1024)?;
        within("rdma_header_bytes", self.rdma_header_bytes, 0, 4096)?;
        within("max_packet_bytes", self.max_packet_bytes, self.rdma_header_bytes + 64, 65_536)
            .map_err(|error| error.because("at least 64 more than outbound.rdma_header_bytes"))?;
        within("queue_packets", self.queue_packets, 1, 65_536)?;
        within("cycles_per_beat", self.cycles_per_beat, 0, 1_000_000)
    }
}

impl IommuParams {
    fn validate(&self) -> Result<(), ParamError> {
        let (entries, ways) = (self.entries, self.ways);
        within("ways", ways, 1, 1024)?;
        within("entries", entries, ways, 1 << 20).map_err(|error| error.because("a multiple of iommu.ways"))?;
        must("entries", entries, entries.is_multiple_of(ways), || format!("a multiple of iommu.ways, {ways}"))?;
        within("hit_cycles", self.hit_cycles, 0, 1000)?;
        within("level_cycles", self.level_cycles, 0, 1_000_000)?;
        within("walks", self.walks, 1, 1024)
    }
}

impl Delivery {
    /// Refuses what cannot work, and says what can.
    pub fn validate(&self) -> Result<(), ParamError> {
        within("delivery.ecn_threshold_percent", self.ecn_threshold_percent, 0, 100)?;
        within("delivery.early_packets", self.early_packets, 1, 65_536)?;
        within("delivery.timeout_cycles", self.timeout_cycles, 0, MOST_TIMEOUT_CYCLES)
    }
}

/// Most cycles for which a message may be waited: five hours at 1 GHz, as long as runs are.
const MOST_TIMEOUT_CYCLES: u64 = 18_000_000_000_000;
