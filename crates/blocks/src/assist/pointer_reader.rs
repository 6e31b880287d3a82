//! `pointer-reader`: makes an assist learn its ring's pointer only by polling memory.
//!
//! It is placed between the registers and the assist. While the assist is enabled, it reads a word of memory in a
//! loop. A new pointer value from firmware reaches the assist when the first read that started after it is answered.
//!
//! Ports:   `orders` (of a DMA or MAC assist, receives), `assist` (the same, sends); `memory` (memory, asks): one
//!           word at a time.
//! Timing:  an order passes in the cycle in which it is seen or, if it waits for a read, in which that read is
//!           answered.
//! Order:   orders stay in order: those after a pointer wait with it.
//! Errors:  a read that memory refuses is counted, and treated like any other.
//! Source:  thesis, 2.1.2 (assists poll the producer) and 3.2.3 (they constantly read pointers in the card's memory).
//! Differs: the value comes from the registers; the word in memory is never written, and its content is ignored.

use super::protocol::{DmaOrder, ReceiveOrder, TransmitOrder};
use super::tracked_port::{TrackedPort, TrackedReply};
use crate::bus::{Access, Requester};
use crate::checks;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site, Wire};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// The assist that polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reader {
    /// A DMA assist; polls its ring's producer.
    Dma,
    /// A transmitting MAC assist; polls its ring's producer.
    MacTransmit,
    /// A receiving MAC assist; polls its ring's consumer.
    MacReceive,
}

/// Parameters of a [`PointerReader`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointerReaderParams {
    /// The assist that polls.
    pub assist: Reader,
    /// Address of the pointer, a 32-bit word.
    pub pointer_at: u64,
    /// Cycles from an answer to the next read; 0 reads again at once.
    pub rest_cycles: u32,
}

/// The ports of a [`PointerReader`].
pub struct PointerReaderPorts<O> {
    /// Orders from the registers.
    pub orders: Rx<O>,
    /// Orders to the assist.
    pub assist: Tx<O>,
    /// The memory of the pointer.
    pub memory: Requester,
}

/// Forwards orders; delays those that move the pointer until it has been read.
pub struct PointerReader<O> {
    params: PointerReaderParams,
    orders: Rx<O>,
    assist: Tx<O>,
    memory: TrackedPort<()>,
    /// Waiting orders, each with the number of reads started when it arrived.
    waiting: VecDeque<(O, u64)>,
    is_enabled: bool,
    begun: u64,
    answered: u64,
    /// Cycle of the last answer.
    rests_since: Option<Cycle>,
    readings: Counter,
    failures: Counter,
}

/// Orders to an assist with a ring whose pointer can be polled.
pub trait Orders: Wire {
    /// Returns true if the order moves the polled pointer.
    fn is_pointer(&self) -> bool;
    /// True if the order enables the assist, false if it disables it; `None` if neither.
    fn enables(&self) -> Option<bool>;
}

impl Orders for DmaOrder {
    fn is_pointer(&self) -> bool {
        matches!(self, DmaOrder::Producer(..))
    }

    fn enables(&self) -> Option<bool> {
        if let DmaOrder::Enable(is_enabled) = self { Some(*is_enabled) } else { None }
    }
}

impl Orders for TransmitOrder {
    fn is_pointer(&self) -> bool {
        matches!(self, TransmitOrder::Producer(_))
    }

    fn enables(&self) -> Option<bool> {
        if let TransmitOrder::Enable(is_enabled) = self { Some(*is_enabled) } else { None }
    }
}

impl Orders for ReceiveOrder {
    fn is_pointer(&self) -> bool {
        matches!(self, ReceiveOrder::Consumer(_))
    }

    fn enables(&self) -> Option<bool> {
        if let ReceiveOrder::Enable(is_enabled) = self { Some(*is_enabled) } else { None }
    }
}

/// Maximum waiting orders; further ones wait in the channel. assumed: as many as firmware can write during one read.
const MOST_WAITING: usize = 16;

