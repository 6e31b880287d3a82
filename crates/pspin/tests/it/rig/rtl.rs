//! What was measured on the RTL, and the same measured here.
//!
//! Source of every figure: PsPIN RTL a49fec8 (4 clusters of 8 RI5CY cores) simulated under Verilator.

use super::{Load, Seen, run};
use isa::riscv::{decode, disassemble};
use pspin::world::PacketDone;
use std::fmt::Write;

/// How far a figure may be off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    Cycles(f64),
    Percent(f64),
}

use Tolerance::{Cycles, Percent};

/// A line of the table.
pub struct Row {
    pub part: &'static str,
    pub name: String,
    pub rtl: String,
    pub model: String,
    pub difference: String,
    pub within: bool,
}

/// Rows that are outside their tolerance, and why.
pub const MISSES: &[(&str, &str)] = &[
    (
        "512 × 64 B: NIC latency max",
        "Mean and least, which do not depend on who goes first, are met; the longest wait does. It is not the cold start itself: \
         with the cache's requests one by one, so that an eighth core waits for a second refill, it stays what it was.",
    ),
    (
        "32 AMO × 16: NIC latency avg",
        "By the RTL's own figures no rule of dispatch gives both this run and the next. All is over 690 + 15 cycles after the \
         first packet came, and an AMO takes a bank for 2: at most 10 of 16 packets ran at home, and a handler of 132 was \
         alone in its cluster. In the run of loads a packet that finds an HPU free takes 208 + 28 cycles at most, so that a \
         mean of 316 with none above 429 needs 7 that waited for a whole handler, and 15 at home. But both runs are equal \
         until the first handler starts, 19 cycles after its task came to the cluster, and by then all tasks are sent. What \
         can differ is how a simulator settles a loop of signals (known difference 15): if no copy is ever asked for at \
         once, 10, 2, 2 and 2 packets go to the four clusters, and the model gives 439, 196, 694, and handlers 344, 135, \
         526. Here it is 15 and 1, as the loads need.",
    ),
    ("32 AMO × 16: NIC latency max", "As above."),
    ("32 AMO × 16: handler avg", "As above."),
    (
        "32 AMO × 16: handler max",
        "As above. Eight handlers that share a bank take 512 cycles; in less, fewer met, or they started further apart.",
    ),
];

struct Table(Vec<Row>);

impl Table {
    fn number(&mut self, part: &'static str, name: String, rtl: f64, model: f64, tolerance: Tolerance) {
        let off = model - rtl;
        let (within, difference) = match tolerance {
            Cycles(most) => (off.abs() <= most, format!("{off:+}")),
            Percent(most) => (off.abs() <= rtl * most / 100.0, format!("{:+.1} %", off / rtl * 100.0)),
        };
        // As many decimals as the RTL's figure was given with.
        let text = rtl.to_string();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        self.0.push(Row { part, name, rtl: text, model: format!("{model:.decimals$}"), difference, within });
    }

    fn list(&mut self, part: &'static str, name: String, rtl: &[u64], model: &[u64]) {
        let off = rtl.iter().zip(model).map(|(&rtl, &model)| model as i64 - rtl as i64).max_by_key(|off| off.abs());
        let same = rtl.len() == model.len();
        let within = same && off.is_some_and(|off| off.abs() <= 1);
        let difference = off.filter(|_| same).map_or("other length".to_owned(), |off| format!("{off:+}"));
        let text = |list: &[u64]| list.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        self.0.push(Row { part, name, rtl: text(rtl), model: text(model), difference, within });
    }

    /// Average, least and most of a latency.
    fn spread(&mut self, part: &'static str, name: &str, rtl: [f64; 3], latencies: &[u64]) {
        let avg = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
        let (min, max) = (latencies.iter().min().expect("packets"), latencies.iter().max().expect("packets"));
        for (what, rtl, model) in [("avg", rtl[0], avg), ("min", rtl[1], *min as f64), ("max", rtl[2], *max as f64)] {
            self.number(part, format!("{name} {what}"), rtl, model, Percent(5.0));
        }
    }
}

fn nic(packet: &PacketDone) -> u64 {
    packet.feedback - packet.nic_arrival
}

fn her(packet: &PacketDone) -> u64 {
    packet.feedback - packet.her
}

