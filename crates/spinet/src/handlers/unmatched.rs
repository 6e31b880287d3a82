//! Explains why a rule matched no packet: lists the parts of its expression that never held.

use crate::summary::grouped;
use wire::expr::Matcher;
use wire::layers::Layers;

/// A rule that has matched no packet so far, and the packets compared with it.
#[derive(Clone, Debug)]
pub struct UnmatchedRule {
    /// Its expression.
    text: String,
    /// The parts of the expression, which must all hold. For each part: the number of packets for which it held, and
    /// the first value that was found in its field.
    parts: Vec<(Matcher, u64, Option<String>)>,
    /// Packets compared with it.
    compared: u64,
    /// Packets that an earlier rule took.
    taken_before: u64,
}

impl UnmatchedRule {
    /// A rule that requires all of these expressions.
    pub fn new<'a>(wants: impl IntoIterator<Item = &'a Matcher>) -> UnmatchedRule {
        let wants: Vec<&Matcher> = wants.into_iter().collect();
        let text = wants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" && ");
        let parts = wants.iter().flat_map(|matcher| matcher.parts()).map(|part| (part, 0, None)).collect();
        UnmatchedRule { text, parts, compared: 0, taken_before: 0 }
    }

    /// Counts a packet that does not match.
    pub fn refused(&mut self, packet: &[u8], layers: &Layers) {
        self.compared += 1;
        for (part, held, first) in &mut self.parts {
            *held += u64::from(part.matches_layers(packet, layers));
            if first.is_none() {
                *first = part.found(packet, layers);
            }
        }
    }

    /// Counts a packet that an earlier rule took.
    pub fn passed_over(&mut self) {
        self.taken_before += 1;
    }

    /// Why no packet matched; `None` if there was no packet.
    pub fn why_nothing(&self) -> Option<String> {
        let n = match self.compared {
            0 if self.taken_before == 0 => return None,
            0 if self.taken_before == 1 => return Some("a context before it took the only packet".into()),
            0 => return Some(format!("contexts before it took all {} packets", grouped(self.taken_before))),
            1 => "the only packet does not match".to_owned(),
            n => format!("none of {} packets matches", grouped(n)),
        };
        let never: Vec<_> = self.parts.iter().filter(|(_, held, _)| *held == 0).collect();
        let has =
            |found: &Option<String>| found.as_ref().map_or_else(String::new, |found| format!(" (first seen: {found})"));
        let why = match &never[..] {
            [] => "; each part holds for some of them, but never all at once".to_owned(),
            [(_, _, found)] if self.parts.len() == 1 => has(found),
            all => {
                let parts: Vec<_> = all.iter().map(|(part, _, found)| format!("`{part}`{}", has(found))).collect();
                format!("; {} never hold{}", parts.join(" and "), if all.len() == 1 { "s" } else { "" })
            }
        };
        Some(format!("{n} `{}`{why}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use wire::pacing::Pacing;
    use wire::source::Source;
    use wire::traffic::{Generator, TrafficSpec};

    /// Compares the report of a rule that took none of these packets.
    fn check(wants: &str, traffic: &str, want: Expect) {
        let matcher = Matcher::parse(wants).expect("an expression");
        let mut rule = UnmatchedRule::new([&matcher]);
        let spec = TrafficSpec::parse(traffic).expect("traffic");
        let mut packets = Generator::new(spec, Pacing::TIMES).expect("a generator");
        while let Some(frame) = packets.next().expect("a packet") {
            let layers = Layers::parse(frame.bytes);
            assert!(!matcher.matches_layers(frame.bytes, &layers), "a packet is taken");
            rule.refused(frame.bytes, &layers);
        }
        want.assert_eq(&rule.why_nothing().unwrap_or_default());
    }

    #[test]
    fn the_part_that_never_held_is_named() {
        check(
            "udp.dst_port == 53",
            "udp:count=1000",
            expect!["none of 1,000 packets matches `udp.dst_port == 53` (first seen: udp.dst_port is 9999)"],
        );
        check(
            "udp.dst_port == 53 && ipv4.src in 10.0.0.0/8",
            "udp:count=1",
            expect![
                "the only packet does not match `udp.dst_port == 53 && ipv4.src in 10.0.0.0/8`; `udp.dst_port == 53` (first seen: udp.dst_port is 9999) never holds"
            ],
        );
        check(
            "tcp && ipv6",
            "udp:count=20",
            expect!["none of 20 packets matches `tcp && ipv6`; `tcp` and `ipv6` never hold"],
        );
        check(
            "udp.src_port == 10000 && udp.dst_port != 9999",
            "udp:count=4,flows=4",
            expect![
                "none of 4 packets matches `udp.src_port == 10000 && udp.dst_port != 9999`; `udp.dst_port != 9999` (first seen: udp.dst_port is 9999) never holds"
            ],
        );
        check(
            "udp.src_port == 10001 && (ipv6 || udp.src_port == 10002)",
            "udp:count=4,flows=4",
            expect![
                "none of 4 packets matches `udp.src_port == 10001 && (ipv6 || udp.src_port == 10002)`; each part holds for some of them, but never all at once"
            ],
        );
        check("!udp", "udp:count=2", expect!["none of 2 packets matches `!udp`"]);
    }

    #[test]
    fn who_was_never_asked_says_who_was() {
        let mut rule = UnmatchedRule::new([&Matcher::parse("udp").expect("an expression")]);
        assert_eq!(rule.why_nothing(), None);
        rule.passed_over();
        assert_eq!(rule.why_nothing().as_deref(), Some("a context before it took the only packet"));
        rule.passed_over();
        assert_eq!(rule.why_nothing().as_deref(), Some("contexts before it took all 2 packets"));
    }
}