impl<O: Orders> PointerReader<O> {
    /// A reader that is idle until its assist is enabled.
    pub fn new(params: PointerReaderParams, ports: PointerReaderPorts<O>) -> PointerReader<O> {
        let PointerReaderPorts { orders, assist, memory } = ports;
        PointerReader {
            params,
            orders,
            assist,
            memory: TrackedPort::new(memory, 1),
            waiting: VecDeque::new(),
            is_enabled: false,
            begun: 0,
            answered: 0,
            rests_since: None,
            readings: Counter::default(),
            failures: Counter::default(),
        }
    }

    fn take_orders(&mut self) -> bool {
        let mut any = false;
        while self.waiting.len() < MOST_WAITING {
            let Some(order) = self.orders.take() else { break };
            self.is_enabled = order.enables().unwrap_or(self.is_enabled);
            self.waiting.push_back((order, self.begun));
            any = true;
        }
        any
    }

    fn take_answers(&mut self, now: Cycle) {
        while let Some(TrackedReply { result, .. }) = self.memory.answer(now) {
            self.answered += 1;
            self.rests_since = Some(now);
            self.readings.add(1);
            self.failures.add(u64::from(result.is_err()));
        }
    }

    /// Forwards orders that need not wait.
    fn pass(&mut self) -> bool {
        let mut any = false;
        while let Some((order, begun)) = self.waiting.front() {
            let waits = self.is_enabled && order.is_pointer() && self.answered <= *begun;
            if waits || !self.assist.has_room() {
                break;
            }
            self.assist.send(self.waiting.pop_front().expect("one waits").0);
            any = true;
        }
        any
    }

    /// Starts the next read, or returns the cycle in which it is due.
    fn read(&mut self, now: Cycle) -> Option<Cycle> {
        let due = self.rests_since.map_or(now, |since| since + u64::from(self.params.rest_cycles));
        if !self.is_enabled || self.begun > self.answered {
            return None;
        }
        if due > now {
            return Some(due);
        }
        if self.memory.is_free(now) {
            self.memory.ask(now, self.params.pointer_at, Access::Read(4), ());
            self.begun += 1;
        }
        None
    }
}

impl<O: Orders> Component for PointerReader<O> {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.take_answers(now);
        let has_orders = self.take_orders();
        let has_passed = self.pass();
        match self.read(now) {
            _ if has_orders || has_passed || self.memory.has_sent(now) => Activity::Busy,
            Some(due) => Activity::Until(due),
            None => Activity::Idle,
        }
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("orders", &self.orders);
        ports.output("assist", &self.assist);
        self.memory.port("memory", ports);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("readings", self.readings.total());
        counters.add("failures", self.failures.total());
    }
}

impl PointerReaderParams {
    fn ports_of<O: Orders>() -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<O>>("orders").about("orders from the registers"),
            PortSpec::from::<OneWay<O>>("assist").about("orders to the assist"),
            PortSpec::from::<Memory>("memory").about("memory of the pointer"),
        ]
    }

    fn build_of<O: Orders>(self, site: &mut Site) -> Built {
        let ports = PointerReaderPorts {
            orders: site.to::<OneWay<O>>("orders"),
            assist: site.from::<OneWay<O>>("assist"),
            memory: site.from::<Memory>("memory"),
        };
        Built::new(PointerReader::new(self, ports))
    }
}

impl Module for PointerReaderParams {
    const NAME: &'static str = "pointer-reader";
    const ABOUT: &'static str = "Makes an assist learn its ring's pointer only by polling memory.";
    const EXAMPLE: &'static str = r#"assist = "dma"
pointer_at = 0x2000
rest_cycles = 0"#;

    fn ports(&self) -> Vec<PortSpec> {
        match self.assist {
            Reader::Dma => PointerReaderParams::ports_of::<DmaOrder>(),
            Reader::MacTransmit => PointerReaderParams::ports_of::<TransmitOrder>(),
            Reader::MacReceive => PointerReaderParams::ports_of::<ReceiveOrder>(),
        }
    }

