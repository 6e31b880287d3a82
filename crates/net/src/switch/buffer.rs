//! The buffer of a switch: how much of it each input and queue may use, and when an input pauses its sender.

use super::params::{Buffering, SwitchParams};
use crate::frame::N_CLASSES;
use crate::observe::DropReason;
use kernel::Time;

/// Bytes of an input and class.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    buffer: u64,
    headroom: u64,
    is_paused: bool,
}

/// Accounts of all bytes that wait.
pub(super) struct Buffer {
    params: SwitchParams,
    used: u64,
    /// Bytes of each input, in the buffer.
    inputs: Vec<u64>,
    ingress: Vec<[Ingress; N_CLASSES]>,
    /// Highest values so far.
    pub peak_used: u64,
    pub peak_headroom: u64,
    /// The time up to which `filled` counts.
    since: Time,
    /// Bytes in use times femtoseconds: of the shared memory, or of the memory of each input.
    filled: Vec<u128>,
}

/// A frame that asks for room.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub input: usize,
    pub class: u8,
    pub bytes: u64,
    /// Bytes that wait in its output queue.
    pub queued: u64,
}

impl Buffer {
    pub fn new(params: &SwitchParams, n_ports: usize) -> Self {
        let ingress = if params.pfc.is_some() { vec![<[Ingress; N_CLASSES]>::default(); n_ports] } else { Vec::new() };
        let n_memories = if params.buffering == Buffering::Input { n_ports } else { 1 };
        Buffer {
            params: params.clone(),
            used: 0,
            inputs: vec![0; n_ports],
            ingress,
            peak_used: 0,
            peak_headroom: 0,
            since: Time::ZERO,
            filled: vec![0; n_memories],
        }
    }

    /// Counts the time up to `now`.
    pub fn pass(&mut self, now: Time) {
        let takes = u128::from(now.fs().saturating_sub(self.since.fs()));
        self.since = self.since.max(now);
        match &mut self.filled[..] {
            [filled] if self.params.buffering == Buffering::Shared => *filled += u128::from(self.used) * takes,
            all => all.iter_mut().zip(&self.inputs).for_each(|(filled, &bytes)| *filled += u128::from(bytes) * takes),
        }
    }

    /// The use of the fullest memory, summed over time, in picoseconds: a memory that is half full for 2 ps counts 1 ps.
    pub fn full_ps(&self) -> u64 {
        let most = self.filled.iter().max().copied().unwrap_or(0);
        u64::try_from(most / u128::from(self.params.buffer_bytes.max(1)) / 1000).unwrap_or(u64::MAX)
    }

    /// Bytes in use of the memory that `input` fills.
    fn filled(&self, input: usize) -> u64 {
        match self.params.buffering {
            Buffering::Shared => self.used,
            Buffering::Input => self.inputs[input],
        }
    }

    /// Takes a frame in, or drops it. The flag is true if its input must pause the sender now.
    pub fn admit(&mut self, request: Request) -> (Result<(), DropReason>, bool) {
        let Request { input, class, bytes, queued } = request;
        let filled = self.filled(input);
        let has_room = filled + bytes <= self.params.buffer_bytes;
        let Some(pfc) = self.params.pfc.as_ref().filter(|pfc| pfc.classes.contains(&class)) else {
            let is_above = |limit: u64| queued + bytes > limit;
            let free = self.params.buffer_bytes.saturating_sub(filled);
            let threshold = self.params.alpha.map(|alpha| alpha.times(free));
            if self.params.queue_bytes.is_some_and(is_above) || threshold.is_some_and(is_above) {
                return (Err(DropReason::QueueFull), false);
            }
            if !has_room {
                return (Err(DropReason::BufferFull), false);
            }
            self.take(input, bytes);
            return (Ok(()), false);
        };
        let (xoff, headroom) = (pfc.xoff_bytes, pfc.headroom_bytes);
        let ingress = &mut self.ingress[input][usize::from(class)];
        if ingress.buffer + bytes <= xoff && has_room {
            ingress.buffer += bytes;
            self.take(input, bytes);
            return (Ok(()), false);
        }
        let pauses = !std::mem::replace(&mut ingress.is_paused, true);
        if ingress.headroom + bytes > headroom {
            return (Err(DropReason::HeadroomFull), pauses);
        }
        ingress.headroom += bytes;
        self.peak_headroom = self.peak_headroom.max(ingress.headroom);
        (Ok(()), pauses)
    }

    fn take(&mut self, input: usize, bytes: u64) {
        self.used += bytes;
        self.inputs[input] += bytes;
        self.peak_used = self.peak_used.max(self.used);
    }

    /// Gives the room of a frame back, headroom first. Returns true if the pause of its input and class ends now.
    pub fn release(&mut self, input: usize, class: u8, bytes: u64) -> bool {
        let pfc = self.params.pfc.as_ref().filter(|pfc| pfc.classes.contains(&class));
        let Some(pfc) = pfc else {
            self.used -= bytes;
            self.inputs[input] -= bytes;
            return false;
        };
        let ingress = &mut self.ingress[input][usize::from(class)];
        let of_headroom = bytes.min(ingress.headroom);
        let of_buffer = bytes - of_headroom;
        ingress.headroom -= of_headroom;
        ingress.buffer -= of_buffer;
        self.used -= of_buffer;
        self.inputs[input] -= of_buffer;
        let ends = ingress.is_paused && ingress.buffer + ingress.headroom <= pfc.xon_bytes;
        ingress.is_paused &= !ends;
        ends
    }

    /// Returns true if the sender of this input and class is paused.
    pub fn is_paused(&self, input: usize, class: u8) -> bool {
        self.ingress.get(input).is_some_and(|classes| classes[usize::from(class)].is_paused)
    }
}
