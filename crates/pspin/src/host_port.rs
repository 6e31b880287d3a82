//! The host's access to the NIC's memories: its slave port on the NIC-host interconnect.

use crate::events::HOST_ACCESS_DONE;
use crate::nhi::{NhiMaster, Ready, Undecoded, burst_bytes};
use crate::protocol::BurstReply;
use blocks::activity::{busy_if, earliest};
use kernel::trace::{Counter, Tracer};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx};
use std::collections::VecDeque;

/// An operation of the host on the NIC's memories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostOp {
    /// Writes bytes.
    Write(Box<[u8]>),
    /// Reads this number of bytes.
    Read(u32),
}

/// An access of the host to handler memory, program memory, or, if its port reaches them, the L1 memories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostAccess {
    /// First address in the NIC.
    pub addr: u32,
    /// The operation.
    pub op: HostOp,
    /// Returned in [`HostAccessDone`]; no model reads it.
    pub tag: u64,
}

/// The end of a [`HostAccess`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostAccessDone {
    /// Cycle in which the host's port saw the last response or the last byte.
    pub cycle: Cycle,
    /// `tag` of the access.
    pub tag: u64,
    /// The bytes read (none for a write), or the first unmapped address.
    pub result: Result<Box<[u8]>, Undecoded>,
}

/// An access that has started.
struct UnderWay {
    tag: u64,
    addr: u32,
    op: HostOp,
    /// Bytes covered by the bursts sent so far.
    sent: u32,
    /// Bursts without a response so far.
    unanswered: u32,
    /// Bytes read so far.
    data: Vec<u8>,
    /// Cycle in which the last response so far is complete.
    until: Cycle,
    /// Part of the range is unmapped, so nothing is sent.
    fault: Option<Undecoded>,
}

impl UnderWay {
    fn is_sent(&self) -> bool {
        self.fault.is_some() || self.sent == self.op.size()
    }
}

impl HostOp {
    /// Number of bytes to move.
    fn size(&self) -> u32 {
        match self {
            // More bytes than addresses: beyond every memory.
            HostOp::Write(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            HostOp::Read(size) => *size,
        }
    }
}

/// Reads and writes the NIC's memories for the host, in order.
///
/// Ports:    `accesses` in, from outside the simulation; a master on the NIC-host interconnect.
/// Timing:   an access seen in cycle c leaves in c, as bursts of up to a page, at 64 bytes per cycle. Without
///           contention, for 64 bytes of handler memory the host sees the response in c + 4, and each further beat
///           adds a cycle. The path from the host's software to this port takes no time.
/// Order:    accesses start in order. A read starts when all earlier writes have their responses, as on PCIe, so it
///           returns what was written.
/// Source:   PsPIN RTL a49fec8, `hw/src/pspin.sv`, `hw/verilator_model/src/PCIeMaster.hpp`.
/// Differs:  if the host clears scratchpads, the port reaches every L1, like those of the outbound engine and the
///           off-cluster DMA. Reads work (the functional model stops at an assertion). An access with any unmapped
///           byte moves nothing and ends with that address; with `rtl_mistakes.unmapped_host_writes_vanish`, a write
///           moves its mapped bytes and ends without an error, as in the functional model.
pub struct HostSlave {
    accesses: Rx<HostAccess>,
    nhi: NhiMaster,
    trace: Tracer,
    /// Accesses in order of their start; the last may be partly sent.
    under_way: VecDeque<UnderWay>,
    /// Finished accesses, in order.
    done: Vec<HostAccessDone>,
    bytes_written: Counter,
    bytes_read: Counter,
    faults: Counter,
}

impl HostSlave {
    /// Creates a port that receives `accesses`.
    pub fn new(accesses: Rx<HostAccess>, nhi: NhiMaster, trace: Tracer) -> Self {
        let (bytes_written, bytes_read, faults) = Default::default();
        let under_way = VecDeque::new();
        HostSlave { accesses, nhi, trace, under_way, done: Vec::new(), bytes_written, bytes_read, faults }
    }

    /// Accesses finished since the last call, in order of time.
    pub fn take_done(&mut self) -> Vec<HostAccessDone> {
        std::mem::take(&mut self.done)
    }

    /// Assigns responses to the oldest access of their direction that waits for one.
    fn take_answers(&mut self, now: Cycle) -> bool {
        let mut changed = false;
        while let Some(reply) = self.nhi.reply(now) {
            if matches!(reply, BurstReply::Later { .. }) {
                let read = |access: &&mut UnderWay| !access.data.is_empty();
                self.under_way.iter_mut().rev().find(read).expect("data have come").until += 1;
                continue;
            }
            let writes = matches!(reply, BurstReply::Written { .. });
            let same_direction = |access: &&mut UnderWay| matches!(access.op, HostOp::Write(_)) == writes;
            let mut waiting = self.under_way.iter_mut().filter(|access| access.unanswered > 0);
            let access = waiting.find(same_direction).expect("an answer to an access");
            access.unanswered -= 1;
            match reply {
                BurstReply::Written { decoded, .. } => assert!(decoded, "the address was checked"),
                BurstReply::Data { data, last, .. } => {
                    access.data.extend_from_slice(&data);
                    access.until = last;
                }
                BurstReply::Later { .. } => unreachable!("seen above"),
            }
            access.until = access.until.max(now);
            changed = true;
        }
        changed
    }

