//! Runs an ELF file on generated traffic and prints the number of executed instructions: a small program for profilers.
//! `run_elf FILE.elf udp:size=64,count=100`

use spinet::experiment::Checked;
use spinet::handlers::HandlerCard;
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, traffic] = &arguments[..] else {
        return Err("usage: run_elf FILE.elf TRAFFIC".into());
    };
    let text = format!("program = {program:?}\ntraffic = {traffic:?}\n[[context]]\n");
    let checked = Checked::read(&text, "arguments", Path::new("."), Format::Toml)?;
    let mut run = Run::of(HandlerCard::new(checked, &Wanted::default())?);
    while !run.advance(Duration::from_secs(3600))?.is_done {}
    let summary = run.summary();
    let counters = summary["counters"].as_object().into_iter().flatten();
    let instructions: u64 =
        counters.filter(|(path, _)| path.ends_with(".instructions")).filter_map(|(_, count)| count.as_u64()).sum();
    println!("{instructions} instructions, {} cycles", run.card.cycles());
    Ok(())
}
