//! Any bytes as an ELF file: reading it, and placing it on a card, ends with a value or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pspin::PspinParams;
use spinet::elf::Elf;
use spinet::program;
use spinet::toml_text::{self, Format};
use std::sync::LazyLock;

static PARAMS: LazyLock<PspinParams> = LazyLock::new(|| {
    toml_text::read(include_str!("../../presets/pspin.toml"), "pspin.toml", Format::Toml).expect("the preset is good")
});

fuzz_target!(|data: &[u8]| {
    if let Ok(elf) = Elf::parse("fuzz.elf".to_owned(), data.to_vec()) {
        let _ = program::load(&elf, &PARAMS);
        program::handler_names(&elf);
        elf.place(0x1d00_0010);
    }
});
