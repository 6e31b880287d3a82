//! The path of the NIC-host interconnect into the clusters, for reads: one channel that two initiators share.

use crate::arbiter::requests;
use crate::map::{L1_BASE, L1_STRIDE};
use crate::nhi::NhiPort;
use crate::protocol::{Burst, BurstReply};
use crate::remap::Remap;
use blocks::policy::RoundRobinTree;
use kernel::{Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The initiator that is another component: the off-cluster DMA. Both initiators have the same positions at the arbiter
/// as in `nhi_xbar.sv`.
const OTHER: usize = 0;
/// The initiator that contains this module: the outbound engine.
const OWN: usize = 1;

/// Maximum reads of an initiator in flight. Source: PsPIN RTL a49fec8, `cluster_noc.sv`, AxiMaxTxnsPerId.
const READS: usize = 2;

/// Reads of an initiator in flight, all of one cluster's L1.
#[derive(Default)]
struct UnderWay {
    cluster: usize,
    /// Bytes of each read that have not arrived.
    left: VecDeque<u32>,
}

/// Passes reads of two initiators on to the clusters, and beats back.
///
/// Ports:    a pair of requests and replies for each cluster, and one for the other initiator.
/// Timing:   none of its own. One address a cycle and one beat a cycle, for both initiators together.
/// Order:    addresses of the two initiators take turns. An address waits while its initiator has reads in another
///           cluster, or [`READS`] reads in the same one. It then also delays addresses of the other initiator. Clusters
///           take turns beat by beat. A beat for which the other initiator has no room delays all beats.
/// Source:   PsPIN RTL a49fec8, `nhi_xbar.sv` (`i_cluster_mux`), `cluster_noc.sv` (`i_mux_nhi`), `axi_demux.sv`.
/// Differs:  while the other initiator has nothing under way, a read of the outbound engine arrives as a whole with its
///           last beat. So its beats do not delay those of a read that the other one begins meanwhile in another
///           cluster.
pub struct ClusterNoc {
    clusters: Vec<NhiPort>,
    other: (Rx<Burst>, Tx<BurstReply>),
    remap: Remap,
    /// The outbound engine's next address, and the data that arrived for it in this cycle.
    address: Option<Burst>,
    arrived: Option<BurstReply>,
    under_way: [UnderWay; 2],
    /// The initiator whose address is first. `has_passed` is true if that address has passed the remapper. `addresses`
    /// chooses the next initiator.
    head: Option<usize>,
    has_passed: bool,
    addresses: RoundRobinTree,
    /// The cluster whose beat waits for room, and the cluster whose turn is next.
    waiting: Option<u32>,
    beats: RoundRobinTree,
}

impl ClusterNoc {
    /// `clusters` are the channels to each cluster, `other` those of the other initiator, whose writes `remap` also sees.
    pub fn new(clusters: Vec<NhiPort>, other: (Rx<Burst>, Tx<BurstReply>), remap: Remap) -> Self {
        ClusterNoc {
            clusters,
            other,
            remap,
            address: None,
            arrived: None,
            under_way: Default::default(),
            head: None,
            has_passed: false,
            addresses: RoundRobinTree::default(),
            waiting: None,
            beats: RoundRobinTree::default(),
        }
    }

    /// Returns true if the outbound engine may send an address.
    pub fn has_room(&self) -> bool {
        self.address.is_none()
    }

    /// The outbound engine sends an address.
    pub fn send(&mut self, read: Burst) {
        assert!(self.address.is_none(), "one address waits");
        self.address = Some(read);
    }

    /// Answers that arrived for the outbound engine.
    pub fn take(&mut self) -> Option<BurstReply> {
        self.arrived.take()
    }

    /// One beat comes from a cluster.
    pub fn deliver(&mut self, now: Cycle) {
        let requests = requests(self.clusters.len(), |cluster| self.clusters[cluster].replies.is_due(now));
        let Some(chosen) = self.waiting.or_else(|| self.beats.choose(requests)) else { return };
        let replies = &self.clusters[chosen as usize].replies;
        let to = replies.peek().map(|reply| match *reply {
            BurstReply::Data { tag, .. } => tag as usize,
            _ => unreachable!("clusters answer reads"),
        });
        let to = to.expect("the chosen cluster has a beat");
        if to == OTHER && !self.other.1.has_room() {
            self.waiting = Some(chosen);
            return;
        }
        self.waiting = None;
        self.beats.grant(requests);
        let Some(BurstReply::Data { data, last, .. }) = replies.take() else { unreachable!("just seen") };
        let left = &mut self.under_way[to].left;
        let first = left.front_mut().expect("data answer a read");
        *first -= data.len() as u32;
        if *first == 0 {
            left.pop_front();
        }
        let reply = BurstReply::Data { tag: 0, data, last: if to == OWN { last } else { last + 1 } };
        match to {
            OWN => self.arrived = Some(reply),
            _ => self.other.1.send(reply),
        }
    }

    /// Forwards one address to its cluster. Returns true if any address or beat waits.
    pub fn forward(&mut self, now: Cycle) -> bool {
        self.forward_one(now) || self.clusters.iter().any(|cluster| cluster.replies.is_due(now))
    }

    fn forward_one(&mut self, now: Cycle) -> bool {
        let passes = self.remap.passes();
        if self.head.is_none() {
            let requests = u64::from(self.other.0.is_due(now)) << OTHER | u64::from(self.address.is_some()) << OWN;
            self.head = self.addresses.take(requests).map(|from| from as usize);
        }
        let Some(from) = self.head else { return false };
        if !self.has_passed && !passes {
            return true;
        }
        self.has_passed = true;
        let is_shared = self.other.0.has_item() || !self.under_way[OTHER].left.is_empty();
        let requested =
            if from == OTHER { self.other.0.peek().map(|burst| (burst.addr(), burst.size())) } else { None };
        let requested = requested.or_else(|| self.address.as_ref().map(|burst| (burst.addr(), burst.size())));
        let (addr, size) = requested.expect("a request at the head");
        let cluster = ((addr - L1_BASE) / L1_STRIDE) as usize;
        let UnderWay { cluster: of, left } = &mut self.under_way[from];
        let may = left.is_empty() || *of == cluster && left.len() < READS;
        if !may || !self.clusters[cluster].requests.has_room() {
            self.remap.set(true);
            return true;
        }
        self.remap.set(false);
        self.has_passed = false;
        left.push_back(size);
        *of = cluster;
        match from {
            OTHER => drop(self.other.0.take()),
            _ => self.address = None,
        }
        self.clusters[cluster].requests.send(Burst::Read { tag: from as u32, addr, size, in_parts: is_shared });
        self.head = None;
        true
    }

    /// Names the ports.
    pub fn ports(&self, ports: &mut Ports) {
        for (cluster, port) in self.clusters.iter().enumerate() {
            ports.output(&format!("l1_requests[{cluster}]"), &port.requests);
            ports.input(&format!("l1_replies[{cluster}]"), &port.replies);
        }
        ports.input("other_requests", &self.other.0);
        ports.output("other_replies", &self.other.1);
        self.remap.ports(ports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nhi::{NhiMap, NhiMaster};
    use crate::outbound::{Outbound, OutboundPorts};
    use crate::protocol::CommandTarget;
    use crate::testing::{TestMemory, command, id, params, remap};
    use crate::world::Departure;
    use expect_test::{Expect, expect};
    use testkit::bench;

    /// `sends` are packets that the outbound engine sends from L1s, `others` are reads of the other initiator. Both list
    /// cycle, cluster and bytes. The beats in the result are those of the other initiator.
    fn check(sends: &[(Cycle, u32, u32)], others: &[(Cycle, u32, u32)], want: Expect) {
        check_with(sends, others, &[], want);
    }

    /// The same, with writes of the other initiator: `writes` lists the cycles after which a write waits at the remapper
    /// (true) or no longer waits (false).
    fn check_with(sends: &[(Cycle, u32, u32)], others: &[(Cycle, u32, u32)], writes: &[(Cycle, bool)], want: Expect) {
        want.assert_eq(&bench(1_000, |bench| {
            let addr = |cluster| L1_BASE + cluster * L1_STRIDE;
            let send = |(core, &(cycle, cluster, bytes))| {
                (cycle, command(id(core), CommandTarget::NicSend, &[0, 0, addr(cluster), 0, bytes]))
            };
            let commands = sends.iter().enumerate().map(send).collect();
            let read =
                |&(cycle, cluster, size)| (cycle, Burst::Read { tag: 0, addr: addr(cluster), size, in_parts: true });
            let requests = bench.input("other", 2, others.iter().map(read).collect());
            let beat = |reply: &BurstReply| match reply {
                BurstReply::Data { data, .. } => data.len().to_string(),
                _ => "no data".to_owned(),
            };
            let replies = bench.output("beat", 2, |_| true, beat);
            let l2 = TestMemory::add(bench, "l2", 3);
            let clusters = ["l1[0]", "l1[1]", "l1[2]", "l1[3]"].map(|name| TestMemory::add(bench, name, 1));
            let noc = ClusterNoc::new(clusters.into(), (requests, replies), remap(bench, writes));
            let ports = OutboundPorts {
                commands: bench.input("commands", 8, commands),
                responses: bench.output("response", 2, |_| true, |_| String::new()),
                nhi: NhiMaster::around(NhiMap::all(&params()), l2, noc),
            };
            let log = bench.log.clone();
            let egress = move |out: Departure| log.note(out.cycle, format!("packet of {}", out.bytes.len()));
            let trace = bench.tracer("outbound");
            bench.add(
                "outbound",
                Outbound::new(params().outbound, 4096, params().rtl_mistakes, ports, Box::new(egress), trace),
            );
        }));
    }

    #[test]
    fn beats_of_two_clusters_take_turns() {
        check(
            &[(11, 0, 256)],
            &[(10, 1, 256)],
            expect![[r#"
            11   l1[1]: read 256 at 0x10400000
            12   l1[0]: read 256 at 0x10000000
            13   beat 64
            14   beat 64
            16   beat 64
            18   beat 64
            19   packet of 256
            20   response
        "#]],
        );
    }

    #[test]
    fn a_read_does_not_pass_the_remapper_while_a_write_waits_for_its_data() {
        check_with(
            &[(11, 0, 64), (12, 1, 64)],
            &[],
            &[(10, true), (20, false), (21, true), (30, false)],
            expect![[r#"
                21   l1[0]: read 64 at 0x10000000
                22   packet of 64
                23   response
                31   l1[1]: read 64 at 0x10400000
                32   packet of 64
                33   response
            "#]],
        );
    }

    #[test]
    fn an_address_that_waits_holds_back_the_other_initiator() {
        // The third read of the other initiator is in another cluster and waits for the two reads before it. The packet
        // is in neither cluster.
        check(
            &[(13, 2, 64)],
            &[(10, 0, 256), (11, 0, 256), (12, 1, 64)],
            expect![[r#"
                11   l1[0]: read 256 at 0x10000000
                12   l1[0]: read 256 at 0x10000000
                13   address waits
                13   beat 64
                14   beat 64
                15   beat 64
                16   beat 64
                17   beat 64
                18   beat 64
                19   beat 64
                20   address taken
                20   beat 64
                20   l1[1]: read 64 at 0x10400000
                21   l1[2]: read 64 at 0x10800000
                22   beat 64
                22   packet of 64
                23   response
            "#]],
        );
        check(
            &[(13, 2, 64)],
            &[(10, 0, 256), (11, 0, 256)],
            expect![[r#"
            11   l1[0]: read 256 at 0x10000000
            12   l1[0]: read 256 at 0x10000000
            13   beat 64
            14   beat 64
            14   l1[2]: read 64 at 0x10800000
            15   beat 64
            16   beat 64
            16   packet of 64
            17   response
            18   beat 64
            19   beat 64
            20   beat 64
            21   beat 64
        "#]],
        );
    }
}
