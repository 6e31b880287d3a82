//! `block-transfer`: copies bytes from one memory to another.
//!
//! Ports:   `orders` (transfers, receives), `done` (transfers-done, sends), `a` and `b` (memory, ask).
//! Timing:  starts at most one read per cycle. Writes a piece at the edge at which its read is answered, if there is
//!           room. `done` is sent at the edge at which the last write is answered; the next order starts one edge
//!           later.
//! Order:   transfers run one after the other.
//! Errors:  an error ends a transfer: the pieces read before it are still written, and nothing after it is read.
//! Source:  thesis, table 3.2 and 3.2.2: a DMA engine between memories of variable latency.

use crate::transfers::{Direction, Transfer, TransferDone};
use blocks::bus::{Access, BusError, Data, Reference, Requester};
use blocks::checks;
use blocks::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// Parameters of a [`BlockTransfer`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockTransferParams {
    /// Bytes of a reference, a power of two; reads are aligned to it.
    pub reference_bytes: u32,
    /// Maximum number of outstanding reads, including pieces read but not yet written.
    pub outstanding: u32,
}

/// The ports of a [`BlockTransfer`].
pub struct BlockTransferPorts {
    /// Transfers to carry out.
    pub orders: Rx<Transfer>,
    /// Completed transfers.
    pub done: Tx<TransferDone>,
    /// The first memory.
    pub a: Requester,
    /// The second memory.
    pub b: Requester,
}

/// Carries out transfers one after the other.
pub struct BlockTransfer {
    params: BlockTransferParams,
    orders: Rx<Transfer>,
    done: Tx<TransferDone>,
    a: Requester,
    b: Requester,
    active: Option<Active>,
    transfers: Counter,
    bytes: Counter,
}

/// The current transfer.
struct Active {
    order: Transfer,
    /// Bytes requested from the source.
    requested: u32,
    /// Lengths of the outstanding reads.
    reading: VecDeque<u32>,
    /// Pieces that wait to be written.
    read: VecDeque<Data>,
    /// Bytes sent to the destination.
    written: u32,
    /// Number of outstanding writes.
    n_writing: u32,
    error: Option<BusError>,
}

impl BlockTransfer {
    /// An idle engine.
    pub fn new(params: BlockTransferParams, ports: BlockTransferPorts) -> BlockTransfer {
        let BlockTransferPorts { orders, done, a, b } = ports;
        BlockTransfer {
            params,
            orders,
            done,
            a,
            b,
            active: None,
            transfers: Counter::default(),
            bytes: Counter::default(),
        }
    }

    /// Advances the transfer. Returns true if something changed.
    fn advance(&mut self) -> bool {
        let Some(active) = &mut self.active else { return false };
        let (from, to, source, target) = match active.order.direction {
            Direction::AToB => (&self.a, &self.b, active.order.a, active.order.b),
            Direction::BToA => (&self.b, &self.a, active.order.b, active.order.a),
        };
        let mut moved = false;
        if let Some(reply) = to.replies.take() {
            active.n_writing -= 1;
            active.error = active.error.or(reply.result.err());
            moved = true;
        }
        if let Some(reply) = from.replies.take() {
            active.reading.pop_front();
            match reply.result {
                // Reads after an error are discarded.
                Ok(data) if active.error.is_none() => active.read.push_back(data),
                Ok(_) => {}
                Err(error) => active.error = active.error.or(Some(error)),
            }
            moved = true;
        }
        if !active.read.is_empty() && to.references.has_room() {
            let data = active.read.pop_front().expect("a piece is there");
            let addr = target.wrapping_add(u64::from(active.written));
            active.written += data.len() as u32;
            active.n_writing += 1;
            to.references.send(Reference { id: active.order.id, addr, access: Access::Write(data) });
            moved = true;
        }
        let n_pieces = active.reading.len() + active.read.len();
        let is_all_requested = active.requested == active.order.bytes || active.error.is_some();
        if !is_all_requested && n_pieces < self.params.outstanding as usize && from.references.has_room() {
            let addr = source.wrapping_add(u64::from(active.requested));
            let aligned = self.params.reference_bytes - (addr % u64::from(self.params.reference_bytes)) as u32;
            let bytes = aligned.min(active.order.bytes - active.requested);
            active.requested += bytes;
            active.reading.push_back(bytes);
            from.references.send(Reference { id: active.order.id, addr, access: Access::Read(bytes) });
            moved = true;
        }
        moved
    }

    /// Ends a completed transfer. Returns true if it did.
    fn end(&mut self) -> bool {
        let Some(active) = &self.active else { return false };
        let is_all_requested = active.requested == active.order.bytes || active.error.is_some();
        let is_over = is_all_requested && active.reading.is_empty() && active.read.is_empty() && active.n_writing == 0;
        if !is_over || !self.done.has_room() {
            return false;
        }
        self.done.send(TransferDone { id: active.order.id, result: active.error.map_or(Ok(()), Err) });
        self.transfers.add(1);
        self.bytes.add(u64::from(active.written));
        self.active = None;
        true
    }
}

