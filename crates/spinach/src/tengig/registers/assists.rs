//! The registers' connections to the assists: orders and progress.

use crate::tengig::map;
use crate::tengig::pointer::{Outbox, Pointer};
use blocks::assist::{
    Attention, Buffers, DmaOrder, DmaProgress, ReceiveOrder, ReceiveProgress, TransmitOrder, TransmitProgress,
};
use kernel::trace::Counter;
use kernel::{Ports, Rx, Tx};

/// Size of the frame address space, in which no transmit buffer wraps.
const FRAME_SPACE: u64 = 1 << 28;

/// All four assists.
pub(super) struct Assists {
    pub dma_read: Dma,
    pub dma_write: Dma,
    pub transmit: Transmit,
    pub receive: Receive,
}

/// A DMA assist.
pub(super) struct Dma {
    pub orders: Outbox<DmaOrder>,
    pub progress: Rx<DmaProgress>,
    pub base: u32,
    pub producer: u32,
    pub consumer: Pointer,
    pub failures: Counter,
}

/// The transmitter.
pub(super) struct Transmit {
    pub orders: Outbox<TransmitOrder>,
    pub progress: Rx<TransmitProgress>,
    pub base: u32,
    pub producer: u32,
    pub consumer: Pointer,
    pub attentions: Counter,
}

/// The receiver.
pub(super) struct Receive {
    pub orders: Outbox<ReceiveOrder>,
    pub progress: Rx<ReceiveProgress>,
    pub base: u32,
    pub area: u32,
    pub consumer: u32,
    pub producer: Pointer,
    pub dropped: Counter,
    pub attentions: Counter,
}

impl Dma {
    /// Initial state.
    pub fn new((orders, progress): (Tx<DmaOrder>, Rx<DmaProgress>)) -> Dma {
        let consumer = Pointer::new(map::DMA_ENTRIES);
        Dma { orders: Outbox::new(orders), progress, base: 0, producer: 0, consumer, failures: Counter::default() }
    }

    pub fn tick(&mut self) {
        while let Some(progress) = self.progress.take() {
            match progress {
                DmaProgress::Consumer(_, index, ..) => self.consumer.move_to(index),
                DmaProgress::Failed(_) => self.failures.add(1),
                DmaProgress::SingleDone(..) => {}
            }
        }
        self.orders.send();
    }

    pub fn set_base(&mut self, base: u32) {
        self.base = base;
        self.orders.push(DmaOrder::Ring(0, u64::from(base)));
        self.orders.push(DmaOrder::Enable(true));
    }

    pub fn set_producer(&mut self, producer: u32) {
        self.producer = producer;
        self.orders.push(DmaOrder::Producer(0, producer % map::DMA_ENTRIES));
    }

    pub fn ports(&self, name: &str, ports: &mut Ports) {
        ports.output(&format!("{name}.orders"), &self.orders.tx);
        ports.input(&format!("{name}.progress"), &self.progress);
    }
}

impl Transmit {
    /// Initial state.
    pub fn new((orders, progress): (Tx<TransmitOrder>, Rx<TransmitProgress>)) -> Transmit {
        let consumer = Pointer::new(map::MAC_TRANSMIT_ENTRIES);
        Transmit {
            orders: Outbox::new(orders),
            progress,
            base: 0,
            producer: 0,
            consumer,
            attentions: Counter::default(),
        }
    }

    pub fn tick(&mut self) {
        while let Some(progress) = self.progress.take() {
            match progress {
                TransmitProgress::Consumer(index, _) => self.consumer.move_to(index),
                TransmitProgress::Attention(_) => self.attentions.add(1),
            }
        }
        self.orders.send();
    }

    pub fn set_base(&mut self, base: u32) {
        self.base = base;
        let whole = Buffers { base: u64::from(map::FRAME_MEMORY), end: u64::from(map::FRAME_MEMORY) + FRAME_SPACE };
        self.orders.push(TransmitOrder::Ring(u64::from(base)));
        self.orders.push(TransmitOrder::Buffers(whole));
        self.orders.push(TransmitOrder::Enable(true));
    }

    pub fn set_producer(&mut self, producer: u32) {
        self.producer = producer;
        self.orders.push(TransmitOrder::Producer(producer % map::MAC_TRANSMIT_ENTRIES));
    }
}

impl Receive {
    /// Initial state.
    pub fn new((orders, progress): (Tx<ReceiveOrder>, Rx<ReceiveProgress>)) -> Receive {
        Receive {
            orders: Outbox::new(orders),
            progress,
            base: 0,
            area: 0,
            consumer: 0,
            producer: Pointer::new(map::MAC_RECEIVE_ENTRIES),
            dropped: Counter::default(),
            attentions: Counter::default(),
        }
    }

    pub fn tick(&mut self) {
        while let Some(progress) = self.progress.take() {
            match progress {
                ReceiveProgress::Producer(index, _) => self.producer.move_to(index),
                ReceiveProgress::Attention(Attention::BufferFull | Attention::RingFull | Attention::Overrun) => {
                    self.dropped.add(1)
                }
                ReceiveProgress::Attention(_) => self.attentions.add(1),
            }
        }
        self.orders.send();
    }

    pub fn set_base(&mut self, base: u32) {
        self.base = base;
        self.orders.push(ReceiveOrder::Ring(u64::from(base)));
    }

    pub fn enable(&mut self, bytes: u32) {
        let base = u64::from(self.area);
        self.orders.push(ReceiveOrder::Buffers(Buffers { base, end: base + u64::from(bytes) }));
        self.orders.push(ReceiveOrder::Enable(true));
    }

    pub fn set_consumer(&mut self, consumer: u32) {
        self.consumer = consumer;
        self.orders.push(ReceiveOrder::Consumer(consumer % map::MAC_RECEIVE_ENTRIES));
    }
}
