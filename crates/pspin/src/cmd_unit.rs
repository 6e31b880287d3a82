//! Command unit: commands of all clusters to the units that execute them, and responses back.

use crate::arbiter::{LockingTree, requests};
use crate::params::{IoSchedule, MAX_CLUSTERS, MAX_CORES, PspinParams};
use crate::policy::TenantPolicy;
use crate::protocol::{Command, CommandId, CommandResponse, CommandTarget};
use blocks::activity::{busy_if, earliest};
use blocks::policy::RoundRobinTree;
use kernel::trace::{Counter, Level};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

mod tenants;
mod usage;
use tenants::{Part, TenantQueues};
use usage::Usage;

/// The units, in the order of the hardware's interface numbers.
const UNITS: [CommandTarget; 3] = [CommandTarget::HostDirect, CommandTarget::NicSend, CommandTarget::HostDma];
const NAMES: [&str; 3] = ["host_direct", "nic_send", "host_dma"];

/// The channels to and from one executing unit; capacity 2, latency 1.
pub struct UnitPort {
    /// To the unit.
    pub commands: Tx<Command>,
    /// From the unit.
    pub responses: Rx<CommandResponse>,
}

/// The ports of a [`CommandUnit`].
pub struct CommandUnitPorts {
    /// From each cluster; capacity 2, latency 1.
    pub commands: Vec<Rx<Command>>,
    /// To each cluster; capacity 2, latency 1.
    pub responses: Vec<Tx<CommandResponse>>,
    /// HostDirect unit.
    pub host_direct: UnitPort,
    /// NIC outbound engine.
    pub nic_send: UnitPort,
    /// Off-cluster DMA.
    pub host_dma: UnitPort,
}

struct Unit {
    port: UnitPort,
    /// Commands sent whose response has not gone to a cluster.
    in_flight: u32,
    arbiter: LockingTree,
    /// Waiting commands by tenant; `None` if commands go in order.
    queues: Option<TenantQueues>,
    commands: Counter,
    /// `in_flight` over time.
    flying: Level,
}

/// Sizes at which commands are cut if they wait by tenant.
#[derive(Clone, Copy)]
struct Cuts {
    fragment_bytes: u32,
    /// Bytes of a put in one packet.
    payload_bytes: u32,
}

impl Cuts {
    fn split(self, command: &mut Command) -> Option<Command> {
        match command.target {
            CommandTarget::HostDma => command.split(self.fragment_bytes),
            CommandTarget::NicSend => command.split_put(self.payload_bytes),
            CommandTarget::HostDirect => None,
        }
    }
}

/// Local ids of a core's commands; one is the driver's own.
const LOCAL_IDS: usize = 5;

fn index(id: CommandId) -> usize {
    (usize::from(id.cluster) * MAX_CORES + usize::from(id.core)) * LOCAL_IDS + usize::from(id.local)
}

/// Sends each command to its unit when the unit has fewer commands in flight than its limit, and each response to its
/// cluster.
///
/// Ports:    `commands[c]` in and `responses[c]` out for each cluster; for each unit `<unit>_commands` out and
///           `<unit>_responses` in. Up to 1 command a cycle from each cluster and to each unit, 1 response a cycle in all.
/// Timing:   0 cycles of its own. A command granted to its core in cycle i is seen here in i + 1 and by its unit in i + 2;
///           a response that a unit gives in cycle r is seen here in r + 1 and by its cluster in r + 2.
/// Fairness: clusters take turns at each unit, units take turns for responses. A command that cannot be sent delays
///           later commands, of its own cluster and of others: see [`LockingTree`]. Unless the schedule is
///           [`IoSchedule::InOrder`], commands wait here by unit and tenant ([`TenantQueues`]). Each core has at most 4
///           commands, and its driver 1, so there is always room. Long commands are cut: host DMA at
///           `sharing.fragment_bytes`, puts into their packets. A cluster gets one response for all parts of a command.
///           If a put is cut and reads unmapped memory, the packets before the first unmapped byte are sent.
/// Source:   PsPIN RTL a49fec8, `cmd_unit.sv`. In the RTL the register is before the choice, and a command reaches its
///           unit in the cycle of the choice. Here the choice is a cycle earlier, and the register is after it. So if a
///           unit is at its limit, the next command reaches the unit 2 cycles after the unit gives a response.
pub struct CommandUnit {
    max_in_flight: u32,
    commands: Vec<Rx<Command>>,
    responses: Vec<Tx<CommandResponse>>,
    /// By the positions in [`UNITS`].
    units: [Unit; 3],
    arbiter: RoundRobinTree,
    cuts: Cuts,
    /// For each command, the parts cut off here that have no response.
    parts: Vec<u32>,
    /// For each command, the tenant of its parts at the units, if commands wait by tenant.
    tenant_of: Vec<u32>,
    usage: Usage,
}

