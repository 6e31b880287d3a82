use super::*;
use crate::protocol::{IoTerms, Sender, Weight};
use crate::testing::{command, params};
use expect_test::{Expect, expect};
use testkit::bench;

fn show(id: CommandId) -> String {
    format!("{}.{}.{}", id.cluster, id.core, id.local)
}

/// `clusters` has the commands of two clusters: `cycle:core` with a letter for the unit, d HostDirect, n NIC, h host DMA.
/// A unit takes commands in the cycles for which `ready` is true. `answers` are its responses: `cycle:` with the digits of
/// cluster and core, and the unit's letter.
fn check(in_flight_per_unit: u32, clusters: [&str; 2], ready: fn(Cycle) -> bool, answers: &str, want: Expect) {
    let mut params = params();
    params.commands.in_flight_per_unit = in_flight_per_unit;
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
        bench.add("cmd_unit", CommandUnit::new(&params, [None, None, None], ports));
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
    // Cluster 0 is the only requester when the limit in flight is reached, so its second command is sent without a turn
    // of cluster 1.
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

/// Commands of cluster c belong to tenant c. `terms` are each tenant's weight, priority, and limit to the host in
/// Gbit/s; at 1 GHz, 8 Gbit/s are one byte a cycle. Words are `cycle:core` with the unit (h for host DMA, n for a put)
/// and the bytes. A unit has one command at a time, and a part of n bytes takes n / 64 cycles. The result lists the
/// cycle in which each part is at its unit, with its tenant, core and bytes, and the responses.
fn check_tenants(io_schedule: IoSchedule, terms: [(u32, u8, u64); 2], clusters: [&str; 2], want: Expect) {
    let mut params = params();
    params.commands.in_flight_per_unit = 1;
    params.isolation.check_transfers = true;
    (params.sharing.io_schedule, params.sharing.fragment_bytes) = (io_schedule, 512);
    let log = bench(100_000, |bench| {
        let mut ports = (Vec::new(), Vec::new());
        for (cluster, (script, (weight, priority, gbps))) in clusters.iter().zip(terms).enumerate() {
            let host_bps = std::num::NonZeroU64::new(gbps * 1_000_000_000);
            let io = IoTerms { priority, host_bps, ..IoTerms::default() };
            let sender = Sender { tenant: cluster as u32, weight: Weight(weight), io };
            let parse = |word: &str| {
                let (cycle, rest) = word.split_once(':').expect("a colon");
                let id = CommandId { cluster: cluster as u8, core: rest.as_bytes()[0] - b'0', local: 0 };
                let bytes = rest[2..].parse().expect("bytes");
                let command = match &rest[1..2] {
                    "h" => command(id, CommandTarget::HostDma, &[0, 0, 0x1c00_0000, bytes, 1]),
                    _ => command(id, CommandTarget::NicSend, &[0, 7, 0x1c00_0000, 0, bytes]),
                };
                (cycle.parse().expect("a cycle"), Command { sender, ..command })
            };
            let script = script.split_whitespace().map(parse).collect();
            ports.0.push(bench.input(&format!("commands {cluster}"), 8, script));
            let show = |response: &CommandResponse| show(response.id);
            ports.1.push(bench.output(&format!("answer to {cluster}:"), 2, |_| true, show));
        }
        let mut unit = |name: &'static str| {
            let (commands, taken) = bench.channel(&format!("{name} commands"), 2, 1);
            let (answers, responses) = bench.channel(&format!("{name} answers"), 2, 1);
            bench.add(name, Server { commands: taken, answers, log: bench.log.clone(), name, busy: None });
            UnitPort { commands, responses }
        };
        let (host_direct, nic_send, host_dma) = (unit("direct"), unit("nic"), unit("dma"));
        let ports = CommandUnitPorts { commands: ports.0, responses: ports.1, host_direct, nic_send, host_dma };
        bench.add("cmd_unit", CommandUnit::new(&params, [None, None, None], ports));
    });
    want.assert_eq(&log);
}

/// A unit that moves 64 bytes a cycle, one command at a time.
struct Server {
    commands: Rx<Command>,
    answers: Tx<CommandResponse>,
    log: testkit::Log,
    name: &'static str,
    busy: Option<(Cycle, CommandId)>,
}

