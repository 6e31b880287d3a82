//! Records of the cards on nodes: tables during the run, summaries, profiles and host memory at its end, from all processes.

use super::card::NetworkCard;
use super::device::CardDevice;
use super::gather::{self, Closing, Gathered, NodeRecord, Status};
use super::setup::keeps;
use crate::ranks::Ranks;
use crate::run::{Nodes, Rows, RunError};
use net::error::NetError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Maximum number of table rows that wait in all cards together. assumed: some 400 bytes a row, so at most about 100 MiB
const WAITING_ROWS: u64 = 1 << 18;

impl NetworkCard {
    /// Takes table rows from cards of this process that have many rows; at the end, from all of its cards.
    pub(super) fn collect(&mut self, is_end: bool) {
        if !self.wanted.tables {
            return;
        }
        let kept: Vec<usize> = self.kept_here().collect();
        let most = (WAITING_ROWS / kept.len().max(1) as u64).clamp(64, 4096);
        let mut ready = Vec::new();
        for node in kept {
            let done = self.progress[node].packets_done();
            if is_end || done - self.taken[node] >= most {
                self.taken[node] = done;
                ready.push(node);
            }
        }
        // A network that failed reports its error when it runs next.
        let tables = self.with_cards(&ready, |_, device| device.card().take_tables()).unwrap_or_default();
        for (&node, tables) in ready.iter().zip(tables) {
            self.tables.extend(tables.into_iter().map(|rows| (node, rows)));
        }
    }

    /// Nodes of this process with a card whose records are kept.
    fn kept_here(&self) -> impl Iterator<Item = usize> {
        self.kept_nodes().filter(|&node| self.is_here[node])
    }

    fn kept_nodes(&self) -> impl Iterator<Item = usize> {
        let nodes = self.setup.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.kind.is_some() && keeps(&self.wanted, &node.name)).map(|(number, _)| number)
    }

    /// Kinds and texts of the remarks on programs of cards, by node. Before the end, nodes of other processes have none.
    pub(super) fn program_remarks(&self) -> BTreeMap<usize, Vec<(String, String)>> {
        let here = self.here();
        let own = self.with_cards(&here, |_, device| {
            let remarks = device.card().program_remarks("in the summary of its card").into_iter();
            remarks.map(|remark| (remark.kind.to_owned(), remark.text)).collect::<Vec<_>>()
        });
        let own = here.iter().copied().zip(own.unwrap_or_default());
        let records = self.gathered.iter().flat_map(|gathered| &gathered.nodes).filter(|it| !self.is_here[it.node]);
        let all = own.chain(records.map(|record| (record.node, record.remarks.clone())));
        all.filter(|(_, remarks)| !remarks.is_empty()).collect()
    }

    /// Sends the records of this process to the first process, which collects all records.
    pub(super) fn gather(&mut self, ranks: &Ranks, failure: Option<String>) -> Result<(), RunError> {
        let mut own =
            Closing { failure, reports: self.reports().to_vec(), ledger: self.ledger(), ..Closing::default() };
        let mut counts = self.counts();
        let mut remarks = self.program_remarks();
        for node in self.here() {
            let counts = std::mem::take(&mut counts[node]);
            let remarks = remarks.remove(&node).unwrap_or_default();
            own.nodes.push(NodeRecord { node, counts, remarks, records: None, host: Vec::new() });
        }
        let kept: Vec<usize> =
            if ranks.is_first() || !self.wanted.tables { Vec::new() } else { self.kept_here().collect() };
        for node in kept {
            let records = Nodes::records(self, node).ok().flatten();
            let files = self.host_files(node).unwrap_or_else(|error| {
                own.failure.get_or_insert(error.to_string());
                Vec::new()
            });
            if let Some(record) = own.nodes.iter_mut().find(|record| record.node == node) {
                record.records = records;
                for (name, data) in files {
                    record.host.push((name, data.len()));
                    own.files.extend(data);
                }
            }
        }
        let mut rows = Gathered::default();
        std::mem::take(&mut self.tables).into_iter().for_each(|(node, table)| rows.add(node, table));
        let is_first = ranks.is_first();
        let (own_tables, sent) = if is_first { (rows, Gathered::default()) } else { (Gathered::default(), rows) };
        let others = gather::meet(ranks, &Status::default(), &sent).map_err(RunError::new)?;
        let tables = others.into_iter().flat_map(|(_, _, found)| found.tables);
        self.tables = own_tables.tables.into_iter().chain(tables).filter_map(|table| self.named(table)).collect();
        for other in gather::close(ranks, &own).map_err(RunError::new)? {
            own.failure = own.failure.or(other.failure);
            own.reports.extend(other.reports);
            own.ledger.merge(&other.ledger);
            own.nodes.extend(other.nodes);
            own.files.extend(other.files);
        }
        own.reports.sort_by_key(|report| report.node);
        match own.failure.take() {
            Some(message) => Err(RunError::new(NetError::Thread { message })),
            None => {
                self.gathered = is_first.then_some(own);
                Ok(())
            }
        }
    }

    /// Names and contents of the files of a host's memory, for the first process.
    fn host_files(&self, node: usize) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let folder = std::env::temp_dir().join(format!("spinet-{}-{node}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let names = Nodes::write_host(self, node, &folder).map_err(std::io::Error::other);
        let read = |name: String| {
            let data = std::fs::read(folder.join(&name))?;
            Ok((name, data))
        };
        let files = names.and_then(|names| names.into_iter().map(read).collect());
        std::fs::remove_dir_all(&folder)?;
        files
    }
}

impl Nodes for NetworkCard {
    fn kept(&self) -> Vec<(usize, String, &'static str)> {
        let kept = self.kept_nodes().map(|node| (node, &self.setup.nodes[node]));
        kept.filter_map(|(number, node)| Some((number, node.name.clone(), node.kind?.name))).collect()
    }

    fn take_tables(&mut self) -> Vec<(usize, Rows)> {
        if !self.is_closed {
            self.collect(false);
        }
        std::mem::take(&mut self.tables)
    }

    fn records(&self, node: usize) -> Result<Option<(Value, Option<Value>)>, RunError> {
        if let Some(record) = self.record(node) {
            return Ok(record.records.clone());
        }
        let records = |device: &mut CardDevice| {
            if device.is_asleep() {
                return None;
            }
            let profile = device.card().profile();
            let profile = profile.map(|profile| serde_json::to_value(profile).expect("a profile is numbers and texts"));
            Some((device.card().summary(Duration::ZERO), profile))
        };
        self.with_card(node, records).map_err(RunError::new)
    }

    fn read_host(&self, node: usize, addr: u64, size: usize) -> Result<Option<Vec<u8>>, RunError> {
        let read = move |device: &mut CardDevice| {
            let mut data = vec![0; size];
            device.card().read_host(addr, &mut data).then_some(data)
        };
        self.with_card(node, read).map_err(RunError::new)
    }

    fn write_host(&self, node: usize, folder: &Path) -> Result<Vec<String>, RunError> {
        let Some(gathered) = self.gathered.as_ref().filter(|_| !self.is_here[node]) else {
            let folder = folder.to_owned();
            return self.with_card(node, move |device| device.card().write_host(&folder)).map_err(RunError::new)?;
        };
        let (mut at, mut names) = (0, Vec::new());
        for record in &gathered.nodes {
            for (name, len) in &record.host {
                let data = &gathered.files[at..at + len];
                at += len;
                if record.node == node {
                    std::fs::write(folder.join(name), data).map_err(RunError::new)?;
                    names.push(name.clone());
                }
            }
        }
        Ok(names)
    }
}
