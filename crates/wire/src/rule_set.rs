//! Rule sets: the notation of match engines that compare words of a packet, as in FPsPIN.
//!
//! A rule takes a 32-bit word of the packet, keeps the bits of a mask, and holds if the result is within two bounds. A set combines its
//! rules, and one more rule marks the packet that ends a message. A set is compiled to a match expression and a definition of messages, so
//! models need no second kind of matching.
//!
//! Words and bounds are in network byte order, as programmers write them: word 3 of an IPv4 packet is `0x08004500`.

use crate::expr::{ExprError, Matcher};
use crate::message::{End, Key, MessageSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets of a context, and the ends of their messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSet {
    /// Combination of the rules.
    #[serde(default)]
    pub combine: Combine,
    /// The rules. Without rules, the set takes every packet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<WordRule>,
    /// Rule for the packets that end their message. Without it, no message ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WordRule>,
}

/// Combination of the rules of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// All rules hold.
    #[default]
    And,
    /// At least one rule holds.
    Or,
}

/// A condition on one word of a packet: `low <= (word & mask) <= high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordRule {
    /// Number of the 32-bit word, from the first byte of the Ethernet header.
    pub word: u32,
    /// Bits to compare; all by default.
    #[serde(default = "all_bits")]
    pub mask: u32,
    /// Least value.
    pub low: u32,
    /// Greatest value; `low` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<u32>,
}

fn all_bits() -> u32 {
    u32::MAX
}

/// Bytes of a word.
const WORD_BYTES: u32 = 4;

/// Limits of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rules of a set, besides the rule for the end of a message.
    pub rules: u32,
    /// Number of bytes at the start of a packet that the engine sees.
    pub bytes: u32,
    /// Offset of the message number in a packet, in bytes. The number is little-endian.
    pub message_at: u32,
    /// Number of messages that the card tells apart by the lowest bits of the message number, a power of two.
    pub messages: u32,
}

impl Limits {
    /// Number of words that begin within the bytes that the engine sees.
    fn words(self) -> u32 {
        self.bytes.div_ceil(WORD_BYTES)
    }
}

/// An error in a rule set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum RuleSetError {
    #[error("the set has {found} rules, must have at most {allowed} besides `end`")]
    TooMany { found: usize, allowed: u32 },
    #[error(
        "the {rule} looks at word {found}, must be 0 to {most}: the engine sees the first {bytes} bytes of a packet"
    )]
    Word { rule: Place, found: u32, most: u32, bytes: u32 },
    #[error("the {rule} has low {low:#x} above high {high:#x}, must be at or below it{}", hint(*rule))]
    Reversed { rule: Place, low: u32, high: u32 },
    #[error("the {rule} can never hold: no number with the bits of mask {mask:#x} is from {low:#x} to {high:#x}{}", hint(*rule))]
    Never { rule: Place, mask: u32, low: u32, high: u32 },
    #[error(transparent)]
    Expr(#[from] ExprError),
}

/// A rule of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One of its rules, counted from 1.
    Rule(usize),
    /// The rule for the end of a message.
    End,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Rule(number) => write!(f, "rule {number}"),
            Place::End => f.write_str("rule `end`"),
        }
    }
}

fn hint(rule: Place) -> &'static str {
    if rule == Place::End { "; leave `end` out for messages that never end" } else { "" }
}

impl WordRule {
    /// The rule as an expression: `true`, `false`, or a comparison.
    fn expression(self, place: Place, limits: Limits) -> Result<String, RuleSetError> {
        let WordRule { word, mask, low, high } = self;
        let high = high.unwrap_or(low);
        if word >= limits.words() {
            let (most, bytes) = (limits.words().saturating_sub(1), limits.bytes);
            return Err(RuleSetError::Word { rule: place, found: word, most, bytes });
        }
        if low > high {
            return Err(RuleSetError::Reversed { rule: place, low, high });
        }
        if least_from(mask, low).is_none_or(|least| least > high) {
            return Err(RuleSetError::Never { rule: place, mask, low, high });
        }
        let at = word * WORD_BYTES;
        Ok(match mask {
            0 => "true".into(),
            u32::MAX => format!("bytes[{at}:4] in {low:#x}..{high:#x}"),
            mask => format!("bytes[{at}:4] & {mask:#x} in {low:#x}..{high:#x}"),
        })
    }
}

