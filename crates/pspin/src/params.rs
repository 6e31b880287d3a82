//! Parameters of a PsPIN NIC, and checks of their combinations.
//!
//! `presets/pspin.toml` holds the published machine with the source of every number.

use crate::delivery::Delivery;
use blocks::mhz::Mhz;
use blocks::pcie::PcieParams;
use diagnostics::param::{ParamError, must, one_of, power_of_two, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod sharing;
pub use sharing::{IoSchedule, Schedule, SharingParams};

/// All parameters of a PsPIN NIC.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PspinParams {
    /// Clock of the whole NIC, in MHz.
    pub clock_mhz: Mhz,
    /// Number of clusters. The RTL's command identity has room for 4.
    pub n_clusters: u32,
    /// The clusters; all have the same parameters.
    pub cluster: ClusterParams,
    /// Isolation of handlers.
    pub isolation: IsolationParams,
    /// Memories outside the clusters.
    pub l2: L2Params,
    /// Interconnects between clusters, L2 and engines.
    pub interconnect: InterconnectParams,
    /// Matching of packets, and their places in packet memory.
    pub ingress: IngressParams,
    /// Message queues and dispatcher.
    pub scheduler: SchedulerParams,
    /// Guarantees for tenants that share the card.
    pub sharing: SharingParams,
    /// Commands in flight and the units that execute them.
    pub commands: CommandParams,
    /// NIC outbound engine.
    pub outbound: OutboundParams,
    /// Host memory behind PCIe.
    pub pcie: PcieParams,
    /// Translation of host addresses.
    pub iommu: IommuParams,
    /// Defaults for contexts without these settings.
    pub delivery: Delivery,
    /// Guarantees of the network.
    pub network: NetworkParams,
    /// Mistakes of the published RTL that the model makes.
    pub rtl_mistakes: RtlMistakes,
}

/// One cluster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterParams {
    /// Cores (HPUs) per cluster. The RTL's command identity has room for 8.
    pub n_cores: u32,
    /// Bytes of L1 memory (TCDM).
    pub l1_bytes: u32,
    /// Word-interleaved 32-bit banks: 16, 32 or 64. A superbank of 16 banks serves a 64-byte beat.
    pub l1_banks: u32,
    /// First byte of the packet buffer within L1.
    pub packet_buffer_offset: u32,
    /// Bytes of the packet buffer.
    pub packet_buffer_bytes: u32,
    /// Number of rings in the packet buffer.
    pub packet_buffer_rings: u32,
    /// First byte of the scratchpads within L1.
    pub scratchpad_offset: u32,
    /// FIFO depth of the cluster scheduler, in tasks.
    pub task_fifo: u32,
    /// FIFO depth of the cluster DMA, in transfers.
    pub dma_fifo: u32,
    /// Bursts of the cluster DMA in flight towards L2, for reads and for writes each.
    pub dma_bursts: u32,
    /// Commands of one core in flight, 1 to 4: the command identity has 2 bits for them.
    pub core_commands: u32,
    /// Words that a FIFO between two cores holds.
    pub inter_core_fifo: u32,
    /// If true, a core without a task is clock gated. It wakes in the cycle in which its driver presents a task.
    pub clock_gating: bool,
    /// If true, handlers can read the register `cycle`, as `spin_now()` does. An extension of spinet.
    pub cycle_register: bool,
    /// The shared instruction cache.
    pub icache: IcacheParams,
}

/// Isolation of handlers, and reports of failed handlers to the host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IsolationParams {
    /// Memory regions that a handler can access.
    pub regions: Regions,
    /// If true, cluster DMA, off-cluster DMA and commands check the handler's regions and its host memory.
    pub check_transfers: bool,
    /// If true, an AMO to an address that is not a multiple of 4 traps. If false, the lower address bits are ignored.
    pub misaligned_amo_traps: bool,
    /// If true, the HPU driver writes handler errors to the context's record in host memory.
    pub report_errors: bool,
    /// Default watchdog limit of a handler in cycles, and the maximum for tenants; 0 disables the watchdog.
    pub watchdog_cycles: u32,
    /// If true, the host's port on the NIC-host interconnect also reaches every L1, so that the driver can clear
    /// scratchpads.
    pub host_clears_scratchpads: bool,
}

/// Precision of the regions that a handler can access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// As in the RTL: all L1, all program memory, and L2 in pages and megabytes.
    Coarse,
    /// Exactly what the task needs.
    Exact,
}