impl Component for BlockTransfer {
    fn tick(&mut self, _now: Cycle) -> Activity {
        let ended = self.end();
        let mut begun = false;
        if self.active.is_none()
            && let Some(order) = self.orders.take()
        {
            let (reading, read) = (VecDeque::new(), VecDeque::new());
            self.active = Some(Active { order, requested: 0, reading, read, written: 0, n_writing: 0, error: None });
            begun = true;
        }
        let moved = self.advance();
        if ended || begun || moved { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("orders", &self.orders);
        ports.output("done", &self.done);
        self.a.port("a", ports);
        self.b.port("b", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("transfers", self.transfers.total());
        counters.add("bytes", self.bytes.total());
    }
}

impl Module for BlockTransferParams {
    const NAME: &'static str = "block-transfer";
    const ABOUT: &'static str = "Copies bytes from one memory to another on request.";
    const EXAMPLE: &'static str = r#"reference_bytes = 16
outstanding = 4"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<Transfer>>("orders").about("transfers to carry out"),
            PortSpec::from::<OneWay<TransferDone>>("done").about("completed transfers"),
            PortSpec::from::<Memory>("a").about("the first memory"),
            PortSpec::from::<Memory>("b").about("the second memory"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::power_of_two("reference_bytes", self.reference_bytes, 1, 4096)?;
        checks::within("outstanding", self.outstanding, 1, 1024)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = BlockTransferPorts {
            orders: site.to::<OneWay<Transfer>>("orders"),
            done: site.from::<OneWay<TransferDone>>("done"),
            a: site.from::<Memory>("a"),
            b: site.from::<Memory>("b"),
        };
        Built::new(BlockTransfer::new(self, ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted_responder;
    use expect_test::{Expect, expect};

    /// Pieces of four bytes, two outstanding; `>a` and `>b` answer at once, and with errors from 0x1_0000_0000 on.
    fn check(orders: &[(Cycle, Transfer)], want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let orders = bench.input("orders", 2, orders.to_vec());
            let show = |done: &TransferDone| match done.result {
                Ok(()) => format!("{}", done.id),
                Err(error) => format!("{} {error}", done.id),
            };
            let done = bench.output("done", 2, |_| true, show);
            let (a, b) = (scripted_responder(bench, ">a", 0), scripted_responder(bench, ">b", 0));
            let params = BlockTransferParams { reference_bytes: 4, outstanding: 2 };
            bench.add("dma", BlockTransfer::new(params, BlockTransferPorts { orders, done, a, b }));
            bench.log_counters();
        }));
    }

    fn transfer(id: u32, a: u64, b: u64, bytes: u32, direction: Direction) -> Transfer {
        Transfer { id, a, b, bytes, direction }
    }

    #[test]
    fn reads_are_aligned_and_pieces_are_written_as_they_arrive() {
        check(
            &[(1, transfer(7, 0x102, 0x201, 9, Direction::AToB))],
            expect![[r#"
            2    >a r 102+2
            3    >a r 104+4
            4    >a r 108+3
            4    >b w 201=0203
            5    >b w 203=04050607
            6    >b w 207=08090a
            9    done 7
            dma.transfers 1
            dma.bytes 9
        "#]],
        );
    }

    #[test]
    fn transfers_run_one_after_the_other_in_both_directions() {
        let transfers = [transfer(1, 0x10, 0x20, 4, Direction::BToA), transfer(2, 0x30, 0x40, 0, Direction::AToB)];
        check(
            &transfers.map(|transfer| (1, transfer)),
            expect![[r#"
            2    >b r 20+4
            4    >a w 10=20212223
            7    done 1
            8    done 2
            dma.transfers 2
            dma.bytes 4
        "#]],
        );
    }

    #[test]
    fn an_error_ends_a_transfer() {
        check(
            &[(1, transfer(1, 0xffff_fffc, 0x20, 100, Direction::AToB))],
            expect![[r#"
            2    >a r fffffffc+4
            3    >a r 100000000+4
            4    >a r 100000004+4
            4    >b w 20=fcfdfeff
            7    done 1 nothing answers at 0x100000000
            dma.transfers 1
            dma.bytes 4
        "#]],
        );
        check(
            &[(1, transfer(2, 0x10, 0xffff_fffc, 100, Direction::AToB))],
            expect![[r#"
            2    >a r 10+4
            3    >a r 14+4
            4    >a r 18+4
            4    >b w fffffffc=10111213
            5    >a r 1c+4
            5    >b w 100000000=14151617
            6    >a r 20+4
            6    >b w 100000004=18191a1b
            9    done 2 nothing answers at 0x100000000
            dma.transfers 1
            dma.bytes 12
        "#]],
        );
    }
}
