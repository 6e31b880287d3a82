//! Fixed priority: by rank, with bursts kept together and nobody starved.

use super::{Arbitration, Contest, Head, RoundRobin};
use kernel::Cycle;

/// Grants by rank; requesters of one rank take turns.
///
/// Two rules come before the rank. Who has waited for the timeout goes first, the one that has waited longest before the
/// others. Else a requester whose reference goes on where its last one ended keeps its turn: a burst of the memory is
/// then not torn. The timeout also ends a burst, since those that wait for it wait.
///
/// Source: thesis, 2.1.2: fixed priority with burst detection and a timeout, the processors sharing one slot of the
/// lowest priority in turn. How a burst is detected and what the timeout counts is not published: assumed as above.
pub struct FixedPriority {
    /// Masks of the groups, the first rank first, and whose turn it is in each.
    groups: Vec<(u64, RoundRobin)>,
    keeps_bursts: bool,
    /// 0 for none.
    timeout: u64,
    /// The reference granted last, and to whom.
    last: Option<(u32, Head)>,
    /// Who waited at the last edge, and since when each.
    waiting: u64,
    since: Vec<Cycle>,
}

impl FixedPriority {
    /// The policy of these groups for this many requesters.
    pub fn new(groups: &[Vec<u32>], requesters: u32, keeps_bursts: bool, timeout: u64) -> FixedPriority {
        let mask = |group: &Vec<u32>| group.iter().fold(0, |mask, &requester| mask | 1u64 << requester);
        FixedPriority {
            groups: groups.iter().map(|group| (mask(group), RoundRobin::default())).collect(),
            keeps_bursts,
            timeout,
            last: None,
            waiting: 0,
            since: vec![0; requesters as usize],
        }
    }

    /// Keeps in mind since when each waits.
    fn note(&mut self, now: Cycle, waiting: u64) {
        let mut new = waiting & !self.waiting;
        while new != 0 {
            self.since[new.trailing_zeros() as usize] = now;
            new &= new - 1;
        }
        self.waiting = waiting;
    }

    /// The one that has waited longest, if it has waited for the timeout.
    fn starved(&self, now: Cycle) -> Option<u32> {
        let waits = |requester: u32| self.waiting >> requester & 1 == 1;
        let all = (0..self.since.len() as u32).filter(|&requester| waits(requester));
        let oldest = all.min_by_key(|&requester| self.since[requester as usize])?;
        (self.timeout != 0 && now - self.since[oldest as usize] >= self.timeout).then_some(oldest)
    }

    /// The one whose burst goes on.
    fn continuing(&self, contest: &Contest) -> Option<u32> {
        let (requester, before) = self.last.filter(|_| self.keeps_bursts)?;
        let goes_on = contest.waiting >> requester & 1 == 1 && contest.head(requester)?.continues(&before);
        goes_on.then_some(requester)
    }

    fn by_rank(&mut self) -> u32 {
        let waiting = self.waiting;
        let group = self.groups.iter_mut().find(|(mask, _)| mask & waiting != 0);
        let (mask, turn) = group.expect("every requester has a rank");
        turn.take(*mask & waiting)
    }
}

impl Arbitration for FixedPriority {
    fn choose(&mut self, contest: &Contest) -> u32 {
        self.note(contest.now, contest.waiting);
        let winner = self.starved(contest.now).or_else(|| self.continuing(contest)).unwrap_or_else(|| self.by_rank());
        self.last = contest.head(winner).map(|head| (winner, head));
        self.waiting &= !(1 << winner);
        winner
    }

    fn wait(&mut self, now: Cycle, waiting: u64) {
        self.note(now, waiting);
    }
}
