//! Checks of a network for the end of its run. With several processes, they meet at each check: they exchange their status, and the
//! first one gets the rows of the others.

use super::card::NetworkCard;
use super::gather::{self, Failure, Gathered, NodeRows, Status};
use crate::ranks::Ranks;
use crate::run::{Rows, RunError};
use kernel::Time;
use net::error::NetError;
use net::network::Network;
use std::sync::Arc;

impl NetworkCard {
    /// A check for the end: decides whether the run has ended.
    pub(super) fn look(&mut self, result: Result<(), NetError>) -> Result<(), RunError> {
        match self.wanted.ranks.clone() {
            Some(ranks) => self.meet(&ranks, result),
            None => {
                result.map_err(RunError::new)?;
                let status = self.status(None);
                self.judge(&[status]).map_err(RunError::new)
            }
        }
    }

    /// The same with several processes.
    fn meet(&mut self, ranks: &Ranks, result: Result<(), NetError>) -> Result<(), RunError> {
        let me = ranks.0.rank() as usize;
        let own = result.as_ref().err().map(|error| match error {
            NetError::Rank { .. } => Failure::OtherProcess,
            error => Failure::Error(error.to_string()),
        });
        let mut gathered = Gathered { rows: self.observed_mut().take_unshared(), ..Gathered::default() };
        if !ranks.is_first() {
            if own.is_none() {
                self.collect(false);
            }
            std::mem::take(&mut self.tables).into_iter().for_each(|(node, rows)| gathered.add(node, rows));
        }
        let mine = self.status(own);
        let others = gather::meet(ranks, &mine, &gathered).map_err(RunError::new)?;
        let mut all = vec![(me, mine)];
        for (rank, status, found) in others {
            all.push((rank, status));
            gathered.rows.extend(found.rows);
            let named: Vec<_> = found.tables.into_iter().filter_map(|table| self.named(table)).collect();
            self.tables.extend(named);
        }
        all.sort_by_key(|&(rank, _)| rank);
        if ranks.is_first() {
            self.observed_mut().take_gathered(gathered.rows);
        }
        for (rank, status) in &all {
            match &status.failure {
                Some(Failure::Error(text)) if *rank == me => {
                    return Err(RunError::new(result.err().unwrap_or(NetError::Thread { message: text.clone() })));
                }
                Some(Failure::Error(message)) => {
                    let rank = *rank as u32;
                    return Err(RunError::new(NetError::Rank { rank, message: message.clone() }));
                }
                Some(Failure::OtherProcess) | None => {}
            }
        }
        let statuses: Vec<Status> = all.into_iter().map(|(_, status)| status).collect();
        self.judge(&statuses).map_err(RunError::new)
    }

    /// Rows of another process, with this process's names of the table and its columns.
    pub(super) fn named(&self, (node, table, columns): NodeRows<Vec<u8>>) -> Option<(usize, Rows)> {
        let specs = self.setup.nodes.get(node)?.kind?.tables;
        let spec = specs.iter().find(|spec| spec.name == table)?;
        let name = |(name, data)| Some((spec.columns.iter().find(|column| column.name == name)?.name, data));
        Some((node, Rows { table: spec.name, columns: columns.into_iter().filter_map(name).collect() }))
    }
}

/// Waits until each process has built its part. Returns the time of the first event of all parts, and the network.
pub(super) fn together(ranks: &Ranks, built: Result<Network, NetError>) -> Result<(Option<Time>, Network), NetError> {
    let own = built.as_ref().map(|network| network.progress().next.map(Time::fs)).map_err(NetError::to_string);
    let others = gather::share(ranks, &own).map_err(|error| NetError::Exchange { failure: Arc::new(error) })?;
    let network = built?;
    let mut next = own.ok().flatten();
    for (rank, other) in others {
        let other = other.map_err(|message| NetError::Rank { rank: rank as u32, message })?;
        next = [next, other].into_iter().flatten().min();
    }
    Ok((next.map(Time::from_fs), network))
}