impl Component for Server {
    fn tick(&mut self, now: Cycle) -> Activity {
        if let Some((until, id)) = self.busy
            && until <= now
        {
            self.answers.send(CommandResponse { id });
            self.busy = None;
        }
        if self.busy.is_none()
            && let Some(command) = self.commands.take()
        {
            let bytes = command.bytes();
            self.log.note(now, format!("{} {}.{} {bytes}", self.name, command.id.cluster, command.id.core));
            self.busy = Some((now + Cycle::from(bytes / 64), command.id));
        }
        self.busy.map_or(Activity::Idle, |(until, _)| Activity::Until(until))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("commands", &self.commands);
        ports.output("answers", &self.answers);
    }
}

#[test]
fn a_command_of_high_priority_waits_for_one_fragment() {
    // The urgent command arrives in cycle 14, while the first fragment of the long command is under way until 19. It goes
    // next, before the rest of the long command.
    check_tenants(
        IoSchedule::RoundRobin,
        [(1, 0, 0), (1, 1, 0)],
        ["10:0h2048", "14:0h64"],
        expect![[r#"
        11   dma 0.0 512
        21   dma 1.0 64
        24   answer to 1: 1.0.0
        24   dma 0.0 512
        34   dma 0.0 512
        44   dma 0.0 512
        54   answer to 0: 0.0.0
    "#]],
    );
}

#[test]
fn tenants_take_turns_and_so_do_the_cores_of_each() {
    check_tenants(
        IoSchedule::RoundRobin,
        [(1, 0, 0), (1, 0, 0)],
        ["10:0h1024 11:1h1024 12:0h64", "10:0h1024"],
        expect![[r#"
            11   dma 0.0 512
            21   dma 1.0 512
            31   dma 0.0 512
            41   answer to 0: 0.0.0
            41   dma 1.0 512
            51   answer to 1: 1.0.0
            51   dma 0.1 512
            61   dma 0.0 64
            64   answer to 0: 0.0.0
            64   dma 0.1 512
            74   answer to 0: 0.1.0
        "#]],
    );
}

#[test]
fn bytes_follow_the_weights() {
    check_tenants(
        IoSchedule::WeightedFair,
        [(3, 0, 0), (1, 0, 0)],
        ["10:0h4096", "10:0h1536"],
        expect![[r#"
        11   dma 0.0 512
        21   dma 1.0 512
        31   dma 0.0 512
        41   dma 0.0 512
        51   dma 0.0 512
        61   dma 1.0 512
        71   dma 0.0 512
        81   dma 0.0 512
        91   dma 0.0 512
        101  dma 1.0 512
        111  answer to 1: 1.0.0
        111  dma 0.0 512
        121  answer to 0: 0.0.0
    "#]],
    );
}

#[test]
fn a_limit_holds_to_within_a_fragment() {
    // 8 Gbit/s: 512 bytes take 512 cycles, so fragments are 512 cycles apart, and the other tenant fills the gaps.
    check_tenants(
        IoSchedule::RoundRobin,
        [(1, 7, 8), (1, 0, 0)],
        ["10:0h1536 2000:0h64 2001:0h64", "10:0h1024 1000:0h64"],
        expect![[r#"
            11   dma 0.0 512
            21   dma 1.0 512
            31   dma 1.0 512
            41   answer to 1: 1.0.0
            523  dma 0.0 512
            1001 dma 1.0 64
            1004 answer to 1: 1.0.0
            1035 dma 0.0 512
            1045 answer to 0: 0.0.0
            2001 dma 0.0 64
            2004 answer to 0: 0.0.0
            2065 dma 0.0 64
            2068 answer to 0: 0.0.0
        "#]],
    );
}

#[test]
fn puts_are_cut_into_their_packets() {
    let params = params().outbound;
    assert_eq!(params.max_packet_bytes - params.rdma_header_bytes, 2016);
    check_tenants(
        IoSchedule::RoundRobin,
        [(1, 0, 0), (1, 1, 0)],
        ["10:0n4096", "14:0n64"],
        expect![[r#"
        11   nic 0.0 2016
        44   nic 1.0 64
        47   answer to 1: 1.0.0
        47   nic 0.0 2016
        80   nic 0.0 64
        83   answer to 0: 0.0.0
    "#]],
    );
}
