//! Which mailbox is written next.

use kernel::Cycle;

/// A mailbox that tells the card of events: frames to send, buffers to receive into.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mailbox {
    /// Its address in the card.
    pub at: u64,
    /// Address in host memory of the word in which the card counts what it has worked off, in the mailbox's unit.
    pub consumer: u64,
    /// By how much an event moves the mailbox: 2 where a frame has two descriptors.
    pub step: u32,
    /// Where the mailbox's value begins again at 0; a multiple of `step`.
    pub modulus: u32,
    /// How many events there are.
    pub events: u64,
    /// Events of this mailbox in each round of all: what keeps traces in balance.
    pub share: u32,
    /// Events that the card has not worked off, at most.
    pub ahead: u32,
    /// Events for which the mailbox is written once, when there are as many: the coalescing factor.
    pub batch: u32,
    /// Cycles from one event to the next, at least: the rate.
    pub every_cycles: u64,
}

impl Mailbox {
    pub(super) fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: u32, least: u32, most: u32| crate::checks::within(name, value, least, most);
        within("step", self.step, 1, 1 << 16)?;
        within("modulus", self.modulus, 2 * self.step, 1 << 31)?;
        if !self.modulus.is_multiple_of(self.step) {
            return Err(format!("modulus is {}, must be a multiple of step, {}", self.modulus, self.step));
        }
        within("share", self.share, 1, 1 << 16)?;
        within("ahead", self.ahead, 1, self.modulus / self.step - 1)?;
        within("batch", self.batch, 1, self.ahead)
    }
}

/// A mailbox and how far it is.
struct Trace {
    mailbox: Mailbox,
    /// Events so far.
    events: u64,
    /// Those of them that the mailbox tells of.
    told: u64,
    /// Those that the card has worked off.
    done: u64,
    writes: u64,
    /// When the next event may be.
    free_at: Cycle,
}

/// Plays several mailboxes in balance.
pub struct Player {
    traces: Vec<Trace>,
    /// Whose turn it is.
    turn: usize,
}

impl Player {
    pub fn new(mailboxes: Vec<Mailbox>) -> Player {
        let trace = |mailbox| Trace { mailbox, events: 0, told: 0, done: 0, writes: 0, free_at: 0 };
        Player { traces: mailboxes.into_iter().map(trace).collect(), turn: 0 }
    }

    /// Events, writes and events worked off, of each mailbox.
    pub fn events(&self) -> Vec<(u64, u64, u64)> {
        self.traces.iter().map(|trace| (trace.events, trace.writes, trace.done)).collect()
    }

    /// Looks at what the card has worked off; `word` reads host memory.
    pub fn look(&mut self, word: impl Fn(u64) -> u32) {
        for trace in &mut self.traces {
            let Mailbox { step, modulus, consumer, .. } = trace.mailbox;
            let told = |events: u64| (u128::from(events) * u128::from(step) % u128::from(modulus)) as u32;
            let moved = (word(consumer) % modulus + modulus - told(trace.done)) % modulus / step;
            // A consumer beyond what was told makes no sense; then nothing is believed.
            if u64::from(moved) <= trace.told - trace.done {
                trace.done += u64::from(moved);
            }
        }
    }

    /// Lets events happen that may; returns the next write to a mailbox, or the cycle from which there may be more events.
    pub fn next(&mut self, now: Cycle) -> Result<(u64, u32), Option<Cycle>> {
        let n = self.traces.len();
        while let Some(position) = self.ready(now) {
            let trace = &mut self.traces[position];
            trace.events += 1;
            trace.free_at = now + trace.mailbox.every_cycles;
            self.turn = (position + 1) % n;
            if trace.events - trace.told >= u64::from(trace.mailbox.batch) {
                return Ok(trace.tell());
            }
        }
        // What cannot grow any more is told though the batch is not full.
        let stuck = |trace: &&mut Trace| trace.told < trace.events && (trace.is_over() || trace.is_full());
        if let Some(trace) = self.traces.iter_mut().find(stuck) {
            return Ok(trace.tell());
        }
        let round = self.round();
        let waits = self.traces.iter().filter(|trace| trace.may_go(round) && trace.free_at > now);
        Err(waits.map(|trace| trace.free_at).min())
    }

    /// The mailbox whose event is next.
    fn ready(&self, now: Cycle) -> Option<usize> {
        let (n, round) = (self.traces.len(), self.round());
        let mut in_turn = (0..n).map(|i| (self.turn + i) % n);
        in_turn.find(|&i| self.traces[i].may_go(round) && self.traces[i].free_at <= now)
    }

    /// The round in which the slowest mailbox is that has events left.
    fn round(&self) -> u64 {
        let left = self.traces.iter().filter(|trace| !trace.is_over());
        left.map(Trace::round).min().unwrap_or(0)
    }
}

impl Trace {
    fn is_over(&self) -> bool {
        self.events == self.mailbox.events
    }

    fn is_full(&self) -> bool {
        self.events - self.done >= u64::from(self.mailbox.ahead)
    }

    fn round(&self) -> u64 {
        self.events / u64::from(self.mailbox.share)
    }

    fn may_go(&self, round: u64) -> bool {
        !self.is_over() && !self.is_full() && self.round() <= round
    }

    fn tell(&mut self) -> (u64, u32) {
        self.told = self.events;
        self.writes += 1;
        let value = u128::from(self.events) * u128::from(self.mailbox.step) % u128::from(self.mailbox.modulus);
        (self.mailbox.at, value as u32)
    }
}
