//! What is fixed about a scheduler.

use super::crossing::CrossingParams;
use crate::cells::AllocatorParams;
use crate::policy::Level;
use crate::protocol::NodeId;
use blocks::checks;

/// Fixed properties of a [`super::Scheduler`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerParams {
    /// The services; each has a logical PIFO.
    pub services: Vec<ServiceParams>,
    /// Traffic classes, 1 to 256.
    pub n_classes: usize,
    /// The packet buffer.
    pub buffer: BufferParams,
    /// The PIFO blocks.
    pub pifo: PifoParams,
    /// When packets are dropped.
    pub dropping: DropParams,
    /// Whether units push packets on to units of the next service, while it has credit; if not, every hop of a chain goes
    /// through the scheduler.
    pub chain_push: bool,
    /// By how much the ranks of a packet are lowered when a unit had no room for it.
    pub detour_raise: u64,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceParams {
    /// The units that provide it.
    pub units: Vec<UnitParams>,
    /// Whether all packets of a flow go to one unit.
    pub flow_affinity: bool,
    /// Which packet it takes next.
    pub policy: Level,
}

/// A unit, as the scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitParams {
    /// Its port of the interconnect.
    pub node: NodeId,
    /// Packets that it may have at most, 1 to 1024.
    pub credits: u32,
}

/// The packet buffer: a bank for each port of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferParams {
    /// Cells of a bank, 1 to 65536.
    pub cells: u32,
    /// Bytes of a cell, which is the longest packet.
    pub cell_bytes: u32,
    /// Cycles by which a packet's bytes come out of it behind the descriptor's, whose way is shorter. A message holds its way through
    /// the interconnect meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_cycles: u32,
    /// If a packet has its cell from before it enters the NIC until it leaves it, and waits outside while there is none (RTL); without
    /// it a packet has a cell while it lies in the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorParams>,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The PIFO blocks. A service's logical PIFO lies in the block of its number modulo `blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PifoParams {
    /// Blocks, 1 to 64.
    pub blocks: u32,
    /// Cycles of the scheduler from one push into a block to the next.
    pub push_cycles: u32,
    /// Cycles of the scheduler from one pop from a block to the next.
    pub pop_cycles: u32,
    /// Entries of the queue in front of a block, and of that between the blocks and each port.
    pub crossing_slots: u32,
    /// Cycles from a descriptor's arrival at the scheduler until it can be pushed.
    pub enqueue_cycles: u32,
    /// Cycles from a pop until the descriptor can leave the scheduler. In the prototype the scheduling round trip is 14 cycles
    /// (7.2); taken as the time from a unit's note to the next descriptor at the unit, that is 1 for the note, up to
    /// `pop_cycles` - 1 for the edge, these, and the interconnect's.
    pub dequeue_cycles: u32,
    /// If packets leave the PIFOs, while there is room, into queues at whose end credits are asked for (RTL); without it a packet
    /// leaves when a unit has a credit (4.3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossing: Option<CrossingParams>,
}

/// When the packet with the greatest rank of a logical PIFO is dropped, which is told after a push. Source: 4.3.2, numbers RTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropParams {
    /// So many packets of the logical PIFO were queued before, or more.
    pub used_entries: u32,
    /// Or no bank has more free cells than this, ...
    pub free_cells: u32,
    /// ... and more packets than this were queued in the logical PIFO.
    pub spared_entries: u32,
}

impl PifoParams {
    /// Descriptors on their way into a block: those in the queue in front of it, and as many as it can push while one comes.
    pub(super) fn entering_slots(&self) -> usize {
        (self.crossing_slots + self.enqueue_cycles.div_ceil(self.push_cycles)) as usize
    }

    /// Descriptors on their way to a port, likewise.
    pub(super) fn leaving_slots(&self) -> usize {
        (self.crossing_slots + self.dequeue_cycles.div_ceil(self.pop_cycles)) as usize
    }
}

impl SchedulerParams {
    /// What is wrong with a scheduler of `n_ports`.
    pub fn check(&self, n_ports: usize) -> Result<(), String> {
        checks::within("ports", n_ports, 1, 64)?;
        checks::within("services", self.services.len(), 0, 256)?;
        checks::within("n_classes", self.n_classes, 1, 256)?;
        checks::within("buffer.cells", self.buffer.cells, 1, 65536)?;
        checks::within("buffer.cell_bytes", self.buffer.cell_bytes, 64, 1 << 20)?;
        let PifoParams { blocks, push_cycles, pop_cycles, crossing_slots, enqueue_cycles, dequeue_cycles, crossing } =
            self.pifo;
        checks::within("pifo.blocks", blocks, 1, 64)?;
        checks::within("pifo.push_cycles", push_cycles, 1, 1024)?;
        checks::within("pifo.pop_cycles", pop_cycles, 1, 1024)?;
        checks::within("pifo.crossing_slots", crossing_slots, 1, 1024)?;
        checks::within("pifo.enqueue_cycles", enqueue_cycles, 0, 1024)?;
        checks::within("pifo.dequeue_cycles", dequeue_cycles, 0, 1024)?;
        if let Some(crossing) = crossing {
            crossing.check().map_err(|error| format!("pifo.crossing.{error}"))?;
        }
        checks::within("buffer.read_cycles", self.buffer.read_cycles, 0, 1024)?;
        if let Some(allocator) = self.buffer.allocator {
            allocator.check().map_err(|error| format!("buffer.allocator.{error}"))?;
        }
        checks::within("dropping.used_entries", self.dropping.used_entries, 1, 1 << 20)?;
        let mut nodes = Vec::new();
        for (i, service) in self.services.iter().enumerate() {
            let at = format!("services[{i}]");
            checks::within(&format!("{at}.units"), service.units.len(), 1, 256)?;
            service.policy.check(self.n_classes).map_err(|error| format!("{at}.policy.{error}"))?;
            for (j, unit) in service.units.iter().enumerate() {
                checks::within(&format!("{at}.units[{j}].credits"), unit.credits, 1, 1024)?;
                if nodes.contains(&unit.node) {
                    return Err(format!("{at}.units[{j}].node is {}, which another unit has", unit.node.0));
                }
                nodes.push(unit.node);
            }
        }
        Ok(())
    }
}