/// The instruction cache that the cores of a cluster share. Lines have 16 bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IcacheParams {
    /// Capacity in bytes.
    pub bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// Cycles that a miss adds if no other refill is in progress.
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
    /// Maximum reads and maximum writes in flight at the atomics unit of handler memory.
    pub atomics_depth: u32,
    /// SRAM cycles of a core's load from packet memory.
    pub packet_load_cycles: u32,
    /// SRAM cycles of a core's store to packet memory, until its response.
    pub packet_store_cycles: u32,
    /// SRAM cycles of a core's atomic operation on packet memory.
    pub packet_amo_cycles: u32,
    /// Cycles from the atomics unit to the SRAM of handler memory and back.
    pub handler_read_cycles: u32,
    /// Cycles that a load of handler memory needs in addition, from the atomics unit on.
    pub handler_load_cycles: u32,
    /// Cycles of a core's store to handler memory, until its response.
    pub handler_store_cycles: u32,
    /// Cycles from the data of an atomic operation to its response.
    pub amo_response_cycles: u32,
    /// Cycles from the data of an atomic operation until the unit accepts the next one.
    pub amo_write_cycles: u32,
}

/// Latencies of the interconnects, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectParams {
    /// From a cluster to an L2 memory, for single accesses of cores. Accesses to other clusters take this path too.
    pub core_request_cycles: u32,
    /// From an L2 memory back to the cluster.
    pub core_reply_cycles: u32,
    /// From the end of that path to another cluster's L1.
    pub remote_request_cycles: u32,
    /// Back from there.
    pub remote_reply_cycles: u32,
    /// Additional cycles of a load from another cluster's L1.
    pub remote_load_cycles: u32,
    /// Additional cycles of a store to another cluster's L1.
    pub remote_store_cycles: u32,
    /// Additional cycles of an atomic operation on another cluster's L1.
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

/// Ingress of packets: matching, and places in packet memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressParams {
    /// Matching of packets and messages.
    pub matching: Matching,
    /// Rule sets: maximum number of contexts with a rule set. The first set that matches takes a packet.
    pub rule_sets: u32,
    /// Rule sets: maximum number of rules of a set, besides the one for the end of a message.
    pub rules: u32,
    /// Rule sets: number of bytes at the start of a packet that the engine sees.
    pub match_bytes: u32,
    /// Rule sets: offset of the message number in a packet, in bytes. Packets for the same queue are one message.
    pub message_at: u32,
    /// Rule sets: cycles from the arrival of a packet to its place in memory, without the cycle for each 64 bytes. The
    /// engine takes the next packet a cycle later.
    pub match_cycles: u32,
    /// Places in L2 packet memory.
    pub packet_memory: PacketMemory,
    /// Slots: number of large slots.
    pub large_slots: u32,
    /// Slots: bytes of a large slot, a multiple of 64.
    pub large_slot_bytes: u32,
    /// Slots: number of small slots.
    pub small_slots: u32,
    /// Slots: bytes of a small slot, a multiple of 64.
    pub small_slot_bytes: u32,
}

/// Matching of packets and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// Match expressions without limits. The paper leaves matching to the NIC.
    Expressions,
    /// An engine with rule sets, such as FPsPIN's.
    RuleSets,
}

/// Places in L2 packet memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketMemory {
    /// A ring: packets lie one behind the other.
    Ring,
    /// Slots of two sizes. If no slot of its size is free, a packet has no room.
    Slots,
}

impl IngressParams {
    /// Cycles from the arrival of a packet of `size` bytes to its place in memory.
    pub fn match_cycles(&self, size: usize) -> u64 {
        match self.matching {
            Matching::Expressions => 0,
            Matching::RuleSets => u64::from(self.match_cycles) + size.div_ceil(64) as u64,
        }
    }

    fn validate(&self, packet_bytes: u32) -> Result<(), ParamError> {
        within("rule_sets", self.rule_sets, 1, 64)?;
        within("rules", self.rules, 1, 64)?;
        within("match_bytes", self.match_bytes, 4, 2048)?;
        within("message_at", self.message_at, 0, 2046)?;
        within("match_cycles", self.match_cycles, 0, MAX_LATENCY)?;
        within("large_slots", self.large_slots, 1, 65_536)?;
        within("small_slots", self.small_slots, 1, 65_536)?;
        within("small_slot_bytes", self.small_slot_bytes, 64, 65_536)?;
        within("large_slot_bytes", self.large_slot_bytes, self.small_slot_bytes, 65_536)
            .map_err(|error| error.because("at least ingress.small_slot_bytes"))?;
        for (name, bytes) in [("large_slot_bytes", self.large_slot_bytes), ("small_slot_bytes", self.small_slot_bytes)]
        {
            must(name, bytes, bytes.is_multiple_of(64), || "a multiple of 64".into())?;
        }
        let all = |large: u32| {
            u64::from(large) * u64::from(self.large_slot_bytes)
                + u64::from(self.small_slots) * u64::from(self.small_slot_bytes)
        };
        let fits = self.packet_memory == PacketMemory::Ring || all(self.large_slots) <= u64::from(packet_bytes);
        must("large_slots", self.large_slots, fits, || {
            format!("so few that all slots together fit into the {packet_bytes} bytes of l2.packet_bytes")
        })
    }
}