/// The least number that has only bits of `mask` and is at least `low`.
fn least_from(mask: u32, low: u32) -> Option<u32> {
    // In ascending order, these numbers are a counter whose bits are spread over the bits of the mask.
    let spread = |count: u64| {
        let mut left = mask;
        (0..mask.count_ones()).fold(0, |number: u32, i| {
            let bit = left & left.wrapping_neg();
            left &= left - 1;
            if count >> i & 1 == 1 { number | bit } else { number }
        })
    };
    let (mut first, mut end) = (0, 1u64 << mask.count_ones());
    while first < end {
        let middle = first.midpoint(end);
        if spread(middle) < low { first = middle + 1 } else { end = middle }
    }
    (first >> mask.count_ones() == 0).then(|| spread(first))
}

impl RuleSet {
    /// Compiles the set to a match expression and a definition of messages, for an engine with these limits. Packets whose message numbers
    /// agree in the bits that the card uses are one message.
    pub fn compile(&self, limits: Limits) -> Result<(Matcher, MessageSpec), RuleSetError> {
        if self.rules.len() > limits.rules as usize {
            return Err(RuleSetError::TooMany { found: self.rules.len(), allowed: limits.rules });
        }
        let rules = self.rules.iter().zip(1..).map(|(rule, number)| rule.expression(Place::Rule(number), limits));
        let rules = rules.collect::<Result<Vec<String>, _>>()?;
        let text = match (rules.as_slice(), self.combine) {
            ([], _) => "true".into(),
            (rules, Combine::And) => rules.join(" && "),
            (rules, Combine::Or) => rules.join(" || "),
        };
        let end = self.end.map_or(Ok("false".into()), |rule| rule.expression(Place::End, limits))?;
        let message = match end.as_str() {
            "true" => MessageSpec::Each,
            end => MessageSpec::Group { key: key(limits), first: None, end: End::Until(Matcher::parse(end)?) },
        };
        Ok((Matcher::parse(&text)?, message))
    }
}

