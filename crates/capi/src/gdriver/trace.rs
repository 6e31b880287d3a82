//! Traces of the generic driver.
//!
//! Words between white space: the number of sources, of lines, and the largest packet; then for each line its source and
//! destination, bytes of the packet, gap, identity of the message, and whether it is the last packet. A line of 0 bytes is a
//! gap: the packet of the next line is followed by so many cycles. The gap of a packet's own line is 0.
//!
//! Source: PsPIN a49fec8, `examples/generic_driver/gdriver.c`.

use std::str::FromStr;

/// A line of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// As the file has it.
    pub source: String,
    pub destination: String,
    /// Bytes of a packet; 0 for a gap.
    pub size: u32,
    /// Of a gap, the cycles from the packet of the next line to the one behind that; 0 for a packet.
    pub gap: u32,
    pub msgid: u32,
    pub is_last: bool,
}

/// Most bytes of a source or destination.
const MAX_NAME: usize = super::MATCHING_CTX_BYTES - 1;

/// Reads a trace for a driver with `n_contexts` contexts. An error says what is wrong with which of its lines.
pub fn read(text: &str, n_contexts: usize) -> Result<Vec<Line>, String> {
    let mut words = text.split_whitespace();
    let mut head = |what| field::<u32>("header", what, words.next());
    let (sources, n_lines, largest) = (head("sources")?, head("lines")?, head("largest packet")?);
    if !(1..=n_contexts).contains(&(sources as usize)) {
        return Err(format!(
            "header: it has {sources} sources, must have 1 to {n_contexts}, the contexts of the driver"
        ));
    }
    let mut lines = Vec::new();
    let mut follows_gap = false;
    for n in 1..=n_lines {
        let place = format!("packet line {n}");
        let mut name = |what| {
            let name: String = field(&place, what, words.next())?;
            if name.len() > MAX_NAME {
                return Err(format!("{place}: its {what} has {} bytes, must have at most {MAX_NAME}", name.len()));
            }
            Ok(name)
        };
        let (source, destination) = (name("source")?, name("destination")?);
        let mut number = |what| field::<u32>(&place, what, words.next());
        let (size, gap, msgid) = (number("size")?, number("gap")?, number("message")?);
        let is_last = number("mark of the last packet")? != 0;
        match (size, gap) {
            (0, 0) => return Err(format!("{place}: size and gap are 0, one must not be")),
            (0, _) if follows_gap => return Err(format!("{place}: it is a gap behind a gap, must be a packet")),
            (1.., 1..) => return Err(format!("{place}: its gap is {gap}, must be 0 for a packet")),
            (size, _) if size > largest => {
                return Err(format!("{place}: its size is {size}, must be at most {largest}, as the header says"));
            }
            _ => {}
        }
        follows_gap = size == 0;
        lines.push(Line { source, destination, size, gap, msgid, is_last });
    }
    match words.next() {
        None => Ok(lines),
        Some(_) => Err(format!("there is more behind its {n_lines} lines, must have as many as the header says")),
    }
}

fn field<T: FromStr>(place: &str, what: &str, word: Option<&str>) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{place}: the file ends before its {what}"))?;
    word.parse().map_err(|_| format!("{place}: its {what} is `{word}`, must be a number from 0 to {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let said = match read(text, 2) {
            Ok(lines) => lines.iter().map(|line| format!("{line:?}\n")).collect(),
            Err(problem) => problem,
        };
        want.assert_eq(&said);
    }

    #[test]
    fn gaps_are_lines_of_their_own() {
        check(
            "2 3 128\n10.0.0.1 10.0.0.9 0 50 7 0\n10.0.0.1 10.0.0.9 64 0 7 0\n10.0.0.2 x 128 0 8 1\n",
            expect![[r#"
            Line { source: "10.0.0.1", destination: "10.0.0.9", size: 0, gap: 50, msgid: 7, is_last: false }
            Line { source: "10.0.0.1", destination: "10.0.0.9", size: 64, gap: 0, msgid: 7, is_last: false }
            Line { source: "10.0.0.2", destination: "x", size: 128, gap: 0, msgid: 8, is_last: true }
        "#]],
        );
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        check("", expect!["header: the file ends before its sources"]);
        check("3 1 64 a b 64 0 0 1", expect!["header: it has 3 sources, must have 1 to 2, the contexts of the driver"]);
        check("1 1 64 a b 65 0 0 1", expect!["packet line 1: its size is 65, must be at most 64, as the header says"]);
        check("1 1 64 a b 64 5 0 1", expect!["packet line 1: its gap is 5, must be 0 for a packet"]);
        check("1 2 64 a b 0 5 0 1 a b 0 5 0 1", expect!["packet line 2: it is a gap behind a gap, must be a packet"]);
        check("1 2 64 a b 64 0 0 1", expect!["packet line 2: the file ends before its source"]);
        check(
            "1 1 64 a b 64 0 0 1 a",
            expect!["there is more behind its 1 lines, must have as many as the header says"],
        );
        check("1 1 64 a b -1 0 0 1", expect!["packet line 1: its size is `-1`, must be a number from 0 to 4294967295"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "1 [0-3] 64 ([a0-9-]{1,3}[ \n]){0,20}") {
            let _ = read(&text, 2);
        }
    }
}
