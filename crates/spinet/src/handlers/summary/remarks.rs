//! Remarks: faults in the simulated world, and likely mistakes of the user.

use super::{CommandFaultSummary, TrapPlaceSummary};
use crate::experiment::{CheckedSource, Traffic};
use crate::handlers::HandlerCard;
use crate::handlers::packets::Fate;
use crate::run::Simulated;
use crate::summary::{Remark, file_name, grouped, part_of};

impl HandlerCard {
    /// Counts of the memory checker, if it found anything.
    fn found(&self) -> Option<String> {
        let check = self.check_summary()?;
        let counts = [
            (check.uninitialised, "uninitialised"),
            (check.bounds, "bounds"),
            (check.races, "race"),
            (check.locks, "lock"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, kind)| format!("{} {kind}", grouped(count)))
            .collect();
        let places = match check.findings.len() {
            1 => "one place".to_owned(),
            places => format!("{} places", grouped(places as u64)),
        };
        (!counts.is_empty()).then(|| format!("the memory checker found mistakes at {places}: {}", counts.join(", ")))
    }

    /// The remarks of this run about handlers and their messages. `more` says where further causes of traps are.
    pub fn remarks_on_handlers(&self, more: &str) -> Vec<Remark> {
        let mut remarks = Vec::new();
        remarks.extend(self.trapped(more).map(|text| Remark::new("traps", text)));
        remarks.extend(self.found().map(|text| Remark::new("findings", text)));
        remarks.extend(self.refused().map(|text| Remark::new("refused_commands", text)));
        remarks.extend(self.timed_out().map(|text| Remark::new("message_timeouts", text)));
        remarks.extend(self.queueless().map(|text| Remark::new("no_queue", text)));
        remarks.extend(self.kept().map(|text| Remark::new("kept_packets", text)));
        remarks
    }

    /// The remarks of this run.
    pub(super) fn remarks(&self) -> Vec<Remark> {
        let mut remarks = self.remarks_on_handlers("listed below");
        let record = self.record().borrow();
        if self.ended.is_some() && record.stats.frames.packets == 0 {
            let why = match &self.checked.sources[..] {
                [] => "there is no traffic, and no other card sent one",
                [CheckedSource { traffic: Traffic::Capture(..), .. }] => {
                    "the capture has none that can be given to a card"
                }
                _ => "the traffic has none",
            };
            remarks.push(Remark::new("no_packets", format!("no packet came: {why}")));
        }
        let feed = self.driver.feed.borrow();
        let has_several = self.placed.len() > 1;
        for (context, rule) in feed.rules.unmatched() {
            let packets = record.stats.contexts.get(context).map_or(0, |stats| stats.frames.packets);
            if let Some(text) = rule.why_nothing().filter(|_| packets == 0) {
                let whose = match self.placed.get(context) {
                    Some(placed) if has_several => format!("context {}: ", placed.name),
                    _ => String::new(),
                };
                remarks.push(Remark::new("no_match", format!("{whose}{text}")));
            }
        }
        remarks
    }

    /// Number of messages that timed out.
    fn timed_out(&self) -> Option<String> {
        let count = self.record().borrow().stats.events.message_timeout;
        let (messages, whose) = match count {
            0 => return None,
            1 => ("1 message was".to_owned(), "its completion handler"),
            _ => (format!("{} messages were", grouped(count)), "their completion handlers"),
        };
        Some(format!(
            "{messages} given up, and {whose} did not run: no packet came for longer than delivery.timeout_cycles of the \
             context; 0 waits for ever"
        ))
    }

    /// Number of packets that handlers did not get, because no queue was free for their messages.
    fn queueless(&self) -> Option<String> {
        let record = self.record().borrow();
        let (part, contexts) = (record.stats.without_queue, &record.stats.contexts);
        let matched = contexts.iter().map(|context| context.frames.packets).sum();
        let packets = part_of(part, matched, "matched packet");
        let n_queues = self.checked.nic.scheduler.n_mpqs;
        let why = format!("none of the {n_queues} message queues was free for their messages");
        (part > 0).then(|| format!("{packets} went to the host the ordinary way: {why}"))
    }

    /// The packets that stay in message queues, by a mistake of the RTL.
    fn kept(&self) -> Option<String> {
        let may_stay = self.is_quiet && self.checked.nic.rtl_mistakes.reused_queues_keep_packets;
        let held = may_stay.then(|| self.counters().get("nic.scheduler.packets_held").copied())?.unwrap_or(0);
        let packets = match held {
            0 => return None,
            1 => "1 packet stays".to_owned(),
            _ => format!("{} packets stay", grouped(held)),
        };
        Some(format!(
            "{packets} in the message queues: a packet that arrives while the last handlers of a message run stays until the queue gets its \
             next message (rtl_mistakes.reused_queues_keep_packets)"
        ))
    }

    /// The first refused command, if there is one. Its handler gets no error.
    fn refused(&self) -> Option<String> {
        let (count, first) = {
            let record = self.record().borrow();
            (record.stats.faults, self.command_fault(record.stats.first_refused.as_ref()?))
        };
        let commands =
            if count == 1 { "a command was".to_owned() } else { format!("{} commands were", grouped(count)) };
        let CommandFaultSummary { frame, handler, cluster, core, unit, addr, why, .. } = first;
        Some(format!(
            "{commands} refused; first one of {handler}, by {unit}, address {addr}: {why}, packet {frame}, core {core} of cluster {cluster}"
        ))
    }

    /// Where handlers trapped first, if any did.
    fn trapped(&self, more: &str) -> Option<String> {
        let record = self.record().borrow();
        let stats = &record.stats;
        let first = stats.traps.values().min_by_key(|traps| traps.first.order())?;
        let matched = stats.contexts.iter().map(|context| context.frames.packets).sum();
        // A packet that was not finished may have trapped too; it counts as unfinished.
        let packets = part_of(stats.fates[Fate::Trapped as usize], matched, "matched packet");
        let others = match stats.traps.len() - 1 {
            0 => String::new(),
            1 => format!("; 1 more cause is {more}"),
            n => format!("; {n} more causes are {more}"),
        };
        let summary = self.trap_summary(first);
        let TrapPlaceSummary { frame, cluster, core, .. } = &summary.first;
        let (at, why) = (place_text(&summary.first), cause_text(&summary.cause, &summary.first));
        Some(format!(
            "handlers trapped on {packets}; first in {at}: {why}, packet {frame}, core {core} of cluster {cluster}{others}"
        ))
    }
}

/// `load access fault, address 0x00000000`.
pub(crate) fn cause_text(cause: &str, TrapPlaceSummary { value, value_is, note, .. }: &TrapPlaceSummary) -> String {
    let note = note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    match *value_is {
        Some("instruction") => format!("{cause} {value}{note}"), // It follows `illegal instruction`.
        Some(what) => format!("{cause}, {what} {value}{note}"),
        None => format!("{cause}{note}"),
    }
}

/// `bad_ph+0x12 at bad.c:7 (pc 0x1d000452)`.
fn place_text(at: &TrapPlaceSummary) -> String {
    match at.source.text(file_name) {
        Some(line) => format!("{} at {line} (pc {})", at.place, at.pc),
        None if at.place == at.pc => at.pc.clone(),
        None => format!("{} (pc {})", at.place, at.pc),
    }
}
