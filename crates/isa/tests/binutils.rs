//! Encodings and assembly language against GNU binutils, which we did not write.
//!
//! `binutils.txt` holds what its disassembler says about a sample of every instruction and about random words.

use isa::riscv::{decode, disassemble, rows};

#[test]
fn every_word_reads_as_binutils_reads_it() {
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
    assert!(n_lines > 700, "the sample is cut short at {n_lines} lines");
}

fn is_data(line: &str) -> bool {
    [".half", ".word", ".2byte", ".4byte"].iter().any(|directive| line.starts_with(directive))
}

fn is_pulp(line: &str) -> bool {
    ["p.", "pv.", "lp."].iter().any(|prefix| line.starts_with(prefix))
}

/// Where binutils 2.40 and this machine differ on purpose.
fn is_known_difference(ours: &str, theirs: &str) -> bool {
    match tokens(theirs)[..] {
        // It knows nothing of PULP, and takes a fence with reserved fields, which the standard calls a fence, for none.
        _ if is_data(theirs) => is_pulp(ours) || ours.starts_with("fence"),
        // There is no supervisor mode here, and the hypervisor's return left the standard. `c.unimp` is a name for 0.
        ["sret" | "hret" | "c.unimp"] => is_data(ours),
        // It does not see that a shift is longer than the register.
        ["slli" | "srli" | "srai" | "c.slli" | "c.srli" | "c.srai", .., distance] => {
            is_data(ours) && number(distance) >= Some(32)
        }
        // It has names of its own for what is a hint in RV32, and none for the one hint that has a name.
        ["c.slli64" | "c.srli64" | "c.srai64", register] => ours
            .split_once(' ')
            .is_some_and(|(name, rest)| theirs.starts_with(&format!("{name}64")) && rest == format!("{register}, 0")),
        ["c.addi", "zero", "0"] => ours == "c.nop",
        _ => false,
    }
}

/// Whether two lines of assembly language mean the same: name by name, number by number.
fn is_same(ours: &str, theirs: &str) -> bool {
    if is_data(theirs) {
        return is_data(ours);
    }
    let theirs = theirs.split(" #").next().unwrap_or_default();
    // A target is written as bare hexadecimal digits and then as a symbol.
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
            // A control register that this machine does not have.
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
