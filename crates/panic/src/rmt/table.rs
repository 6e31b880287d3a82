//! A match-action table.

use super::EntryHandle;
use super::action::Action;
use super::action_params::ActionParams;
use super::counters::{EntryState, Source, TableState};
use super::error::Problem;
use super::parser::Seen;
use wire::expr::Matcher;

/// An entry with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub state: EntryState,
    pub order: u32,
    pub matcher: Matcher,
    pub actions: Vec<Action>,
}

impl Entry {
    pub(super) fn new(handle: EntryHandle, source: Source, matcher: Matcher, actions: Vec<Action>) -> Entry {
        let order = match &source {
            Source::Entry(entry) => entry.order,
            Source::Chain(chain) => chain.order,
        };
        Entry { state: EntryState { handle, source, packets: 0, bytes: 0 }, order, matcher, actions }
    }

    /// Counts a matched packet of `bytes`.
    pub(super) fn count(&mut self, bytes: usize) {
        self.state.packets += 1;
        self.state.bytes += bytes as u64;
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub name: String,
    pub size: u32,
    /// Entries in matching order.
    pub entries: Vec<Entry>,
    pub otherwise: Vec<ActionParams>,
    pub otherwise_actions: Vec<Action>,
    pub misses: u64,
}

impl Table {
    pub(super) fn new(name: &str, size: u32) -> Table {
        let (otherwise, otherwise_actions) = (Vec::new(), Vec::new());
        Table { name: name.to_owned(), size, entries: Vec::new(), otherwise, otherwise_actions, misses: 0 }
    }

    pub(super) fn check_room(&self) -> Result<(), Problem> {
        match self.entries.len() < self.size as usize {
            true => Ok(()),
            false => Err(Problem::Full { table: self.name.clone(), size: self.size }),
        }
    }

    /// Handles increase, so entries of equal order are sorted by insertion.
    pub(super) fn insert(&mut self, entry: Entry) {
        let key = |entry: &Entry| (entry.order, entry.state.handle);
        let at = self.entries.partition_point(|other| key(other) < key(&entry));
        self.entries.insert(at, entry);
    }

    pub(super) fn position(&self, handle: EntryHandle) -> Option<usize> {
        self.entries.iter().position(|entry| entry.state.handle == handle)
    }

    /// Finds the first entry that matches a packet; returns it and the actions.
    pub(super) fn look_up(&mut self, packet: &[u8], seen: &Seen, bytes: usize) -> (Option<EntryHandle>, &[Action]) {
        let takes = |entry: &Entry| entry.matcher.matches_with(packet, &seen.layers, &seen.known);
        match self.entries.iter_mut().find(|entry| takes(entry)) {
            Some(entry) => {
                entry.count(bytes);
                (Some(entry.state.handle), &entry.actions)
            }
            None => {
                self.misses += 1;
                (None, &self.otherwise_actions)
            }
        }
    }

    pub(super) fn state(&self) -> TableState {
        TableState {
            name: self.name.clone(),
            size: self.size,
            entries: self.entries.iter().map(|entry| entry.state.clone()).collect(),
            otherwise: self.otherwise.clone(),
            misses: self.misses,
        }
    }
}