fn all(seen: &Seen, latency: fn(&PacketDone) -> u64) -> Vec<u64> {
    seen.done.iter().map(latency).collect()
}

/// Average cycles from one feedback to the next.
fn interval(seen: &Seen) -> f64 {
    let (first, last) = (seen.done.first().expect("packets"), seen.done.last().expect("packets"));
    (last.feedback - first.feedback) as f64 / (seen.done.len() - 1) as f64
}

/// Measures everything.
pub fn rows() -> Vec<Row> {
    let mut table = Table(Vec::new());
    unloaded(&mut table);
    at_rate(&mut table);
    throughput(&mut table);
    chain(&mut table);
    one_core(&mut table);
    contention(&mut table);
    table.0
}

fn unloaded(table: &mut Table) {
    let part = "Unloaded, empty payload handler, one packet in 1000 cycles; within 1 cycle";
    for (bytes, nic_rtl, her_rtl) in [(64, [49.0, 33.0], [44.0, 28.0]), (1024, [79.0, 63.0], [59.0, 43.0])] {
        let seen = run(Load::new("empty", 3, bytes, 1000));
        for (i, what) in ["first (cold)", "later (warm)"].into_iter().enumerate() {
            let packet = &seen.done[i];
            table.number(part, format!("{bytes} B, NIC latency, {what}"), nic_rtl[i], nic(packet) as f64, Cycles(1.0));
            table.number(part, format!("{bytes} B, HER latency, {what}"), her_rtl[i], her(packet) as f64, Cycles(1.0));
        }
    }
}

fn at_rate(table: &mut Table) {
    let part = "32 packets of 1024 B, one in 20 cycles; within 5 %";
    let runs = [
        ("empty", "empty", [63.5, 63.0, 79.0], [43.5, 43.0, 59.0], 19.484),
        ("ping_pong", "ping-pong", [121.5, 109.0, 156.0], [101.5, 89.0, 136.0], 18.484),
        ("copy_to_host", "copy to host", [116.3, 109.0, 140.0], [96.3, 89.0, 120.0], 19.0),
    ];
    for (program, name, nic_rtl, her_rtl, interval_rtl) in runs {
        // The host address of the RTL's driver, which no multiple of 64 is.
        let seen = run(Load { host: 0xdead_beef_dead_beef, ..Load::new(program, 32, 1024, 20) });
        table.spread(part, &format!("{name}: NIC latency"), nic_rtl, &all(&seen, nic));
        table.spread(part, &format!("{name}: HER latency"), her_rtl, &all(&seen, her));
        table.number(part, format!("{name}: interval of feedbacks"), interval_rtl, interval(&seen), Percent(5.0));
        if program == "copy_to_host" {
            let beats = seen.named("host_written").count() as f64;
            table.number(part, format!("{name}: PCIe write beats"), 544.0, beats, Percent(0.0));
        }
    }
}

fn throughput(table: &mut Table) {
    let part = "16 messages back to back, empty payload handler; within 5 %";
    let runs = [(512, 64, 1.016, [56.8, 35.0, 122.0]), (256, 512, 7.937, [939.7, 63.0, 1832.0])];
    for (packets, bytes, interval_rtl, nic_rtl) in runs {
        let seen = run(Load { messages: 16, ..Load::new("empty", packets, bytes, 0) });
        let name = format!("{packets} × {bytes} B");
        table.number(part, format!("{name}: interval of feedbacks"), interval_rtl, interval(&seen), Percent(5.0));
        table.spread(part, &format!("{name}: NIC latency"), nic_rtl, &all(&seen, nic));
    }
}

fn chain(table: &mut Table) {
    let part = "Header, payload, completion, three packets of 64 B, 300 cycles apart; within 1 cycle";
    let seen = run(Load::new("chain", 3, 64, 300));
    let hers = all(&seen, her);
    for (i, rtl) in [88.0, 28.0, 56.0].into_iter().enumerate() {
        table.number(part, format!("packet {}: HER to feedback", i + 1), rtl, hers[i] as f64, Cycles(1.0));
    }
    // A doorbell leaves decode a cycle before it is granted.
    let doorbells: Vec<u64> = seen.named("handler_end").map(|&(cycle, ..)| cycle - 1).collect();
    let from_her =
        [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)].map(|(bell, packet)| doorbells[bell] - seen.done[packet].her);
    table.list(part, "doorbells from their packet's HER".to_owned(), &[41, 85, 25, 25, 53], &from_her);
    let reads: Vec<u64> = doorbells[..4].iter().map(|&bell| next_read(&seen, bell) - bell).collect();
    table.list(part, "doorbell to the next read of the handler register".to_owned(), &[11, 3, 3, 3], &reads);
}

