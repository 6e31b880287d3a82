//! Runs a PANIC at 100 Gbit/s through three pushed units for a number of simulated milliseconds: `speed [MS] [BYTES]`. Prints
//! the number of cycles; measure the time from outside.

use kernel::{Cycle, Time};
use panic::drops::DropReason;
use panic::nic::{Outside, Panic};
use panic::params::PanicParams;
use panic::protocol::{Hop, Message};
use panic::world::{Arrival, Classifier, ExternalPort, Outlet, PortSource, Verdict};
use std::cell::RefCell;
use std::rc::Rc;

/// Back-to-back packets.
struct Packets {
    next: u64,
    bytes: usize,
}

impl PortSource for Packets {
    fn next(&mut self, _now: Cycle) -> Option<Arrival> {
        self.next += 1;
        Some(Arrival { id: self.next - 1, bytes: vec![0; self.bytes] })
    }

    fn next_at(&mut self) -> Option<Cycle> {
        None
    }
}

/// Sends all packets through the three services.
struct Chain;

impl Classifier for Chain {
    fn classify(&mut self, _now: Cycle, _from: ExternalPort, _packet: &mut Vec<u8>) -> Verdict {
        Verdict::along((0..3).map(|service| Hop::new(service, 0)), Some(ExternalPort::Host(0)))
    }
}

#[derive(Default)]
struct Count {
    left: u64,
    dropped: u64,
}

impl Outlet for Count {
    fn leave(&mut self, _now: Cycle, _side: ExternalPort, _message: Message) {
        self.left += 1;
    }

    fn drop(&mut self, _now: Cycle, _message: Message, _reason: DropReason) {
        self.dropped += 1;
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let (ms, bytes) = (numbers.first().copied().unwrap_or(20), numbers.get(1).copied().unwrap_or(1500));
    let unit = "units = 1\ncredits = 8\nengine = { kind = \"delay\", service = { kind = \"fixed\", cycles = 3 }, gap_cycles = 2 }\n";
    let services: String = ["a", "b", "c"].map(|name| format!("[[service]]\nname = \"{name}\"\n{unit}")).concat();
    let mut table: toml::Table = include_str!("../../../presets/panic.toml").parse().expect("the preset");
    table.extend(services.parse::<toml::Table>().expect("three services"));
    let params: PanicParams = table.try_into().expect("the preset with three services");
    let count = Rc::new(RefCell::new(Count::default()));
    let source = Packets { next: 0, bytes: bytes as usize };
    let outside = Outside::new(vec![Box::new(source)], Rc::new(RefCell::new(Chain)), count.clone());
    let mut nic = Panic::new(&params, 1, outside);
    nic.system.run_until(Time::from_ns(ms * 1_000_000));
    let count = count.borrow();
    println!("{} cycles, {} packets out, {} dropped", nic.system.now(nic.clock), count.left, count.dropped);
}