/// Message queues and dispatcher.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerParams {
    /// Number of message processing queues, a power of two. A message uses queue `msgid % n_mpqs`.
    pub n_mpqs: u32,
    /// Packet descriptors shared by all queues, in addition to one per queue.
    pub shared_cells: u32,
    /// Maximum tasks in one cluster.
    pub max_tasks_per_cluster: u32,
    /// Cycles of a task from the scheduler to the cluster.
    pub dispatch_cycles: u32,
    /// Cycles of a feedback from the cluster to the scheduler.
    pub feedback_cycles: u32,
}

/// Commands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandParams {
    /// Maximum commands in flight at one executing unit, from all cores.
    pub in_flight_per_unit: u32,
    /// FIFO depth of each of the two engines of the off-cluster DMA, in requests.
    pub host_dma_fifo: u32,
    /// FIFO depth of the HostDirect unit, in requests.
    pub host_direct_fifo: u32,
    /// If true, each direction has at most one burst at the host: a write burst leaves when all its beats are there, and the next one waits
    /// for its response. Reads of host memory must then begin at multiples of 64 bytes.
    pub one_host_burst: bool,
}

/// NIC outbound engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutboundParams {
    /// Maximum commands waiting or in progress.
    pub command_slots: u32,
    /// Largest packet in bytes.
    pub max_packet_bytes: u32,
    /// Packets that can wait for the wire.
    pub queue_packets: u32,
    /// Bytes of the header that an RDMA put adds to each packet.
    pub rdma_header_bytes: u32,
    /// Cycles per 64 bytes of a packet before the next can leave; 0 and 1 mean back to back.
    pub cycles_per_beat: u32,
    /// Cycles that the engine adds before the first read of a command.
    pub start_cycles: u32,
    /// Cycles from the last byte of a command to its response.
    pub response_cycles: u32,
}

/// Translation of host addresses in commands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IommuParams {
    /// If true, commands carry virtual addresses of registered memory. If false, addresses are physical and
    /// unrestricted.
    pub enabled: bool,
    /// Entries of the translation cache, in pages.
    pub entries: u32,
    /// Associativity of the translation cache.
    pub ways: u32,
    /// Latency of a hit in cycles; one translation per cycle.
    pub hit_cycles: u32,
    /// Cycles of a miss for each table level: four levels for a page of 4 KiB, three for one of 2 MiB.
    pub level_cycles: u32,
    /// Maximum misses in flight.
    pub walks: u32,
}

/// Guarantees of the network to handlers, which the application requests from its driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkParams {
    /// Every packet of a message arrives exactly once, so handlers need not be idempotent.
    pub reliable: bool,
    /// Packets of a message arrive in the order of sending.
    pub in_order: bool,
}