impl CommandUnit {
    /// Creates a command unit with at most `commands.in_flight_per_unit` commands at each unit. A policy in `own`, at the
    /// unit's position in [`UNITS`], replaces `sharing.io_schedule`.
    pub fn new(params: &PspinParams, own: [Option<Box<dyn TenantPolicy>>; 3], ports: CommandUnitPorts) -> Self {
        let (max_in_flight, schedule) = (params.commands.in_flight_per_unit, params.sharing.io_schedule);
        let by_tenant = schedule != IoSchedule::InOrder;
        assert_eq!(ports.commands.len(), ports.responses.len(), "each cluster gives commands and takes responses");
        let units = [ports.host_direct, ports.nic_send, ports.host_dma];
        let mut own = own.into_iter();
        let units = units.map(|port| Unit {
            port,
            in_flight: 0,
            arbiter: LockingTree::default(),
            queues: by_tenant.then(|| TenantQueues::new(schedule, own.next().flatten(), params.clock_mhz.hz())),
            commands: Counter::default(),
            flying: Level::default(),
        });
        let arbiter = RoundRobinTree::default();
        let cuts = Cuts {
            fragment_bytes: params.sharing.fragment_bytes,
            payload_bytes: params.outbound.max_packet_bytes - params.outbound.rdma_header_bytes,
        };
        let (commands, responses) = (ports.commands, ports.responses);
        let parts = vec![0; MAX_CLUSTERS * MAX_CORES * LOCAL_IDS];
        let tenant_of = parts.clone();
        let usage = Usage::new(by_tenant);
        CommandUnit { max_in_flight, commands, responses, units, arbiter, cuts, parts, tenant_of, usage }
    }

    /// Puts the command that each cluster shows into the queue of its tenant at its unit.
    fn queue(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        for commands in &self.commands {
            let Some(command) = commands.take() else { continue };
            let unit = UNITS.iter().position(|&target| target == command.target).expect("a unit for each target");
            let bps = match command.target {
                CommandTarget::HostDma | CommandTarget::HostDirect => command.sender.io.host_bps,
                CommandTarget::NicSend => command.sender.io.egress_bps,
            };
            self.units[unit].queues.as_mut().expect("commands wait by tenant").push(now, command, bps);
            changed = true;
        }
        changed
    }

    /// Sends up to one part of a command to each unit.
    fn forward_by_tenant(&mut self, now: Cycle) -> Activity {
        let mut activity = busy_if(self.queue(now));
        let CommandUnit { units, cuts, parts, tenant_of, usage, max_in_flight, .. } = self;
        for unit in units {
            if unit.in_flight >= *max_in_flight || !unit.port.commands.has_room() {
                continue;
            }
            let queues = unit.queues.as_mut().expect("commands wait by tenant");
            let Some(Part { command, is_last, waited }) = queues.take(now, |command| cuts.split(command)) else {
                activity = earliest(activity, queues.asks_again(now).map_or(Activity::Idle, Activity::Until));
                continue;
            };
            unit.in_flight += 1;
            unit.commands.add(1);
            parts[index(command.id)] += u32::from(!is_last);
            tenant_of[index(command.id)] = command.sender.tenant;
            usage.count(&command, waited);
            unit.port.commands.send(command);
            activity = Activity::Busy;
        }
        activity
    }

