//! Frames between a card and real interfaces: the caller has them in host time, the card in simulated time.

use crate::run::{Departure, InjectError, Port, Progress, Run, RunError};
use kernel::Time;
use std::str::FromStr;
use std::time::Duration;

/// The error of a text that is not a port.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is not a port, must be `network:N` or `host:N`")]
pub struct NoPort(String);

impl FromStr for Port {
    type Err = NoPort;

    fn from_str(text: &str) -> Result<Port, NoPort> {
        let (side, number) = text.split_once(':').ok_or_else(|| NoPort(text.into()))?;
        match (side, number.parse()) {
            ("network", Ok(number)) => u8::try_from(number).map(Port::Network).map_err(|_| NoPort(text.into())),
            ("host", Ok(number)) => Ok(Port::Host(number)),
            _ => Err(NoPort(text.into())),
        }
    }
}

/// A frame for a card.
pub struct Coming {
    /// The port at which it arrives.
    pub port: Port,
    /// Time of arrival. If it is already simulated, the frame arrives as soon as possible.
    pub at: Time,
    /// The frame without FCS.
    pub frame: Box<[u8]>,
}

/// The results of [`exchange`].
pub struct Exchanged {
    /// Simulated time of the card.
    pub now: Time,
    /// The progress of the run.
    pub progress: Progress,
    /// Frames that left the card, in order of time.
    pub left: Vec<Departure>,
    /// Frames that the ports of the card cannot take: they are empty or too long.
    pub refused: u64,
}

/// Why an exchange fails.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say it")]
pub enum ExchangeError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Inject(#[from] InjectError),
}

/// Gives frames to a card that was started with lines, in order. Then simulates up to `until`, but for at most about
/// `budget` of host time.
pub fn exchange(run: &mut Run, coming: Vec<Coming>, until: Time, budget: Duration) -> Result<Exchanged, ExchangeError> {
    let mut refused = 0;
    if run.card.ended().is_none() {
        let earliest = Time::from_fs(run.card.now().fs() + 1);
        for Coming { port, at, frame } in coming {
            match run.card.inject(port, at.max(earliest), frame) {
                Ok(()) => {}
                Err(InjectError::Empty { .. } | InjectError::TooLong { .. }) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
    let progress = run.advance_to(until, budget)?;
    Ok(Exchanged { now: run.card.now(), progress, left: run.card.take_departures(), refused })
}
