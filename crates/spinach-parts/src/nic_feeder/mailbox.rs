//! Chooses the next mailbox write.

use kernel::Cycle;

/// A mailbox by which the host announces events to the card: frames to send, or buffers to receive into.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mailbox {
    /// Card address of the mailbox.
    pub at: u64,
    /// Host address of the word in which the card counts completed work, in the mailbox's unit.
    pub consumer: u64,
    /// Increment of the mailbox for each event: 2 if a frame has two descriptors.
    pub step: u32,
    /// The mailbox wraps to 0 at this value, a multiple of `step`.
    pub modulus: u32,
    /// Number of events.
    pub events: u64,
    /// Events of this mailbox in each round over all mailboxes; this keeps traces in balance.
    pub share: u32,
    /// Maximum number of events that the card has not completed.
    pub ahead: u32,
    /// Number of events for one mailbox write: the coalescing factor.
    pub batch: u32,
    /// Minimum cycles between events: the rate.
    pub every_cycles: u64,
}

impl Mailbox {
    pub(super) fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: u32, least: u32, most: u32| blocks::checks::within(name, value, least, most);
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

/// The state of a mailbox.
struct Trace {
    mailbox: Mailbox,
    /// Number of events so far.
    events: u64,
    /// Number of events announced to the card by mailbox writes.
    announced: u64,
    /// Number of events completed by the card.
    done: u64,
    writes: u64,
    /// Earliest cycle of the next event.
    free_at: Cycle,
}

/// Writes several mailboxes, balanced by their shares.
pub struct MailboxPlayer {
    traces: Vec<Trace>,
    /// Mailbox with the next turn.
    turn: usize,
}

impl MailboxPlayer {
    pub fn new(mailboxes: Vec<Mailbox>) -> MailboxPlayer {
        let trace = |mailbox| Trace { mailbox, events: 0, announced: 0, done: 0, writes: 0, free_at: 0 };
        MailboxPlayer { traces: mailboxes.into_iter().map(trace).collect(), turn: 0 }
    }

    /// For each mailbox: events, mailbox writes, events completed by the card.
    pub fn events(&self) -> Vec<(u64, u64, u64)> {
        self.traces.iter().map(|trace| (trace.events, trace.writes, trace.done)).collect()
    }

    /// Reads the card's progress; `word` reads host memory.
    pub fn read_progress(&mut self, word: impl Fn(u64) -> u32) {
        for trace in &mut self.traces {
            let Mailbox { step, modulus, consumer, .. } = trace.mailbox;
            let value = |events: u64| (u128::from(events) * u128::from(step) % u128::from(modulus)) as u32;
            let moved = (word(consumer) % modulus + modulus - value(trace.done)) % modulus / step;
            // Ignore a consumer beyond the announced events, which is invalid.
            if u64::from(moved) <= trace.announced - trace.done {
                trace.done += u64::from(moved);
            }
        }
    }

    /// Generates events that are due. Returns the next mailbox write, or the cycle of the next possible event.
    pub fn next(&mut self, now: Cycle) -> Result<(u64, u32), Option<Cycle>> {
        let n = self.traces.len();
        while let Some(position) = self.ready(now) {
            let trace = &mut self.traces[position];
            trace.events += 1;
            trace.free_at = now + trace.mailbox.every_cycles;
            self.turn = (position + 1) % n;
            if trace.events - trace.announced >= u64::from(trace.mailbox.batch) {
                return Ok(trace.announce());
            }
        }
        // Announce an incomplete batch if it cannot grow any more.
        let stuck = |trace: &&mut Trace| trace.announced < trace.events && (trace.is_finished() || trace.is_full());
        if let Some(trace) = self.traces.iter_mut().find(stuck) {
            return Ok(trace.announce());
        }
        let round = self.round();
        let waits = self.traces.iter().filter(|trace| trace.may_proceed(round) && trace.free_at > now);
        Err(waits.map(|trace| trace.free_at).min())
    }

    /// The mailbox with the next event.
    fn ready(&self, now: Cycle) -> Option<usize> {
        let (n, round) = (self.traces.len(), self.round());
        let mut in_turn = (0..n).map(|i| (self.turn + i) % n);
        in_turn.find(|&i| self.traces[i].may_proceed(round) && self.traces[i].free_at <= now)
    }

    /// The round of the slowest unfinished mailbox.
    fn round(&self) -> u64 {
        let left = self.traces.iter().filter(|trace| !trace.is_finished());
        left.map(Trace::round).min().unwrap_or(0)
    }
}

impl Trace {
    fn is_finished(&self) -> bool {
        self.events == self.mailbox.events
    }

    fn is_full(&self) -> bool {
        self.events - self.done >= u64::from(self.mailbox.ahead)
    }

    fn round(&self) -> u64 {
        self.events / u64::from(self.mailbox.share)
    }

    fn may_proceed(&self, round: u64) -> bool {
        !self.is_finished() && !self.is_full() && self.round() <= round
    }

    fn announce(&mut self) -> (u64, u32) {
        self.announced = self.events;
        self.writes += 1;
        let value = u128::from(self.events) * u128::from(self.mailbox.step) % u128::from(self.mailbox.modulus);
        (self.mailbox.at, value as u32)
    }
}