    /// Sends up to one command to each unit.
    fn forward_in_order(&mut self) -> bool {
        // A cluster shows one command a cycle, even if that command is taken.
        let mut asking = [0; UNITS.len()];
        for (cluster, commands) in self.commands.iter().enumerate() {
            if let Some(command) = commands.peek() {
                let unit = UNITS.iter().position(|&target| target == command.target).expect("a unit for each target");
                asking[unit] |= 1 << cluster;
            }
        }
        let mut changed = false;
        for (unit, asking) in self.units.iter_mut().zip(asking) {
            if asking == 0 {
                continue;
            }
            let may = unit.in_flight < self.max_in_flight && unit.port.commands.has_room();
            let Some(cluster) = unit.arbiter.take(asking, may) else { continue };
            let cluster = cluster as usize;
            unit.in_flight += 1;
            unit.commands.add(1);
            let command = self.commands[cluster].take().expect("a chosen cluster shows a command");
            self.usage.count(&command, None);
            unit.port.commands.send(command);
            changed = true;
        }
        changed
    }

    /// Takes up to one response of a unit. Only the response to the last part of a command goes to the cluster.
    fn respond(&mut self, now: Cycle) -> bool {
        let fits = |response: &CommandResponse| {
            self.parts[index(response.id)] > 0 || self.responses[usize::from(response.id.cluster)].has_room()
        };
        let ready = |u: usize| self.units[u].port.responses.peek().is_some_and(|response| fits(&response));
        let Some(u) = self.arbiter.take(requests(self.units.len(), ready)) else { return false };
        let u = u as usize;
        let unit = &mut self.units[u];
        let response = unit.port.responses.take().expect("a chosen unit has a response");
        assert!(unit.in_flight > 0, "a response of {} ends a command", NAMES[u]);
        unit.in_flight -= 1;
        unit.queues.iter_mut().for_each(|queues| queues.ended(now, self.tenant_of[index(response.id)]));
        match &mut self.parts[index(response.id)] {
            0 => self.responses[usize::from(response.id.cluster)].send(response),
            others => *others -= 1,
        }
        true
    }
}

impl Component for CommandUnit {
    fn tick(&mut self, now: Cycle) -> Activity {
        // Responses come first: a command that is chosen in this cycle reaches its unit in the next cycle, in which the
        // place that a response frees is usable.
        let responded = self.respond(now);
        let forwarded = match self.units[0].queues.is_some() {
            true => self.forward_by_tenant(now),
            false => busy_if(self.forward_in_order()),
        };
        self.units.iter_mut().for_each(|unit| unit.flying.set(now, unit.in_flight.into()));
        earliest(busy_if(responded), forwarded)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.inputs("commands", &self.commands);
        ports.outputs("responses", &self.responses);
        for (unit, name) in self.units.iter().zip(NAMES) {
            ports.output(&format!("{name}_commands"), &unit.port.commands);
            ports.input(&format!("{name}_responses"), &unit.port.responses);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        for (unit, name) in self.units.iter().zip(NAMES) {
            let limit = format!("commands to `{name}`: one a cycle");
            counters.busy(&format!("{name}_commands"), unit.commands.total(), 1, &limit);
            let (name, limit) = (format!("{name}_in_flight"), format!("commands at `{name}` without a response"));
            counters.held(&name, &unit.flying, self.max_in_flight.into(), &limit);
        }
        self.usage.counters(counters);
    }
}

#[cfg(test)]
mod tests;
