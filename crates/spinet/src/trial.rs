//! Packets one at a time: a card gets a packet, and the caller gets its outcome before the next packet.

use crate::experiment::Span;
use crate::lines::SourceLine;
use crate::run::{Card, Departure, InjectError, Port, RunError};
use kernel::Time;
use serde::Serialize;

/// The outcome of a packet.
#[derive(Clone, Debug, Serialize)]
pub struct PacketOutcome {
    /// Its fate, by the words of the packet table.
    pub verdict: &'static str,
    /// Why it was dropped, or why nothing took it.
    pub reason: Option<String>,
    /// Its visits of programs, in order.
    pub visits: Vec<ProgramVisit>,
    /// Faults of programs on it.
    pub faults: Vec<Fault>,
}

/// One visit of a packet to a program.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramVisit {
    /// The handler, or the service.
    pub name: String,
    /// `header`, `payload` or `completion` of a handler; `service` otherwise.
    pub stage: &'static str,
    /// Cycles of the core, from when it took the packet until it was done with it.
    pub cycles: u64,
    /// Instructions in these cycles; `None` if the card does not count them for each packet.
    pub instructions: Option<u64>,
    /// The core, as the card calls it.
    pub core: String,
}

/// A fault of a program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fault {
    /// Its cause, with values.
    pub text: String,
    /// Address of the instruction, if it is known.
    pub pc: Option<u32>,
    /// The function that contains it, with the offset.
    pub place: String,
    /// Its source line and the functions inlined there.
    #[serde(flatten)]
    pub source: SourceLine,
    /// The core, as the card calls it.
    pub core: String,
}

/// Host memory that a packet's handlers wrote: address and bytes, in order of time.
pub type HostWrites = Vec<(u64, Vec<u8>)>;

/// All results of a packet.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its outcome.
    pub outcome: PacketOutcome,
    /// Packets that left the card.
    pub left: Vec<Departure>,
    /// Writes to host memory.
    pub host_writes: HostWrites,
}

/// A packet that cannot be tried.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TrialError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Inject(#[from] InjectError),
    #[error("the card has not finished the packet before: {inside} of {came} packets are inside")]
    Busy { inside: u64, came: u64 },
}

/// The card is simulated in such steps while it has something to do.
const STEP: Time = Time::from_ns(1_000);
/// A card that does nothing for this time has finished its packets. This time is longer than any access to the host
/// takes.
const SETTLE_TIME: Time = Time::from_ns(10_000);

/// Simulates until all packets are finished and nothing happens any more. Returns false if the card ends, or simulated
/// time reaches `end`, before that.
///
/// Cores that poll never stop: such a card has finished when [`SETTLE_TIME`] has passed since its last packet was finished.
fn settle(card: &mut dyn Card, n_packets: u64, end: Time) -> Result<bool, RunError> {
    let (mut finished_at, mut now) = (None, card.now());
    loop {
        let progress = card.progress();
        let is_finished = progress.packets_in >= n_packets && progress.packets_done == progress.packets_in;
        if is_finished {
            let since = *finished_at.get_or_insert(now);
            let is_settled = card.next_event().is_none_or(|at| at > now + SETTLE_TIME);
            if is_settled || now >= since + SETTLE_TIME {
                return Ok(true);
            }
        }
        if now >= end || card.ended().is_some() {
            return Ok(false);
        }
        now = (now + STEP).min(end);
        card.run_until(now)?;
    }
}

/// Simulates until the card has booted and waits for packets.
pub fn boot(card: &mut dyn Card, within: Time) -> Result<bool, RunError> {
    let end = card.now() + within;
    settle(card, 0, end)
}

/// Gives a packet to the card at a port and simulates until the card has finished it, at most for `within` of simulated time.
pub fn offer(card: &mut dyn Card, port: Port, frame: Box<[u8]>, within: Time) -> Result<Trial, TrialError> {
    let before = card.progress();
    let inside = before.packets_in - before.packets_done;
    if inside > 0 {
        return Err(TrialError::Busy { inside, came: before.packets_in });
    }
    // Discards results that a program produced after the previous packet was finished.
    card.take_departures();
    card.take_host_writes();
    card.take_outcomes();
    let now = card.now();
    card.inject(port, Time::from_fs(now.fs() + 1), frame)?;
    let is_finished = settle(card, before.packets_in + 1, now + within)?;
    let outcome = card.take_outcomes().pop().filter(|_| is_finished).unwrap_or_else(|| {
        let reason = Some(format!("the card did not finish it within {}", Span::from_fs(within.fs())));
        PacketOutcome { verdict: "unfinished", reason, visits: Vec::new(), faults: card.stuck() }
    });
    Ok(Trial { outcome, left: card.take_departures(), host_writes: card.take_host_writes() })
}
