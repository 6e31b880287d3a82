//! Command unit: commands of all clusters to the units that execute them, and responses back.

use crate::arbiter::{LockingTree, requests};
use crate::protocol::{Command, CommandResponse, CommandTarget};
use blocks::policy::RoundRobinTree;
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

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
    commands: Counter,
}

/// Sends each command to its unit as long as that has few enough in flight, and each response to its cluster.
///
/// Ports:    `commands[c]` in and `responses[c]` out for each cluster; for each unit `<unit>_commands` out and
///           `<unit>_responses` in. Up to 1 command a cycle from each cluster and to each unit, 1 response a cycle in all.
/// Timing:   0 cycles of its own. A command granted to its core in cycle i is seen here in i + 1 and by its unit in i + 2;
///           a response that a unit gives in cycle r is seen here in r + 1 and by its cluster in r + 2.
/// Fairness: clusters take turns at each unit, units take turns for responses. A command that cannot go holds back those
///           behind it from the same cluster, and other clusters' that come later: see [`LockingTree`].
/// Source:   PsPIN RTL a49fec8, `cmd_unit.sv`. There the register is before the choice and the command reaches its unit
///           in the cycle of the choice; here the choice is a cycle earlier and the register behind it. So where all are in flight,
///           the next command is at its unit 2 cycles after a response is given.
pub struct CommandUnit {
    max_in_flight: u32,
    commands: Vec<Rx<Command>>,
    responses: Vec<Tx<CommandResponse>>,
    /// By the positions in [`UNITS`].
    units: [Unit; 3],
    arbiter: RoundRobinTree,
}

impl CommandUnit {
    /// Up to `max_in_flight` commands at each unit.
    pub fn new(max_in_flight: u32, ports: CommandUnitPorts) -> Self {
        assert_eq!(ports.commands.len(), ports.responses.len(), "each cluster gives commands and takes responses");
        let units = [ports.host_direct, ports.nic_send, ports.host_dma];
        let units = units.map(|port| Unit {
            port,
            in_flight: 0,
            arbiter: LockingTree::default(),
            commands: Counter::default(),
        });
        let arbiter = RoundRobinTree::default();
        CommandUnit { max_in_flight, commands: ports.commands, responses: ports.responses, units, arbiter }
    }

    /// Sends up to one command to each unit.
    fn forward(&mut self) -> bool {
        // A cluster shows one command a cycle, also when that one is taken.
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
            unit.port.commands.send(self.commands[cluster].take().expect("a chosen cluster shows a command"));
            changed = true;
        }
        changed
    }

    /// Sends up to one response to its cluster.
    fn respond(&mut self) -> bool {
        let fits = |response: &CommandResponse| self.responses[usize::from(response.id.cluster)].has_room();
        let ready = |u: usize| self.units[u].port.responses.peek().is_some_and(|response| fits(&response));
        let Some(u) = self.arbiter.take(requests(self.units.len(), ready)) else { return false };
        let u = u as usize;
        let unit = &mut self.units[u];
        let response = unit.port.responses.take().expect("a chosen unit has a response");
        assert!(unit.in_flight > 0, "a response of {} ends a command", NAMES[u]);
        unit.in_flight -= 1;
        self.responses[usize::from(response.id.cluster)].send(response);
        true
    }
}

