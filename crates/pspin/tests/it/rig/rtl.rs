//! The rows of the comparison: each has a figure that was measured on the RTL, and the model's figure.

use super::Seen;
use super::driver::{Conditions, Driven, Packet, drive};
use super::measured::{CoreSection, Measured, Run, Transfer, measured, misses};
use isa::riscv::{decode, disassemble};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tolerance of the model.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Tolerance {
    /// Exact to the cycle; a mean, to half of its last measured decimal.
    Exact,
    Percent(f64),
}

use Tolerance::{Exact, Percent};

/// Tolerances: of means and throughputs; of least and largest values.
const MEAN: Tolerance = Percent(1.0);
const ENDS: Tolerance = Percent(3.0);

/// A line of the table.
pub struct Row {
    pub section: String,
    pub run: String,
    pub what: String,
    pub rtl: String,
    pub model: String,
    /// The relative error. For a list: the largest deviation divided by the largest value.
    pub error: f64,
    pub within: bool,
}

impl Row {
    pub fn name(&self) -> String {
        format!("{} | {} | {}", self.section, self.run, self.what)
    }

    /// The statistic that the row compares: mean, minimum or maximum.
    fn quantity(&self) -> &str {
        [", mean", ", least", ", largest"].iter().find_map(|end| self.what.strip_suffix(end)).unwrap_or(&self.what)
    }
}

/// The rows of a run.
struct Table<'a> {
    section: &'a str,
    run: &'a str,
    rows: Vec<Row>,
}

impl Table<'_> {
    fn push(&mut self, what: &str, rtl: String, model: String, error: f64, within: bool) {
        let (section, run) = (self.section.to_owned(), self.run.to_owned());
        self.rows.push(Row { section, run, what: what.to_owned(), rtl, model, error, within });
    }

    fn number(&mut self, what: &str, rtl: f64, model: f64, tolerance: Tolerance) {
        let off = (model - rtl).abs();
        let text = rtl.to_string();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let within = match tolerance {
            Exact => off <= 0.5001 / 10f64.powi(decimals as i32),
            Percent(most) => off <= rtl * most / 100.0,
        };
        self.push(what, text, format!("{model:.decimals$}"), off / rtl, within);
    }

    /// Values that must agree one by one: to the cycle, or each within the tolerance of a least or largest value.
    fn list(&mut self, what: &str, rtl: &[u64], model: &[u64], tolerance: Tolerance) {
        let text = |list: &[u64]| list.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let same = rtl.len() == model.len();
        let off = |(&rtl, &model): (&u64, &u64)| model.abs_diff(rtl) as f64;
        let within = match tolerance {
            Exact => rtl == model,
            Percent(most) => same && rtl.iter().zip(model).all(|pair| off(pair) <= *pair.0 as f64 * most / 100.0),
        };
        // Most values of a list are offsets from one beginning, so the error is the worst one relative to the whole
        // span.
        let span = *rtl.iter().max().expect("a list has values") as f64;
        let error = if same { rtl.iter().zip(model).map(off).fold(0.0, f64::max) / span } else { 1.0 };
        self.push(what, text(rtl), text(model), error, within);
    }

    /// Mean, least, largest.
    fn spread(&mut self, what: &str, rtl: [f64; 3], model: [f64; 3], exact: bool) {
        let tolerances = if exact { [Exact; 3] } else { [MEAN, ENDS, ENDS] };
        for (i, name) in ["mean", "least", "largest"].into_iter().enumerate() {
            self.number(&format!("{what}, {name}"), rtl[i], model[i], tolerances[i]);
        }
    }
}

/// Measures everything, on all cores of this machine.
pub fn rows() -> Vec<Row> {
    let Measured { core, dma, section, .. } = measured();
    type Job<'a> = Box<dyn Fn() -> Vec<Row> + Send + Sync + 'a>;
    let mut jobs: Vec<Job> = vec![Box::new(|| one_core(&core)), Box::new(|| transfers(&dma))];
    for section in &section {
        for run in &section.runs {
            jobs.push(Box::new(|| rows_of(&section.title, run)));
        }
    }
    let results: Vec<Mutex<Vec<Row>>> = jobs.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < jobs.len()) {
                    *results[i].lock().expect("no other thread has it") = jobs[i]();
                }
            });
        }
    });
    results.into_iter().flat_map(|rows| rows.into_inner().expect("all threads are done")).collect()
}

