//! The choice of the packets of a run that are drawn, and of the time.

use crate::window::{Window, WindowError};
use diagnostics::near::suggestion;
use std::collections::{BTreeSet, VecDeque};
use wire::expr::{ExprError, Matcher};

/// Restrictions of the packets that are drawn. Without restrictions, all packets are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Only {
    /// The time that is drawn.
    pub time: Window,
    /// Expression that packets must match when they arrive; `None` for all packets.
    pub matches: Option<Matcher>,
    /// Ranges of packet numbers, first and last; empty for all.
    pub packets: Vec<(u64, u64)>,
    /// Ranges of message numbers, first and last; empty for all.
    pub messages: Vec<(u64, u64)>,
    /// Draws only packets whose number is a multiple of this; 0 draws all.
    pub every: u64,
}

/// Names of the restrictions.
const KEYS: [&str; 5] = ["time", "match", "packets", "messages", "every"];

/// An invalid restriction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum OnlyError {
    #[error("`{found}` is not a restriction, must be KEY=VALUE such as `packets=0..99`")]
    Text { found: String },
    #[error("unknown key `{found}`, must be one of {}{hint}", KEYS.join(", "))]
    Key { found: String, hint: String },
    #[error("`{key}` is stated twice")]
    Twice { key: String },
    #[error("time: {0}")]
    Time(#[from] WindowError),
    #[error("match: {0}")]
    Match(#[from] ExprError),
    #[error("{key}: `{found}` is not a list of numbers; write for example `7`, `0..99` or `3,5,8..12`")]
    Numbers { key: &'static str, found: String },
    #[error("{key}: `{found}` is empty, its last number must not be below its first")]
    Empty { key: &'static str, found: String },
    #[error("every is `{found}`, must be a number of 1 or more")]
    Every { found: String },
    #[error("messages: this card has none; cards that run handlers have messages")]
    NoMessages,
}

impl Only {
    /// Reads restrictions such as `time=1 us..2 us`, `match=udp.dst_port == 53`, `packets=0..99`, `messages=3` and `every=100`.
    pub fn parse(texts: &[String]) -> Result<Only, OnlyError> {
        let (mut only, mut seen) = (Only::default(), BTreeSet::new());
        for text in texts {
            let (key, value) = text.split_once('=').ok_or_else(|| OnlyError::Text { found: text.clone() })?;
            let (key, value) = (key.trim(), value.trim());
            match key {
                "time" => only.time = Window::parse(value)?,
                "match" => only.matches = Some(Matcher::parse(value)?),
                "packets" => only.packets = numbers("packets", value)?,
                "messages" => only.messages = numbers("messages", value)?,
                "every" => {
                    only.every =
                        value.parse().ok().filter(|&n| n > 0).ok_or(OnlyError::Every { found: value.into() })?
                }
                _ => return Err(OnlyError::Key { found: key.into(), hint: suggestion(key, KEYS) }),
            }
            if !seen.insert(key) {
                return Err(OnlyError::Twice { key: key.into() });
            }
        }
        Ok(only)
    }

    /// Returns true if the numbers of a packet do not exclude it from the drawing.
    fn takes(&self, packet: u64, message: Option<u64>) -> bool {
        let is_in = |ranges: &[(u64, u64)], number: u64| {
            ranges.is_empty() || ranges.iter().any(|&(first, last)| (first..=last).contains(&number))
        };
        (self.every == 0 || packet.is_multiple_of(self.every))
            && is_in(&self.packets, packet)
            && message.map_or(self.messages.is_empty(), |message| is_in(&self.messages, message))
    }
}

/// Ranges such as `3,5,8..12`, with both ends.
fn numbers(key: &'static str, text: &str) -> Result<Vec<(u64, u64)>, OnlyError> {
    let range = |part: &str| {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match number(first).zip(number(last)) {
            None => Err(OnlyError::Numbers { key, found: part.trim().into() }),
            Some((first, last)) if last < first => Err(OnlyError::Empty { key, found: part.trim().into() }),
            Some(range) => Ok(range),
        }
    };
    text.split(',').map(range).collect()
}

/// The choice during a run: remembers which of the packets inside match.
#[derive(Default)]
pub struct Chooser {
    only: Only,
    /// For each packet from number `first` on: true if it matches.
    matches: VecDeque<bool>,
    first: u64,
}

impl Chooser {
    /// Chooses by these restrictions.
    pub fn new(only: Only) -> Chooser {
        Chooser { only, ..Chooser::default() }
    }

    /// Returns true if the bytes of packets decide which packets are drawn.
    pub fn needs_bytes(&self) -> bool {
        self.only.matches.is_some()
    }

    /// A packet of this number arrives. Numbers count up.
    pub fn enter(&mut self, packet: u64, bytes: &[u8]) {
        if let Some(matcher) = &self.only.matches {
            if self.matches.is_empty() {
                self.first = packet;
            }
            self.matches.resize((packet - self.first) as usize, false);
            self.matches.push_back(matcher.matches(bytes));
        }
    }

    /// Returns true if a packet is drawn.
    pub fn takes(&self, packet: u64, message: Option<u64>) -> bool {
        let does_match = || packet.checked_sub(self.first).and_then(|at| self.matches.get(at as usize)) == Some(&true);
        self.only.takes(packet, message) && (self.only.matches.is_none() || does_match())
    }

    /// Forgets packets before this one.
    pub fn forget_before(&mut self, packet: u64) {
        while self.first < packet && self.matches.pop_front().is_some() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(texts: &[&str], want: Expect) {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let shown = match Only::parse(&texts) {
            Ok(only) => {
                format!("{:?}", (0..12).filter(|&packet| only.takes(packet, Some(packet / 2))).collect::<Vec<_>>())
            }
            Err(error) => error.to_string(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn numbers_choose_packets() {
        check(&[], expect!["[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"]);
        check(&["packets=3, 5,8..9"], expect!["[3, 5, 8, 9]"]);
        check(&["messages=2..3", "every=2"], expect!["[4, 6]"]);
        assert!(!Only::parse(&["messages=0".into()]).expect("it is one").takes(0, None));
    }

    #[test]
    fn wrong_restrictions_are_reported() {
        check(&["udp"], expect!["`udp` is not a restriction, must be KEY=VALUE such as `packets=0..99`"]);
        check(
            &["packet=1"],
            expect![
                "unknown key `packet`, must be one of time, match, packets, messages, every; did you mean `packets`?"
            ],
        );
        check(&["every=2", "every=3"], expect!["`every` is stated twice"]);
        check(&["every=0"], expect!["every is `0`, must be a number of 1 or more"]);
        check(
            &["packets=1..x"],
            expect!["packets: `1..x` is not a list of numbers; write for example `7`, `0..99` or `3,5,8..12`"],
        );
        check(&["packets=2..1"], expect!["packets: `2..1` is empty, its last number must not be below its first"]);
        check(&["time=2 us..1 us"], expect!["time: `2 us..1 us` is empty, its end must be behind its beginning"]);
    }

    #[test]
    fn packets_that_match_are_remembered_until_they_are_forgotten() {
        let mut chooser =
            Chooser::new(Only { matches: Some(Matcher::parse("eth.type == 0x0806").expect("one")), ..Only::default() });
        let frame = |kind: u16| [vec![0; 12], kind.to_be_bytes().to_vec(), vec![0; 46]].concat();
        [0x0806, 0x0800, 0x0806].iter().zip(5..).for_each(|(&kind, packet)| chooser.enter(packet, &frame(kind)));
        assert_eq!([5, 6, 7, 8].map(|packet| chooser.takes(packet, None)), [true, false, true, false]);
        chooser.forget_before(7);
        assert_eq!((chooser.takes(5, None), chooser.takes(7, None), chooser.matches.len()), (false, true, 1));
        chooser.forget_before(100);
        chooser.enter(100, &frame(0x0806));
        assert!(chooser.takes(100, None));
    }
}
