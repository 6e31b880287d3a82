use super::*;
use crate::protocol::BEAT_BYTES;
use crate::testing::params;
use proptest::prelude::*;
use testkit::bench;

/// How many bytes each answer to reads of a cluster's DMA engine has, while another initiator writes.
fn answered(dma: &[(Cycle, u32, u32)], far: &[(Cycle, u32, u32)]) -> Vec<u32> {
    let log = bench(20_000, |bench| {
        let reads = dma.iter().map(|&(at, addr, size)| (at, Burst::Read { tag: 0, addr, size, in_parts: false }));
        let bytes = |size| vec![0; size as usize].into();
        let writes = far.iter().map(|&(at, addr, size)| (at, Burst::Write { tag: 0, addr, data: bytes(size) }));
        let show = |reply: &BurstReply| match reply {
            BurstReply::Data { data, .. } => data.len().to_string(),
            BurstReply::Written { .. } => "none".to_owned(),
        };
        let near = (bench.input("reads", 2, reads.collect()), bench.output("answer", 4, |_| true, show));
        let far = (bench.input("writes", 2, writes.collect()), bench.output("written", 4, |_| true, show));
        let ports = MemoryPorts { dma: vec![near], bursts: vec![far], ..Default::default() };
        let params = PspinParams { n_clusters: 1, ..params() };
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    });
    log.lines().filter(|line| line.contains("answer")).map(|line| bytes_of(line).expect("a number is last")).collect()
}

fn bytes_of(line: &str) -> Option<u32> {
    line.rsplit(' ').next()?.parse().ok()
}

fn bursts(bytes: u32) -> impl Strategy<Value = Vec<(Cycle, u32, u32)>> {
    let burst = (0u64..6, any::<bool>(), 0u32..8, 1..bytes).prop_map(|(wait, packet, bank, size)| {
        let base = if packet { map::L2_PACKET_BASE } else { map::L2_HANDLER_BASE };
        (wait, base + bank * BEAT_BYTES, size)
    });
    prop::collection::vec(burst, 1..80).prop_map(|mut bursts| {
        bursts.iter_mut().fold(0, |at, burst| {
            burst.0 += at;
            burst.0
        });
        bursts
    })
}

proptest! {
    /// Whichever memories a DMA engine reads, and whoever holds a bank, its answers come in the order of its reads.
    #[test]
    fn a_dma_engine_is_answered_in_its_order(dma in bursts(300), far in bursts(300)) {
        let sizes: Vec<u32> = dma.iter().map(|&(.., size)| size).collect();
        prop_assert_eq!(answered(&dma, &far), sizes);
    }
}
