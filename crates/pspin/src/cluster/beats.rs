//! The wide side of L1: who moves 64-byte beats, and when.

use super::bursts::Outside;
use super::dma::{Dma, Finished};
use super::l1::L1;
use super::tick_plan::TickPlan;
use super::wide::{BeatRequests, WidePorts};
use kernel::Cycle;

/// The movers of beats: the DMA engine and bursts from outside, behind the two wide ports.
pub(super) struct Beats {
    pub dma: Dma,
    pub outside: Outside,
    /// The arbiters of the ports, which clear stacks too.
    pub wide: WidePorts,
}

impl Beats {
    /// Returns true if no beats are pending.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        !self.dma.is_busy() && self.outside.is_quiet() && !self.wide.is_clearing()
    }

    /// Simulates one cycle. Returns the transfer that ends in it.
    pub fn tick(&mut self, now: Cycle, l1: &mut L1) -> Option<Finished> {
        if self.is_quiet() {
            return None;
        }
        let none = BeatRequests::default();
        let (finished, of_dma) = if self.dma.is_busy() { self.dma.tick(now, l1) } else { (None, none) };
        let of_outside = if self.outside.is_quiet() { none } else { self.outside.requests(now) };
        let granted = self.wide.grant(now, l1, of_outside, of_dma);
        if let Some(side) = granted.nhi {
            self.outside.granted(now, side, l1);
        }
        if let Some(side) = granted.dma {
            self.dma.granted(now, side, l1);
        }
        finished
    }

    /// Simulates the skipped cycles before `now`. [`Beats::plan`] ensures that they have no effect outside L1.
    pub fn catch_up(&mut self, now: Cycle, l1: &mut L1, plan: &mut TickPlan) {
        while plan.next_beat < now {
            let at = plan.next_beat;
            let n = self.lone_beats(at, now, l1);
            if n > 0 {
                self.outside.granted_alone(at, n, l1, &mut self.wide);
            } else {
                let finished = self.tick(at, l1);
                assert!(finished.is_none(), "a cluster ticks in the cycle in which a transfer ends");
            }
            plan.next_beat = self.next_event(at + Cycle::from(n.max(1)) - 1);
        }
    }

    /// Number of beats of a read from outside that are served from cycle `at` on and before cycle `end`, without a
    /// competing request and without a response.
    fn lone_beats(&self, at: Cycle, end: Cycle, l1: &L1) -> u32 {
        let of_dma = if self.dma.is_busy() { self.dma.next_event(at - 1) } else { Cycle::MAX };
        if of_dma <= at || self.wide.is_clearing() || l1.writes_back() {
            return 0;
        }
        self.outside.lone_beats().min((of_dma.min(end) - at) as u32)
    }

    /// Plans the next cycle with beats, and the next cycle in which the cluster must tick for them.
    ///
    /// Beats move data to and from L1. Only cores of this cluster could see that, and they access L1 only in cycles in
    /// which the cluster ticks. So if no other part acts in a cycle, its beats are simulated later, one cycle after the
    /// other. The cluster ticks in each cycle in which a beat may have an effect outside L1: a response, a request or
    /// the end of a transfer.
    pub fn plan(&self, now: Cycle, plan: &mut TickPlan) {
        if self.is_quiet() {
            (plan.next_beat, plan.next_wide_effect) = (Cycle::MAX, Cycle::MAX);
            return;
        }
        let is_clearing = self.wide.is_clearing();
        let is_alone = self.outside.is_quiet() && !is_clearing;
        let (next, of_dma) = match self.dma.is_busy() {
            true => self.dma.plan(now, is_alone, is_clearing),
            false => (Cycle::MAX, Cycle::MAX),
        };
        (plan.next_beat, plan.next_wide_effect) = match is_alone {
            true => (next, of_dma),
            false => (now + 1, self.outside.answers_at(now).min(self.wide.clears_at(now)).min(of_dma)),
        };
    }

    /// The next cycle in which beats move or the DMA engine has work.
    fn next_event(&self, now: Cycle) -> Cycle {
        if !self.outside.is_quiet() || self.wide.is_clearing() {
            return now + 1;
        }
        if self.dma.is_busy() { self.dma.next_event(now) } else { Cycle::MAX }
    }
}
