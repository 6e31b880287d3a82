//! Runs a network of `plain` NICs and prints the time of each phase: a small program for profilers.
//! `run_network FILE.toml [threads=N] [repeat=N] [table]`

use spinet::kinds::Text;
use spinet::network::{NetworkCard, Setup};
use spinet::run::{Card, Run, Wanted};
use spinet::toml_text::Format;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, options @ ..] = &arguments[..] else {
        return Err("usage: run_network FILE.toml [threads=N] [repeat=N] [table]".into());
    };
    let (mut wanted, mut repeat) = (Wanted::default(), 1);
    for option in options {
        match option.split_once('=') {
            None if option == "table" => wanted.tables = true,
            Some(("threads", n)) => wanted.threads = n.parse()?,
            Some(("repeat", n)) => repeat = n.parse()?,
            _ => return Err(format!("unknown option `{option}` (threads=N, repeat=N, table)").into()),
        }
    }
    let (path, text) = (Path::new(file), std::fs::read_to_string(file)?);
    let base_dir = path.parent().unwrap_or(Path::new("."));
    for _ in 0..repeat {
        let begun = Instant::now();
        let setup = Setup::read(&Text { text: &text, file, base_dir, format: Format::Toml })?;
        let read = begun.elapsed();
        let mut run = Run::of(NetworkCard::new(setup, &wanted)?);
        let built = begun.elapsed();
        while !run.advance(Duration::from_millis(100))?.is_done {
            run.card.take_tables();
        }
        run.card.take_tables();
        let ran = begun.elapsed();
        let summary = run.summary().to_string();
        let all = begun.elapsed();
        let digest = run.digest();
        println!(
            "read {read:.1?}, build {:.1?}, run {:.1?}, summary {:.1?} ({} bytes), digest {}",
            built - read,
            ran - built,
            all - ran,
            summary.len(),
            &digest[..16]
        );
    }
    Ok(())
}