fn rows_of(section: &str, run: &Run) -> Vec<Row> {
    let driven = drive(&run.conditions);
    let mut table = Table { section, run: &run.name, rows: Vec::new() };
    let rate = if run.exact { Exact } else { MEAN };
    type Latency = fn(&Packet) -> u64;
    let spreads: [(&str, Option<[f64; 3]>, Latency); 3] = [
        ("NIC latency", run.nic, Packet::nic),
        ("HER latency", run.her, Packet::her_latency),
        ("NIC to HER", run.nic_to_her, Packet::nic_to_her),
    ];
    for (what, rtl, of) in spreads {
        if let Some(rtl) = rtl {
            table.spread(what, rtl, driven.spread(of), run.exact);
        }
    }
    if let Some([least, mean, largest]) = run.handler_cycles {
        table.spread("handler", [mean, least, largest], driven.spread(Packet::handler), run.exact);
    }
    type Number = fn(&Driven) -> f64;
    let numbers: [(&str, Option<f64>, Number); 8] = [
        ("interval of feedbacks", run.interval, Driven::interval),
        ("Gbit/s", run.gbps, |driven| (driven.bytes() * 8) as f64 / driven.interval()),
        ("Gbit/s sent", run.out, Driven::out),
        ("Gbit/s to the host", run.written, Driven::written),
        ("Gbit/s from the host", run.read, Driven::read),
        ("Gbit/s, whole run", run.whole, |driven| {
            driven.packets.len() as f64 * (driven.bytes() * 8) as f64
                / (driven.interval() * (driven.packets.len() - 1) as f64)
        }),
        ("Gbit/s, middle half", run.middle, |driven| driven.rate(0.25, 0.75)),
        ("Gbit/s, 50 to 90 %", run.late, |driven| driven.rate(0.5, 0.9)),
    ];
    for (what, rtl, of) in numbers {
        if let Some(rtl) = rtl {
            table.number(what, rtl, of(&driven), rate);
        }
    }
    let counts: [(&str, Option<f64>, Number); 3] = [
        ("write beats", run.write_beats, |driven| driven.beats("host_written")),
        ("read beats", run.read_beats, |driven| driven.beats("host_read")),
        ("packets done", run.completed, |driven| driven.packets.len() as f64),
    ];
    for (what, rtl, of) in counts {
        if let Some(rtl) = rtl {
            table.number(what, rtl, of(&driven), Exact);
        }
    }
    lists(&mut table, run, &driven);
    table.rows
}

/// The values of each packet.
fn lists(table: &mut Table, run: &Run, driven: &Driven) {
    let ends = if run.exact { Exact } else { ENDS };
    let nic = driven.all(Packet::nic);
    if let Some(rtl) = &run.nic_by_packet {
        table.list("NIC latency by packet", rtl, &nic, ends);
    }
    if let Some(rtl) = &run.her_by_packet {
        table.list("HER latency by packet", rtl, &driven.all(Packet::her_latency), ends);
    }
    if let Some(rtl) = &run.first_and_last {
        table.list("NIC latency, first and last", rtl, &[nic[0], nic[nic.len() - 1]], ends);
    }
    if let Some(rtl) = &run.doorbells {
        let bells = doorbells(&driven.seen);
        let of = [0, 0, 1, 2, 2].map(|packet: usize| driven.packets[packet].her);
        let from_her: Vec<u64> = bells.iter().zip(of).map(|(bell, her)| bell - her).collect();
        table.list("doorbells from their packet's HER", rtl, &from_her, Exact);
    }
    if let Some(rtl) = &run.next_reads {
        let bells = doorbells(&driven.seen);
        let reads: Vec<u64> = bells.iter().take(rtl.len()).map(|&bell| next_read(&driven.seen, bell) - bell).collect();
        table.list("doorbell to the next read of a handler's address", rtl, &reads, Exact);
    }
    let base = driven.packets[run.of_packet].arrived;
    for (name, rtl) in &run.events {
        let packets = driven.packets[run.of_packet..].iter().take(rtl.len());
        let model: Vec<u64> = packets
            .map(|packet| match name.as_str() {
                "arrived" => packet.arrived - base,
                "her" => packet.her - base,
                "dispatched" => packet.dispatched - base,
                "accepted" => packet.accepted - base,
                "copied" => packet.copied - base,
                "assigned" => packet.assigned - base,
                "cores" => packet.core,
                "started" => packet.started - base,
                "ended" => packet.ended - base,
                "doorbells_granted" => packet.doorbell_granted - base,
                "done" => packet.done - base,
                _ => panic!("{name} is not an event of a packet"),
            })
            .collect();
        let is_exact = run.exact || ["arrived", "her", "dispatched", "accepted", "copied"].contains(&name.as_str());
        table.list(&format!("event: {}", name.replace('_', " ")), rtl, &model, if is_exact { Exact } else { ENDS });
    }
}