    fn check(&self) -> Result<(), String> {
        checks::within("rest_cycles", self.rest_cycles, 0, 1_000_000)
    }

    fn build(self, site: &mut Site) -> Built {
        match self.assist {
            Reader::Dma => self.build_of::<DmaOrder>(site),
            Reader::MacTransmit => self.build_of::<TransmitOrder>(site),
            Reader::MacReceive => self.build_of::<ReceiveOrder>(site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assist::testing::{Shared, memory};
    use expect_test::{Expect, expect};
    use testkit::bench;

    /// A memory that answers two cycles after the request; the pointer is at 0x40.
    fn check(rest_cycles: u32, orders: &[(Cycle, DmaOrder)], want: Expect) {
        let params = PointerReaderParams { assist: Reader::Dma, pointer_at: 0x40, rest_cycles };
        let card: Shared = Default::default();
        want.assert_eq(&bench(24, |bench| {
            card.borrow_mut().resize(0x80, 0);
            let orders = bench.input("orders", 16, orders.to_vec());
            let assist = bench.output("assist", 16, |_| true, |order| format!("{order:?}"));
            let memory = memory(bench, "card", &card, true);
            bench.add("reader", PointerReader::new(params.clone(), PointerReaderPorts { orders, assist, memory }));
        }));
    }

    #[test]
    fn a_pointer_passes_when_a_read_started_after_it_is_answered() {
        let orders = |producer_at| {
            [(1, DmaOrder::Enable(true)), (producer_at, DmaOrder::Producer(0, 1)), (15, DmaOrder::Enable(false))]
        };
        check(
            0,
            &orders(7),
            expect![[r#"
            2    assist Enable(true)
            2    card r 40+4
            4    card r 40+4
            6    card r 40+4
            8    card r 40+4
            10   assist Producer(0, 1)
            10   card r 40+4
            12   card r 40+4
            14   card r 40+4
            16   assist Enable(false)
        "#]],
        );
        check(
            0,
            &orders(8),
            expect![[r#"
            2    assist Enable(true)
            2    card r 40+4
            4    card r 40+4
            6    card r 40+4
            8    card r 40+4
            10   card r 40+4
            12   assist Producer(0, 1)
            12   card r 40+4
            14   card r 40+4
            16   assist Enable(false)
        "#]],
        );
    }

    #[test]
    fn orders_after_a_pointer_wait_with_it() {
        check(
            0,
            &[
                (1, DmaOrder::Enable(true)),
                (4, DmaOrder::Producer(0, 1)),
                (4, DmaOrder::Consumer(0, 0)),
                (9, DmaOrder::Enable(false)),
            ],
            expect![[r#"
                2    assist Enable(true)
                2    card r 40+4
                4    card r 40+4
                6    card r 40+4
                8    assist Producer(0, 1)
                8    card r 40+4
                9    assist Consumer(0, 0)
                10   assist Enable(false)
            "#]],
        );
    }

    #[test]
    fn it_pauses_between_reads() {
        let orders = [(1, DmaOrder::Enable(true)), (3, DmaOrder::Producer(0, 1)), (20, DmaOrder::Enable(false))];
        check(
            5,
            &orders,
            expect![[r#"
            2    assist Enable(true)
            2    card r 40+4
            9    card r 40+4
            11   assist Producer(0, 1)
            16   card r 40+4
            21   assist Enable(false)
        "#]],
        );
    }

    #[test]
    fn a_disabled_assist_does_not_poll() {
        check(
            0,
            &[(1, DmaOrder::Producer(0, 1)), (2, DmaOrder::Ring(0, 0x10))],
            expect![[r#"
            2    assist Producer(0, 1)
            3    assist Ring(0, 16)
        "#]],
        );
    }
}
