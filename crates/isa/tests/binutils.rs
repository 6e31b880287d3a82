//! Compares encodings and disassembly with GNU binutils, an independent implementation.
//!
//! `binutils.txt` holds its disassembly of samples of every instruction and of random words.

use isa::riscv::{decode, disassemble, rows};

#[test]
fn every_word_disassembles_as_in_binutils() {
    let mut n_lines = 0;
    let mut differences = String::new();
    for line in include_str!("binutils.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, '\t');
        let (pc, word) = (columns.next().unwrap(), columns.next().unwrap());
        let pc = u32::from_str_radix(pc.trim().trim_end_matches(':'), 16).unwrap();
        let word = u32::from_str_radix(word.trim(), 16).unwrap();
        let theirs = columns.next().unwrap();
        let ours = disassemble(decode(word), pc);
        if !is_same(&ours, theirs) && !is_known_difference(&ours, theirs) {
            differences += &format!("{pc:x}: {word:08x}  ours: {ours}  binutils: {theirs}\n");
        }
        n_lines += 1;
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(n_lines > 700, "the sample has only {n_lines} lines");
}

fn is_data(line: &str) -> bool {
    [".half", ".word", ".2byte", ".4byte"].iter().any(|directive| line.starts_with(directive))
}

fn is_pulp(line: &str) -> bool {
    ["p.", "pv.", "lp."].iter().any(|prefix| line.starts_with(prefix))
}

/// Returns true for a deliberate difference between binutils 2.40 and this machine.
fn is_known_difference(ours: &str, theirs: &str) -> bool {
    match tokens(theirs)[..] {
        // Binutils has no PULP instructions. It rejects fences with reserved fields, which the standard accepts.
        _ if is_data(theirs) => is_pulp(ours) || ours.starts_with("fence"),
        // This machine has no supervisor mode, and the standard dropped the hypervisor's return. `c.unimp` is an alias
        // of 0.
        ["sret" | "hret" | "c.unimp"] => is_data(ours),
        // Binutils accepts shift amounts above 31.
        ["slli" | "srli" | "srai" | "c.slli" | "c.srli" | "c.srai", .., distance] => {
            is_data(ours) && number(distance) >= Some(32)
        }
        // Binutils has its own names for RV32 hints, and none for the hint `c.nop` with a name.
        ["c.slli64" | "c.srli64" | "c.srai64", register] => ours
            .split_once(' ')
            .is_some_and(|(name, rest)| theirs.starts_with(&format!("{name}64")) && rest == format!("{register}, 0")),
        ["c.addi", "zero", "0"] => ours == "c.nop",
        _ => false,
    }
}

/// Returns true if two lines of assembly have the same tokens. Numbers compare by value.
fn is_same(ours: &str, theirs: &str) -> bool {
    if is_data(theirs) {
        return is_data(ours);
    }
    let theirs = theirs.split(" #").next().unwrap_or_default();
    // Binutils writes a target as bare hexadecimal digits, followed by a symbol.
    let theirs = match theirs.split_once(" <") {
        Some((line, _)) => {
            line.rsplit_once([',', '\t']).map_or(String::new(), |(name, target)| format!("{name},0x{target}"))
        }
        None => theirs.to_string(),
    };
    let is_csr = ours.starts_with("csr");
    let (ours, theirs) = (tokens(ours), tokens(&theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).enumerate().all(|(i, (a, b))| match (number(a), number(b)) {
            (Some(a), Some(b)) => a == b,
            // Binutils names a control register that this machine lacks.
            (Some(_), None) => is_csr && i == 2,
            _ => a == b,
        })
}

fn tokens(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',', '(', ')']).filter(|token| !token.is_empty()).collect()
}

fn number(token: &str) -> Option<i64> {
    match token.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => token.parse().ok(),
    }
}

#[test]
fn the_sample_holds_every_instruction() {
    let words = include_str!("binutils.txt").lines().filter_map(|line| line.split('\t').nth(1));
    let seen: Vec<_> = words
        .map(|word| decode(u32::from_str_radix(word.trim(), 16).unwrap()))
        .filter_map(|inst| inst.row())
        .map(|row| row.name)
        .collect();
    let missing: Vec<_> = rows().map(|row| row.name).filter(|name| !is_pulp(name) && !seen.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
