//! Two initiators of scripted accesses in front of a host that records what reaches it.

use super::*;
use crate::host_link::{HostBurst, HostRead, HostWrite, Issuer};
use crate::protocol::PacketId;
use crate::testing::{TestHost, paper_params};
use blocks::pcie::LinkParams;
use expect_test::{Expect, expect};
use std::rc::Rc;
use testkit::bench;

mod ideal;
mod lanes;
mod translation;

const ISSUER: Issuer = Issuer { packet: PacketId(9), context: 1 };

/// A beat of a write: cycle, address, bytes, and true for the last beat of its burst.
type Beat = (Cycle, u64, usize, bool);
/// A read: cycle, address, bytes.
type Read = (Cycle, u64, u32);

/// The path to host memory.
#[derive(Clone)]
struct Way {
    pcie: PcieParams,
    one_burst: bool,
    iommu: IommuParams,
    tables: SharedPageTables,
    /// Cycles in which initiators take data.
    takes: fn(Cycle) -> bool,
}

impl Way {
    /// Uses this link, with physical addresses.
    fn over(pcie: PcieParams) -> Self {
        Way { pcie, one_burst: false, iommu: crate::testing::params().iommu, tables: Rc::default(), takes: |_| true }
    }

    fn check(&self, writes: [&[Beat]; 2], reads: &[Read], want: Expect) {
        want.assert_eq(&self.run(writes, reads));
    }

    /// Checks the writes of both initiators and the reads of the first. A write burst's address is a cycle ahead of
    /// its first beat.
    fn run(&self, writes: [&[Beat]; 2], reads: &[Read]) -> String {
        let firsts = writes.map(|beats| {
            let is_first = |i: usize| i == 0 || beats[i - 1].3;
            (0..beats.len()).filter(|&i| is_first(i)).map(|i| beats[i].0 - 1).collect()
        });
        self.run_announced(firsts, writes, reads)
    }

    /// The same with the cycles in which the addresses of write bursts come.
    fn run_announced(&self, bursts: [Vec<Cycle>; 2], writes: [&[Beat]; 2], reads: &[Read]) -> String {
        bench(10_000, |bench| {
            let initiators = [0, 1].map(|i| {
                let beat = |&(cycle, addr, len, last): &Beat| {
                    (cycle, HostWrite { addr, bytes: Bytes::zeros(len), last, issuer: ISSUER })
                };
                let reads = reads.iter().filter(|_| i == 0);
                let reads = reads.map(|&(cycle, addr, size)| (cycle, HostRead { addr, size, issuer: ISSUER }));
                let show = |data: &HostData| format!("{:02x?}{}", &data.bytes[..1], if data.last { "!" } else { "" });
                let bursts = bursts[i].iter().map(|&cycle| (cycle, HostBurst));
                HostTarget {
                    bursts: bench.input(&format!("bursts {i}"), 8, bursts.collect()),
                    writes: bench.input(&format!("writes {i}"), 8, writes[i].iter().map(beat).collect()),
                    written: bench.output(&format!("written {i}"), 2, |_| true, |_| String::new()),
                    reads: bench.input(&format!("reads {i}"), 8, reads.collect()),
                    data: bench.output(&format!("data {i}"), 2, self.takes, show),
                }
            });
            let trace = bench.tracer("pcie");
            let memory = Box::new(TestHost::default());
            let notices = bench.output("tells", 4, |_| true, |notice: &Notice| format!("{:?}", notice.event));
            let ports = PciePorts { initiators: initiators.into(), notices };
            let pcie = Pcie::new(1_000_000_000, &self.pcie, &self.iommu, self.tables.clone(), ports, memory, trace);
            bench.add("pcie", if self.one_burst { pcie.one_burst_at_a_time() } else { pcie });
            bench.log_events();
            bench.log_counters();
        })
    }
}

/// 16 lanes of PCIe 5.0: 63.015 bytes a cycle. A packet of 64 bytes and its 24 of header and framing takes 1.4 cycles.
fn link(change: impl FnOnce(&mut LinkParams)) -> PcieParams {
    let mut pcie = paper_params().pcie;
    pcie.link.latency_cycles = 100;
    pcie.link.host_read_cycles = 50;
    change(&mut pcie.link);
    pcie
}
