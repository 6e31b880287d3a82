//! `multiported-memory`: a memory with several ports and no latency of its own, such as a register file or a cache's
//! data.
//!
//! Ports:   `ports[i]` (memory, answer, optional).
//! Timing:  none of its own: a reference is answered at the edge that sees it; each port takes one reference per
//!           cycle.
//! Order:   at one edge, reads come before writes, and writes come in the order of the ports.
//! Source:  thesis, table 3.2 and 3.2.2: one reference per port and cycle, reads before writes.

use super::Store;
use crate::bus::{Access, BusError, Reply, Responder};
use crate::checks;
use crate::netlist::{Built, Memory, Module, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports};

/// Parameters of a [`MultiportedMemory`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiportedMemoryParams {
    /// Number of ports, 1 to 64; they may stay unconnected.
    pub ports: usize,
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Width of a port in bytes: the longest reference.
    pub port_bytes: u32,
}

/// Serves one reference per port and cycle.
pub struct MultiportedMemory {
    params: MultiportedMemoryParams,
    ports: Vec<Option<Responder>>,
    store: Store,
    reads: Counter,
    writes: Counter,
}

impl MultiportedMemory {
    /// A memory of zeros. A port that is `None` is not connected.
    pub fn new(params: MultiportedMemoryParams, ports: Vec<Option<Responder>>) -> MultiportedMemory {
        let store = Store::new(params.base, params.bytes);
        MultiportedMemory { params, ports, store, reads: Counter::default(), writes: Counter::default() }
    }

    /// The contents; for use while the simulation is paused.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The contents, writable; for use while the simulation is paused.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Serves at most one reference of each port: writes if `is_write`, otherwise reads. Returns the set of ports
    /// served.
    fn serve(&mut self, now: Cycle, is_write: bool, served: u64) -> u64 {
        let mut here = 0;
        for (i, port) in self.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            if served >> i & 1 == 1 || !port.references.is_due(now) {
                continue;
            }
            let is_kind = |access: &Access| matches!(access, Access::Write(_)) == is_write;
            if !port.references.peek().is_some_and(|reference| is_kind(&reference.access)) || !port.replies.has_room() {
                continue;
            }
            let reference = port.references.take().expect("a reference is due");
            let bytes = reference.access.len();
            let result = if (1..=self.params.port_bytes).contains(&bytes) {
                self.store.serve(&reference)
            } else {
                Err(BusError::Length(reference.addr, bytes))
            };
            port.replies.send(Reply::new(reference.id, result));
            here |= 1 << i;
        }
        here
    }
}

impl Component for MultiportedMemory {
    fn tick(&mut self, now: Cycle) -> Activity {
        let read = self.serve(now, false, 0);
        let written = self.serve(now, true, read);
        self.reads.add(u64::from(read.count_ones()));
        self.writes.add(u64::from(written.count_ones()));
        let served = |i: usize| (read | written) >> i & 1 == 1;
        let more = |port: &Option<Responder>| port.as_ref().is_some_and(|port| port.references.has_item());
        // A port without room for its reply is woken when room appears.
        let has_more = self.ports.iter().enumerate().any(|(i, port)| served(i) && more(port));
        if has_more { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        for (i, port) in self.ports.iter().enumerate() {
            if let Some(port) = port {
                port.port(&format!("ports[{i}]"), ports);
            }
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("reads", self.reads.total());
        counters.add("writes", self.writes.total());
    }
}

impl Module for MultiportedMemoryParams {
    const NAME: &'static str = "multiported-memory";
    const ABOUT: &'static str = "A memory with several ports and no latency of its own.";
    const EXAMPLE: &'static str = r#"ports = 2
base = 0
bytes = 8192
port_bytes = 32"#;

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.ports).map(|i| PortSpec::to::<Memory>(format!("ports[{i}]")).about("a requester").optional()).collect()
    }

    fn check(&self) -> Result<(), String> {
        checks::within("ports", self.ports, 1, 64)?;
        checks::within("port_bytes", self.port_bytes, 1, 1 << 16)?;
        checks::memory(self.base, self.bytes)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = (0..self.ports).map(|i| site.try_to::<Memory>(&format!("ports[{i}]"))).collect();
        Built::new(MultiportedMemory::new(self, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted_requester;
    use expect_test::{Expect, expect};

    /// 64 bytes from 0x40, ports of 8 bytes.
    fn check(requesters: &[&str], want: Expect) {
        want.assert_eq(&testkit::bench(100, |bench| {
            let asks = |(text, name): (&&str, char)| Some(scripted_requester(bench, &name.to_string(), text, 0));
            let ports: Vec<_> = requesters.iter().zip('a'..).map(asks).collect();
            let params = MultiportedMemoryParams { ports: ports.len(), base: 0x40, bytes: 64, port_bytes: 8 };
            bench.add("memory", MultiportedMemory::new(params, ports));
            bench.log_counters();
        }));
    }

    #[test]
    fn every_port_is_served_in_every_cycle() {
        check(
            &["1 r 40+4; 2 r 44+4; 3 w 48=0102; 4 r 48+2", "1 r 40+8; 2 r 40+8; 3 r 40+8; 4 r 40+8"],
            expect![[r#"
            2    a 0 00000000
            2    b 0 0000000000000000
            3    a 1 00000000
            3    b 1 0000000000000000
            4    a 2 done
            4    b 2 0000000000000000
            5    a 3 0102
            5    b 3 0000000000000000
            memory.reads 7
            memory.writes 1
        "#]],
        );
    }

    #[test]
    fn reads_come_before_writes_and_writes_in_the_order_of_ports() {
        check(
            &["1 w 40=0a; 2 r 40+1", "1 r 40+1", "1 w 40=0c"],
            expect![[r#"
            2    a 0 done
            2    b 0 00
            2    c 0 done
            3    a 1 0c
            memory.reads 2
            memory.writes 2
        "#]],
        );
    }

    #[test]
    fn bad_references_are_refused() {
        check(
            &["1 r 3f+1; 1 r 7f+2; 1 r 40+9; 1 r 40+0"],
            expect![[r#"
            2    a 0 nothing answers at 0x3f
            3    a 1 nothing answers at 0x80
            4    a 2 a reference to 9 bytes at 0x40 is not possible
            5    a 3 a reference to 0 bytes at 0x40 is not possible
            memory.reads 4
        "#]],
        );
    }
}
