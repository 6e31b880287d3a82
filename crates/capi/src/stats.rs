//! The statistics that `pspinsim_fini` prints.
//!
//! Source: PsPIN a49fec8, `print_stats` of `NICInbound.hpp`, `NICOutbound.hpp`, `PCIeSlave.hpp` and `PCIeMaster.hpp`.
//! The lines and the arithmetic are the same, including divisions by zero.

use kernel::Clock;
use std::fmt::Write;

/// Counters of the NIC by name.
struct Counters<'a> {
    all: &'a [(String, u64)],
    clock: &'a Clock,
}

impl Counters<'_> {
    fn get(&self, name: &str) -> u64 {
        let found = self.all.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("the NIC counts {name}")).1
    }

    /// Time between two events whose cycles are counters, in ps; 0 if they did not happen.
    fn ps_between(&self, first: &str, last: &str) -> f64 {
        let ps = |name: &str| self.clock.edge(self.get(name)).ps();
        (ps(last) - ps(first)) as f64
    }

    /// Mean time between successive events, in ns.
    fn interval(&self, first: &str, last: &str, events: u64) -> f64 {
        // The functional models count in 32 bits, so 0 events have 2^32 - 1 gaps.
        self.ps_between(first, last) / f64::from(1000u32.wrapping_mul((events as u32).wrapping_sub(1)))
    }
}

/// Byte counts that the NIC's counters do not have.
#[derive(Clone, Copy)]
pub struct Moved {
    /// Bytes of host memory that were read from the program, in whole lines. The NIC may need fewer.
    pub requested: u64,
    /// Bytes that the host wrote to the NIC.
    pub written: u64,
    /// Bytes that the host read from the NIC.
    pub read: u64,
}

/// The statistics, from the counters of [`pspin::Pspin::counters`].
pub fn text(all: &[(String, u64)], clock: &Clock, moved: Moved) -> String {
    const RULE: &str = "----------------------------------\n";
    let counters = Counters { all, clock };
    let mut text = String::from("\n###### Statistics ######\n");
    for part in [inbound(&counters), outbound(&counters), host_memory(&counters, moved.requested)] {
        text += &part;
        text += RULE;
    }
    let Moved { written, read, .. } = moved;
    let _ = writeln!(text, "PCIe Master:\n\tBytes written: {written}; Bytes read: {read}");
    text + RULE
}

fn inbound(counters: &Counters<'_>) -> String {
    let of = |name: &str| counters.get(&format!("nic.inbound.{name}"));
    let (packets, bytes) = (of("packets"), of("bytes"));
    let length = bytes as f64 / packets as f64;
    let interval = counters.interval("nic.inbound.first_done_cycle", "nic.inbound.last_done_cycle", of("done"));
    let ns = |cycles: u64| counters.clock.edge(cycles).ns();
    let latency = counters.clock.edge(of("latency_cycles")).ps() as f64 / (1000 * packets) as f64;
    format!(
        "NIC inbound engine:\n\
         \tPackets: {packets}; Bytes: {bytes}\n\
         \tAvg packet length: {} B\n\
         \tFeedback throughput: {} Gbit/s (feedback arrival time: {} ns)\n\
         \tPacket latency: avg: {} ns; min: {} ns; max: {} ns\n\
         \tHER stalls: {}\n",
        three(length),
        three(8.0 * length / interval),
        three(interval),
        three(latency),
        ns(of("latency_min")),
        ns(of("latency_max")),
        counters.get("nic.scheduler.her_stall_cycles"),
    )
}

fn outbound(counters: &Counters<'_>) -> String {
    let of = |name: &str| counters.get(&format!("nic.outbound.{name}"));
    let (packets, bytes) = (of("packets"), of("bytes"));
    let length = bytes as f64 / packets as f64;
    let interval = counters.interval("nic.outbound.first_packet_cycle", "nic.outbound.last_packet_cycle", packets);
    format!(
        "NIC outbound engine:\n\
         \tCommands: {}; Packets: {packets}; Bytes: {bytes}\n\
         \tAvg packet length: {} B\n\
         \tPacket throughput: {} Gbit/s (pkt departure time: {} ns)\n",
        of("commands"),
        three(length),
        three(8.0 * length / interval),
        three(interval),
    )
}

fn host_memory(counters: &Counters<'_>, bytes_requested: u64) -> String {
    let mut text = String::from("PCIe Slave:\n");
    let bytes_written = counters.get("nic.pcie.write_bytes");
    for (title, name, bytes) in [("Writes", "write", bytes_written), ("Reads", "read", bytes_requested)] {
        let of = |what: &str| counters.get(&format!("nic.pcie.{name}_{what}"));
        let first = format!("nic.pcie.first_{name}_cycle");
        let ns = counters.ps_between(&first, &format!("nic.pcie.last_{name}_cycle")) / 1000.0;
        let rate = three(8.0 * bytes as f64 / ns);
        let _ = writeln!(text, "\t{title}: beats: {}; bytes: {bytes}; avg throughput: {rate} Gbit/s", of("beats"));
    }
    text
}

