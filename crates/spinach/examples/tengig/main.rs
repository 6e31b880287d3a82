//! Runs the 10 Gigabit NIC under saturating traffic both ways and prints what it did.
//!
//! `cargo run -p spinach --example tengig -- firmware.elf cores mhz datagram_bytes microseconds [counters]`

use blocks::feeders::{Datagrams, Frames, Offered, Pace, Station, Traffic};
use blocks::netlist::{Card, Environment, Netlist};
use blocks::memory::{MemoryController, ScratchpadBanks};
use kernel::Time;
use object::{Object, ObjectSegment};
use std::fmt::Write;
use std::rc::Rc;

fn netlist(cores: usize, mhz: &str) -> String {
    let mut text = format!(
        r#"
name = "tengig"
[clocks]
cpu = "{mhz} MHz"
frames = "500 MHz"
host = "133 MHz"
mac = "156.25 MHz"

[instances.instruction_memory]
module = "memory-controller"
clock = "cpu"
bytes = 65536
word_bytes = 16
first_word_cycles = 1
burst_words = 2
requesters = {cores}
max_bytes = 32
policy = {{ kind = "round-robin" }}

[instances.control_memory]
module = "scratchpad-banks"
clock = "cpu"
requesters = {requesters}
banks = 4
word_bytes = 4
base = 0
bytes = 262144
reference_bytes = 4096
outstanding = 16
policy = {{ kind = "round-robin" }}

[instances.frame_memory]
module = "frame-memory"
clock = "frames"
requesters = 3
base = 0x80000000
bytes = 67108864
bus_bytes = 16
word_bytes = 8
transfer_bytes = 1518
policy = {{ kind = "round-robin" }}
[instances.frame_memory.rows]
row_bytes = 2048
banks = 8
activation_cycles = 14
conflict_cycles = 27

[instances.registers]
module = "tengig-registers"
clock = "cpu"
cpus = {cores}

[instances.host]
module = "tengig-host"
clock = "host"
base = 0x100000000
send_frames = 256
receive_buffers = 512
header_bytes = 42
send_coalesce = 16
receive_coalesce = 16
coalesce_us = 50
kept_times = 0

[instances.dma_read]
module = "dma-assist"
clock = "host"
direction = "read"
ring_entries = 256
high_ring_entries = 0
descriptor_bytes = 16
descriptors_ahead = 2
buffer_bytes = 3036
memory_burst_bytes = 2048
memory_references = 4
host_burst_bytes = 2048
host_references = 4

[instances.dma_write]
module = "dma-assist"
clock = "host"
direction = "write"
ring_entries = 256
high_ring_entries = 0
descriptor_bytes = 16
descriptors_ahead = 2
buffer_bytes = 3036
memory_burst_bytes = 2048
memory_references = 4
host_burst_bytes = 2048
host_references = 4

[instances.mac_transmit]
module = "mac-transmit"
clock = "mac"
link_bps = 10_000_000_000
ring_entries = 256
descriptors_ahead = 2
buffer_bytes = 3036
start_bytes = 900
memory_burst_bytes = 2048
memory_references = 4

[instances.mac_receive]
module = "mac-receive"
clock = "mac"
link_bps = 10_000_000_000
ring_entries = 512
buffer_bytes = 3036
is_paced = false
memory_burst_bytes = 2048
memory_references = 4

[instances.network_in]
module = "packet-feeder"
clock = "mac"
line_bps = 10_000_000_000
kept_times = 0

[instances.network_out]
module = "frame-sink"
clock = "mac"
kept_times = 0
kept_frames = 0
"#,
        requesters = cores + 6,
    );
    for i in 0..cores {
        write!(
            text,
            r#"
[instances.cpu{i}]
module = "mips-core"
clock = "cpu"
pipeline = "five-stage"
reset_pc = 0x400000
runs_at_reset = true
memory_cycles = 3
register_cycles = 2
stores = "posted"
multiply_cycles = 10
divide_cycles = 69
instruction_cache = {{ bytes = 8192, line_bytes = 32, ways = 2, drops_stored_lines = false }}
registers = {{ base = 0xC0000000, bytes = 0x400 }}
"#
        )
        .expect("text");
    }
    let mut join = |from: &str, to: &str| {
        writeln!(text, "[[connections]]\nfrom = \"{from}\"\nto = \"{to}\"\nroom = 4").expect("text");
    };
    for i in 0..cores {
        join(&format!("cpu{i}.fetch"), &format!("instruction_memory.requesters[{i}]"));
        join(&format!("cpu{i}.memory"), &format!("control_memory.requesters[{i}]"));
        join(&format!("cpu{i}.registers"), &format!("registers.cpus[{i}]"));
    }
    let assists = ["dma_read", "dma_write", "mac_transmit", "mac_receive"];
    for (i, assist) in assists.iter().enumerate() {
        join(&format!("registers.{assist}.orders"), &format!("{assist}.orders"));
        join(&format!("{assist}.progress"), &format!("registers.{assist}.progress"));
        join(&format!("{assist}.descriptors"), &format!("control_memory.requesters[{}]", cores + i));
    }
    join("dma_read.memory", &format!("control_memory.requesters[{}]", cores + 4));
    join("dma_write.memory", &format!("control_memory.requesters[{}]", cores + 5));
    join("control_memory.onward", "frame_memory.requesters[0]");
    join("mac_transmit.memory", "frame_memory.requesters[1]");
    join("mac_receive.memory", "frame_memory.requesters[2]");
    join("dma_read.host", "host.memory[0]");
    join("dma_write.host", "host.memory[1]");
    join("host.bus", "registers.host");
    join("host.go", "network_in.go");
    join("registers.interrupt", "host.interrupt");
    join("mac_transmit.wire", "network_out.wire");
    join("network_in.wire", "mac_receive.wire");
    text
}

fn datagrams(bytes: &[u32], from: u8, to: u8) -> Frames {
    let station = |last| Station { mac: wire::eth::Mac([2, 0, 0, 0, 0, last]), ip: [10, 0, 0, last].into(), port: 9 };
    Frames::Datagrams(Datagrams { count: None, datagram_bytes: bytes.to_vec(), from: station(from), to: station(to) })
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, elf, cores, mhz, bytes, us, ..] = &args[..] else { panic!("usage") };
    let cores: usize = cores.parse().expect("cores");
    let sizes: Vec<u32> = bytes.split(',').map(|size| size.parse().expect("bytes")).collect();
    let netlist: Netlist = toml::from_str(&netlist(cores, mhz)).expect("netlist");
    let mut environment = Environment::default();
    let traffic = |frames| Traffic { frames, pace: Pace::Saturating };
    environment.insert(Rc::new(Offered {
        network: traffic(datagrams(&sizes, 1, 2)),
        host: traffic(datagrams(&sizes, 2, 1)),
    }));
    let mut card = Card::build(&netlist, &spinach::catalog(), 1, &environment).expect("card");
    let elf = std::fs::read(elf).expect("elf");
    let file = object::File::parse(&*elf).expect("elf");
    for segment in file.segments() {
        let (addr, data) = (segment.address(), segment.data().expect("data"));
        if addr >= 0x40_0000 {
            card.part::<MemoryController>("instruction_memory").expect("imem").borrow_mut().write(addr, data);
        } else if !data.is_empty() {
            let memory = card.part::<ScratchpadBanks>("control_memory").expect("control");
            memory.borrow_mut().store_mut().get_mut(addr, data.len() as u32).expect("fits").copy_from_slice(data);
        }
    }
    let us: u64 = us.parse().expect("us");
    let warm = us / 4;
    card.system.run_until(Time::from_ns(warm * 1000));
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
