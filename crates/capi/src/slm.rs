//! Memory images as text: the format of Verilog's `$readmemh`, which PsPIN's build produces.
//!
//! `@` precedes the hexadecimal address of the next word. Words are hexadecimal with the most significant digit first.
//! `//` begins a comment. Addresses count words.
//!
//! Source: PsPIN a49fec8, `sw/rules/spin-rt.mk`, `sw/pulp-sdk/scripts/s19toslm.py`, `hw/src/pspin_verilator.sv`.

/// Maximum number of words in a file: more than all memories of the machine have.
const MAX_WORDS: u64 = 1 << 22;

/// Words of a file, with their addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Bytes per word; 0 if the file has no words.
    pub width: usize,
    /// Address and value.
    pub words: Vec<(u64, u64)>,
}

/// Parses a file. The error is the number of a line and its problem.
pub fn read(text: &str) -> Result<Words, (usize, String)> {
    let mut found = Words::default();
    let mut addr = 0;
    for (line, content) in text.lines().enumerate() {
        let fail = |problem: String| (line + 1, problem);
        let code = content.split("//").next().unwrap_or_default();
        for token in code.split_whitespace() {
            if let Some(digits) = token.strip_prefix('@') {
                addr = hex(digits).map_err(fail)?;
                continue;
            }
            if addr >= MAX_WORDS {
                return Err(fail(format!("word address is {addr:#x}, must be below {MAX_WORDS:#x}")));
            }
            let value = hex(token).map_err(fail)?;
            let digits = token.bytes().filter(|&byte| byte != b'_').count();
            let width = digits / 2;
            if !matches!(digits, 8 | 16) || (found.width != 0 && found.width != width) {
                let allowed = match found.width {
                    0 => "8 or 16".to_owned(),
                    width => format!("{}, as the words before it", 2 * width),
                };
                return Err(fail(format!("`{token}` has {digits} digits, must have {allowed}")));
            }
            found.width = width;
            found.words.push((addr, value));
            addr += 1;
        }
    }
    Ok(found)
}

fn hex(digits: &str) -> Result<u64, String> {
    let plain: String = digits.chars().filter(|&digit| digit != '_').collect();
    let is_hex = plain.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = if is_hex { u64::from_str_radix(&plain, 16).ok() } else { None };
    value.ok_or_else(|| format!("`{digits}` is not a hexadecimal number of at most 64 bits"))
}

impl Words {
    /// The bytes of each word in memory order, with the word's number.
    pub fn bytes(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.words.iter().map(|&(addr, value)| (addr, value.to_le_bytes()[..self.width].to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let shown = match read(text) {
            Ok(words) => words.bytes().map(|(addr, bytes)| format!("{addr:x} {bytes:02x?}\n")).collect(),
            Err((line, problem)) => format!("line {line}: {problem}"),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn words_are_numbers_and_memory_is_little_endian() {
        check(
            "// built today\n@00000010 0011223344556677\n8899aabbccddeeff // next\n@2 00000000_0000000F\n",
            expect![[r#"
                10 [77, 66, 55, 44, 33, 22, 11, 00]
                11 [ff, ee, dd, cc, bb, aa, 99, 88]
                2 [0f, 00, 00, 00, 00, 00, 00, 00]
            "#]],
        );
        check(
            "@0 DEADBEEF 00000001",
            expect![[r#"
            0 [ef, be, ad, de]
            1 [01, 00, 00, 00]
        "#]],
        );
    }

    #[test]
    fn invalid_words_are_refused() {
        check("@0 00000000\n@1 xx", expect!["line 2: `xx` is not a hexadecimal number of at most 64 bits"]);
        check("@0 123", expect!["line 1: `123` has 3 digits, must have 8 or 16"]);
        check(
            "@0 00000000 0000000000000000",
            expect!["line 1: `0000000000000000` has 16 digits, must have 8, as the words before it"],
        );
        check("@400000 00000000", expect!["line 1: word address is 0x400000, must be below 0x400000"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[@0-9a-fA-Fx_/ \n]{0,200}") {
            let _ = read(&text);
        }
    }
}
