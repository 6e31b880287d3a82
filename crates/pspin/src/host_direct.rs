//! HostDirect unit: writes a few bytes carried by the command itself to the host. Reads discard their data.

use crate::events::COMMAND_FAULT;
use crate::host_link::{HOST_ADDRESS_REGISTER, HostBurst, HostPort, HostRead, HostWrite, Issuer};
use crate::protocol::{
    BEAT_BYTES, Command, CommandFault, CommandId, CommandResponse, CommandTarget, HostRecord, PacketId, THE_CARD,
};
use blocks::activity::busy_if;
use blocks::pcie::Bytes;
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The ports of a [`HostDirect`] unit.
pub struct HostDirectPorts {
    /// From the command unit.
    pub commands: Rx<Command>,
    /// To the command unit; capacity 2, latency 1.
    pub responses: Tx<CommandResponse>,
    /// Error records, which are written without a command.
    pub records: Rx<HostRecord>,
    /// To the host.
    pub host: HostPort,
}

/// A decoded command.
struct Access {
    /// Identity of the command; `None` for a record.
    id: Option<CommandId>,
    addr: u64,
    write: bool,
    bytes: Bytes,
    issuer: Issuer,
}

/// Executes HostDirect commands, each a single beat. Words 0 and 1: host address. Word 2: direction (bit 0; 1 writes)
/// and size in bytes (bits 9 to 1). Data from word 3 on, padded with zeros.
///
/// Ports:    `commands` in, `responses` out, 1 per cycle each; a port to the host.
/// Timing:   if a command is seen in cycle c and the link is idle, its address is at the host in c + 2. The response is
///           given in the cycle in which the host's response is seen.
/// Source:   PsPIN RTL a49fec8, `host_direct.sv`.
/// Differs:  a command of size 0 or above 64 bytes, or across the end of the address space, ends at once and is
///           counted.
pub struct HostDirect {
    fifo: usize,
    commands: Rx<Command>,
    responses: Tx<CommandResponse>,
    records: Rx<HostRecord>,
    host: HostPort,
    trace: Tracer,
    /// Waiting accesses, by direction: writes, reads.
    waiting: [VecDeque<Access>; 2],
    /// Commands at the host, by direction, oldest first.
    at_host: [VecDeque<Option<CommandId>>; 2],
    /// Finished commands whose response has not been sent.
    ended: VecDeque<CommandId>,
    n_commands: Counter,
    n_faults: Counter,
}

const WRITES: usize = 0;
const READS: usize = 1;

impl HostDirect {
    /// Creates a unit with FIFOs of `fifo` commands for each direction.
    pub fn new(fifo: u32, ports: HostDirectPorts, trace: Tracer) -> Self {
        HostDirect {
            fifo: fifo as usize,
            commands: ports.commands,
            responses: ports.responses,
            records: ports.records,
            host: ports.host,
            trace,
            waiting: Default::default(),
            at_host: Default::default(),
            ended: VecDeque::new(),
            n_commands: Counter::default(),
            n_faults: Counter::default(),
        }
    }

    fn take_command(&mut self, now: Cycle) -> bool {
        let Some(direction) = self.commands.peek().map(|command| if is_write(&command) { WRITES } else { READS })
        else {
            return false;
        };
        if self.waiting[direction].len() == self.fifo {
            return false;
        }
        let command = self.commands.take().expect("a command waits");
        self.n_commands.add(1);
        match access(&command) {
            Ok(access) => self.waiting[direction].push_back(access),
            Err(why) => {
                let (packet, target) = (command.packet.0, CommandTarget::HostDirect as u64);
                let (addr, bytes) = (host_addr(&command), bytes_of(&command));
                self.trace.emit(&COMMAND_FAULT, now, &[packet, target, addr, bytes, why as u64]);
                self.n_faults.add(1);
                self.ended.push_back(command.id);
            }
        }
        true
    }

