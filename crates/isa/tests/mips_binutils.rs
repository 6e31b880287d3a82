//! Compares MIPS encodings and disassembly with GNU binutils, an independent implementation.
//!
//! `mips_binutils.txt` holds its disassembly, for a MIPS II processor, of samples of every instruction and of random
//! words.

use isa::mips::{decode, disassemble, rows};

const ADDED: [&str; 2] = ["pri", "joff"];

/// Address, word and disassembly of each line.
fn lines() -> impl Iterator<Item = (u32, u32, &'static str)> {
    let lines = include_str!("mips_binutils.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        read(line).unwrap_or_else(|| panic!("malformed line `{line}`; expected an address, a word and a disassembly"))
    })
}

fn read(line: &str) -> Option<(u32, u32, &str)> {
    let (pc, rest) = line.split_once(":\t")?;
    let (word, text) = rest.split_once('\t')?;
    let hex = |digits: &str| u32::from_str_radix(digits.trim(), 16).ok();
    Some((hex(pc)?, hex(word)?, text))
}

#[test]
fn every_word_disassembles_as_in_binutils() {
    let mut differences = String::new();
    for (pc, word, theirs) in lines() {
        let ours = disassemble(decode(word), pc);
        if !is_same(&ours, theirs) && !is_known_difference(&ours, theirs) {
            differences += &format!("{pc:x}: {word:08x}  ours: {ours}  binutils: {theirs}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(lines().count() > 900, "the sample has only {} lines", lines().count());
}

#[test]
fn the_sample_holds_every_instruction() {
    let seen: Vec<_> = lines().filter_map(|(_, word, _)| decode(word).row()).map(|row| row.name).collect();
    let missing: Vec<_> = rows().map(|row| row.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Returns true for a deliberate difference between binutils 2.40 and this machine.
fn is_known_difference(ours: &str, theirs: &str) -> bool {
    let name = theirs.split(['\t', ' ']).next().unwrap_or_default();
    match () {
        // Binutils has no Tigon-2 instructions.
        () if is_data(theirs) => ADDED.iter().any(|added| ours.starts_with(added)),
        // Binutils prints this alias even with aliases disabled.
        () if name == "neg" => ours.starts_with("sub ") && ours.contains(", zero, "),
        // This machine has no coprocessor, no cache instruction and no MIPS16 mode.
        () => is_data(ours) && (is_coprocessor(name) || name == "jalx"),
    }
}

fn is_coprocessor(name: &str) -> bool {
    let plain = ["tlbr", "tlbwi", "tlbwr", "tlbp", "rfe", "cache", "c0", "c1", "c2", "c3", "sync.p", "sync.l"];
    let moves = ["mfc", "mtc", "cfc", "ctc", "lwc", "swc", "ldc", "sdc", "bc", "cop"];
    plain.contains(&name)
        || moves.iter().any(|prefix| name.starts_with(prefix))
        || name.contains(".s")
        || name.contains(".d")
}

fn is_data(line: &str) -> bool {
    line.starts_with(".word")
}

/// Returns true if two lines of assembly have the same tokens. Numbers compare by value.
fn is_same(ours: &str, theirs: &str) -> bool {
    if is_data(theirs) {
        return is_data(ours);
    }
    // Binutils prints a symbol after a target.
    let theirs = tokens(theirs.split(" <").next().unwrap_or_default());
    let ours = tokens(ours);
    let same = |a: &str, b: &str| a == b || number(a).is_some_and(|value| number(b) == Some(value));
    match (&ours[..], &theirs[..]) {
        // Binutils omits the default link register.
        (["jalr", "ra", a], ["jalr", b]) => a == b,
        // Binutils prints this code as two numbers, and omits a code of 0.
        (["break", code], ["break", parts @ ..]) => {
            let part = |i: usize| parts.get(i).map_or(Some(0), |part| number(part));
            number(code) == part(0).zip(part(1)).map(|(high, low)| high << 10 | low)
        }
        ([first @ .., "0x0"], theirs) if first == theirs => true,
        (ours, theirs) => ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| same(a, b)),
    }
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
