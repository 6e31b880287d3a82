//! Matching rules: they assign packets to contexts and messages.

use super::unmatched::UnmatchedRule;
use pspin::protocol::Context;
use std::collections::BTreeMap;
use std::rc::Rc;
use wire::expr::Matcher;
use wire::layers::Layers;
use wire::message::Classifier;

/// A rule that is installed.
pub struct Rule {
    /// Its number. Rules of one table have different numbers, and later ones have larger numbers.
    pub id: u64,
    /// The tenant that owns it.
    pub tenant: u64,
    /// Position of its context in reports.
    pub context_idx: usize,
    /// Rules of higher priority are tested first; of equal ones, the older first.
    pub priority: i32,
    /// Packets that its owner may receive; `None` is all.
    pub scope: Option<Matcher>,
    /// Packets that it takes among those; `None` is all.
    pub matcher: Option<Matcher>,
    /// The definition of its messages.
    pub classifier: Classifier,
    /// The environment of its handlers.
    pub context: Rc<Context>,
    /// Copies at most this many bytes of each packet to L1.
    pub copy_bytes: Option<u32>,
}

impl Rule {
    /// The conditions for a packet.
    fn wants(&self) -> impl Iterator<Item = &Matcher> {
        [&self.scope, &self.matcher].into_iter().flatten()
    }

    fn matches(&self, packet: &[u8], layers: &Layers) -> bool {
        self.wants().all(|matcher| matcher.matches_layers(packet, layers))
    }
}

/// The rules of a NIC. A packet goes to the first that takes it.
#[derive(Default)]
pub struct Rules {
    /// In the order in which they are tested.
    installed: Vec<Rule>,
    /// Rules that take no new message, by number.
    ending: Vec<u64>,
    /// The owners, each tenant once.
    tenants: Vec<u64>,
    /// Statistics of each context for which no rule has taken a packet yet.
    unmatched: BTreeMap<usize, Option<UnmatchedRule>>,
}

impl Rules {
    /// Adds a rule.
    pub fn install(&mut self, rule: Rule) {
        let order = |rule: &Rule| (std::cmp::Reverse(rule.priority), rule.id);
        let at = self.installed.partition_point(|other| order(other) < order(&rule));
        self.unmatched.entry(rule.context_idx).or_insert_with(|| Some(UnmatchedRule::new(rule.wants())));
        self.installed.insert(at, rule);
        self.count_tenants();
    }

    /// Tenants that have rules.
    pub fn tenants(&self) -> &[u64] {
        &self.tenants
    }

    fn count_tenants(&mut self) {
        self.tenants = self.installed.iter().map(|rule| rule.tenant).collect();
        self.tenants.sort_unstable();
        self.tenants.dedup();
    }

    /// From now on, the rule takes no new message. It is removed when all its open messages have had their last packet.
    pub fn end(&mut self, id: u64) {
        self.ending.push(id);
        self.drop_ended();
    }

    /// Removes a rule at once.
    pub fn remove(&mut self, id: u64) -> Option<Rule> {
        self.ending.retain(|&other| other != id);
        let at = self.installed.iter().position(|rule| rule.id == id)?;
        let rule = self.installed.remove(at);
        self.count_tenants();
        Some(rule)
    }

    /// Ends a message of a rule, although its last packet has not come.
    pub fn give_up(&mut self, id: u64, message: u64) {
        if let Some(rule) = self.installed.iter_mut().find(|rule| rule.id == id) {
            rule.classifier.abandon(message);
        }
        self.drop_ended();
    }

    /// The context of a rule, with its position in reports.
    pub fn context(&self, id: u64) -> Option<(usize, Rc<Context>)> {
        let rule = self.installed.iter().find(|rule| rule.id == id)?;
        Some((rule.context_idx, rule.context.clone()))
    }

    /// Returns true if a rule takes packets, even if only those of open messages.
    pub fn has(&self, id: u64) -> bool {
        self.installed.iter().any(|rule| rule.id == id)
    }

    /// The first rule of a context, even if it only serves open messages.
    pub fn of_context(&self, context_idx: usize) -> Option<u64> {
        self.installed.iter().find(|rule| rule.context_idx == context_idx).map(|rule| rule.id)
    }

    /// Announces the packets that come next. For messages that end with the last packet of a flow, that is the flow's
    /// last packet among these.
    pub fn expect(&mut self, packets: &[Box<[u8]>]) {
        self.installed.iter_mut().for_each(|rule| rule.classifier.forget_index());
        for packet in packets {
            let layers = Layers::parse(packet);
            if let Some(rule) = self.installed.iter_mut().find(|rule| rule.matches(packet, &layers)) {
                rule.classifier.expect(packet, &layers);
            }
        }
    }