    /// Finishes accesses in order, when all their responses are here.
    fn end(&mut self, now: Cycle) -> Activity {
        let mut changed = false;
        while let Some(first) = self.under_way.front() {
            if !first.is_sent() || first.unanswered > 0 {
                break;
            }
            if first.until > now {
                return Activity::Until(first.until);
            }
            let access = self.under_way.pop_front().expect("just seen");
            let counter = match (&access.fault, &access.op) {
                (Some(_), _) => &mut self.faults,
                (None, HostOp::Write(_)) => &mut self.bytes_written,
                (None, HostOp::Read(_)) => &mut self.bytes_read,
            };
            counter.add(access.fault.map_or(access.sent.into(), |_| 1));
            self.trace.emit(&HOST_ACCESS_DONE, now, &[access.addr.into(), access.sent.into()]);
            let result = access.fault.map_or(Ok(access.data.into()), Err);
            self.done.push(HostAccessDone { cycle: now, tag: access.tag, result });
            changed = true;
        }
        busy_if(changed)
    }

    /// Starts the next access once the previous one is completely sent.
    fn begin(&mut self, now: Cycle) -> bool {
        let Some(reads) = self.accesses.peek().map(|access| matches!(access.op, HostOp::Read(_))) else {
            return false;
        };
        let last = self.under_way.back();
        let written = || self.under_way.iter().all(|access| matches!(access.op, HostOp::Read(_)));
        if last.is_some_and(|last| !last.is_sent()) || (reads && !written()) {
            return false;
        }
        let HostAccess { addr, op, tag } = self.accesses.take().expect("just seen");
        // The functional model stops at an assertion when the host reads, so reads keep their error here.
        let fault = match op {
            HostOp::Write(_) => self.nhi.check(addr, op.size()).err(),
            HostOp::Read(size) => self.nhi.check_mapped(addr, size).err(),
        };
        let data = Vec::new();
        self.under_way.push_back(UnderWay { tag, addr, op, sent: 0, unanswered: 0, data, until: now, fault });
        true
    }