/// Cycles in which core 0's doorbells leave decode: a cycle before they are granted.
fn doorbells(seen: &Seen) -> Vec<u64> {
    seen.named("handler_end").map(|&(cycle, ..)| cycle - 1).collect()
}

/// Cycles in which the instruction after the jump that follows the doorbell leaves decode.
fn next_read(seen: &Seen, doorbell: u64) -> u64 {
    let at = seen.log.iter().position(|&(cycle, _)| cycle == doorbell).expect("core 0 rings it");
    seen.log[at + 2].0
}

/// Three packets of 64 bytes, so far apart that each finds the card idle.
fn alone(handler: &str) -> Driven {
    let toml = format!("handler = \"{handler}\"\npackets = 3\nbytes = 64\ndelay = 20000\n");
    let conditions: Conditions = toml::from_str(&toml).expect("well formed");
    drive(&conditions)
}

fn one_core(sections: &[CoreSection]) -> Vec<Row> {
    let section = "One core, alone: cycles in which instructions leave decode";
    let [core, commands] = ["core", "core_commands"].map(|name| alone(name).seen);
    let mut rows = Vec::new();
    for CoreSection { number, name, warm, cold } in sections {
        let run = format!("{number} {name}");
        let mut table = Table { section, run: &run, rows: Vec::new() };
        let seen = if *number < 30 { &core } else { &commands };
        let is_access = |text: &str| text.starts_with("lw") || text.starts_with("sw");
        let mut offsets: Vec<u64> = instructions(seen, *number, true)
            .into_iter()
            .filter(|(_, text)| *number < 26 || is_access(text))
            .filter(|(_, text)| *number != 20 || text.starts_with("mul"))
            .map(|(cycle, _)| cycle)
            .skip(usize::from(*number == 17)) // Sets the loop's count.
            .collect();
        // DMA and command sections end with accesses that prepare the next section. These are not compared.
        offsets.truncate(warm.len());
        table.list("warm", warm, &offsets, Exact);
        if let Some(cold) = cold {
            let mut offsets: Vec<u64> = instructions(seen, *number, false).iter().map(|&(cycle, _)| cycle).collect();
            offsets.truncate(cold.len());
            table.list("cold", cold, &offsets, Exact);
        }
        rows.append(&mut table.rows);
    }
    rows
}

/// The instructions of a section of `core.S` or `dma.S` in the last run of the program, or in the first.
pub fn instructions(seen: &Seen, number: u32, last: bool) -> Vec<(u64, String)> {
    let marker = |pc: u32| {
        let word = seen.word(pc);
        (word & 0xf_ffff == 0x0000_6013).then_some(word >> 20) // ori x0, x0, number
    };
    let is_start = |&(_, pc): &(u64, u32)| marker(pc) == Some(number);
    let start = if last { seen.log.iter().rposition(is_start) } else { seen.log.iter().position(is_start) };
    let start = start.expect("a marker");
    let base = seen.log[start].0;
    seen.log[start + 1..]
        .iter()
        .take_while(|&&(_, pc)| marker(pc).is_none())
        .map(|&(cycle, pc)| {
            let text = disassemble(decode(seen.word(pc)), pc).to_string();
            (cycle - base, text.trim_start_matches("c.").to_owned())
        })
        .collect()
}