impl Component for CommandUnit {
    fn tick(&mut self, _now: Cycle) -> Activity {
        // In this order: what a response frees is usable in the next cycle, in which the command of this choice is at its unit.
        let responded = self.respond();
        let forwarded = self.forward();
        if forwarded || responded { Activity::Busy } else { Activity::Idle }
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::CommandId;
    use crate::testing::command;
    use expect_test::{Expect, expect};
    use testkit::bench;

    fn show(id: CommandId) -> String {
        format!("{}.{}.{}", id.cluster, id.core, id.local)
    }

    /// Commands of each of two clusters as `cycle:core` with a letter for the unit: d HostDirect, n NIC, h host DMA.
    /// Each unit takes `ready` and answers at once.
    fn check(max_in_flight: u32, clusters: [&str; 2], ready: fn(Cycle) -> bool, answers: &str, want: Expect) {
        let log = bench(1_000, |bench| {
            let mut ports = (Vec::new(), Vec::new());
            for (cluster, script) in clusters.iter().enumerate() {
                let parse = |word: &str| {
                    let (cycle, rest) = word.split_once(':').expect("a colon");
                    let (core, unit) = rest.split_at(1);
                    let target = match unit {
                        "d" => CommandTarget::HostDirect,
                        "n" => CommandTarget::NicSend,
                        _ => CommandTarget::HostDma,
                    };
                    let core = core.parse().expect("a core");
                    let id = CommandId { cluster: cluster as u8, core, local: 0 };
                    (cycle.parse().expect("a cycle"), command(id, target, &[]))
                };
                let script = script.split_whitespace().map(parse).collect();
                ports.0.push(bench.input(&format!("commands {cluster}"), 2, script));
                let show = |response: &CommandResponse| show(response.id);
                ports.1.push(bench.output(&format!("answer to {cluster}:"), 2, |_| true, show));
            }
            let mut unit = |name: &str, letter: char| {
                let commands = bench.output(name, 2, ready, |command: &Command| show(command.id));
                let answers = answers.split_whitespace().filter(|word| word.ends_with(letter)).map(|word| {
                    let (cycle, rest) = word.split_once(':').expect("a colon");
                    let [cluster, core] = [0, 1].map(|at| rest[at..=at].parse().expect("a digit"));
                    (cycle.parse().expect("a cycle"), CommandResponse { id: CommandId { cluster, core, local: 0 } })
                });
                UnitPort { commands, responses: bench.input(&format!("{name} answers"), 2, answers.collect()) }
            };
            let (host_direct, nic_send, host_dma) = (unit("direct", 'd'), unit("nic", 'n'), unit("dma", 'h'));
            let ports = CommandUnitPorts { commands: ports.0, responses: ports.1, host_direct, nic_send, host_dma };
            bench.add("cmd_unit", CommandUnit::new(max_in_flight, ports));
        });
        want.assert_eq(&log);
    }

    #[test]
    fn a_command_takes_a_cycle_and_clusters_take_turns() {
        check(
            7,
            ["10:0h 10:1h 10:2n", "10:0h 10:1n 11:2d"],
            |_| true,
            "",
            expect![[r#"
                11   dma 0.0.0
                12   dma 1.0.0
                13   dma 0.1.0
                13   nic 1.1.0
                14   direct 1.2.0
                14   nic 0.2.0
            "#]],
        );
    }

    #[test]
    fn a_unit_gets_no_more_than_it_may_have_in_flight() {
        check(
            2,
            ["10:0h 11:1h 12:2h 13:3n", "30:0n"],
            |_| true,
            "20:00h 25:01h 40:02h",
            expect![[r#"
                11   dma 0.0.0
                12   dma 0.1.0
                21   answer to 0: 0.0.0
                21   dma 0.2.0
                22   nic 0.3.0
                26   answer to 0: 0.1.0
                31   nic 1.0.0
                41   answer to 0: 0.2.0
            "#]],
        );
    }

    #[test]
    fn who_was_refused_first_goes_first() {
        // Cluster 0 asks alone when no more may be in flight, so its second command goes without a turn of cluster 1.
        check(
            1,
            ["10:0h 12:1h 14:2h", "14:0h 30:1h"],
            |_| true,
            "20:00h 25:01h 30:10h 35:02h",
            expect![[r#"
                11   dma 0.0.0
                21   answer to 0: 0.0.0
                21   dma 0.1.0
                26   answer to 0: 0.1.0
                26   dma 0.2.0
                31   answer to 1: 1.0.0
                31   dma 1.0.0
                36   answer to 0: 0.2.0
                36   dma 1.1.0
            "#]],
        );
    }

    #[test]
    fn one_response_a_cycle() {
        check(
            7,
            ["1:0h 2:1h 3:2n", "1:0d 2:1n 3:2d"],
            |_| true,
            "20:00h 20:01h 20:02n 20:10d 20:11n 20:12d",
            expect![[r#"
                2    direct 1.0.0
                2    dma 0.0.0
                3    dma 0.1.0
                3    nic 1.1.0
                4    direct 1.2.0
                4    nic 0.2.0
                21   answer to 1: 1.0.0
                22   answer to 0: 0.2.0
                23   answer to 0: 0.0.0
                24   answer to 1: 1.2.0
                25   answer to 1: 1.1.0
                26   answer to 0: 0.1.0
            "#]],
        );
    }

    #[test]
    fn a_full_unit_holds_back_its_commands() {
        check(
            7,
            ["1:0h 2:1h 3:2h 4:3h 5:4n", "9:0n"],
            |cycle| cycle > 20,
            "",
            expect![[r#"
                21   dma 0.0.0
                21   nic 1.0.0
                22   dma 0.1.0
                23   dma 0.2.0
                24   dma 0.3.0
                25   nic 0.4.0
            "#]],
        );
    }
}
