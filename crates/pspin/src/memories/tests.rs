use super::*;
use crate::pe::PeOp;
use crate::protocol::BEAT_BYTES;
use crate::testing::params;
use isa::riscv::Amo;
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

/// What core 0's `sc.w` to the first word of handler memory answers, 50 cycles after its `lr.w`, if between them this is done
/// there by core 1, or written by the host.
fn conditional(core_1: &[(u32, PeOp)], host: &[(u32, usize)]) -> u32 {
    let word = |offset| map::L2_HANDLER_BASE + offset;
    let own = |amo| PeRequest { core: 0, addr: word(0), op: PeOp::Amo { amo, operand: 7 } };
    let log = bench(1000, |bench| {
        let others = core_1.iter().map(|&(offset, op)| PeRequest { core: 1, addr: word(offset), op });
        let mut asked: Vec<_> = (20..).step_by(10).zip(others).collect();
        asked.insert(0, (1, own(Amo::LoadReserved)));
        asked.push((51, own(Amo::StoreConditional)));
        let writes =
            host.iter().map(|&(offset, n)| Burst::Write { tag: 0, addr: word(offset), data: vec![0; n].into() });
        let of_core_0 = |reply: &PeReply| format!("core {} {}", reply.core, reply.value);
        let single = (bench.input("asked", 4, asked), bench.output("answer", 4, |_| true, of_core_0));
        let writes = bench.input("writes", 4, (20..).zip(writes).collect());
        let far = (writes, bench.output("written", 4, |_| true, |_| String::new()));
        let ports = MemoryPorts { pe: vec![single], bursts: vec![far], ..Default::default() };
        let params = PspinParams { n_clusters: 1, ..params() };
        bench.add("memories", Memories::new(&params, &[], vec![0; params.l2.program_bytes as usize], ports));
    });
    log.lines().rfind(|line| line.contains("core 0")).and_then(bytes_of).expect("core 0 is answered")
}

#[test]
fn a_reservation_is_lost_when_its_word_changes_and_not_otherwise() {
    let amo = |amo| PeOp::Amo { amo, operand: 3 };
    let byte = PeOp::Store { value: 0, mask: 0xff00 };
    let (kept, lost) = (0, 1);
    assert_eq!(conditional(&[], &[]), kept);
    assert_eq!(conditional(&[(0, PeOp::Load), (4, byte)], &[]), kept, "reads, and the next word");
    assert_eq!(conditional(&[(0, byte)], &[]), lost, "a byte, even of the same value");
    assert_eq!(conditional(&[(0, amo(Amo::Add))], &[]), lost);
    assert_eq!(conditional(&[(0, amo(Amo::StoreConditional))], &[]), kept, "who has no reservation stores nothing");
    assert_eq!(conditional(&[(0, amo(Amo::LoadReserved))], &[]), kept, "two may hold the same word");
    assert_eq!(conditional(&[(0, amo(Amo::LoadReserved)), (0, amo(Amo::StoreConditional))], &[]), lost, "one wins");
    assert_eq!(conditional(&[], &[(4, 64)]), kept, "bursts behind the word");
    assert_eq!(conditional(&[], &[(0, 1)]), lost);
    assert_eq!(conditional(&[], &[(3, 8)]), lost, "its last byte");
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