    fn take_record(&mut self) -> bool {
        if self.waiting[WRITES].len() == self.fifo {
            return false;
        }
        let Some(HostRecord { addr, record }) = self.records.take() else { return false };
        let mut bytes = Bytes::zeros(record.words().len() * 4);
        bytes
            .iter_mut()
            .zip(record.words().iter().flat_map(|word| word.to_le_bytes()))
            .for_each(|(to, from)| *to = from);
        let issuer = Issuer { packet: PacketId(u64::MAX), context: THE_CARD };
        self.waiting[WRITES].push_back(Access { id: None, addr, write: true, bytes, issuer });
        true
    }

    fn send(&mut self, direction: usize) -> bool {
        if self.waiting[direction].is_empty() {
            return false;
        }
        let room = match direction {
            WRITES => self.host.bursts.has_room() && self.host.writes.has_room(),
            _ => self.host.reads.has_room(),
        };
        if !room {
            return false;
        }
        let Access { id, addr, write, bytes, issuer } = self.waiting[direction].pop_front().expect("an access waits");
        match write {
            true => {
                self.host.bursts.send(HostBurst);
                self.host.writes.send_late(HostWrite { addr, bytes, last: true, issuer }, HOST_ADDRESS_REGISTER);
            }
            false => {
                self.host.reads.send_late(HostRead { addr, size: bytes.len() as u32, issuer }, HOST_ADDRESS_REGISTER)
            }
        }
        self.at_host[direction].push_back(id);
        true
    }

    fn take_answers(&mut self) -> bool {
        let written = self.host.written.take().is_some();
        if written {
            self.ended.extend(self.at_host[WRITES].pop_front().flatten());
        }
        let data = self.host.data.take();
        if data.as_ref().is_some_and(|data| data.last) {
            self.ended.extend(self.at_host[READS].pop_front().flatten());
        }
        written || data.is_some()
    }

    fn respond(&mut self) -> bool {
        if self.ended.is_empty() || !self.responses.has_room() {
            return false;
        }
        self.responses.send(CommandResponse { id: self.ended.pop_front().expect("a command has ended") });
        true
    }
}

fn is_write(command: &Command) -> bool {
    command.words[2] & 1 == 1
}

fn host_addr(command: &Command) -> u64 {
    u64::from(command.words[1]) << 32 | u64::from(command.words[0])
}

/// Number of bytes that a command moves.
fn bytes_of(command: &Command) -> u64 {
    u64::from(command.words[2] >> 1 & 0x1ff)
}

/// Decodes a command, or returns the reason to refuse it.
fn access(command: &Command) -> Result<Access, CommandFault> {
    let (size, addr) = (bytes_of(command), host_addr(command));
    if size == 0 || size > u64::from(BEAT_BYTES) {
        return Err(CommandFault::Length);
    }
    addr.checked_add(size - 1).ok_or(CommandFault::Address)?;
    let mut bytes = Bytes::zeros(size as usize);
    let data = command.words[3..].iter().flat_map(|word| word.to_le_bytes());
    bytes.iter_mut().zip(data).for_each(|(to, from)| *to = from);
    Ok(Access { id: Some(command.id), addr, write: is_write(command), bytes, issuer: command.into() })
}