/// Mistakes of the published RTL that programs can see in timing or data. The model makes those that are set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtlMistakes {
    /// An issue that waits returns the lowest handle that is free when the wait begins (the highest if none is free),
    /// instead of the handle of its command.
    pub stale_handles: bool,
    /// AMOs on another cluster's L1 and on L2 handler memory return 1 instead of the old value. The update of memory
    /// is correct.
    pub atomics_return_one: bool,
    /// The header of an RDMA packet is zeros behind the data, instead of destination and flow in front of it.
    pub rdma_headers_behind: bool,
    /// A packet sent from an address that is not a multiple of 64 has the bytes from the next lower multiple on.
    pub unaligned_sends: bool,
    /// In a DMA write to an unaligned host address, beats after the first land too low, by the address modulo 64. The
    /// write to the following 4 KiB page is correct.
    pub unaligned_host_writes: bool,
    /// `CMD_TEST` tests handle 0, whatever handle was written.
    pub tests_handle_0: bool,
    /// A core's transfers in flight are counted modulo 16. With 16 transfers the feedback does not wait for them.
    pub transfer_count_wraps: bool,
    /// A request for a full queue is lost, with its packet, if the queue of the previous request is not full. While
    /// the queue of the previous request is full, requests for other queues wait too.
    pub requests_get_lost: bool,
    /// A packet that exactly fills the gap before the oldest packet of an L1 ring lands elsewhere and is not booked.
    /// A full ring accepts no packet until it is empty.
    pub l1_gaps_misbooked: bool,
    /// L2 packet memory is freed by the number of bytes copied to L1. A larger packet blocks its ring forever.
    pub l2_freed_by_copied_bytes: bool,
    /// A core that fetches outside program memory, or where its context may not, waits for the instruction forever.
    pub stray_fetches_hang: bool,
    /// A load or store that protection refuses happens nevertheless, in machine mode, and its trap handler waits for it.
    pub refused_accesses_happen: bool,
    /// The absolute addresses of cluster 0's peripherals lead to the own peripherals in every cluster.
    pub peripherals_of_cluster_0_are_own: bool,
    /// Packets behind the last one of a message extend that message while its queue is in use. Packets that come after its last payload
    /// handler has started stay in the queue until another message takes it, and then belong to that message.
    pub reused_queues_keep_packets: bool,
    /// A packet of 0 bytes never ends. A transfer of 0 bytes with the host causes no response: it takes the response of the next transfer
    /// in its direction.
    pub empty_commands_hang: bool,
    /// Commands for unmapped NIC memory end as if they had succeeded. Their reads return a pattern, and their writes vanish.
    pub unmapped_commands_succeed: bool,
    /// Writes of the host to unmapped NIC memory vanish without an error.
    pub unmapped_host_writes_vanish: bool,
}

/// Bytes of L1 below the packet buffer, for the stacks and data of the runtime with eight cores.
pub const L1_RUNTIME_BYTES: u32 = 0x2000;
/// Maximum number of clusters. The RTL has 4. Its interconnects and schedulers are generic, and its memory map has
/// room for 16.
pub const MAX_CLUSTERS: usize = 16;
/// Maximum number of cores per cluster. The RTL has 8. Its hart ids and the stacks in L1 have room for 16.
pub const MAX_CORES: usize = 16;
/// Maximum latency of a memory or an interconnect, in cycles.
const MAX_LATENCY: u32 = 1000;

impl PspinParams {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), ParamError> {
        within("clock_mhz", self.clock_mhz, Mhz::LEAST, Mhz::MOST)?;
        within("n_clusters", self.n_clusters, 1, MAX_CLUSTERS as u32)?;
        self.cluster.validate().map_err(|error| error.inside("cluster"))?;
        self.l2.validate().map_err(|error| error.inside("l2"))?;
        self.interconnect.validate().map_err(|error| error.inside("interconnect"))?;
        self.ingress.validate(self.l2.packet_bytes).map_err(|error| error.inside("ingress"))?;
        self.scheduler.validate(&self.cluster).map_err(|error| error.inside("scheduler"))?;
        self.sharing.validate(&self.isolation).map_err(|error| error.inside("sharing"))?;
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

    /// Checks the layout of L1: runtime data, packet buffer, scratchpads.
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
        within("packet_store_cycles", self.packet_store_cycles, 0, MAX_LATENCY)?;
        within("packet_amo_cycles", self.packet_amo_cycles, 0, MAX_LATENCY)?;
        within("handler_read_cycles", self.handler_read_cycles, 1, MAX_LATENCY)?;
        within("handler_load_cycles", self.handler_load_cycles, 0, MAX_LATENCY)?;
        within("handler_store_cycles", self.handler_store_cycles, 0, MAX_LATENCY)?;
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
        within("cycles_per_beat", self.cycles_per_beat, 0, 1_000_000)?;
        within("start_cycles", self.start_cycles, 0, MAX_LATENCY)?;
        within("response_cycles", self.response_cycles, 0, MAX_LATENCY)
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
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), ParamError> {
        within("delivery.ecn_threshold_percent", self.ecn_threshold_percent, 0, 100)?;
        within("delivery.early_packets", self.early_packets, 1, 65_536)?;
        within("delivery.timeout_cycles", self.timeout_cycles, 0, MOST_TIMEOUT_CYCLES)
    }
}

/// Maximum message timeout in cycles: five hours at 1 GHz, the longest run.
const MOST_TIMEOUT_CYCLES: u64 = 18_000_000_000_000;
