//! The rows of a network's tables that a run keeps: the user may restrict them to a time, to nodes, and to messages. Messages are
//! given by selections such as `from=n0,to=rack1-*,tag=7`.

use super::setup::{Setup, keeps, matches};
use crate::run::Wanted;
use diagnostics::near::suggestion;
use kernel::Time;
use net::NodeId;
use net::digest::NumberSet;
use net::error::NetError;
use net::frame::FrameId;
use net::observe::{MessageKey, MessageKind, Row, What};
use std::ops::RangeInclusive;

/// Fields of a selection.
const FIELDS: [&str; 5] = ["from", "to", "kind", "tag", "number"];

/// A selection of messages. A field that it does not name fits every message.
#[derive(Debug, Default)]
struct Selection {
    /// For each node: true if messages from it fit.
    from: Option<Vec<bool>>,
    /// For each node: true if messages to it fit.
    to: Option<Vec<bool>>,
    kind: Option<MessageKind>,
    tag: Option<RangeInclusive<u64>>,
    number: Option<RangeInclusive<u64>>,
}

impl Selection {
    fn fits(&self, key: MessageKey, tag: u64) -> bool {
        let is_in = |nodes: &Option<Vec<bool>>, node| nodes.as_ref().is_none_or(|nodes| has_node(nodes, node));
        is_in(&self.from, key.from)
            && is_in(&self.to, key.to)
            && self.kind.is_none_or(|kind| kind == key.kind)
            && self.tag.as_ref().is_none_or(|range| range.contains(&tag))
            && self.number.as_ref().is_none_or(|range| range.contains(&key.number.into()))
    }

    /// Reads a selection. `names` are those of all nodes, by number.
    fn parse(text: &str, names: &[&str]) -> Result<Selection, NetError> {
        let refuse = |found: &str, allowed: String| refused("keep_messages", found, allowed);
        let mut selection = Selection::default();
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim) {
            let Some((field, value)) = part.split_once('=').map(|(field, value)| (field.trim(), value.trim())) else {
                return Err(refuse(part, "FIELD=VALUE, such as `from=n0,to=n3` or `tag=7`".into()));
            };
            if seen.contains(&field) {
                return Err(refuse(text, format!("one value for `{field}`; give another selection for a second one")));
            }
            seen.push(field);
            let nodes = || fitting(value, names).map(Some).map_err(|allowed| refuse(value, allowed));
            let range = || {
                let (first, last) = value.split_once("..").unwrap_or((value, value));
                let allowed = || refuse(value, "a number such as 7, or the first and last one, such as 7..9".into());
                let number = |text: &str| text.trim().parse::<u64>().map_err(|_| allowed());
                let (first, last) = (number(first)?, number(last)?);
                if first <= last { Ok(Some(first..=last)) } else { Err(allowed()) }
            };
            match field {
                "from" => selection.from = nodes()?,
                "to" => selection.to = nodes()?,
                "tag" => selection.tag = range()?,
                "number" => selection.number = range()?,
                "kind" => {
                    let kinds = MessageKind::ALL.map(MessageKind::name);
                    let kind = MessageKind::ALL.into_iter().find(|kind| kind.name() == value);
                    let allowed = || format!("one of {}{}", kinds.join(", "), suggestion(value, kinds));
                    selection.kind = Some(kind.ok_or_else(|| refuse(value, allowed()))?);
                }
                _ => return Err(refuse(field, format!("one of {}{}", FIELDS.join(", "), suggestion(field, FIELDS)))),
            }
        }
        Ok(selection)
    }
}

/// The selected messages of a run, and their frames.
#[derive(Debug)]
struct Selected {
    selections: Vec<Selection>,
    /// Posted messages that a selection fits. Only looked up, never iterated.
    messages: NumberSet<MessageKey>,
    /// Frames that carry parts of them. Only looked up, never iterated.
    frames: NumberSet<FrameId>,
}

/// Decides which rows of a network's tables are kept.
#[derive(Debug)]
pub struct Kept {
    /// Start and end of the window of time. A row exactly at the end is not kept.
    within: (Time, Time),
    /// For each node: true if messages from it and to it are kept, events of frames there, and all events of frames that entered there.
    nodes: Vec<bool>,
    /// All nodes are kept, and switches, too.
    has_all_nodes: bool,
    /// `None` keeps all messages and all frames, also frames that carry no message.
    selected: Option<Selected>,
}

impl Kept {
    /// Reads `keep_time`, `keep_nodes` and `keep_messages` of [`Wanted`]. A pattern that fits no node is an error.
    pub fn new(setup: &Setup, wanted: &Wanted) -> Result<Kept, NetError> {
        let names: Vec<&str> = setup.nodes.iter().map(|node| node.name.as_str()).collect();
        for pattern in wanted.keep_nodes.iter().flatten() {
            fitting(pattern, &names).map_err(|allowed| refused("keep_nodes", pattern, allowed))?;
        }
        let parse = |text: &String| Selection::parse(text, &names);
        let selections = wanted.keep_messages.as_ref().map(|texts| texts.iter().map(parse).collect::<Result<_, _>>());
        let (messages, frames) = Default::default();
        Ok(Kept {
            within: wanted.keep_time.unwrap_or_default().times(),
            nodes: names.iter().map(|name| keeps(wanted, name)).collect(),
            has_all_nodes: wanted.keep_nodes.is_none(),
            selected: selections.transpose()?.map(|selections| Selected { selections, messages, frames }),
        })
    }