impl Component for HostDirect {
    fn tick(&mut self, now: Cycle) -> Activity {
        let mut changed = self.take_command(now) | self.take_record();
        changed |= self.send(WRITES);
        changed |= self.send(READS);
        // Last, because places freed by an answer are usable from the next cycle on.
        changed |= self.take_answers();
        changed |= self.respond();
        busy_if(changed)
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("commands", &self.commands);
        ports.output("responses", &self.responses);
        ports.input("records", &self.records);
        self.host.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("commands", self.n_commands.total());
        counters.add("faults", self.n_faults.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ErrorRecord;
    use crate::testing::{Store, TestHost, command, id, params};
    use expect_test::{Expect, expect};
    use testkit::bench;

    /// Commands: cycle, host address, word 2.
    fn check(script: &[(Cycle, u64, u32)], want: Expect) {
        check_records(script, &[], want);
    }

    /// The same, and records by cycle and host address.
    fn check_records(script: &[(Cycle, u64, u32)], records: &[(Cycle, u64)], want: Expect) {
        let log = bench(1_000, |bench| {
            let commands = script.iter().enumerate().map(|(core, &(cycle, addr, how))| {
                let words = [addr as u32, (addr >> 32) as u32, how, 0x4433_2211, 0x8877_6655];
                (cycle, command(id(core), CommandTarget::HostDirect, &words))
            });
            let host = TestHost::add(bench, params().pcie, Store::default());
            bench.log_events();
            let commands = bench.input("commands", 8, commands.collect());
            let show = |response: &CommandResponse| response.id.core.to_string();
            let responses = bench.output("response", 2, |_| true, show);
            let record = ErrorRecord { cause: 25, count: 1, ..ErrorRecord::default() };
            let records = records.iter().map(|&(cycle, addr)| (cycle, HostRecord { addr, record })).collect();
            let records = bench.input("records", 4, records);
            let ports = HostDirectPorts { commands, responses, records, host };
            let trace = bench.tracer("host_direct");
            bench.add("host_direct", HostDirect::new(16, ports, trace));
            bench.log_counters();
        });
        want.assert_eq(&log);
    }

    #[test]
    fn eight_bytes_go_to_the_host() {
        check(
            &[(10, 0xdead_beef, 8 << 1 | 1)],
            expect![[r#"
                13   event host_written addr=0xdeadbeef bytes=0x8
                14   response 0
                pcie.write_beats 1
                pcie.write_bytes 8
                pcie.first_write_cycle 13
                pcie.last_write_cycle 13
                host_direct.commands 1
            "#]],
        );
    }

    #[test]
    fn two_bursts_of_each_direction_are_at_the_host() {
        let write = 8 << 1 | 1;
        let script = [(10, 0, write), (11, 8, write), (12, 16, write), (13, 24, write), (14, 60, 8 << 1), (15, 0, 2)];
        check(
            &script,
            expect![[r#"
                13   event host_written addr=0x0 bytes=0x8
                14   event host_written addr=0x8 bytes=0x8
                14   response 0
                15   event host_written addr=0x10 bytes=0x8
                15   response 1
                16   event host_written addr=0x18 bytes=0x8
                16   response 2
                17   event host_read addr=0x3c bytes=0x4
                17   response 3
                18   event host_read addr=0x40 bytes=0x4
                19   event host_read addr=0x0 bytes=0x1
                19   response 4
                20   response 5
                pcie.write_beats 4
                pcie.write_bytes 32
                pcie.first_write_cycle 13
                pcie.last_write_cycle 16
                pcie.read_beats 3
                pcie.read_bytes 9
                pcie.first_read_cycle 17
                pcie.last_read_cycle 19
                host_direct.commands 6
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_done_ends_at_once() {
        check(
            &[(10, 0, 1), (10, 0, 65 << 1 | 1), (10, u64::MAX, 2 << 1 | 1), (11, u64::MAX, 1 << 1 | 1)],
            expect![[r#"
                10   event command_fault packet=0x0 target=0x2 addr=0x0 bytes=0x0 why=0x1
                11   event command_fault packet=0x1 target=0x2 addr=0x0 bytes=0x41 why=0x1
                11   response 0
                12   event command_fault packet=0x2 target=0x2 addr=0xffffffffffffffff bytes=0x2 why=0x0
                12   response 1
                13   response 2
                16   event host_written addr=0xffffffffffffffff bytes=0x1
                17   response 3
                pcie.write_beats 1
                pcie.write_bytes 1
                pcie.first_write_cycle 16
                pcie.last_write_cycle 16
                host_direct.commands 4
                host_direct.faults 3
            "#]],
        );
    }

    #[test]
    fn a_record_goes_between_commands_and_has_no_response() {
        let write = 8 << 1 | 1;
        check_records(
            &[(10, 0, write), (10, 8, write)],
            &[(10, 0x1000)],
            expect![[r#"
                13   event host_written addr=0x0 bytes=0x8
                14   event host_written addr=0x1000 bytes=0x20
                14   response 0
                15   event host_written addr=0x8 bytes=0x8
                16   response 1
                pcie.write_beats 3
                pcie.write_bytes 48
                pcie.first_write_cycle 13
                pcie.last_write_cycle 15
                host_direct.commands 2
            "#]],
        );
    }
}