/// Formats like C's `%.3lf` on a machine where 0/0 is negative, such as x86.
fn three(value: f64) -> String {
    match value {
        _ if value.is_nan() => "-nan".into(),
        _ if value.is_infinite() => if value < 0.0 { "-inf" } else { "inf" }.into(),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use kernel::Freq;

    fn check(set: &[(&str, u64)], want: Expect) {
        let names = [
            "inbound.packets inbound.bytes inbound.done inbound.latency_cycles inbound.latency_min inbound.latency_max",
            "inbound.first_done_cycle inbound.last_done_cycle scheduler.her_stall_cycles",
            "outbound.commands outbound.packets outbound.bytes outbound.first_packet_cycle outbound.last_packet_cycle",
            "pcie.write_beats pcie.write_bytes pcie.first_write_cycle pcie.last_write_cycle",
            "pcie.read_beats pcie.first_read_cycle pcie.last_read_cycle",
        ];
        let value = |name: &str| set.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value);
        let counters = names.join(" ");
        let counters: Vec<_> = counters.split(' ').map(|name| (format!("nic.{name}"), value(name))).collect();
        let moved = Moved { requested: 0, written: 7, read: 9 };
        want.assert_eq(&text(&counters, &Clock::new(Freq::mhz(1000).expect("1 GHz")), moved));
    }

    /// Data of the ping-pong run in PsPIN's documentation.
    #[test]
    fn a_run_of_32_packets() {
        check(
            &[
                ("inbound.packets", 32),
                ("inbound.bytes", 32768),
                ("inbound.done", 32),
                ("inbound.latency_cycles", 3832),
                ("inbound.latency_min", 108),
                ("inbound.latency_max", 155),
                ("inbound.first_done_cycle", 1300),
                ("inbound.last_done_cycle", 1873),
                ("outbound.commands", 32),
                ("outbound.packets", 32),
                ("outbound.bytes", 32768),
                ("outbound.first_packet_cycle", 1290),
                ("outbound.last_packet_cycle", 1863),
            ],
            expect![[r#"

                ###### Statistics ######
                NIC inbound engine:
                	Packets: 32; Bytes: 32768
                	Avg packet length: 1024.000 B
                	Feedback throughput: 443.197 Gbit/s (feedback arrival time: 18.484 ns)
                	Packet latency: avg: 119.750 ns; min: 108 ns; max: 155 ns
                	HER stalls: 0
                ----------------------------------
                NIC outbound engine:
                	Commands: 32; Packets: 32; Bytes: 32768
                	Avg packet length: 1024.000 B
                	Packet throughput: 443.197 Gbit/s (pkt departure time: 18.484 ns)
                ----------------------------------
                PCIe Slave:
                	Writes: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
                	Reads: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
                ----------------------------------
                PCIe Master:
                	Bytes written: 7; Bytes read: 9
                ----------------------------------
            "#]],
        );
    }

    #[test]
    fn zero_and_one_event_print_as_in_c() {
        check(
            &[],
            expect![[r#"

            ###### Statistics ######
            NIC inbound engine:
            	Packets: 0; Bytes: 0
            	Avg packet length: -nan B
            	Feedback throughput: -nan Gbit/s (feedback arrival time: 0.000 ns)
            	Packet latency: avg: -nan ns; min: 0 ns; max: 0 ns
            	HER stalls: 0
            ----------------------------------
            NIC outbound engine:
            	Commands: 0; Packets: 0; Bytes: 0
            	Avg packet length: -nan B
            	Packet throughput: -nan Gbit/s (pkt departure time: 0.000 ns)
            ----------------------------------
            PCIe Slave:
            	Writes: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
            	Reads: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
            ----------------------------------
            PCIe Master:
            	Bytes written: 7; Bytes read: 9
            ----------------------------------
        "#]],
        );
        check(
            &[
                ("inbound.packets", 1),
                ("inbound.bytes", 64),
                ("inbound.done", 1),
                ("inbound.first_done_cycle", 9),
                ("inbound.last_done_cycle", 9),
                ("pcie.write_beats", 1),
                ("pcie.write_bytes", 8),
            ],
            expect![[r#"

                ###### Statistics ######
                NIC inbound engine:
                	Packets: 1; Bytes: 64
                	Avg packet length: 64.000 B
                	Feedback throughput: -nan Gbit/s (feedback arrival time: -nan ns)
                	Packet latency: avg: 0.000 ns; min: 0 ns; max: 0 ns
                	HER stalls: 0
                ----------------------------------
                NIC outbound engine:
                	Commands: 0; Packets: 0; Bytes: 0
                	Avg packet length: -nan B
                	Packet throughput: -nan Gbit/s (pkt departure time: 0.000 ns)
                ----------------------------------
                PCIe Slave:
                	Writes: beats: 1; bytes: 8; avg throughput: inf Gbit/s
                	Reads: beats: 0; bytes: 0; avg throughput: -nan Gbit/s
                ----------------------------------
                PCIe Master:
                	Bytes written: 7; Bytes read: 9
                ----------------------------------
            "#]],
        );
    }
}
