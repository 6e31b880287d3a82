//! Runs the 10 Gigabit NIC under saturating traffic both ways and prints what it did.
//!
//! `cargo run -p spinach --example tengig -- firmware.elf cores mhz datagram_bytes microseconds [counters]`

use blocks::feeders::{Datagrams, Frames, Offered, Pace, Station, Traffic};
use blocks::netlist::{Card, Environment, Netlist};
use blocks::mips::{MipsCore, Profile};
use kernel::Time;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::rc::Rc;

fn datagrams(bytes: &[u32], from: u8, to: u8) -> Frames {
    let station = |last| Station { mac: wire::eth::Mac([2, 0, 0, 0, 0, last]), ip: [10, 0, 0, last].into(), port: 9 };
    Frames::Datagrams(Datagrams { count: None, datagram_bytes: bytes.to_vec(), from: station(from), to: station(to) })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, elf, cores, mhz, bytes, us, ..] = &args[..] else { panic!("usage") };
    let cores: usize = cores.parse().expect("cores");
    let sizes: Vec<u32> = bytes.split(',').map(|size| size.parse().expect("bytes")).collect();
    let mut settings = vec![
        ("cores".to_owned(), toml::Value::Integer(cores as i64)),
        ("clocks.cpu".to_owned(), toml::Value::String(format!("{mhz} MHz"))),
    ];
    if elf.contains("HARDWARE") {
        let mut queue = toml::Table::new();
        queue.insert("events".to_owned(), toml::Value::Integer(1024));
        settings.push(("registers.event_queue".to_owned(), toml::Value::Table(queue)));
    }
    let none = |file: &str, _: &str| Err(format!("{file} is not wanted"));
    let preset = include_str!("../../../../presets/tengig.toml");
    let netlist = Netlist::read("tengig.toml", preset, &settings, &none).unwrap_or_else(|error| panic!("{error}"));
    let mut environment = Environment::default();
    let traffic = |frames| Traffic { frames, pace: Pace::Saturating };
    environment.insert(Rc::new(Offered {
        network: traffic(datagrams(&sizes, 1, 2)),
        host: traffic(datagrams(&sizes, 2, 1)),
    }));
    let design = netlist.design(&spinach::catalog()).unwrap_or_else(|error| panic!("{error}"));
    let mut card = Card::build(&design, 1, &environment);
    let elf = std::fs::read(elf).expect("elf");
    let file = object::File::parse(&*elf).expect("elf");
    let parts: Vec<_> = file.segments().map(|s| (s.address() as u32, s.data().expect("data"))).collect();
    spinach::tengig::load(&card, parts).unwrap_or_else(|error| panic!("{error}"));
    let us: u64 = us.parse().expect("us");
    let warm = us / 4;
    card.system.run_until(Time::from_ns(warm * 1000));
    for (_, core) in card.parts::<MipsCore>() {
        core.borrow_mut().set_profile(Profile::new([(0x40_0000, 0x1_0000)]));
    }
    let before = card.system.counters();
    let clock = std::time::Instant::now();
    card.system.run_until(Time::from_ns(us * 1000));
    let spent = clock.elapsed().as_secs_f64();
    let after = card.system.counters();
    let span = (us - warm) as f64;
    let mut found = std::collections::BTreeMap::new();
    for ((name, old), (_, new)) in before.iter().zip(&after) {
        found.insert(name.clone(), new - old);
        if args.len() > 6 {
            println!("{name:50} {:12} {:12.3}/us", new - old, (new - old) as f64 / span);
        }
    }
    let mut functions: Vec<(u64, u64, &str)> = file
        .symbols()
        .filter(|s| s.kind() == object::SymbolKind::Text && s.size() > 0)
        .map(|s| (s.address(), s.size(), s.name().expect("name")))
        .collect();
    functions.sort();
    let mut rows = std::collections::BTreeMap::<&str, (u64, u64, u64)>::new();
    for (_, core) in card.parts::<MipsCore>() {
        let core = core.borrow();
        if let Some(trouble) = core.trouble() {
            println!("TROUBLE {trouble:?}");
        }
        let (base, lines) = core.profile().expect("profile").ranges().next().expect("range");
        for (i, line) in lines.iter().enumerate() {
            let pc = u64::from(base) + 4 * i as u64;
            let name = functions.iter().find(|f| (f.0..f.0 + f.1).contains(&pc)).map_or("?", |f| f.2);
            let row = rows.entry(name).or_default();
            row.0 += line.cycles;
            row.1 += line.instructions;
            if functions.iter().any(|f| f.0 == pc) {
                row.2 += line.instructions;
            }
        }
    }
    let frames = found["network_out.frames"] + found["host.received_frames"];
    let all: u64 = rows.values().map(|row| row.0).sum();
    if args.len() > 6 {
        for (name, (cycles, instructions, calls)) in &rows {
            if *cycles > 0 {
                println!("{name:28} {:6.2} % {:8.1} cycles {:8.1} instructions {:7.2} calls a frame", *cycles as f64 * 100.0 / all as f64, *cycles as f64 / frames as f64, *instructions as f64 / frames as f64, *calls as f64 / frames as f64);
            }
        }
    }
    let total = |what: &str| (0..cores).map(|i| found[&format!("cpu[{i}].cycles.{what}")]).sum::<u64>() as f64 / all as f64;
    println!("IPC: {}", blocks::mips::cycle_names().map(|name| format!("{name} {:.3}", total(name))).join(", "));
    let rate = |name: &str| found[name] as f64 / span;
    println!(
        "cores {cores} mhz {mhz} bytes {bytes}: sent {:.4} M/s, received {:.4} M/s, sum {:.4}; lost {} late {} unknown {} dropped {} faults {} sink lost {} late {} unknown {}; {:.2} s",
        rate("network_out.frames"),
        rate("host.received_frames"),
        rate("network_out.frames") + rate("host.received_frames"),
        found["host.lost_frames"], found["host.late_frames"], found["host.unknown_frames"],
        found["registers.dropped_frames"], found["host.faults"],
        found["network_out.lost_frames"], found["network_out.late_frames"], found["network_out.unknown_frames"],
        spent
    );
}