    /// Finds the selected messages in these rows, and the frames that carry them. A frame's `Entered` row comes before its
    /// `Carries` row, so call this with all rows of a window before [`Kept::has_row`] is called with one of them.
    pub fn learn(&mut self, rows: &[Row]) {
        let Some(Selected { selections, messages, frames }) = &mut self.selected else { return };
        for row in rows {
            if let What::Posted { to, kind, tag, .. } = row.what {
                let key = MessageKey { from: row.node, to, kind, number: row.frame.number as u32 };
                if selections.iter().any(|selection| selection.fits(key, tag)) {
                    messages.insert(key);
                }
            }
        }
        // A host without costs sends the first frame at the time of the post, and its row may come first.
        for row in rows {
            if let What::Carries { to, kind, number } = row.what
                && messages.contains(&MessageKey { from: row.node, to, kind, number })
            {
                frames.insert(row.frame);
            }
        }
    }

    /// Returns true if the row of a message is kept. `posted` is the time at which its host posted it.
    pub fn has_message(&self, key: MessageKey, posted: Time) -> bool {
        self.is_within(posted)
            && (has_node(&self.nodes, key.from) || has_node(&self.nodes, key.to))
            && self.selected.as_ref().is_none_or(|selected| selected.messages.contains(&key))
    }

    /// Returns true if this row of a frame is kept.
    pub fn has_row(&self, row: &Row) -> bool {
        let is_kept = |node| has_node(&self.nodes, node);
        self.is_within(row.at)
            && (self.has_all_nodes || is_kept(row.node) || is_kept(row.frame.node))
            && self.selected.as_ref().is_none_or(|selected| selected.frames.contains(&row.frame))
    }

    fn is_within(&self, at: Time) -> bool {
        self.within.0 <= at && at < self.within.1
    }
}

/// The value of a list for this node. It is false for switches, whose numbers follow those of the nodes.
fn has_node(nodes: &[bool], node: NodeId) -> bool {
    nodes.get(node.0 as usize).copied().unwrap_or(false)
}

/// For each node: true if the pattern fits its name. If it fits none, the error says what is allowed.
fn fitting(pattern: &str, names: &[&str]) -> Result<Vec<bool>, String> {
    let fits: Vec<bool> = names.iter().map(|name| matches(pattern, name)).collect();
    let allowed = || format!("a node or a pattern that fits one{}", suggestion(pattern, names.iter().copied()));
    if fits.contains(&true) { Ok(fits) } else { Err(allowed()) }
}

/// The error for a value of a run's options.
pub fn refused(key: &str, found: &str, allowed: String) -> NetError {
    NetError::Plan { key: key.into(), found: format!("`{found}`"), allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["n0", "n1", "n2", "store"];
    /// A switch has the next number after the nodes.
    const SWITCH: u32 = 4;

    fn fits(text: &str) -> String {
        let selection = Selection::parse(text, &NAMES).expect("a selection");
        let mut fitting = Vec::new();
        for (from, to, kind, tag, number) in [
            (0, 1, MessageKind::Put, 7, 1),
            (0, 3, MessageKind::Put, 8, 2),
            (1, 3, MessageKind::Get, 0, 1),
            (3, 1, MessageKind::Reply, 0, 1),
            (0, SWITCH, MessageKind::Put, 9, 3),
        ] {
            let key = MessageKey { from: NodeId(from), to: NodeId(to), kind, number };
            if selection.fits(key, tag) {
                let name = |node: u32| NAMES.get(node as usize).unwrap_or(&"switch");
                fitting.push(format!("{}>{}", name(from), name(to)));
            }
        }
        fitting.join(" ")
    }

    fn mistake(text: &str) -> String {
        Selection::parse(text, &NAMES).expect_err("refused").to_string()
    }

    #[test]
    fn every_field_selects() {
        assert_eq!(fits("from=n0"), "n0>n1 n0>store n0>switch");
        assert_eq!(fits("to=n*"), "n0>n1 store>n1");
        assert_eq!(fits("kind=get"), "n1>store");
        assert_eq!(fits("tag=7"), "n0>n1");
        assert_eq!(fits("tag=7..8"), "n0>n1 n0>store");
        assert_eq!(fits("number=1, to=store"), "n1>store");
        assert_eq!(fits("from=n0,kind=get"), "");
        assert_eq!(fits("to=*"), "n0>n1 n0>store n1>store store>n1", "a message to a switch has no such node");
    }

    #[test]
    fn mistakes_name_what_is_allowed() {
        assert!(
            mistake("form=n0").contains("`form`") && mistake("form=n0").contains("did you mean"),
            "{}",
            mistake("form=n0")
        );
        assert!(mistake("from=m0").contains("a node or a pattern that fits one"));
        assert!(mistake("kind=putt").contains("one of put, get, reply"));
        assert!(mistake("tag=9..7").contains("7..9"));
        assert!(mistake("tag=-1").contains("a number"));
        assert!(mistake("n0").contains("FIELD=VALUE"));
        assert!(mistake("").contains("FIELD=VALUE"));
        assert!(mistake("to=n0,to=n1").contains("one value for `to`"));
    }
}
