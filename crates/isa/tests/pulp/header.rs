//! The SDK's header encodes the instructions that its names promise.

use isa::riscv::{decode, disassemble};

const HEADER: &str = include_str!("../../../../sdk/include/spin_xpulp.h");

fn number(text: &str) -> u32 {
    let text = text.trim();
    text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16)).unwrap()
}

/// The mnemonic of an R-type word with these fields. For instructions with one source, rs2 is x0.
fn mnemonic(opcode: u32, funct3: u32, funct7: u32, rs2: u32) -> String {
    let word = funct7 << 25 | rs2 << 20 | 11 << 15 | funct3 << 12 | 10 << 7 | opcode;
    let text = disassemble(decode(word), 0);
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn every_function_of_the_header_encodes_its_instruction() {
    let mut n = 0;
    let mut check = |name: &str, found: String| {
        assert_eq!(found.to_lowercase(), name.replace('_', ".").to_lowercase(), "spin_{name}");
        n += 1;
    };
    // Lines such as `SPIN_X_2(p_min, 0x33, 4, 0x02)` and `SPIN_X_VECTOR(add, 0x00)`.
    for line in HEADER.lines().filter(|line| line.starts_with("SPIN_X_")) {
        let (kind, rest) = line["SPIN_X_".len()..].split_once('(').unwrap();
        let fields: Vec<_> = rest.trim_end_matches(')').split(',').map(str::trim).collect();
        if kind.starts_with("VECTOR") {
            for (mode, funct3) in [("h", 0), ("b", 1), ("sc_h", 4), ("sc_b", 5)] {
                let name = format!("pv_{}_{mode}", fields[0]);
                check(&name, mnemonic(0x57, funct3, number(fields[1]), 12));
            }
        } else {
            let rs2 = if kind == "1" { 0 } else { 12 };
            check(fields[0], mnemonic(number(fields[1]), number(fields[2]), number(fields[3]), rs2));
        }
    }
    // Lines such as `#define spin_p_mulsN(a, b, n) SPIN_X_2_CONST(0x5b, 0, 0x40 + (n), a, b)`. Sizes and shifts are 1
    // here.
    for line in HEADER.lines().filter(|line| line.starts_with("#define spin_p")) {
        let name = line["#define spin_".len()..].split('(').next().unwrap();
        let fields: Vec<_> = line.split_once("CONST(").unwrap().1.split(',').map(str::trim).collect();
        let (base, added) = fields[2].split_once('+').map_or((fields[2], false), |(base, _)| (base, true));
        let funct7 = number(base) + u32::from(added);
        check(name, mnemonic(number(fields[0]), number(fields[1]), funct7, 1));
    }
    assert!(n > 200, "the header has only {n} functions");
}
