//! The choice of the cores that are traced, and of the time.

use crate::experiment::Span;
use crate::window::{Window, WindowError};
use kernel::{Clock, Cycle};

/// Cores and a window of simulated time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Clusters and cores; empty means all.
    cores: Vec<(Option<u32>, Option<u32>)>,
    window: Window,
}

/// A choice that is invalid, or that fits no core.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum ChoiceError {
    #[error("traced cores: `{found}` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all")]
    Core { found: String },
    #[error("traced cores: {found} does not exist, must be within {n_clusters} clusters of {n_cores} cores")]
    Absent { found: String, n_clusters: u32, n_cores: u32 },
    #[error("traced time: {0}")]
    Time(#[from] WindowError),
}

impl Choice {
    /// All cores, all the time.
    pub const ALL: Choice = Choice { cores: Vec::new(), window: Window { from: None, to: None } };

    /// Reads a list of cores such as `0:3, 1:*` and a window such as `1 us..2 us`; without them, all.
    pub fn parse(cores: Option<&str>, time: Option<&str>) -> Result<Self, ChoiceError> {
        let mut choice = Choice::ALL;
        for found in cores.iter().flat_map(|cores| cores.split(',')).map(str::trim) {
            let refuse = || ChoiceError::Core { found: found.into() };
            let (cluster, core) = found.split_once(':').ok_or_else(refuse)?;
            let number = |text: &str| match text.trim() {
                "*" => Ok(None),
                digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().map(Some).map_err(|_| refuse()),
                _ => Err(refuse()),
            };
            choice.cores.push((number(cluster)?, number(core)?));
        }
        if let Some(found) = time {
            choice.window = Window::parse(found)?;
        }
        Ok(choice)
    }

    /// The chosen clusters and cores, in order; an error if a named one does not exist.
    pub fn cores(&self, n_clusters: u32, n_cores: u32) -> Result<Vec<(u32, u32)>, ChoiceError> {
        for &(cluster, core) in &self.cores {
            if cluster.is_some_and(|cluster| cluster >= n_clusters) || core.is_some_and(|core| core >= n_cores) {
                let name = |number: Option<u32>| number.map_or("*".into(), |number| number.to_string());
                let found = format!("{}:{}", name(cluster), name(core));
                return Err(ChoiceError::Absent { found, n_clusters, n_cores });
            }
        }
        let is_meant = |&(cluster, core): &(u32, u32)| {
            let meets = |wanted: Option<u32>, found| wanted.is_none_or(|wanted| wanted == found);
            self.cores.is_empty() || self.cores.iter().any(|&(a, b)| meets(a, cluster) && meets(b, core))
        };
        let all = (0..n_clusters).flat_map(|cluster| (0..n_cores).map(move |core| (cluster, core)));
        Ok(all.filter(is_meant).collect())
    }

    /// The first cycle of the window, and the first cycle after it.
    pub fn window(&self, clock: &Clock) -> (Cycle, Cycle) {
        let cycle = |span: Span| clock.cycle_at_or_after(span.time());
        (self.window.from.map_or(0, cycle), self.window.to.map_or(Cycle::MAX, cycle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use kernel::Freq;

    fn shown(cores: Option<&str>, time: Option<&str>) -> String {
        let clock = Clock::new(Freq::mhz(1000).unwrap());
        let chosen = Choice::parse(cores, time).and_then(|choice| Ok((choice.cores(2, 3)?, choice.window(&clock))));
        match chosen {
            Ok((cores, (from, Cycle::MAX))) => format!("{cores:?} from {from}\n"),
            Ok((cores, (from, to))) => format!("{cores:?} from {from} to {to}\n"),
            Err(error) => format!("{error}\n"),
        }
    }

    fn check(cores: &[&str], times: &[&str], want: Expect) {
        let cores = cores.iter().map(|text| shown(Some(text), None));
        want.assert_eq(&cores.chain(times.iter().map(|text| shown(Some("0:0"), Some(text)))).collect::<String>());
    }

    #[test]
    fn cores_and_windows_are_read() {
        assert_eq!(Choice::parse(None, None), Ok(Choice::ALL));
        let times = ["1 us..2.5us", "..20 ns", "0 ns..20 ns", "1 ms.."];
        check(
            &["0:1", "*:0, 1:*", "1:2,1:2", "*:*"],
            &times,
            expect![[r#"
            [(0, 1)] from 0
            [(0, 0), (1, 0), (1, 1), (1, 2)] from 0
            [(1, 2)] from 0
            [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] from 0
            [(0, 0)] from 1000 to 2500
            [(0, 0)] from 0 to 20
            [(0, 0)] from 0 to 20
            [(0, 0)] from 1000000
        "#]],
        );
    }

    #[test]
    fn wrong_choices_are_reported() {
        let cores = ["", "0", "0:", "a:1", "0:1;1:1", "0:-1", "2:0", "0:3", "*:9"];
        check(
            &cores,
            &["", "1 us", "2 us..1 us", "1..2", "0..0"],
            expect![[r#"
            traced cores: `` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: `0` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: `0:` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: `a:1` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: `0:1;1:1` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: `0:-1` is not a core, must be CLUSTER:CORE such as `0:3`, where `*` stands for all
            traced cores: 2:0 does not exist, must be within 2 clusters of 3 cores
            traced cores: 0:3 does not exist, must be within 2 clusters of 3 cores
            traced cores: *:9 does not exist, must be within 2 clusters of 3 cores
            traced time: `` is not a time window; write for example `1 us..2 us`, `..2 us` or `1 us..`
            traced time: `1 us` is not a time window; write for example `1 us..2 us`, `..2 us` or `1 us..`
            traced time: `2 us..1 us` is empty, its end must be behind its beginning
            traced time: `1..2` is not a time window; write for example `1 us..2 us`, `..2 us` or `1 us..`
            traced time: `0..0` is not a time window; write for example `1 us..2 us`, `..2 us` or `1 us..`
        "#]],
        );
    }
}