/// The key of messages: the lowest bits of the little-endian message number.
fn key(limits: Limits) -> Key {
    let bits = (limits.messages - 1) as u16;
    let text = format!("bytes[{}:2] & {:#x}", limits.message_at, bits.swap_bytes());
    match crate::expr::Field::parse(&text, &[]) {
        Ok(field) => Key::Fields(vec![field]),
        Err(_) => Key::All, // There is one message only, so the mask is 0.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// FPsPIN's engine.
    const FPSPIN: Limits = Limits { rules: 3, bytes: 66, message_at: 44, messages: 16 };
    const ANY: WordRule = WordRule { word: 0, mask: 0, low: 0, high: None };

    fn rule(word: u32, mask: u32, low: u32, high: u32) -> WordRule {
        WordRule { word, mask, low, high: Some(high) }
    }

    /// IP, UDP, destination port 9330; the first bit of SLMP's flags ends a message.
    fn slmp() -> RuleSet {
        let rules = vec![
            WordRule { word: 3, mask: 0xffff_0000, low: 0x0800_0000, high: None },
            WordRule { word: 5, mask: 0xff, low: 17, high: None },
            WordRule { word: 9, mask: 0xffff_0000, low: 9330 << 16, high: None },
        ];
        RuleSet { combine: Combine::And, rules, end: Some(rule(10, 0x8000, 0x8000, 0x8000)) }
    }

    fn check(set: &RuleSet, want: Expect) {
        want.assert_eq(&match set.compile(FPSPIN) {
            Ok((matcher, message)) => format!("{matcher}; {message}"),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn a_set_becomes_an_expression() {
        check(
            &slmp(),
            expect![
                "bytes[12:4] & 0xffff0000 in 0x8000000..0x8000000 && bytes[20:4] & 0xff in 0x11..0x11 && bytes[36:4] & 0xffff0000 in 0x24720000..0x24720000; by bytes[44:2] & 0xf00 until bytes[40:4] & 0x8000 in 0x8000..0x8000"
            ],
        );
        let either = vec![rule(5, 0xff, 1, 1), rule(8, u32::MAX, 7, 9)];
        check(
            &RuleSet { combine: Combine::Or, rules: either, end: Some(ANY) },
            expect!["bytes[20:4] & 0xff in 0x1..0x1 || bytes[32:4] in 0x7..0x9; each"],
        );
        check(&RuleSet::default(), expect!["true; by bytes[44:2] & 0xf00 until false"]);
        let all = RuleSet { rules: vec![ANY, ANY], ..RuleSet::default() };
        check(&all, expect!["true && true; by bytes[44:2] & 0xf00 until false"]);
    }

    /// An SLMP packet to this port, with these flags and this message number.
    fn packet(port: u16, flags: u16, id: u32) -> Vec<u8> {
        let mut packet = vec![0; 60];
        packet[12] = 8;
        packet[23] = 17;
        packet[36..38].copy_from_slice(&port.to_be_bytes());
        packet[42..44].copy_from_slice(&flags.to_be_bytes());
        packet[44..48].copy_from_slice(&id.to_be_bytes());
        packet
    }

    #[test]
    fn the_expression_takes_the_packets_of_the_rules() {
        let (matcher, message) = slmp().compile(FPSPIN).unwrap();
        assert!(matcher.matches(&packet(9330, 0, 1)));
        assert!(!matcher.matches(&packet(9331, 0, 1)));
        let MessageSpec::Group { end: End::Until(end), .. } = message else { panic!("messages end") };
        assert!(end.matches(&packet(9330, 0xc000, 1)) && !end.matches(&packet(9330, 0x7fff, 1)));
    }

    #[test]
    fn messages_differ_by_the_lowest_bits_of_their_number() {
        // The engine takes the bytes as a little-endian number, so its lowest bits are in the first byte.
        let key = |id: u32| {
            let Key::Fields(fields) = key(FPSPIN) else { panic!("a field") };
            let packet = packet(9330, 0, id);
            fields[0].value(&packet, &crate::layers::Layers::parse(&packet))
        };
        assert_eq!(key(0x0100_0000), Some(0x100));
        assert_eq!(key(0x1100_0000), key(0x0100_0000)); // 16 queues: 4 bits.
        assert_eq!(key(0x01ff_ffff), key(0x0100_0000));
        assert_ne!(key(0x0200_0000), key(0x0100_0000));
    }

    #[test]
    fn sets_beyond_the_engine_are_refused() {
        let one = |rule| RuleSet { rules: vec![ANY, rule], ..RuleSet::default() };
        check(
            &RuleSet { rules: vec![ANY; 4], ..RuleSet::default() },
            expect!["the set has 4 rules, must have at most 3 besides `end`"],
        );
        assert!(one(rule(16, 0xff00_0000, 0, 0)).compile(FPSPIN).is_ok()); // The first bytes of the word are within the 66.
        check(
            &one(rule(17, 1, 0, 0)),
            expect!["the rule 2 looks at word 17, must be 0 to 16: the engine sees the first 66 bytes of a packet"],
        );
        check(&one(rule(3, 0xff, 9, 8)), expect!["the rule 2 has low 0x9 above high 0x8, must be at or below it"]);
        check(
            &one(rule(3, 0xff00, 1, 0xff)),
            expect!["the rule 2 can never hold: no number with the bits of mask 0xff00 is from 0x1 to 0xff"],
        );
        check(
            &RuleSet { end: Some(rule(0, 0, 1, 1)), ..RuleSet::default() },
            expect![
                "the rule `end` can never hold: no number with the bits of mask 0x0 is from 0x1 to 0x1; leave `end` out for messages that never end"
            ],
        );
    }

    #[test]
    fn the_least_number_of_a_mask_is_found() {
        for mask in 0..64u32 {
            for low in 0..70 {
                let want = (low..64).find(|number| number & !mask == 0);
                assert_eq!(least_from(mask, low), want, "mask {mask:#x}, from {low:#x}");
            }
        }
        assert_eq!(least_from(u32::MAX, u32::MAX), Some(u32::MAX));
        assert_eq!(least_from(0xf000_0000, 0xf000_0001), None);
    }
}
