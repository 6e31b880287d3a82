//! Parameters of the scheduler.

use super::crossing::CrossingParams;
use crate::cells::AllocatorParams;
use crate::policy::PolicyTree;
use crate::protocol::NodeId;
use blocks::checks;

/// Fixed properties of a [`super::Scheduler`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerParams {
    /// The services; each has a logical PIFO.
    pub services: Vec<ServiceParams>,
    /// Number of traffic classes, 1 to 256.
    pub n_classes: usize,
    /// The packet buffer.
    pub buffer: BufferParams,
    /// The PIFO blocks.
    pub pifo: PifoParams,
    /// Drop thresholds.
    pub dropping: DropParams,
    /// True if a unit pushes a packet directly to a unit of the next service while that service has credit. If false, every hop
    /// of a chain goes through the scheduler.
    pub chain_push: bool,
    /// Amount subtracted from a packet's ranks after a unit refused it.
    pub detour_raise: u64,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceParams {
    /// The units that provide it.
    pub units: Vec<UnitParams>,
    /// True if all packets of a flow go to the same unit.
    pub flow_affinity: bool,
    /// Scheduling policy.
    pub policy: PolicyTree,
}

/// A unit, as the scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitParams {
    /// Its node on the interconnect.
    pub node: NodeId,
    /// Its credits: the maximum number of packets that it may have, 1 to 1024.
    pub credits: u32,
}

/// The packet buffer: one bank for each port of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferParams {
    /// Cells of a bank, 1 to 65536.
    pub cells: u32,
    /// Size of a cell, which limits the packet length.
    pub cell_bytes: u32,
    /// Cycles by which a packet's bytes leave the buffer after its descriptor, whose path is shorter. The message keeps its
    /// path through the interconnect meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_cycles: u32,
    /// If set, a packet holds a cell from before it enters the NIC until it leaves, and waits outside while no cell is free
    /// (RTL). If not, it holds a cell only while it is in the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<AllocatorParams>,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The PIFO blocks. The logical PIFO of service i is in block i modulo `blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PifoParams {
    /// Number of blocks, 1 to 64.
    pub blocks: u32,
    /// Cycles between two pushes into a block.
    pub push_cycles: u32,
    /// Cycles between two pops from a block.
    pub pop_cycles: u32,
    /// Depth of the FIFO in front of a block and of the FIFO from the blocks to each port.
    pub crossing_slots: u32,
    /// Cycles from a descriptor's arrival at the scheduler until it can be pushed.
    pub enqueue_cycles: u32,
    /// Cycles from a pop until the descriptor can leave the scheduler. The prototype's scheduling round trip is 14 cycles
    /// (7.2). Taken as the time from a unit's note to the next descriptor at the unit, it consists of 1 cycle for the note, up
    /// to `pop_cycles` - 1 until the pop edge, `dequeue_cycles`, and the interconnect's latency.
    pub dequeue_cycles: u32,
    /// If set, packets leave the PIFOs, while there is room, into FIFOs at whose output credits are requested (RTL). If not, a
    /// packet leaves its PIFO when a unit has a credit (4.3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crossing: Option<CrossingParams>,
}

/// Thresholds above which a push drops the packet with the greatest rank of the logical PIFO. Source: 4.3.2, numbers RTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropParams {
    /// Drops if at least this number of packets was queued in the logical PIFO before the push.
    pub used_entries: u32,
    /// Also drops if no bank has more free cells than this, and the condition of `spared_entries` holds.
    pub free_cells: u32,
    /// Few free cells cause a drop only if more packets than this were queued in the logical PIFO.
    pub spared_entries: u32,
}

impl PifoParams {
    /// Maximum number of descriptors on their way into a block: those in the FIFO in front of it, and those that the block can
    /// push during `enqueue_cycles`.
    pub(super) fn entering_slots(&self) -> usize {
        (self.crossing_slots + self.enqueue_cycles.div_ceil(self.push_cycles)) as usize
    }

    /// Maximum number of descriptors on their way to a port: those in its FIFO, and those that a block can pop during
    /// `dequeue_cycles`.
    pub(super) fn leaving_slots(&self) -> usize {
        (self.crossing_slots + self.dequeue_cycles.div_ceil(self.pop_cycles)) as usize
    }
}

impl SchedulerParams {
    /// Checks the parameters for `n_ports` ports.
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
                    return Err(format!(
                        "{at}.units[{j}].node is {}, which is another unit's node already",
                        unit.node.0
                    ));
                }
                nodes.push(unit.node);
            }
        }
        Ok(())
    }
}
