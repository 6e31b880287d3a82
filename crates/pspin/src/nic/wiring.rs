//! Every channel of the NIC. The numbers are capacity in items and latency in cycles.

use super::channels::{REGISTER, channels, host_channels, master, readers, unit, writer};
use crate::cluster::{ClusterPorts, Links};
use crate::cmd_unit::CommandUnitPorts;
use crate::host_direct::HostDirectPorts;
use crate::host_dma::HostDmaPorts;
use crate::host_events::{Notice, notice_room};
use crate::host_link::HOST_CHANNEL_ITEMS;
use crate::host_port::HostAccess;
use crate::inbound::{InboundPorts, MorePackets};
use crate::memories::{BurstPort, MemoryPorts};
use crate::nhi::{NhiMap, NhiMaster};
use crate::outbound::OutboundPorts;
use crate::params::PspinParams;
use crate::pcie::PciePorts;
use crate::protocol::{CLUSTER_ACTIVE_CYCLES, HostRecord, Kill, TenantsServed};
use crate::scheduler::SchedulerPorts;
use kernel::{ClockId, Inlet, Rx, SystemBuilder, Tx};

/// Capacity for error records of killed messages on their way to the HostDirect unit; further ones are lost.
const ERROR_RECORDS: usize = 16;

/// Maximum notices of a core in one cycle: a core that runs ahead can report several cycles at once.
const CLUSTER_NOTICES: usize = 4;

/// The ports of all parts, connected.
pub struct Wiring {
    pub inbound: InboundPorts,
    pub scheduler: SchedulerPorts,
    pub clusters: Vec<(ClusterPorts, Links)>,
    pub memories: MemoryPorts,
    pub commands: CommandUnitPorts,
    pub outbound: OutboundPorts,
    pub host_direct: HostDirectPorts,
    pub host_dma: HostDmaPorts,
    pub pcie: PciePorts,
    pub host_events: (Vec<Rx<Notice>>, Tx<HostRecord>),
    pub host_port: (Rx<HostAccess>, NhiMaster),
    pub inlets: Inlets,
}

/// Inputs of the NIC from outside the simulation.
pub struct Inlets {
    /// The host's accesses to the NIC's memory.
    pub accesses: Inlet<HostAccess>,
    pub more_packets: Inlet<MorePackets>,
    pub kills: Inlet<Kill>,
    /// To the inbound engine and to the scheduler.
    pub tenants: [Inlet<TenantsServed>; 2],
}

