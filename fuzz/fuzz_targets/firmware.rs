//! Any bytes as firmware or as a memory image: accepted sections are in allowed memory, and errors name a line or can
//! be displayed.
#![no_main]

#[path = "../../crates/capi/src/slm.rs"]
mod slm;
#[path = "../../crates/capi/src/srec.rs"]
mod srec;

use libfuzzer_sys::fuzz_target;
use spinach::tigon2::FirmwareImage;
use spinet::elf::{Elf, Machine};

fuzz_target!(|data: &[u8]| {
    match FirmwareImage::with_header(data) {
        Ok(image) => assert!(image.load_address() as usize + image.bytes().len() <= 0x80_0000),
        Err(error) => drop(error.to_string()),
    }
    match Elf::parse_for(Machine::Mips, "fuzz.elf".into(), data.to_vec()) {
        Ok(elf) => assert!(elf.sections.iter().all(|part| part.end() <= 1 << 32 && part.bytes.len() <= part.size as usize)),
        Err(error) => assert!(error.to_string().starts_with("fuzz.elf: ")),
    }
    let Ok(text) = str::from_utf8(data) else { return };
    let n_lines = text.lines().count();
    match slm::read(text) {
        Ok(words) => assert!(words.bytes().all(|(_, bytes)| bytes.len() == words.width)),
        Err((line, problem)) => assert!((1..=n_lines).contains(&line) && !problem.is_empty()),
    }
    match srec::read(text) {
        Ok(records) => assert!(!srec::is_srec(data) || records.len() <= n_lines),
        Err((line, problem)) => assert!((1..=n_lines).contains(&line) && !problem.is_empty()),
    }
});
