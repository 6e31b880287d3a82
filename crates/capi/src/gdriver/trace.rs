//! Traces of the generic driver.
//!
//! A trace consists of words separated by white space. The header has the number of sources, the number of lines, and
//! the size of the largest packet. Each line has source, destination, size of the packet in bytes, gap, identity of the
//! message, and a flag for the last packet. A line with size 0 has no packet: its gap is the number of cycles between
//! the packets of the next two lines. A line with a packet has the gap 0.
//!
//! Source: PsPIN a49fec8, `examples/generic_driver/gdriver.c`.

use std::str::FromStr;

/// A line of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceLine {
    /// Text of the line in the file.
    pub source: String,
    pub destination: String,
    /// Packet size in bytes; 0 for a gap.
    pub size: u32,
    /// For a gap, the cycles between the packets of the next two lines; 0 for a packet.
    pub gap: u32,
    pub msgid: u32,
    pub is_last: bool,
}

/// Longest source or destination name, in bytes.
const MAX_NAME: usize = super::MATCHING_CTX_BYTES - 1;

/// Parses a trace for a driver with `n_contexts` contexts. The error names the line and the problem.
pub fn read(text: &str, n_contexts: usize) -> Result<Vec<TraceLine>, String> {
    let mut words = text.split_whitespace();
    let mut head = |what| field::<u32>("header", what, words.next());
    let (sources, n_lines, largest) =
        (head("number of sources")?, head("number of lines")?, head("largest packet size")?);
    if !(1..=n_contexts).contains(&(sources as usize)) {
        return Err(format!(
            "header: the number of sources is {sources}, must be 1 to {n_contexts}, the number of contexts"
        ));
    }
    let mut lines = Vec::new();
    let mut follows_gap = false;
    for n in 1..=n_lines {
        let place = format!("packet line {n}");
        let mut name = |what| {
            let name: String = field(&place, what, words.next())?;
            if name.len() > MAX_NAME {
                return Err(format!("{place}: the {what} has {} bytes, must have at most {MAX_NAME}", name.len()));
            }
            Ok(name)
        };
        let (source, destination) = (name("source")?, name("destination")?);
        let mut number = |what| field::<u32>(&place, what, words.next());
        let (size, gap, msgid) = (number("size")?, number("gap")?, number("message")?);
        let is_last = number("last-packet flag")? != 0;
        match (size, gap) {
            (0, 0) => return Err(format!("{place}: size and gap are both 0; one must be above 0")),
            (0, _) if follows_gap => return Err(format!("{place}: a gap follows a gap; a packet must follow")),
            (1.., 1..) => return Err(format!("{place}: the gap is {gap}, must be 0 for a packet")),
            (size, _) if size > largest => {
                return Err(format!(
                    "{place}: the size is {size}, must be at most {largest}, the largest size in the header"
                ));
            }
            _ => {}
        }
        follows_gap = size == 0;
        lines.push(TraceLine { source, destination, size, gap, msgid, is_last });
    }
    match words.next() {
        None => Ok(lines),
        Some(_) => Err(format!("text follows the last line; the header says that there are {n_lines} lines")),
    }
}

fn field<T: FromStr>(place: &str, what: &str, word: Option<&str>) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{place}: the file ends before the {what}"))?;
    word.parse().map_err(|_| format!("{place}: the {what} is `{word}`, must be a number from 0 to {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let shown = match read(text, 2) {
            Ok(lines) => lines.iter().map(|line| format!("{line:?}\n")).collect(),
            Err(problem) => problem,
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn gaps_are_separate_lines() {
        check(
            "2 3 128\n10.0.0.1 10.0.0.9 0 50 7 0\n10.0.0.1 10.0.0.9 64 0 7 0\n10.0.0.2 x 128 0 8 1\n",
            expect![[r#"
            TraceLine { source: "10.0.0.1", destination: "10.0.0.9", size: 0, gap: 50, msgid: 7, is_last: false }
            TraceLine { source: "10.0.0.1", destination: "10.0.0.9", size: 64, gap: 0, msgid: 7, is_last: false }
            TraceLine { source: "10.0.0.2", destination: "x", size: 128, gap: 0, msgid: 8, is_last: true }
        "#]],
        );
    }

    #[test]
    fn invalid_traces_are_refused() {
        check("", expect!["header: the file ends before the number of sources"]);
        check(
            "3 1 64 a b 64 0 0 1",
            expect!["header: the number of sources is 3, must be 1 to 2, the number of contexts"],
        );
        check(
            "1 1 64 a b 65 0 0 1",
            expect!["packet line 1: the size is 65, must be at most 64, the largest size in the header"],
        );
        check("1 1 64 a b 64 5 0 1", expect!["packet line 1: the gap is 5, must be 0 for a packet"]);
        check("1 2 64 a b 0 5 0 1 a b 0 5 0 1", expect!["packet line 2: a gap follows a gap; a packet must follow"]);
        check("1 2 64 a b 64 0 0 1", expect!["packet line 2: the file ends before the source"]);
        check("1 1 64 a b 64 0 0 1 a", expect!["text follows the last line; the header says that there are 1 lines"]);
        check("1 1 64 a b -1 0 0 1", expect!["packet line 1: the size is `-1`, must be a number from 0 to 4294967295"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "1 [0-3] 64 ([a0-9-]{1,3}[ \n]){0,20}") {
            let _ = read(&text, 2);
        }
    }
}