/// When the instruction after the jump that follows the doorbell leaves decode.
fn next_read(seen: &Seen, doorbell: u64) -> u64 {
    let at = seen.log.iter().position(|&(cycle, _)| cycle == doorbell).expect("core 0 rings it");
    seen.log[at + 2].0
}

/// Number, what it is, and the cycles in which its instructions leave decode, from the marker on.
const SECTIONS: &[(u32, &str, &[u64])] = &[
    (1, "`addi` chain", &[1, 2, 3, 4, 5, 6, 7, 8]),
    (2, "`lw` own L1", &[1, 2, 3, 4]),
    (3, "`lw` own L1, then use", &[1, 3, 4, 6, 7, 9, 10, 12]),
    (4, "`sw` own L1", &[1, 2, 3, 4]),
    (5, "`lw` L2 packet memory", &[1, 21, 41, 61]),
    (6, "`lw` L2 handler memory", &[1, 22, 43, 64]),
    (7, "`sw` L2 handler memory", &[1, 22, 43, 64]),
    (8, "`sw` L2 packet memory", &[1, 22, 43, 64]),
    (9, "`amoadd.w` own L1, one word", &[1, 2, 4, 6]),
    (10, "`amoadd.w` own L1, next word, `addi` between", &[1, 2, 3, 4, 5, 6]),
    (11, "`lw` remote L1", &[1, 23, 45, 67]),
    (12, "`sw` remote L1", &[1, 24, 47, 70]),
    (13, "`amoadd.w` remote L1", &[1, 25]),
    (14, "`amoadd.w` L2 handler memory", &[1, 28]),
    (15, "`bne` not taken", &[1, 2, 3, 4]),
    (16, "`beq` taken, the third to a straddling target", &[1, 4, 8, 11]),
    (17, "loop of `addi`, `bne`", &[2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23]),
    (18, "two `j` forward", &[1, 3, 5]),
    (19, "`auipc`, `addi`, `jalr`", &[1, 2, 4, 6]),
    (20, "`mul`", &[1, 2, 3, 4]),
    (21, "`mulh`, `mulhu`, `mulhsu`", &[1, 6, 11]),
    (22, "`div`, `div`, `divu`, `rem`, `remu`, `div` by 0", &[1, 34, 49, 82, 115, 148]),
    (23, "misaligned `lw`, `lw`, `lh`, `lh`, `sw`, `sh`", &[1, 3, 5, 7, 9, 11]),
    (24, "`lb`, `lbu`, `lh`, `lhu`, `sb`, `sh`", &[1, 2, 3, 4, 6, 7]),
    (25, "`lw` HPU driver", &[1, 2, 3, 4]),
    (26, "cluster DMA, 64 B from L2: `sw`, launch, polls to the end", &[4, 6, 7, 8, 9, 14, 20, 26]),
    (27, "cluster DMA, 1 KiB from L2: `sw`, launch, polls", &[3, 5, 6, 7, 8, 13, 19, 25, 31]),
    (28, "cluster DMA, 256 B to L2: `sw`, launch, polls to the end", &[2, 5, 6, 7, 8, 12, 18, 24]),
    (29, "HostDirect: `sw`, issue, wait", &[6, 7, 8, 9, 10, 11, 12, 14]),
];

fn one_core(table: &mut Table) {
    let part = "One core, warm, alone: cycles in which instructions leave decode, from the marker on; within 1 cycle";
    let seen = run(Load::new("core", 2, 64, 20_000));
    for &(number, name, rtl) in SECTIONS {
        let is_access = |text: &str| text.starts_with("lw") || text.starts_with("sw");
        let mut offsets: Vec<u64> = section(&seen, number)
            .into_iter()
            .filter(|(_, text)| number < 26 || is_access(text))
            .map(|(cycle, _)| cycle)
            .skip(usize::from(number == 17)) // What sets the loop's count.
            .collect();
        // Of DMA and command sections the accesses are all; behind others is what aligns the next.
        if ![26, 28, 29].contains(&number) {
            offsets.truncate(rtl.len());
        }
        table.list(part, format!("{number} {name}"), rtl, &offsets);
    }
}

