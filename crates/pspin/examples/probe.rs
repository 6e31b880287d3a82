//! Runs an ELF file with plain packets and prints the same text as the RTL's driver. The machine is that of the RTL,
//! `presets/pspin-rtl.toml`, or with `isolation=1` that of the paper, `presets/pspin.toml`.
//!
//! `probe FILE.elf [packets=N] [size=BYTES] [gap=CYCLES] [messages=N] [trace=1] [profile=1]`
//!
//! The first line is the number of instructions that the cores executed. Two runs of different length, with the host's
//! instructions that callgrind counts, give the cost of one simulated instruction (`docs/performance.md`).

use blocks::cpu::Retired;
use isa::riscv::{decode, disassemble};
use kernel::trace::{Event, Sink};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use pspin::protocol::{Context, Protection, Region};
use pspin::world::{Arrival, Console, Departure, HostMemory, PacketDone};
use pspin::{Boundary, Image, Pspin, PspinParams};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

struct NoHost;
impl HostMemory for NoHost {
    fn read(&mut self, _addr: u64, data: &mut [u8]) {
        data.fill(0);
    }
    fn write(&mut self, _addr: u64, _data: &[u8]) {}
}

struct Print;
impl Console for Print {
    fn line(&mut self, at: u64, cluster: u32, core: u32, text: &str) {
        println!("{at} [{cluster},{core}] {text}");
    }
}

