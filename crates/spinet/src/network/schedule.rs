//! A GOAL schedule on the hosts of a network: rank r runs on node r.

use super::card::NetworkCard;
use super::device::CardDevice;
use super::experiment::{NetworkExperiment, NetworkProblem};
use super::messages::MessageLog;
use crate::goal::{self, Finished, Model, Params, Schedule};
use net::goal::GoalError;
use net::host::{BuildProgram, Program};
use net::loggops::{Paths, Rank, RankResult, gather};
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
    /// Takes the results of all ranks: the schedule's run, or the reason why it cannot end. `None` if the network runs no
    /// schedule, or if a node cannot be reached.
    pub(super) fn take_schedule(&self) -> Option<Result<Finished, String>> {
        let Ranks { schedule, params, model } = self.setup.ranks.as_ref()?;
        let nodes: Vec<usize> = (0..schedule.n_ranks() as usize).collect();
        let act = |_, device: &mut CardDevice| Some(device.side()?.endpoint().program_as::<Rank>()?.take());
        let ranks = self.with_cards(&nodes, act).ok()?.into_iter().collect::<Option<Vec<RankResult>>>()?;
        let (none, messages) = (Paths::default(), self.messages.as_ref());
        let paths = messages.and_then(MessageLog::paths).unwrap_or(&none);
        let outcome = gather(schedule, *params, *model, &ranks, paths).map_err(|stuck| stuck.to_string());
        let nic = self.nodes().first().map_or_else(String::new, |node| node.nic.clone());
        Some(outcome.map(|outcome| Finished::new(schedule, *params, *model, outcome, nic)))
    }
}
