//! Invalid ELF files.

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

/// A valid file in which the bytes at an offset are replaced.
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

/// Fields of the header: offset and number of rows of each table.
const SEGMENTS: (usize, usize) = (28, 44);
const SECTIONS: (usize, usize) = (32, 48);

/// A valid file, followed by `data` and another table; `rows` makes the table's rows from the offset of `data`.
fn with_table(field: (usize, usize), data: &[u8], rows: impl Fn(u32) -> Vec<[u32; 10]>) -> Vec<u8> {
    with_another_table(support::nic_program(), field, data, rows)
}

fn with_another_table(
    mut file: Vec<u8>,
    field: (usize, usize),
    data: &[u8],
    rows: impl Fn(u32) -> Vec<[u32; 10]>,
) -> Vec<u8> {
    file.resize(file.len().next_multiple_of(4), 0);
    let data_at = file.len();
    file.extend(data);
    let (table_at, rows) = (file.len(), rows(data_at as u32));
    let words = if field == SEGMENTS { 8 } else { 10 };
    file.extend(rows.iter().flat_map(|row| row[..words].iter().flat_map(|word| word.to_le_bytes())));
    file[field.0..][..4].copy_from_slice(&(table_at as u32).to_le_bytes());
    // More sections than fit the header's field are counted in the first of them.
    let count = if rows.len() < 0xff00 { rows.len() as u16 } else { 0 };
    file[field.1..][..2].copy_from_slice(&count.to_le_bytes());
    file[50..52].copy_from_slice(&1u16.to_le_bytes());
    file
}

#[test]
fn headers_that_all_name_the_same_bytes_take_neither_time_nor_memory() {
    const MIB: u32 = 1 << 20;
    let segment = |at, i: u32, size| [1, at, i << 20, i << 20, size, size, 7, 4, 0, 0];
    check_elf(
        with_table(SEGMENTS, &[], |_| vec![segment(0, 0, 1); 1025]),
        expect!["x.elf: program headers: 1025 segments, must be at most 1024"],
    );
    let mib = vec![b'x'; MIB as usize];
    check_elf(
        with_table(SEGMENTS, &mib, |at| (0..1024).map(|i| segment(at, i, MIB)).collect()),
        expect!["x.elf: segment 64: 68157440 bytes are loaded up to here, must be at most 67108864"],
    );
    let names = |at, size| [0, 3, 0, 0, at, size, 0, 0, 1, 0];
    let section = |name, at, size| [name, 1, 6, 0, at, size, 0, 0, 4, 0];
    check_elf(
        with_table(SECTIONS, &[], |_| {
            let mut all = vec![section(0, 0, 1); 0xff01];
            all[0] = [0, 0, 0, 0, 0, 0xff01, 0, 0, 0, 0];
            all
        }),
        expect!["x.elf: section headers: 65281 sections, must be at most 65280"],
    );
    check_elf(
        with_table(SECTIONS, &[&mib[..], &[0]].concat(), |at| {
            let mut all = vec![section(0, 52, 4); 100];
            (all[0], all[1]) = ([0; 10], names(at, MIB + 1));
            all
        }),
        expect!["x.elf: section names: 68157440 bytes, must be at most 67108864"],
    );
    let large = with_table(SEGMENTS, &mib, |at| vec![segment(at, 0, MIB)]);
    check_elf(
        with_another_table(large, SECTIONS, &[0], |at| {
            let mut all = vec![section(0, at - MIB - 32, MIB); 100];
            (all[0], all[1]) = ([0; 10], names(at, 1));
            all
        }),
        expect!["x.elf: section : 68157440 bytes are loaded up to here, must be at most 67108864"],
    );
    let symbols = |n: u32, name: u32| {
        let words = (0..n).flat_map(|i| [name, 0x1d00_0080 + i, 0, 0x1_0012]);
        [&mib[..], &[0; 4], &words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()].concat()
    };
    let table = |n| move |at| vec![[0; 10], names(at, MIB + 4), [0, 2, 0, 0, at + MIB + 4, n * 16, 1, 1, 4, 16]];
    check_elf(
        with_table(SECTIONS, &symbols(100, 0), table(100)),
        expect!["x.elf: symbol names: 68157440 bytes, must be at most 67108864"],
    );
    check_elf(
        with_table(SECTIONS, &symbols(MIB + 1, MIB - 1), table(MIB + 1)),
        expect!["x.elf: symbol table: 1048577 symbols, must be at most 1048576"],
    );
}

#[test]
fn a_hundred_thousand_handlers_are_searched_at_once() {
    let n = 1 << 17;
    let mut names = vec![0];
    let mut symbols = vec![0; 16];
    for i in 0..n - 1 {
        symbols.extend([names.len() as u32, 0x1d00_0080, 0, 0x1_0012].into_iter().flat_map(u32::to_le_bytes));
        names.extend(format!("h{i:06}_ph\0").bytes());
    }
    names.resize(names.len().next_multiple_of(4), 0);
    let (n_names, n_symbols) = (names.len() as u32, symbols.len() as u32);
    let file = with_table(SECTIONS, &[names, symbols].concat(), |at| {
        vec![[0; 10], [0, 3, 0, 0, at, n_names, 0, 0, 1, 0], [0, 2, 0, 0, at + n_names, n_symbols, 1, 1, 4, 16]]
    });
    let params = nics::load("pspin", &[], std::path::Path::new(".")).unwrap();
    let elf = Elf::parse("x.elf".into(), file).unwrap();
    let found = |name| program::find_handlers(&elf, &params, name, [None; 3]);
    assert_eq!(found(Some("h077777")).unwrap().name, "h077777");
    expect!["x.elf: it has several handlers, `handler` must name one of h000000, h000001, h000002, h000003, h000004, h000005, h000006, h000007, h000008, h000009, h000010, h000011, ..."]
        .assert_eq(&found(None).unwrap_err().to_string());
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
            && let Ok(mut machine) = Machine::new(elf, Isa::RV32IMAC, Host::LinuxUser)
        {
            assert!(machine.run(Limits { instructions: 100, cycles: 10_000 }).instructions <= 100);
        }
    }
}
