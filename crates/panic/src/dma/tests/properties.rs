//! No packet is lost, whatever the parameters.

use super::*;

/// Keeps the packets that leave, by number, and the drops.
#[derive(Default)]
struct Kept {
    left: Vec<(u64, Vec<u8>)>,
    dropped: Vec<u64>,
}

impl Outlet for Rc<RefCell<Kept>> {
    fn leave(&mut self, _now: Cycle, _side: ExternalPort, message: Message) {
        self.borrow_mut().left.push((message.descriptor.id, message.data));
    }

    fn drop(&mut self, _now: Cycle, message: Message, _reason: DropReason) {
        self.borrow_mut().dropped.push(message.descriptor.id);
    }
}

fn any_params() -> impl Strategy<Value = DmaParams> {
    let sizes = (2_u32..8, 2_u32..6, 2_u32..40, 33_u32..100, 0_u32..300);
    (sizes, 0_usize..3, 1_u32..3).prop_map(|((slots, ahead, rx_flits, tx_flits, host_cycles), model, lanes)| {
        let mut params = DmaParams { host_cycles, rx_flits, tx_flits, ..slow() };
        params.ring_slots = 1 << slots;
        params.prefetched = 1 << ahead.min(slots);
        params.pcie.model = [PcieModel::Ideal, PcieModel::FixedRate, PcieModel::Tlp][model];
        params.pcie.link.lanes = 1 << lanes;
        params
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// In three kernel modes: every packet from the interconnect is in host memory once, unchanged, or is counted as dropped.
    /// Every packet of the host enters the interconnect or is dropped. Queues keep their order.
    #[test]
    fn no_packet_is_lost_or_duplicated(
        params in any_params(),
        received in proptest::collection::vec((0_usize..1700, 0_u16..3, 1_u64..40), 0..40),
        sent in proptest::collection::vec((0_usize..2100, 0_usize..3, 1_u64..40), 0..40),
    ) {
        let mut at = 0;
        let texts: Vec<String> = received.iter().enumerate().map(|(i, &(len, _, gap))| {
            at += gap;
            format!("{at} {i} 0 {len}")
        }).collect();
        let queues: Vec<u16> = received.iter().map(|&(_, queue, _)| queue).collect();
        let mut input = to_host(&texts.join(";"), &queues);
        for (_, flit) in &mut input {
            if let Flit::Head(message) = flit {
                let id = message.descriptor.id;
                message.data.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i as u64 * 3 + id) as u8);
            }
        }
        let mut sends: [Vec<(Cycle, u64, usize)>; 3] = Default::default();
        let mut at = 0;
        for (i, &(len, queue, gap)) in sent.iter().enumerate() {
            at += gap;
            sends[queue].push((at, 1000 + i as u64, len));
        }
        let sends: Vec<(usize, &[_])> = sends.iter().enumerate().map(|(i, sends)| (i, &sends[..])).collect();
        let runs: Rc<RefCell<Vec<Rc<RefCell<Kept>>>>> = Rc::default();
        let log = bench(1_000_000, |bench| {
            let kept: Rc<RefCell<Kept>> = Rc::default();
            runs.borrow_mut().push(kept.clone());
            add(bench, &params, input.clone(), &sends, Rc::new(RefCell::new(kept)));
            bench.log_counters();
        });
        let entered: Vec<u64> = log.lines().filter_map(|line| line.split_once("out #")?.1.split(' ').next()?.parse().ok()).collect();
        for kept in runs.borrow().iter() {
            let kept = kept.borrow();
            let mut ids: Vec<u64> = kept.left.iter().map(|&(id, _)| id).chain(kept.dropped.iter().copied()).chain(entered.iter().copied()).collect();
            ids.sort_unstable();
            let all: Vec<u64> = (0..received.len() as u64).chain((0..sent.len() as u64).map(|i| 1000 + i)).collect();
            prop_assert_eq!(ids, all);
            for (id, bytes) in &kept.left {
                let (len, queue, _) = received[*id as usize];
                prop_assert!(queue < 2 && bytes.len() == len);
                prop_assert!(bytes.iter().enumerate().all(|(i, &byte)| byte == (i as u64 * 3 + id) as u8));
            }
            for queue in 0..3 {
                let of_queue = |id: &&u64| sent[(**id - 1000) as usize].1 == queue;
                prop_assert!(entered.iter().filter(of_queue).is_sorted());
            }
            prop_assert!(kept.left.iter().map(|(id, _)| id).is_sorted());
            let counted: u64 = log.lines().filter_map(|line| line.split_once(".drops.")?.1.split_once(' ')?.1.parse::<u64>().ok()).sum();
            prop_assert_eq!(counted, kept.dropped.len() as u64);
        }
    }
}