/// The instructions of a section in the last run of the program.
pub fn section(seen: &Seen, number: u32) -> Vec<(u64, String)> {
    let marker = |number: u32| number << 20 | 0x0000_6013; // ori x0, x0, N
    let start = seen.log.iter().rposition(|&(_, pc)| seen.word(pc) == marker(number)).expect("a marker");
    let base = seen.log[start].0;
    seen.log[start + 1..]
        .iter()
        .take_while(|&&(_, pc)| seen.word(pc) != marker(number + 1))
        .map(|&(cycle, pc)| (cycle - base, disassemble(decode(seen.word(pc)), pc).to_string()))
        .collect()
}

fn contention(table: &mut Table) {
    let part = "16 packets of 64 B of one message back to back; within 5 %";
    let runs = [
        ("amo_one_word", "32 AMO × 16", [363.5, 132.0, 487.0], [477.2, 163.0, 690.0]),
        ("load_one_word", "8 loads × 16", [196.9, 180.0, 208.0], [315.8, 227.0, 429.0]),
    ];
    for (program, name, handler_rtl, nic_rtl) in runs {
        let seen = run(Load::new(program, 16, 64, 0));
        table.spread(part, &format!("{name}: NIC latency"), nic_rtl, &all(&seen, nic));
        table.spread(part, &format!("{name}: handler"), handler_rtl, &handlers(&seen));
    }
}

/// Runs in the same form that were not measured on the RTL: program, what each handler does, and what the text says of it.
const DERIVED: &[(&str, &str, &str)] = &[
    ("amo_own_bank", "32 AMOs, each core on a word of its own", "2 each: 63, and 16 around them; 9 lines are cold"),
    ("load_one_bank", "32 loads, all from one bank of L1", "one a cycle for eight cores: 256"),
    (
        "store_own_word",
        "8 stores to L2, each core to a word of its own",
        "one in 3 cycles for all: 192 for eight cores",
    ),
];

/// What the model gives for them, as Markdown.
pub fn derived() -> String {
    let mut text = String::from(
        "| 16 packets of 64 B of one message back to back, all cold | by the text | handler min, mean, max | NIC latency min, avg, max |\n\
         |---|---|---|---|\n",
    );
    for (program, what, by_text) in DERIVED {
        let seen = run(Load::new(program, 16, 64, 0));
        let spread = |all: &[u64]| {
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
            let (least, most) = (all.iter().min().expect("packets"), all.iter().max().expect("packets"));
            format!("{least}, {mean:.1}, {most}")
        };
        let _ = writeln!(text, "| {what} | {by_text} | {} | {} |", spread(&handlers(&seen)), spread(&all(&seen, nic)));
    }
    text
}

/// Cycles between the two nops around each handler: the first leaves decode one cycle after the handler's address is
/// granted, the second two before the doorbell is.
fn handlers(seen: &Seen) -> Vec<u64> {
    let started = |end: &[u64]| {
        let start = seen.named("handler_start").find(|(.., values)| values[..2] == end[..2]);
        start.expect("a handler that ends has started").0
    };
    seen.named("handler_end").map(|(cycle, .., values)| cycle - started(values) - 3).collect()
}

/// The rows as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut part = "";
    for row in rows {
        if row.part != part {
            part = row.part;
            let _ = writeln!(text, "\n**{part}**\n\n| | RTL | spinet | difference |\n|---|---|---|---|");
        }
        let mark = if row.within { "" } else { " **miss**" };
        let _ = writeln!(text, "| {} | {} | {} | {}{mark} |", row.name, row.rtl, row.model, row.difference);
    }
    let within = rows.iter().filter(|row| row.within).count();
    let _ = writeln!(text, "\n{within} of {} rows are within their tolerance. The others:\n", rows.len());
    for (i, (name, reason)) in MISSES.iter().enumerate() {
        let _ = writeln!(text, "{}. *{name}*: {reason}", i + 1);
    }
    text
}
