//! Measures the model as the RTL was measured. `--help` says how.

#[path = "../tests/it/rig/mod.rs"]
mod rig;

use rig::driver::{Conditions, Driven, Packet, drive};
use std::path::Path;

const HELP: &str = "\
Without options: every row that was measured on the RTL, the figures of the model beside it, and a summary.
  --write                 also write the tables of docs/machines/pspin.md and pspin-fidelity.md, and take rows that are within their
                          tolerance out of crates/pspin/tests/rtl/misses.toml
  --misses                only the rows outside their tolerance

One run of any conditions, as PsPIN's generic driver makes it; prints latencies and throughput:
  --run HANDLER           a handler of crates/pspin/tests/rtl (empty, chain, ping_pong, ping_pong_l2, copy_to_host, ...)
  --elf FILE              or of this program: its handlers are HANDLER_hh, HANDLER_ph, HANDLER_th
  --align N               functions of the program aligned to 4, 16 or 32
  -m N  -p N  -s N        messages (1), packets of each (32), bytes of each packet (1024)
  -d N  -l N              cycles from packet to packet (20), and behind the last one of a message (40)
  --interleaved           packets of the messages come in turn, and messages are numbered 0, 1, 2
  --consecutive-ids       messages are numbered 0, 1, 2 instead of 0, 2, 4
  --host-aligned          host memory begins at a page
  --events                a line for each packet
  --trace                 a line for each trace event of the card: cycle, part, event, values
  --log                   the instructions of core 0 of cluster 0, with the cycle in which each leaves decode
";

/// Markers around each generated text: the summary in `docs/machines/pspin.md`, and all rows in `pspin-fidelity.md`.
const HEADLINE: [&str; 2] = ["<!-- made by `make fidelity`: headline -->\n", "<!-- end of headline -->\n"];
const SUMMARY: [&str; 2] = ["<!-- made by `make fidelity`: summary -->\n", "<!-- end of summary -->\n"];
const ROWS: [&str; 2] = ["<!-- made by `make fidelity`: all rows -->\n", "<!-- end of all rows -->\n"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        None | Some("--write" | "--misses") => all(&args),
        Some("--help") => {
            print!("{HELP}");
            Ok(())
        }
        Some(_) => one(args),
    };
    if let Err(problem) = done {
        eprintln!("fidelity: {problem}\nhint: --help");
        std::process::exit(2);
    }
}

/// Measures every row.
fn all(args: &[String]) -> Result<(), String> {
    let rows = rig::rtl::rows();
    for row in rows.iter().filter(|row| !row.within || args.is_empty()) {
        let mark = if row.within { "" } else { "  MISS" };
        println!("{}: RTL {}, spinet {}, {:.2} %{mark}", row.name(), row.rtl, row.model, row.error * 100.0);
    }
    print!("{}", rig::rtl::headline(&rows));
    if args.first().is_some_and(|arg| arg == "--write") {
        let outside = rows.iter().filter(|row| !row.within).map(|row| row.name()).collect();
        let misses = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtl/misses.toml");
        let with_path = |error: std::io::Error| format!("{}: {error}", misses.display());
        std::fs::write(&misses, rig::measured::misses().without_stale(&outside)).map_err(with_path)?;
        write("pspin.md", &[(HEADLINE, rig::rtl::headline(&rows)), (SUMMARY, rig::rtl::summary(&rows))])?;
        write("pspin-fidelity.md", &[(HEADLINE, rig::rtl::headline(&rows)), (ROWS, rig::rtl::all_rows(&rows))])?;
    }
    Ok(())
}

fn write(page: &str, texts: &[([&str; 2], String)]) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines").join(page);
    let with_path = |error: std::io::Error| format!("{}: {error}", path.display());
    let page = std::fs::read_to_string(&path).map_err(with_path)?;
    let page = texts.iter().fold(page, |page, (marks, text)| with(page, *marks, text));
    std::fs::write(&path, page).map_err(with_path)
}

/// The page, with the text between two markers replaced.
fn with(page: String, [begin, end]: [&str; 2], text: &str) -> String {
    let (before, rest) = page.split_once(begin).expect("the page has a marker for the text");
    let (_, after) = rest.split_once(end).expect("the text has an end marker");
    format!("{before}{begin}{text}{end}{after}")
}

fn one(args: Vec<String>) -> Result<(), String> {
    let mut conditions = Conditions::default();
    let (mut events, mut log, mut trace) = (false, false, false);
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        match arg.as_str() {
            "--run" => conditions.handler = value()?,
            "--elf" => conditions.elf = Some(value()?.into()),
            "--align" => conditions.align = Some(number(value()?)? as u32),
            "-m" => conditions.messages = number(value()?)?,
            "-p" => conditions.packets = number(value()?)?,
            "-s" => conditions.bytes = number(value()?)? as usize,
            "-d" => conditions.delay = number(value()?)?,
            "-l" => conditions.last_delay = number(value()?)?,
            "--interleaved" => conditions.interleaved = true,
            "--consecutive-ids" => conditions.consecutive_ids = true,
            "--host-aligned" => conditions.host_aligned = true,
            "--events" => events = true,
            "--log" => log = true,
            "--trace" => trace = true,
            _ => return Err(format!("{arg} is not an option")),
        }
    }
    if conditions.handler.is_empty() {
        return Err("--run names no handler".to_owned());
    }
    if conditions.elf.is_none() {
        conditions.boot = rig::measured::measured().boot_of(&conditions);
    }
    let driven = drive(&conditions);
    if log {
        for &(cycle, pc) in &driven.seen.log {
            println!("{cycle} {pc:#x}");
        }
    }
    if trace {
        for (cycle, part, event, values) in &driven.seen.events {
            println!("{cycle} {part} {event} {values:x?}");
        }
    }
    if events {
        print!("{}", driven.table());
    }
    let show = |what: &str, of: fn(&Packet) -> u64| {
        let [mean, least, largest] = driven.spread(of);
        println!("{what}: mean {mean:.3}, least {least}, largest {largest}");
    };
    println!("packets done: {} of {}", driven.packets.len(), conditions.messages * conditions.packets);
    show("NIC latency", Packet::nic);
    show("HER latency", Packet::her_latency);
    show("NIC to HER", Packet::nic_to_her);
    show("handler", Packet::handler);
    println!("interval of feedbacks: {:.3}", driven.interval());
    println!("Gbit/s: {:.3}", (conditions.bytes * 8) as f64 / driven.interval());
    if driven.packets.len() > 7 {
        println!("Gbit/s, middle half: {:.1}", driven.rate(0.25, 0.75));
    }
    let show_host = |what: &str, event: &str, rate: fn(&Driven) -> f64| {
        if driven.beats(event) > 1.0 {
            println!("{what}: {} beats, {:.3} Gbit/s", driven.beats(event), rate(&driven));
        }
    };
    show_host("written to the host", "host_written", Driven::written);
    show_host("read from the host, 64 bytes a beat", "host_read", Driven::read);
    if driven.seen.sent.len() > 1 {
        println!("sent: {} packets, {:.3} Gbit/s", driven.seen.sent.len(), driven.out());
    }
    Ok(())
}
