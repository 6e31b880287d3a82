//! Reads traces of spinet, of the RTL, or of others whose format differs only in spelling and spaces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Longest line, in bytes; lines of tracers have some 150.
const MAX_LINE: u64 = 4096;
/// Maximum number of registers of one kind in a line.
const MAX_REGISTERS: usize = 4;

/// Registers and values.
pub type Registers = Vec<(u8, u32)>;

/// A line of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Number of the line in its file, from 1 on.
    pub line: u64,
    /// When the instruction left decode.
    pub cycle: u64,
    /// Its address.
    pub pc: u32,
    /// Its 32-bit word; for a compressed instruction, the expanded one.
    pub word: u32,
    /// Registers written.
    pub written: Registers,
    /// Registers read.
    pub read: Registers,
    /// First byte of an access.
    pub addr: Option<u32>,
}

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TraceReadError {
    #[error("{file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{file}: it has no lines, must begin with a line of column names: Time Cycles PC Instr Mnemonic")]
    Nothing { file: String },
    #[error("{file}:{line}: {found}, must be {allowed}")]
    Line { file: String, line: u64, found: String, allowed: &'static str },
}

/// Reads a trace line by line.
pub struct Reader<R> {
    file: String,
    input: R,
    line: u64,
    last_cycle: u64,
    buffer: Vec<u8>,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, TraceReadError> {
        let file = path.display().to_string();
        match File::open(path) {
            Ok(input) => Ok(Reader::new(file, BufReader::with_capacity(1 << 16, input))),
            Err(source) => Err(TraceReadError::Read { file, source }),
        }
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads `input`. Errors call it `file`.
    pub fn new(file: String, input: R) -> Self {
        Reader { file, input, line: 0, last_cycle: 0, buffer: Vec::new() }
    }

    /// Its name in errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The next instruction, `None` at the end.
    pub fn read(&mut self) -> Result<Option<Entry>, TraceReadError> {
        loop {
            self.buffer.clear();
            let mut limited = (&mut self.input).take(MAX_LINE);
            let read = limited.read_until(b'\n', &mut self.buffer);
            let n = read.map_err(|source| TraceReadError::Read { file: self.file.clone(), source })?;
            if n == 0 {
                return if self.line == 0 {
                    Err(TraceReadError::Nothing { file: self.file.clone() })
                } else {
                    Ok(None)
                };
            }
            self.line += 1;
            if n as u64 == MAX_LINE {
                return self.refuse(format!("a line of {MAX_LINE} bytes or more"), "a line of a trace");
            }
            let Ok(text) = std::str::from_utf8(&self.buffer) else {
                return self.refuse("bytes that are not text".into(), "a line of a trace");
            };
            if text.trim().is_empty() || self.line == 1 && is_header(text) {
                continue;
            }
            return match parse(text) {
                Ok(entry) if entry.cycle < self.last_cycle => {
                    let found = format!("cycle {} behind cycle {}", entry.cycle, self.last_cycle);
                    self.refuse(found, "in the order of execution")
                }
                Ok(entry) => {
                    self.last_cycle = entry.cycle;
                    Ok(Some(Entry { line: self.line, ..entry }))
                }
                Err((found, allowed)) => self.refuse(found, allowed),
            };
        }
    }

    fn refuse<T>(&self, found: String, allowed: &'static str) -> Result<T, TraceReadError> {
        Err(TraceReadError::Line { file: self.file.clone(), line: self.line, found, allowed })
    }
}

fn is_header(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("Time") && matches!(words.next(), Some("Cycles" | "Cycle"))
}

/// The text found, and the text allowed.
type Refusal = (String, &'static str);

fn parse(text: &str) -> Result<Entry, Refusal> {
    let mut words = text.split_whitespace();
    let mut column = |allowed| words.next().ok_or_else(|| ("the line ends".to_owned(), allowed));
    let time = column("a time in picoseconds")?;
    decimal(time, "a time in picoseconds")?;
    let cycle = decimal(column("a cycle")?, "a cycle, a decimal number below 2^63")?;
    let pc = hex(column("an address")?, "an address of 8 hexadecimal digits")?;
    let word = hex(column("an instruction")?, "an instruction of 4 or 8 hexadecimal digits")?;
    // Expand compressed instructions, so that equal instructions compare equal.
    let word = if word & 3 == 3 { word } else { super::base_word(isa::riscv::decode(word)) };
    let mut entry = Entry { cycle, pc, word, ..Entry::default() };
    let mut has_values = false;
    for word in words {
        match value(word) {
            Some(Value::Written(r, value)) => push(&mut entry.written, r, value)?,
            Some(Value::Read(r, value)) => push(&mut entry.read, r, value)?,
            Some(Value::Addr(addr)) if entry.addr.is_none() => entry.addr = Some(addr),
            Some(Value::Addr(_)) => return Err((format!("a second address, {}", shown(word)), "one PA: in a line")),
            // All text before the first value is the disassembly.
            None if !has_values && !word.contains('=') && !word.starts_with("PA:") => continue,
            None => return Err((shown(word), "a register such as `x10=0000002a` or `x10:0000002a`, or `PA:1c300040`")),
        }
        has_values = true;
    }
    Ok(entry)
}

fn push(registers: &mut Registers, r: u8, value: u32) -> Result<(), Refusal> {
    if registers.len() == MAX_REGISTERS {
        return Err((format!("more than {MAX_REGISTERS} registers of a kind"), "what an instruction can name"));
    }
    // Register 0 is always 0.
    if r != 0 {
        registers.push((r, value));
    }
    Ok(())
}

enum Value {
    Written(u8, u32),
    Read(u8, u32),
    Addr(u32),
}

fn value(word: &str) -> Option<Value> {
    let at = word.find(['=', ':'])?;
    let (name, sign, digits) = (&word[..at], word.as_bytes()[at], &word[at + 1..]);
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    match sign {
        b':' if name == "PA" => Some(Value::Addr(value)),
        b'=' => Some(Value::Written(register(name)?, value)),
        _ => Some(Value::Read(register(name)?, value)),
    }
}

/// A register by number or by its name in the calling convention.
fn register(name: &str) -> Option<u8> {
    let number = name.strip_prefix('x').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    match number.and_then(|digits| digits.parse::<u8>().ok()) {
        Some(r) => (r < 32).then_some(r),
        None if name == "fp" => Some(8),
        None => (0..32).find(|&r| isa::riscv::register_name(r) == name),
    }
}

fn decimal(word: &str, allowed: &'static str) -> Result<u64, Refusal> {
    let is_number = word.bytes().all(|b| b.is_ascii_digit());
    // Differences are signed.
    let number = word.parse().ok().filter(|&number| is_number && number <= i64::MAX as u64);
    number.ok_or_else(|| (shown(word), allowed))
}

fn hex(word: &str, allowed: &'static str) -> Result<u32, Refusal> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_number = digits.len() <= 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number).ok_or_else(|| (shown(word), allowed))
}

/// A word as errors show it.
fn shown(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    format!("`{}`", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const LINE: &str = "               101500             1015 1d000120 00c5a503 lw               x10, 12(x11)         x10=0000002a x11:1c300000  PA:1c30000c";

    /// Reads text to its end or to an error.
    fn read(text: &str) -> String {
        let mut reader = Reader::new("t.log".into(), text.as_bytes());
        let mut found = String::new();
        loop {
            match reader.read() {
                Ok(None) => return found,
                Ok(Some(Entry { line, cycle, pc, word, written, read, addr })) => {
                    found += &format!("{line}: {cycle} {pc:x} {word:x} {written:x?} {read:x?} {addr:x?}\n");
                }
                Err(error) => return found + &error.to_string() + "\n",
            }
        }
    }

    fn check(lines: &[&str], want: Expect) {
        want.assert_eq(&lines.iter().map(|line| read(line)).collect::<String>());
    }

    #[test]
    fn spelling_and_spaces_do_not_matter() {
        let lines = [
            LINE,
            "101500 1015 1d000120 00c5a503 lw a0,12(a1) <buffer+4> a0=2a a1:1c300000 PA:1c30000c\r\n",
            "Time Cycles PC Instr Mnemonic\n\n  7 7 0x1d000120 0x00000013\n 8 8 1d000124 4505 c.li a0, 1 x10=00000001 x0:00000000",
            "Time\tCycles\tPC\tInstr\tMnemonic\n1\t1\t80\tffffffff\tINVALID",
        ];
        check(
            &lines,
            expect![[r#"
            1: 1015 1d000120 c5a503 [(a, 2a)] [(b, 1c300000)] Some(1c30000c)
            1: 1015 1d000120 c5a503 [(a, 2a)] [(b, 1c300000)] Some(1c30000c)
            3: 7 1d000120 13 [] [] None
            4: 8 1d000124 100513 [(a, 1)] [] None
            2: 1 80 ffffffff [] [] None
        "#]],
        );
    }

    #[test]
    fn a_text_that_is_not_a_trace_is_reported() {
        let changed = |from: &str, to: &str| LINE.replacen(from, to, 1);
        let lines = [
            String::new(),
            "Time Cycles PC Instr Mnemonic\nreg x10".into(),
            changed("101500", "0x12"),
            changed("1015 ", "-1015 "),
            changed("1015 ", "9223372036854775808 "),
            changed("1d000120", "main"),
            changed("1d000120", "1d0001200"),
            changed("00c5a503", ""),
            changed("PA:", "VA:"),
            changed("x10=", "x32="),
            changed("=0000002a", "=123456789"),
            changed("x10=0000002a", &"x10=1 ".repeat(5)),
            changed("PA", "PA:00000000 PA"),
            format!("{LINE}\n{}", changed("1015 ", "1014 ")),
            "1 1 1d000120".into(),
            "a".repeat(5000),
            "\x7fELF\u{1}\u{1}".into(),
        ];
        check(
            &lines.each_ref().map(String::as_str),
            expect![[r#"
                t.log: it has no lines, must begin with a line of column names: Time Cycles PC Instr Mnemonic
                t.log:2: `reg`, must be a time in picoseconds
                t.log:1: `0x12`, must be a time in picoseconds
                t.log:1: `-1015`, must be a cycle, a decimal number below 2^63
                t.log:1: `9223372036854775808`, must be a cycle, a decimal number below 2^63
                t.log:1: `main`, must be an address of 8 hexadecimal digits
                t.log:1: `1d0001200`, must be an address of 8 hexadecimal digits
                t.log:1: `lw`, must be an instruction of 4 or 8 hexadecimal digits
                t.log:1: `VA:1c30000c`, must be a register such as `x10=0000002a` or `x10:0000002a`, or `PA:1c300040`
                t.log:1: `x32=0000002a`, must be a register such as `x10=0000002a` or `x10:0000002a`, or `PA:1c300040`
                t.log:1: `x10=123456789`, must be a register such as `x10=0000002a` or `x10:0000002a`, or `PA:1c300040`
                t.log:1: more than 4 registers of a kind, must be what an instruction can name
                t.log:1: a second address, `PA:1c30000c`, must be one PA: in a line
                1: 1015 1d000120 c5a503 [(a, 2a)] [(b, 1c300000)] Some(1c30000c)
                t.log:2: cycle 1014 behind cycle 1015, must be in the order of execution
                t.log:1: the line ends, must be an instruction
                t.log:1: a line of 4096 bytes or more, must be a line of a trace
                t.log:1: `\u{7f}ELF\u{1}\u{1}`, must be a time in picoseconds
            "#]],
        );
        let mut reader = Reader::new("t.log".into(), &b"1 1 \xff\xfe"[..]);
        expect!["t.log:1: bytes that are not text, must be a line of a trace"]
            .assert_eq(&reader.read().unwrap_err().to_string());
    }

    proptest! {
        /// Each changed line gives an entry or an error.
        #[test]
        fn no_line_is_too_strange(bytes in prop::collection::vec((0..LINE.len(), any::<u8>()), 0..6)) {
            let mut line = LINE.as_bytes().to_vec();
            for (at, byte) in bytes {
                line[at] = byte;
            }
            let mut reader = Reader::new("t.log".into(), &*line);
            while let Ok(Some(_)) = reader.read() {}
        }
    }
}
