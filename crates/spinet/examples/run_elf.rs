//! Runs an ELF file on generated traffic and prints the number of executed instructions: a small program for profilers.
//! `run_elf FILE.elf udp:size=64,count=100 [table] [profile] [paths] [timeline=FILE] [waves=FILE]`

use spinet::experiment::Checked;
use spinet::handlers::HandlerCard;
use spinet::run::{Card, Run, Wanted};
use spinet::toml_text::Format;
use spinet::tracks::TracksSpec;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// Host time between two calls of `take_tables`, as in Python.
const SLICE: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, traffic, records @ ..] = &arguments[..] else {
        return Err("usage: run_elf FILE.elf TRAFFIC [table] [profile] [paths] [timeline=FILE] [waves=FILE]".into());
    };
    let mut wanted = Wanted::default();
    for record in records {
        match record.split_once('=') {
            None if record == "table" => wanted.tables = true,
            None if record == "profile" => wanted.profile = true,
            None if record == "paths" => (wanted.tables, wanted.paths) = (true, true),
            Some(("timeline", file)) => wanted.tracks = TracksSpec::parse(Some(file.into()), None, &[])?,
            Some(("waves", file)) => wanted.tracks = TracksSpec::parse(None, Some(file.into()), &[])?,
            _ => {
                return Err(
                    format!("unknown record `{record}` (table, profile, paths, timeline=FILE, waves=FILE)").into()
                );
            }
        }
    }
    let text = format!("program = {program:?}\ntraffic = {traffic:?}\n[[context]]\n");
    let checked = Checked::read(&text, "arguments", Path::new("."), Format::Toml)?;
    let mut run = Run::of(HandlerCard::new(checked, &wanted)?);
    while !run.advance(SLICE)?.is_done {
        run.card.take_tables();
    }
    let summary = run.summary();
    let counters = summary["counters"].as_object().into_iter().flatten();
    let instructions: u64 =
        counters.filter(|(path, _)| path.ends_with(".instructions")).filter_map(|(_, count)| count.as_u64()).sum();
    println!("{instructions} instructions, {} cycles", run.card.cycles());
    Ok(())
}