/// Transfers of the cluster's DMA. Polls happen every 6 cycles; the programs have them at every phase.
fn transfers(sizes: &[Transfer]) -> Vec<Row> {
    let programs: Vec<Seen> = (0..6).map(|space| alone(&format!("dma_{space}")).seen).collect();
    let took = |number: u32| {
        let of = |seen: &Seen| {
            let loads = instructions(seen, number, true).into_iter().filter(|(_, text)| text.starts_with("lw"));
            let cycles: Vec<u64> = loads.map(|(cycle, _)| cycle).collect();
            cycles[cycles.len() - 1] - cycles[0]
        };
        programs.iter().map(of).min().expect("programs")
    };
    let mut rows = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        let run = format!("{} B", size.bytes);
        let section = "The cluster's DMA alone: from the launch to the first poll that sees the end";
        let mut table = Table { section, run: &run, rows: Vec::new() };
        let number = i as u32 + 1;
        table.list("L2 handler memory to L1", &[size.from_handler_memory], &[took(number)], Exact);
        table.list("L2 packet memory to L1", &[size.from_packet_memory], &[took(10 + number)], Exact);
        table.list("L1 to L2 handler memory", &[size.to_l2], &[took(20 + number)], Exact);
        table.list("L1 to L2 packet memory", &[size.to_l2], &[took(30 + number)], Exact);
        rows.append(&mut table.rows);
    }
    rows
}

/// Median, mean and worst relative error in per cent.
fn errors(rows: &[Row]) -> [f64; 3] {
    let mut errors: Vec<f64> = rows.iter().map(|row| row.error * 100.0).collect();
    errors.sort_by(f64::total_cmp);
    [errors[errors.len() / 2], errors.iter().sum::<f64>() / errors.len() as f64, errors[errors.len() - 1]]
}

/// The numbers at the beginning of the page.
pub fn headline(rows: &[Row]) -> String {
    let [median, mean, worst] = errors(rows);
    let within = rows.iter().filter(|row| row.within).count();
    format!(
        "**Against the RTL: median error {median:.2} %, mean error {mean:.2} %, worst error {worst:.1} %; {within} of {} figures \
         are within their tolerance.**\n",
        rows.len()
    )
}

/// The rows as Markdown: a line for each quantity of a run.
pub fn all_rows(rows: &[Row]) -> String {
    let conditions: Vec<_> =
        measured().section.into_iter().map(|section| (section.title, section.conditions)).collect();
    let mut text = String::new();
    for section in rows.chunk_by(|a, b| a.section == b.section) {
        let title = &section[0].section;
        let conditions_text =
            conditions.iter().find(|(named, _)| named == title).map_or("", |(_, conditions_text)| conditions_text);
        let conditions_text = if conditions_text.is_empty() { String::new() } else { format!("{conditions_text}\n\n") };
        let _ = writeln!(
            text,
            "\n## {title}\n\n{conditions_text}| run | figure | RTL | spinet | error |\n|---|---|---|---|---|"
        );
        for rows in section.chunk_by(|a, b| a.run == b.run && a.quantity() == b.quantity()) {
            let joined = |of: fn(&Row) -> &str| rows.iter().map(of).collect::<Vec<_>>().join(" / ");
            let worst = rows.iter().map(|row| row.error).fold(0.0, f64::max) * 100.0;
            let mark = if rows.iter().all(|row| row.within) { "" } else { " **miss**" };
            let (run, quantity) = (&rows[0].run, rows[0].quantity());
            let (rtl, model) = (joined(|row| &row.rtl), joined(|row| &row.model));
            let _ = writeln!(text, "| {run} | {quantity} | {rtl} | {model} | {worst:.1} %{mark} |");
        }
    }
    text
}

/// A line for each section, and the rows that miss.
pub fn summary(rows: &[Row]) -> String {
    let mut text =
        String::from("| what was measured | rows | within | median error | worst error |\n|---|---|---|---|---|\n");
    for section in rows.chunk_by(|a, b| a.section == b.section) {
        let [median, _, worst] = errors(section);
        let within = section.iter().filter(|row| row.within).count();
        let (title, n) = (&section[0].section, section.len());
        let _ = writeln!(text, "| {title} | {n} | {within} | {median:.2} % | {worst:.1} % |");
    }
    let misses = misses().miss;
    if !misses.is_empty() {
        text += "\nOutside their tolerance:\n\n";
    }
    for (i, miss) in misses.iter().enumerate() {
        let rows = if miss.rows.len() > 3 {
            format!("{} rows", miss.rows.len())
        } else {
            miss.rows.join("; ").replace(" | ", ", ")
        };
        let _ = writeln!(text, "{}. {} *({rows})*", i + 1, miss.cause);
    }
    text
}