impl Wiring {
    /// All channels of a NIC whose parts have the clock `clock`.
    pub fn new(b: &mut SystemBuilder, clock: ClockId, params: &PspinParams) -> Self {
        let n = params.n_clusters as usize;
        let ways = &params.interconnect;

        // Packets: from the inbound engine to the scheduler and the clusters, and back at their end.
        let (to_scheduler, from_inbound) = b.channel("requests", 2, 1);
        let (to_cluster, back) = (params.scheduler.dispatch_cycles, params.scheduler.feedback_cycles);
        let (tasks, cluster_tasks) = channels(b, "tasks", n, 2 * to_cluster as usize, to_cluster.into());
        let (cluster_feedbacks, feedbacks) = channels(b, "feedbacks", n, 2 * back as usize, back.into());
        let (to_inbound, released) = b.channel("released", 2, 1);
        let (cluster_active, active) = channels(b, "active", n, 1, CLUSTER_ACTIVE_CYCLES);

        // Commands: from clusters to the command unit and on to the unit that executes them. Responses: the same way back.
        let (cluster_commands, commands) = channels(b, "commands", n, 2, 1);
        let (responses, cluster_responses) = channels(b, "responses", n, 2, 1);
        let (host_dma_unit, host_dma_end) = unit(b, "host_dma");
        let (nic_send_unit, nic_send_end) = unit(b, "nic_send");
        let (host_direct_unit, host_direct_end) = unit(b, "host_direct");

        // Notices: scheduler, PCIe and clusters to the host's event unit, and records of these notices to HostDirect.
        let (scheduler_notices, from_scheduler) = b.channel("scheduler_notices", notice_room(3), 1);
        let (pcie_notices, from_pcie) = b.channel("pcie_notices", notice_room(2), 1);
        let room = notice_room(CLUSTER_NOTICES * params.cluster.n_cores as usize);
        let (cluster_notices, from_clusters) = channels(b, "cluster_notices", n, room, 1);
        let notices = [from_scheduler, from_pcie].into_iter().chain(from_clusters).collect();
        let (records, host_direct_records) = b.channel("error_records", ERROR_RECORDS, 1);

        // The NIC-host interconnect: every initiator reaches L2. All initiators except the inbound engine also reach every L1.
        let mut memories = MemoryPorts::default();
        let mut l1s: Vec<Vec<BurstPort>> = (0..n).map(|_| Vec::new()).collect();
        let (inbound_nhi, inbound_addresses) = writer(b, NhiMap::l2(params), ways, &mut memories);
        let ([outbound_nhi, sources], remap) = readers(b, params, &mut memories, &mut l1s);
        let mistakes = params.rtl_mistakes;
        let targets = master(b, "host_dma_writes", NhiMap::all(params), ways, &mut memories, &mut l1s)
            .with_silent_errors(mistakes.unmapped_commands_succeed);
        memories.host = memories.bursts.len();
        let hosts = if params.isolation.host_clears_scratchpads { &mut l1s[..] } else { &mut [] };
        let host_nhi = master(b, "host", NhiMap::host(params), ways, &mut memories, hosts)
            .with_silent_errors(mistakes.unmapped_host_writes_vanish);

        // The path to the host, which HostDirect and the off-cluster DMA share.
        let (direct_host, direct_target) = host_channels(b, "host_direct", HOST_CHANNEL_ITEMS);
        let (dma_host, dma_target) = host_channels(b, "host_dma", REGISTER);

        // From outside.
        let (accesses, host_accesses) = b.inlet("host_accesses", clock);
        let (more_packets, more) = b.inlet("more_packets", clock);
        let (kills, inbound_kills) = b.inlet("kills", clock);
        let (to_inbound_tenants, inbound_tenants) = b.inlet("inbound_tenants", clock);
        let (to_scheduler_tenants, scheduler_tenants) = b.inlet("tenants", clock);

        let ends = cluster_tasks.into_iter().zip(cluster_feedbacks).zip(cluster_commands).zip(cluster_responses);
        let ends = ends.zip(l1s).zip(cluster_active).zip(cluster_notices).enumerate();
        let clusters = ends.map(|(id, ((((((tasks, feedbacks), commands), responses), bursts), active), notices))| {
            let ports = ClusterPorts { tasks, feedbacks, commands, responses, bursts, active, notices };
            (ports, Links::new(b, id, params, &mut memories))
        });
        Wiring {
            clusters: clusters.collect(),
            memories,
            inbound: InboundPorts {
                active,
                requests: to_scheduler,
                released,
                more,
                kills: inbound_kills,
                tenants: inbound_tenants,
                nhi: inbound_nhi,
                addresses: inbound_addresses,
            },
            scheduler: SchedulerPorts {
                requests: from_inbound,
                tenants: scheduler_tenants,
                tasks,
                feedbacks,
                released: to_inbound,
                notices: scheduler_notices,
            },
            commands: CommandUnitPorts {
                commands,
                responses,
                host_direct: host_direct_unit,
                nic_send: nic_send_unit,
                host_dma: host_dma_unit,
            },
            outbound: OutboundPorts { commands: nic_send_end.0, responses: nic_send_end.1, nhi: outbound_nhi },
            host_direct: HostDirectPorts {
                commands: host_direct_end.0,
                responses: host_direct_end.1,
                records: host_direct_records,
                host: direct_host,
            },
            host_dma: HostDmaPorts {
                commands: host_dma_end.0,
                responses: host_dma_end.1,
                sources,
                targets,
                remap,
                host: dma_host,
            },
            pcie: PciePorts { initiators: vec![direct_target, dma_target], notices: pcie_notices },
            host_events: (notices, records),
            host_port: (host_accesses, host_nhi),
            inlets: Inlets { accesses, more_packets, kills, tenants: [to_inbound_tenants, to_scheduler_tenants] },
        }
    }
}
