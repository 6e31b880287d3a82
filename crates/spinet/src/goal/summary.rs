//! The summary of a run of a schedule.

use super::{Finished, Schedule};
use blake3::Hasher;
use kernel::Time;
use net::goal::Kind;
use net::loggops::{Step, StepKind};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A time in nanoseconds: a whole number if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "f64")]
pub struct Ns(pub Time);

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fs() % 1_000_000 {
            0 => serializer.serialize_u64(self.0.ns()),
            _ => serializer.serialize_f64(self.0.fs() as f64 / 1e6),
        }
    }
}

/// The size of a schedule.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Counts {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of operations.
    pub operations: usize,
    /// Number of sends.
    pub sends: usize,
    /// Number of receives.
    pub recvs: usize,
    /// Number of computations.
    pub calcs: usize,
    /// Number of dependencies.
    pub dependencies: usize,
    /// Bytes of all sends together.
    pub bytes: u128,
    /// Processors of each rank.
    pub cpus: u32,
    /// Network cards of each rank.
    pub nics: u32,
}

impl Counts {
    /// Counts the parts of a schedule.
    pub fn of(schedule: &Schedule) -> Counts {
        let sends = || schedule.ops().iter().filter(|op| op.kind == Kind::Send);
        Counts {
            ranks: schedule.n_ranks(),
            operations: schedule.ops().len(),
            sends: sends().count(),
            recvs: schedule.count(Kind::Recv),
            calcs: schedule.count(Kind::Calc),
            dependencies: schedule.n_dependencies(),
            bytes: sends().map(|op| u128::from(op.size)).sum(),
            cpus: u32::from(schedule.highest_cpu()) + 1,
            nics: u32::from(schedule.highest_nic()) + 1,
        }
    }
}

/// A step of the critical path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepRow {
    /// Its kind.
    pub kind: &'static str,
    /// The rank at which it happens.
    pub rank: u32,
    /// The rank of its operation: a computation or a send.
    pub of_rank: u32,
    /// The number of the operation in that rank.
    pub operation: usize,
    /// The line of the operation; 0 if the schedule is from no text.
    pub line: u32,
    /// Its start.
    pub start_ns: Ns,
    /// Its end.
    pub end_ns: Ns,
}

/// The critical path in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathSummary {
    /// Number of steps.
    pub steps: usize,
    /// The time of all steps of a kind; together, the time of the run.
    pub by_kind_ns: BTreeMap<&'static str, Ns>,
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GoalSummary {
    /// When the last host ended.
    pub finish_ns: Ns,
    /// When each host ended.
    pub hosts_ns: Vec<Ns>,
    /// The network card of the hosts.
    pub nic: String,
    /// The model of the hosts.
    pub model: &'static str,
    /// The parameters of the model.
    pub loggops: String,
    /// The size of the schedule.
    pub schedule: Counts,
    /// Number of messages.
    pub messages: u64,
    /// The critical path; null if the run was not recorded.
    pub critical_path: Option<PathSummary>,
    /// A hash of the times of all hosts.
    pub digest: String,
}

impl Finished {
    /// The summary.
    pub fn summary(&self) -> GoalSummary {
        let mut hasher = Hasher::new();
        for time in &self.outcome.hosts {
            hasher.update(&time.fs().to_le_bytes());
        }
        let record = self.outcome.record.as_ref();
        GoalSummary {
            finish_ns: Ns(self.outcome.finish),
            hosts_ns: self.outcome.hosts.iter().copied().map(Ns).collect(),
            nic: self.nic.clone(),
            model: self.model.name(),
            loggops: self.params.to_string(),
            schedule: Counts::of(&self.schedule),
            messages: self.outcome.messages,
            critical_path: record.map(|_| PathSummary { steps: self.path.len(), by_kind_ns: by_kind(&self.path) }),
            digest: hasher.finalize().to_hex().to_string(),
        }
    }

    /// The critical path, its longest steps first if there are more than `most`.
    pub fn steps(&self, most: usize) -> Vec<StepRow> {
        let mut steps: Vec<&Step> = self.path.iter().collect();
        if steps.len() > most {
            steps.sort_by_key(|step| (std::cmp::Reverse(step.end - step.start), step.start));
            steps.truncate(most);
        }
        let row = |step: &Step| {
            let op = step.op as usize;
            let of_rank = self.schedule.rank_of(op);
            StepRow {
                kind: step.kind.name(),
                rank: step.rank,
                of_rank,
                operation: op - self.schedule.range(of_rank).start,
                line: self.schedule.ops()[op].line,
                start_ns: Ns(step.start),
                end_ns: Ns(step.end),
            }
        };
        steps.into_iter().map(row).collect()
    }
}

fn by_kind(path: &[Step]) -> BTreeMap<&'static str, Ns> {
    let mut sums: BTreeMap<&'static str, Ns> = StepKind::ALL.iter().map(|kind| (kind.name(), Ns(Time::ZERO))).collect();
    for step in path {
        if let Some(sum) = sums.get_mut(step.kind.name()) {
            sum.0 = sum.0 + (step.end - step.start);
        }
    }
    sums
}
