//! ELF files that are no programs.

use crate::support;
use expect_test::{Expect, expect};
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine};
use spinet::nics;
use spinet::program;

/// The error of an ELF file.
fn check_elf(data: Vec<u8>, want: Expect) {
    let params = nics::load("pspin", &[], std::path::Path::new(".")).unwrap();
    let error = match Elf::parse("x.elf".into(), data) {
        Err(error) => error.to_string(),
        Ok(elf) => program::load(&elf, &params).err().map_or("no error".into(), |error| error.to_string()),
    };
    want.assert_eq(&error);
}

/// A good file with other bytes at some place.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = support::nic_program();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn files_that_are_no_programs() {
    check_elf(Vec::new(), expect!["x.elf: begins with nothing, must be an ELF file (7f 45 4c 46)"]);
    check_elf(b"#!/bin/sh".to_vec(), expect!["x.elf: begins with 23 21 2f 62, must be an ELF file (7f 45 4c 46)"]);
    check_elf(with(4, &[2]), expect!["x.elf: ELF header: the class is 64 bit, must be 32 bit"]);
    check_elf(with(5, &[2]), expect!["x.elf: ELF header: the byte order is big-endian, must be little-endian"]);
    check_elf(
        with(16, &[1]),
        expect![
            "x.elf: ELF header: the type is 1, must be 2 (linked for fixed addresses; an object file must be linked, a shared one linked with -static)"
        ],
    );
    check_elf(with(18, &[8]), expect!["x.elf: ELF header: the machine is 8, must be 243 (RISC-V)"]);
    check_elf(
        with(28, &[0xff, 0xff, 0xff]),
        expect!["x.elf: program headers: Invalid ELF program header size or alignment"],
    );
    check_elf(
        with(32, &[0xff, 0xff, 0xff]),
        expect!["x.elf: section headers: Invalid ELF section header offset/size/alignment"],
    );
    let mut short = support::nic_program();
    short.truncate(300);
    check_elf(short, expect!["x.elf: program headers: Invalid ELF program header size or alignment"]);
    let nop = support::asm("addi", 0, 0, 0, 0);
    let of = |parts: &[support::Text]| support::elf(0x1d00_0080, parts, &[("a_ph", 0x1d00_0080)]);
    check_elf(of(&[]), expect!["x.elf: nothing in it is loaded, must have code"]);
    check_elf(
        of(&[(0x1d00_0080, &[nop; 4]), (0x1d00_0088, &[nop; 4])]),
        expect!["x.elf: segment 0 and segment 1 overlap at 0x1d000088"],
    );
    check_elf(
        of(&[(0x1d00_0080, &vec![nop; 0x2000])]),
        expect!["x.elf: its code is 32896 bytes, program memory has 32768"],
    );
    check_elf(
        of(&[(0x1d00_0100, &[nop; 4])]),
        expect![
            "x.elf: there is no code at 0x1d000080, where cores start; link it with the runtime and linker script of PsPIN"
        ],
    );
    check_elf(
        of(&[(0x8000_0000, &[nop; 4])]),
        expect![
            "x.elf: section  is at 0x80000000 to 0x8000000f, must be within program memory (0x1d000000 to 0x1d007fff), handler memory (0x1c000000 to 0x1c3fffff) or L1 (0x1b000000 to 0x1b0fffff or 0x10000000 to 0x100fffff)"
        ],
    );
    check_elf(
        of(&[(0xffff_fffc, &[nop; 4])]),
        expect!["x.elf: segment 0: 16 bytes at 0xfffffffc pass the end of memory"],
    );
    check_elf(
        of(&[(0x1d00_0080, &[nop; 4]), (0x1c3f_fffc, &[nop; 2])]),
        expect![
            "x.elf: section  is at 0x1c3ffffc to 0x1c400003, must be within program memory (0x1d000000 to 0x1d007fff), handler memory (0x1c000000 to 0x1c3fffff) or L1 (0x1b000000 to 0x1b0fffff or 0x10000000 to 0x100fffff)"
        ],
    );
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let good = support::nic_program();
    let params = nics::load("pspin", &[], std::path::Path::new(".")).unwrap();
    for at in 0..good.len() {
        for bit in [0, 7] {
            let mut file = good.clone();
            file[at] ^= 1 << bit;
            if let Ok(elf) = Elf::parse("x.elf".into(), file) {
                let _ = program::load(&elf, &params);
                let _ = elf.place(0x1d00_0100);
            }
        }
    }
}

#[test]
fn no_damage_makes_the_plain_machine_panic() {
    let good = support::nic_program();
    for at in (0..good.len()).step_by(17) {
        let mut file = good.clone();
        file[at] ^= 0x81;
        if let Ok(elf) = Elf::parse("x.elf".into(), file)
            && let Ok(mut machine) = Machine::new(elf, Isa::Rv32imac, Host::LinuxUser)
        {
            assert!(machine.run(Limits { instructions: 100, cycles: 10_000 }).instructions <= 100);
        }
    }
}