struct Tell;
impl Sink for Tell {
    fn event(&mut self, event: &Event) {
        println!("{:>8} {:16} {:16} {:?}", event.at().ns(), event.source, event.kind.name, event.values);
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("an ELF file");
    let options: HashMap<String, u64> = args
        .filter_map(|arg| {
            let (key, value) = arg.split_once('=')?;
            Some((key.to_owned(), value.parse().ok()?))
        })
        .collect();
    let option = |key: &str, default: u64| options.get(key).copied().unwrap_or(default);
    let bytes = std::fs::read(&path).expect("a readable file");
    let elf = object::File::parse(&*bytes).expect("an ELF file");
    let mut image = Image::default();
    for segment in elf.segments() {
        let (addr, data) = (segment.address() as u32, segment.data().expect("data"));
        match addr >> 24 {
            0x1d => {
                let at = (addr - 0x1d00_0000) as usize;
                image.program.resize(image.program.len().max(at + data.len()), 0);
                image.program[at..at + data.len()].copy_from_slice(data);
            }
            0x1c => image.handler_memory.push((addr, data.to_vec())),
            _ => image.l1.push((addr & 0xf_ffff, data.to_vec())),
        }
    }
    let _ = elf.sections().map(|section| section.size()).sum::<u64>();
    let handler = |suffix: &str| {
        let symbol = elf.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(suffix)));
        Region { addr: symbol.map_or(0, |symbol| symbol.address() as u32), size: 4096 }
    };
    let context = Rc::new(Context {
        id: 0,
        tenant: 0,
        weight: Default::default(),
        io: Default::default(),
        handler_mem: Region { addr: 0x1c30_0000, size: 0x8_0000 },
        host_mem_addr: option("host", 0xdead_beef_dead_beef),
        host_mem_size: 1 << 29,
        header: handler("_hh"),
        payload: handler("_ph"),
        completion: handler("_th"),
        scratchpads: vec![Region { addr: 0, size: 400 << 10 }; 4],
        protection: Protection {
            code: Region { addr: 0x1d00_0000, size: 0x8000 },
            data: vec![Region { addr: 0x1c00_0000, size: 0x1_0000 }],
            ..Protection::default()
        },
        delivery: pspin::delivery::Delivery::default(),
    });
    let (n, size, gap, messages) =
        (option("packets", 32), option("size", 1024), option("gap", 20), option("messages", 1));
    // As the RTL's driver does: one message after the other, with identities 0, 2, 4, ...
    let each = n / messages;
    let step = option("step", 2);
    let source = (0..n).map(move |i| Arrival {
        earliest: 0,
        gap,
        bytes: packet(size as usize),
        msgid: (step * (i / each)) as u16,
        som: None,
        eom: i % each == each - 1,
        xfer_size: size as u32,
        context: context.clone(),
        evicts: None,
        user: i,
    });
    let paper = include_str!("../../../presets/pspin.toml");
    let params: PspinParams = match option("isolation", 0) {
        0 => testkit::preset(paper, include_str!("../../../presets/pspin-rtl.toml")),
        _ => testkit::preset(paper, ""),
    };
    let done: Rc<RefCell<Vec<PacketDone>>> = Rc::default();
    let (sink, sent) = (done.clone(), Rc::new(RefCell::new(Vec::new())));
    let out = sent.clone();
    let boundary = Boundary {
        source: Box::new(source),
        completions: Box::new(move |packet: PacketDone| sink.borrow_mut().push(packet)),
        egress: Box::new(move |departure: Departure| out.borrow_mut().push(departure.cycle)),
        host: Box::new(NoHost),
        page_tables: Rc::default(),
        events: Box::new(pspin::world::IgnoreEvents),
        console: Rc::new(RefCell::new(Print)),
        policies: Default::default(),
    };
    let mut nic = Pspin::new(&params, &image, boundary, 0).expect("a NIC");
    let log: Rc<RefCell<Vec<(u64, u32)>>> = Rc::default();
    if option("trace", 0) != 0 {
        let log = log.clone();
        nic.log_instructions(
            0,
            0,
            Box::new(move |retired: &Retired| log.borrow_mut().push((retired.cycle, retired.pc))),
        );
    }
    if option("profile", 0) != 0 {
        nic.profile_cores();
    }
    if option("events", 0) != 0 {
        nic.listen(Box::new(Tell));
    }
    let start = std::time::Instant::now();
    let outcome = nic.run_until(option("limit", 1_000_000));
    let seconds = start.elapsed().as_secs_f64();
    println!("{} instructions", instructions(&nic));
    println!("{outcome:?} at {} after {seconds:.3} s, {:.3} M cycles/s", nic.now(), nic.now() as f64 / seconds / 1e6);
    if outcome == kernel::Outcome::Limit || done.borrow().len() < n as usize {
        nic.cores().iter().for_each(|core| println!("{core:x?}"));
    }
    report("NIC", &done.borrow(), |packet| packet.feedback - packet.nic_arrival);
    report("HER", &done.borrow(), |packet| packet.feedback - packet.her);
    if let (Some(first), Some(last)) = (done.borrow().first(), done.borrow().last()) {
        let spans = (done.borrow().len() - 1).max(1) as f64;
        println!("interval {:.3}", (last.feedback - first.feedback) as f64 / spans);
        done.borrow().iter().take(4).for_each(|packet| println!("{packet:?}"));
        if option("all", 0) != 0 {
            let all: Vec<_> = done.borrow().iter().map(|p| (p.feedback - p.nic_arrival).to_string()).collect();
            println!("{}", all.join(" "));
        }
    }
    println!("sent {}", sent.borrow().len());
    if option("counters", 0) != 0 {
        nic.counters().iter().for_each(|(name, total)| println!("{name} {total}"));
    }
    if option("trace", 0) != 0 {
        let mut marker = 0;
        for &(cycle, pc) in log.borrow().iter() {
            let at = (pc - 0x1d00_0000) as usize;
            let word = u32::from_le_bytes([0, 1, 2, 3].map(|i| image.program.get(at + i).copied().unwrap_or(0)));
            if decode(word).rd == 0 && word & 0xfffff == 0x06013 && word >> 20 != 0 {
                marker = cycle;
            }
            println!("{cycle:>7} {:>4} {pc:08x} {}", cycle - marker, disassemble(decode(word), pc));
        }
    }
}

/// Instructions that all cores executed.
fn instructions(nic: &Pspin) -> u64 {
    let counters = nic.counters();
    counters.iter().filter(|(name, _)| name.ends_with(".instructions")).map(|(_, total)| total).sum()
}

fn packet(size: usize) -> Box<[u8]> {
    let mut bytes = vec![0; size].into_boxed_slice();
    bytes[0] = 0x54;
    bytes[2..4].copy_from_slice(&(size as u16).to_le_bytes());
    bytes
}

fn report(name: &str, done: &[PacketDone], latency: impl Fn(&PacketDone) -> u64) {
    let all: Vec<u64> = done.iter().map(latency).collect();
    let (min, max) = (all.iter().min().unwrap_or(&0), all.iter().max().unwrap_or(&0));
    println!("{name} avg {:.1} min {min} max {max}", all.iter().sum::<u64>() as f64 / all.len().max(1) as f64);
}
