//! An output of a switch: queues by class, and by input if each input has a buffer.

use super::params::{Buffering, Schedule, SwitchParams};
use crate::frame::{Frame, N_CLASSES};
use crate::line::Line;
use crate::pause::Pauses;
use kernel::Time;
use std::collections::VecDeque;

/// A frame in a queue.
pub(super) struct Queued {
    pub input: usize,
    pub frame: Frame,
}

/// The frames of a class.
#[derive(Default)]
struct ClassQueue {
    /// One queue, or one for each input.
    lanes: Vec<VecDeque<Queued>>,
    /// The lane that is looked at first.
    first: usize,
    len: usize,
}

/// An output.
pub(super) struct OutPort {
    pub line: Line,
    pub pauses: Pauses,
    /// Pause frames, which go before all others.
    pub control: VecDeque<Frame>,
    /// Bytes by class that were admitted and have not left.
    pub depth: [u64; N_CLASSES],
    /// Maximum bytes of a class so far.
    pub peak: u64,
    /// The next time at which it is looked at again.
    pub wake: Option<Time>,
    queues: [ClassQueue; N_CLASSES],
    schedule: Schedule,
    n_lanes: usize,
    /// For turns: the class after the last class that sent.
    next_class: usize,
}

impl OutPort {
    pub fn new(line: Line, params: &SwitchParams, n_inputs: usize) -> Self {
        OutPort {
            line,
            pauses: Pauses::default(),
            control: VecDeque::new(),
            depth: [0; N_CLASSES],
            peak: 0,
            wake: None,
            queues: Default::default(),
            schedule: params.schedule,
            n_lanes: if params.buffering == Buffering::Input { n_inputs } else { 1 },
            next_class: 0,
        }
    }

    /// Bytes of all classes.
    pub fn load(&self) -> u64 {
        self.depth.iter().sum()
    }

    pub fn has_frames(&self) -> bool {
        !self.control.is_empty() || self.queues.iter().any(|queue| queue.len > 0)
    }

    pub fn push(&mut self, queued: Queued) {
        let n_lanes = self.n_lanes;
        let queue = &mut self.queues[usize::from(queued.frame.class)];
        if queue.lanes.is_empty() {
            queue.lanes.resize_with(n_lanes, VecDeque::new);
        }
        let lane = if n_lanes > 1 { queued.input } else { 0 };
        queue.lanes[lane].push_back(queued);
        queue.len += 1;
    }

    /// The class that sends next, of those that are not paused.
    pub fn choose(&self, now: Time) -> Option<usize> {
        let may = |&class: &usize| self.queues[class].len > 0 && self.pauses.until(class as u8) <= now;
        match self.schedule {
            Schedule::Strict => (0..N_CLASSES).rev().find(may),
            Schedule::RoundRobin => (0..N_CLASSES).map(|i| (self.next_class + i) % N_CLASSES).find(may),
        }
    }

    /// The first end of a pause for which frames wait.
    pub fn next_pause_end(&self) -> Option<Time> {
        (0..N_CLASSES).filter(|&class| self.queues[class].len > 0).map(|class| self.pauses.until(class as u8)).min()
    }

    /// Takes the next frame of a class.
    pub fn pop(&mut self, class: usize) -> Option<Queued> {
        self.next_class = (class + 1) % N_CLASSES;
        let queue = &mut self.queues[class];
        let n = queue.lanes.len();
        let lane = (0..n).map(|i| (queue.first + i) % n).find(|&lane| !queue.lanes[lane].is_empty())?;
        queue.first = (lane + 1) % n;
        queue.len -= 1;
        queue.lanes[lane].pop_front()
    }
}
