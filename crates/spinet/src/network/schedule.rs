//! A GOAL schedule on the hosts of a network: rank r runs on node r.

use super::card::NetworkCard;
use super::device::CardDevice;
use super::experiment::{NetworkExperiment, NetworkProblem};
use super::gather::{self as meeting, MeetError};
use super::messages::MessageLog;
use crate::goal::{self, Finished, Model, Params, Schedule};
use net::error::NetError;
use net::goal::GoalError;
use net::host::{BuildProgram, Program};
use net::loggops::{Paths, Rank, RankResult, gather};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A schedule that runs on the hosts.
#[derive(Clone, Debug)]
pub struct Ranks {
    schedule: Arc<Schedule>,
    params: Params,
    model: Model,
}

/// A schedule that a network cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleProblem {
    #[error("{0}")]
    Goal(#[from] GoalError),
    #[error("the schedule has {ranks} ranks, and the network has {nodes} nodes; each rank needs a node")]
    TooManyRanks { ranks: u32, nodes: usize },
    #[error("{0}")]
    Value(String),
    #[error("it is only for networks with a `schedule`")]
    WithoutSchedule,
}

impl Ranks {
    /// Number of ranks.
    pub fn n_ranks(&self) -> usize {
        self.schedule.n_ranks() as usize
    }

    /// Reads the schedule of an experiment, if it has one. An error comes with its key.
    pub fn read(
        experiment: &NetworkExperiment,
        base_dir: &Path,
        n_nodes: usize,
    ) -> Result<Option<Ranks>, (&'static str, NetworkProblem)> {
        let at = |key: &'static str| move |problem: ScheduleProblem| (key, NetworkProblem::Schedule(problem));
        let Some(file) = &experiment.schedule else {
            let keys = [("loggops", &experiment.loggops), ("model", &experiment.model)];
            return match keys.into_iter().find(|(_, value)| value.is_some()) {
                Some((key, _)) => Err(at(key)(ScheduleProblem::WithoutSchedule)),
                None => Ok(None),
            };
        };
        let schedule = goal::read(&base_dir.join(file)).map_err(|error| at("schedule")(error.into()))?;
        let ranks = schedule.n_ranks();
        if ranks as usize > n_nodes {
            return Err(at("schedule")(ScheduleProblem::TooManyRanks { ranks, nodes: n_nodes }));
        }
        let params = Params::parse(experiment.loggops.as_deref().unwrap_or_default());
        let params = params.map_err(|text| at("loggops")(ScheduleProblem::Value(text)))?;
        let model = Model::named(experiment.model.as_deref().unwrap_or(Model::NAMES[0]));
        let model = model.map_err(|text| at("model")(ScheduleProblem::Value(text)))?;
        Ok(Some(Ranks { schedule: Arc::new(schedule), params, model }))
    }

    /// The program of a node, if the node has a rank.
    pub fn program(&self, node: usize) -> Option<BuildProgram> {
        let Ranks { schedule, params, model } = self.clone();
        let rank = u32::try_from(node).ok().filter(|&rank| rank < schedule.n_ranks())?;
        Some(BuildProgram::new(move |_| {
            Ok(Box::new(Rank::new(schedule.clone(), params, model, rank)?) as Box<dyn Program>)
        }))
    }
}

impl NetworkCard {
    /// Takes the results of all ranks of the schedule. Returns its run, which only the first process gets, or the reason why it cannot
    /// end. Both are `None` if the network runs no schedule, or if a node cannot be reached. With several processes, all call it together.
    pub(super) fn take_schedule(&self) -> Result<(Option<Finished>, Option<String>), NetError> {
        let Some(Ranks { schedule, .. }) = &self.setup.ranks else { return Ok((None, None)) };
        let here: Vec<usize> = (0..schedule.n_ranks() as usize).filter(|&node| self.is_here[node]).collect();
        let act = |_, device: &mut CardDevice| Some(device.side()?.endpoint().program_as::<Rank>()?.take());
        let own: Option<Vec<RankResult>> = self.with_cards(&here, act).ok().and_then(|all| all.into_iter().collect());
        let Some(processes) = &self.wanted.ranks else {
            return Ok(own.map_or((None, None), |own| self.schedule_of(&own)));
        };
        let mut results: BTreeMap<usize, RankResult> = here.into_iter().zip(own.into_iter().flatten()).collect();
        let failed = |error: MeetError| NetError::Exchange { failure: Arc::new(error) };
        let bytes = if processes.is_first() { Vec::new() } else { bytes_of(&results) };
        for (rank, bytes) in meeting::to_first(processes, bytes).map_err(failed)? {
            results.extend(results_of(&bytes).ok_or(MeetError::Message { rank }).map_err(failed)?);
        }
        let has_all = results.len() == schedule.n_ranks() as usize;
        let (finished, stuck) = match processes.is_first() && has_all {
            true => self.schedule_of(&results.into_values().collect::<Vec<_>>()),
            false => (None, None),
        };
        // All processes end their run for the same reason.
        let others = meeting::share(processes, &stuck).map_err(failed)?;
        let first = others.into_iter().find(|&(rank, _)| rank == 0).and_then(|(_, stuck)| stuck);
        Ok((finished, stuck.or(first)))
    }

    /// Combines the results of all ranks.
    fn schedule_of(&self, results: &[RankResult]) -> (Option<Finished>, Option<String>) {
        let Some(Ranks { schedule, params, model }) = &self.setup.ranks else { return (None, None) };
        let (none, observed) = (Paths::default(), self.observed());
        let paths = observed.messages.as_ref().and_then(MessageLog::paths).unwrap_or(&none);
        match gather(schedule, *params, *model, results, paths) {
            Err(stuck) => (None, Some(stuck.to_string())),
            Ok(outcome) => {
                let nic = self.nodes().first().map_or_else(String::new, |node| node.nic.clone());
                (Some(Finished::new(schedule, *params, *model, outcome, nic)), None)
            }
        }
    }
}

/// Encodes the results of some ranks: for each, its number and then its results.
fn bytes_of(results: &BTreeMap<usize, RankResult>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (rank, result) in results {
        bytes.extend((*rank as u64).to_le_bytes());
        result.write(&mut bytes);
    }
    bytes
}

fn results_of(mut bytes: &[u8]) -> Option<Vec<(usize, RankResult)>> {
    let mut results = Vec::new();
    while let Some((rank, rest)) = bytes.split_first_chunk::<8>() {
        bytes = rest;
        results.push((usize::try_from(u64::from_le_bytes(*rank)).ok()?, RankResult::read(&mut bytes)?));
    }
    bytes.is_empty().then_some(results)
}