    /// Sends the next burst of the access in progress.
    fn send(&mut self, now: Cycle) -> Activity {
        let Some(access) = self.under_way.back_mut().filter(|access| !access.is_sent()) else { return Activity::Idle };
        let addr = access.addr.wrapping_add(access.sent);
        let size = burst_bytes(addr, access.op.size() - access.sent);
        let ready = match &access.op {
            HostOp::Write(_) => self.nhi.write_ready(now, addr),
            HostOp::Read(_) => self.nhi.read_ready(now, addr),
        };
        match ready.expect("the address was checked") {
            Ready::Later => return Activity::Idle,
            Ready::At(cycle) => return Activity::Until(cycle),
            Ready::Now => {}
        }
        match &access.op {
            HostOp::Write(bytes) => {
                let part = &bytes[access.sent as usize..][..size as usize];
                self.nhi.write(now, 0, addr, part.into(), true);
            }
            HostOp::Read(_) => self.nhi.read(now, 0, addr, size),
        }
        access.sent += size;
        access.unanswered += 1;
        Activity::Busy
    }
}

impl Component for HostSlave {
    fn tick(&mut self, now: Cycle) -> Activity {
        let changed = self.take_answers(now) | self.begin(now);
        let sending = self.send(now);
        earliest(earliest(busy_if(changed), self.nhi.wake(now)), earliest(sending, self.end(now)))
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("accesses", &self.accesses);
        self.nhi.ports(ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("bytes_written", self.bytes_written.total());
        counters.add("bytes_read", self.bytes_read.total());
        counters.add("faults", self.faults.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nhi::NhiMap;
    use crate::testing::{Store, TestMemory, params};
    use expect_test::{Expect, expect};
    use testkit::bench;

    /// Words `cycle:w:address:bytes` and `cycle:r:address:bytes`; addresses and bytes in hexadecimal.
    fn check(script: &str, want: Expect) {
        let number = |text: &str| u32::from_str_radix(text, 16).expect("a number");
        let access = |word: &str| {
            let [cycle, what, addr, size] = word.split(':').collect::<Vec<_>>()[..] else { panic!("four fields") };
            let size = number(size);
            let op = if what == "w" { HostOp::Write(vec![7; size as usize].into()) } else { HostOp::Read(size) };
            (cycle.parse().expect("a cycle"), HostAccess { addr: number(addr), op, tag: 0 })
        };
        want.assert_eq(&bench(10_000, |bench| {
            let accesses = bench.input("accesses", 16, script.split_whitespace().map(access).collect());
            let l2 = TestMemory::with_store(bench, "memory", 3, Store::default());
            let nhi = NhiMaster::new(NhiMap::host(&params()), l2, Vec::new());
            let trace = bench.tracer("port");
            bench.add("port", HostSlave::new(accesses, nhi, trace));
            bench.log_events();
            bench.log_counters();
        }));
    }

    #[test]
    fn an_answer_comes_in_four_cycles_and_one_more_for_each_further_beat() {
        check(
            "10:w:1c300000:40 50:r:1c300000:40",
            expect![[r#"
            11   memory: write 64 at 0x1c300000
            14   event host_access_done addr=0x1c300000 bytes=0x40
            51   memory: read 64 at 0x1c300000
            54   event host_access_done addr=0x1c300000 bytes=0x40
            port.bytes_written 64
            port.bytes_read 64
        "#]],
        );
        check(
            "10:w:1c300000:400 50:r:1c300000:400",
            expect![[r#"
            11   memory: write 1024 at 0x1c300000
            29   event host_access_done addr=0x1c300000 bytes=0x400
            51   memory: read 1024 at 0x1c300000
            69   event host_access_done addr=0x1c300000 bytes=0x400
            port.bytes_written 1024
            port.bytes_read 1024
        "#]],
        );
        check(
            "10:r:1d000004:8",
            expect![[r#"
            11   memory: read 8 at 0x1d000004
            14   event host_access_done addr=0x1d000004 bytes=0x8
            port.bytes_read 8
        "#]],
        );
    }

    #[test]
    fn accesses_begin_in_order_and_a_read_waits_for_the_writes_before_it() {
        check(
            "10:w:1c300000:40 10:w:1c300040:40 10:r:1c300040:40 10:w:1c300000:1",
            expect![[r#"
            11   memory: write 64 at 0x1c300000
            12   memory: write 64 at 0x1c300040
            14   event host_access_done addr=0x1c300000 bytes=0x40
            15   event host_access_done addr=0x1c300040 bytes=0x40
            17   memory: read 64 at 0x1c300040
            18   memory: write 1 at 0x1c300000
            20   event host_access_done addr=0x1c300040 bytes=0x40
            21   event host_access_done addr=0x1c300000 bytes=0x1
            port.bytes_written 129
            port.bytes_read 64
        "#]],
        );
    }

    #[test]
    fn an_access_is_cut_at_pages() {
        check(
            "10:w:1c300fc0:1080",
            expect![[r#"
            11   memory: write 64 at 0x1c300fc0
            12   memory: write 4096 at 0x1c301000
            76   memory: write 64 at 0x1c302000
            79   event host_access_done addr=0x1c300fc0 bytes=0x1080
            port.bytes_written 4224
        "#]],
        );
        check(
            "10:r:1c300ff0:20",
            expect![[r#"
            11   memory: read 16 at 0x1c300ff0
            12   memory: read 16 at 0x1c301000
            15   event host_access_done addr=0x1c300ff0 bytes=0x20
            port.bytes_read 32
        "#]],
        );
    }

    #[test]
    fn what_is_in_no_memory_moves_nothing() {
        // Across the end of handler memory, packet memory, L1 and program memory; then an access of 0 bytes.
        let ends = "10:w:1c3fffff:2 20:w:1c400000:40 30:r:10000000:4 40:r:1d007fff:2 50:w:0:0 60:r:ffffffff:ffffffff";
        check(
            ends,
            expect![[r#"
            10   event host_access_done addr=0x1c3fffff bytes=0x0
            20   event host_access_done addr=0x1c400000 bytes=0x0
            30   event host_access_done addr=0x10000000 bytes=0x0
            40   event host_access_done addr=0x1d007fff bytes=0x0
            50   event host_access_done addr=0x0 bytes=0x0
            60   event host_access_done addr=0xffffffff bytes=0x0
            port.faults 5
        "#]],
        );
    }

    #[test]
    fn a_write_to_unmapped_memory_vanishes_where_the_rtl_mistakes_it() {
        let results = |is_silent| {
            bench(1_000, |bench| {
                let access = |at, addr, op| (at, HostAccess { addr, op, tag: 0 });
                let write = HostOp::Write(vec![7; 128].into());
                let script = vec![access(10, 0x1c3f_ffc0, write), access(50, 0x4000_0000, HostOp::Read(4))];
                let accesses = bench.input("accesses", 16, script);
                let l2 = TestMemory::with_store(bench, "memory", 3, Store::default());
                let nhi = NhiMaster::new(NhiMap::host(&params()), l2, Vec::new()).with_silent_errors(is_silent);
                let trace = bench.tracer("port");
                bench.add("port", HostSlave::new(accesses, nhi, trace));
                bench.log_events();
                bench.log_counters();
            })
        };
        expect![[r#"
            11   memory: write 64 at 0x1c3fffc0
            16   event host_access_done addr=0x1c3fffc0 bytes=0x80
            50   event host_access_done addr=0x40000000 bytes=0x0
            port.bytes_written 128
            port.faults 1
        "#]]
        .assert_eq(&results(true));
        expect![[r#"
            10   event host_access_done addr=0x1c3fffc0 bytes=0x0
            50   event host_access_done addr=0x40000000 bytes=0x0
            port.faults 2
        "#]]
        .assert_eq(&results(false));
    }
}