    /// The rule that takes a packet.
    pub fn find(&mut self, packet: &[u8], layers: &Layers) -> Option<&mut Rule> {
        let Rules { installed, ending, unmatched, .. } = self;
        let taker = installed.iter_mut().position(|rule| {
            let is_meant = rule.matches(packet, layers);
            if let Some(slot) = unmatched.get_mut(&rule.context_idx)
                && let Some(unmatched_rule) = slot
            {
                match is_meant {
                    true => *slot = None,
                    false => unmatched_rule.refused(packet, layers),
                }
            }
            is_meant && (!ending.contains(&rule.id) || rule.classifier.continues(packet, layers))
        })?;
        for rule in &installed[taker + 1..] {
            if let Some(Some(unmatched_rule)) = unmatched.get_mut(&rule.context_idx) {
                unmatched_rule.passed_over();
            }
        }
        installed.get_mut(taker)
    }

    /// Contexts whose rules have matched no packet, by position.
    pub fn unmatched(&self) -> impl Iterator<Item = (usize, &UnmatchedRule)> {
        self.unmatched.iter().filter_map(|(&context, unmatched)| Some((context, unmatched.as_ref()?)))
    }

    /// Drops rules that only served messages which have now ended.
    pub fn drop_ended(&mut self) {
        let Rules { installed, ending, .. } = self;
        if ending.is_empty() {
            return;
        }
        let before = installed.len();
        installed.retain(|rule| rule.classifier.n_open() > 0 || !ending.contains(&rule.id));
        ending.retain(|&id| installed.iter().any(|rule| rule.id == id));
        if installed.len() != before {
            self.count_tenants();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use wire::message::MessageSpec;

    /// A UDP packet between these ports.
    fn packet(src: u16, dst: u16) -> Vec<u8> {
        let mut packet = vec![0; 42];
        packet[12] = 8; // IPv4
        packet[14] = 0x45;
        packet[16..18].copy_from_slice(&28u16.to_be_bytes());
        packet[23] = 17;
        packet[34..36].copy_from_slice(&src.to_be_bytes());
        packet[36..38].copy_from_slice(&dst.to_be_bytes());
        packet[38..40].copy_from_slice(&8u16.to_be_bytes());
        packet
    }

    /// Words: `+id:priority:expression` installs a rule (messages of two packets by source port), `-id` ends it, `!id`
    /// removes it. `source>destination` is a packet, and the result is the rule that takes it.
    fn check(script: &str, want: Expect) {
        let mut rules = Rules::default();
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let mut seen = Vec::new();
        for word in script.split(' ') {
            if let Some(rule) = word.strip_prefix('+') {
                let parts: Vec<&str> = rule.split(':').collect();
                let message = MessageSpec::parse("by udp.src_port count 2").expect("a message");
                rules.install(Rule {
                    id: number(parts[0]),
                    tenant: 1,
                    context_idx: 0,
                    priority: parts[1].parse().expect("a priority"),
                    scope: None,
                    matcher: Some(Matcher::parse(parts[2]).expect("an expression")),
                    classifier: Classifier::new(message),
                    context: Rc::default(),
                    copy_bytes: None,
                });
            } else if let Some(id) = word.strip_prefix('-') {
                rules.end(number(id));
            } else if let Some(id) = word.strip_prefix('!') {
                seen.push(if rules.remove(number(id)).is_some() { "removed" } else { "none" }.into());
            } else {
                let (src, dst) = word.split_once('>').expect("a packet");
                let packet = packet(number(src) as u16, number(dst) as u16);
                let layers = Layers::parse(&packet);
                let found = rules.find(&packet, &layers);
                seen.push(found.map_or("-".into(), |rule| {
                    let verdict = rule.classifier.classify(&packet, &layers);
                    format!("{}{}", rule.id, if verdict.is_last { "!" } else { "" })
                }));
                rules.drop_ended();
            }
        }
        want.assert_eq(&seen.join(" "));
    }

    #[test]
    fn higher_priority_then_age_decides() {
        check("+1:0:udp +2:5:udp.dst_port==7 +3:5:udp 1>7 2>8", expect!["2 3"]);
        check("+1:0:udp +2:0:udp.dst_port==7 1>7 2>8", expect!["1 1"]);
    }

    #[test]
    fn an_ending_rule_keeps_its_messages_and_takes_no_new_one() {
        check("+1:0:udp +2:-1:udp 1>7 -1 2>7 1>7 1>7 !1", expect!["1 2 1! 2 none"]);
    }

    #[test]
    fn a_removed_rule_is_gone_at_once() {
        check("+1:0:udp 1>7 !1 1>7 !1", expect!["1 removed - none"]);
        check("+1:0:udp -1 1>7 !1", expect!["- none"]);
    }
}
