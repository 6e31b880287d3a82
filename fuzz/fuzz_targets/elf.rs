//! Any bytes as an ELF file: an accepted file can be loaded, searched and run for a while.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pspin::PspinParams;
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine};
use spinet::{lines, nics, program};
use std::path::Path;
use std::sync::LazyLock;

/// Read only once: reading takes longer than this test.
static PARAMS: LazyLock<PspinParams> =
    LazyLock::new(|| nics::load("pspin", &[], Path::new(".")).expect("the preset is good"));

fuzz_target!(|data: &[u8]| {
    let elf = match Elf::parse("fuzz.elf".into(), data.to_vec()) {
        Ok(elf) => elf,
        Err(error) => return drop(error.to_string()),
    };
    if let Ok(loaded) = program::load(&elf, &PARAMS) {
        assert!(loaded.image.program.len() <= PARAMS.l2.program_bytes as usize);
    }
    let _ = program::find_handlers(&elf, &PARAMS, None, [None; 3]);
    let _ = (elf.place(elf.entry), lines::line_of(&elf, elf.entry));
    if let Ok(mut machine) = Machine::new(elf, Isa::Rv32imacXpulpv2, Host::LinuxUser) {
        let outcome = machine.run(Limits { instructions: 1000, cycles: 100_000 });
        assert!(outcome.instructions <= 1000);
        let _ = machine.signature();
    }
});
