//! A node without a programmable card: its NIC passes every frame to the host, and sends the host's frames.

use crate::digest::{Digest, Stream};
use crate::run::{Card, Ended, InjectError, Port, Progress, Rows, RunError, Simulated};
use kernel::{Clock, Mode, Resource, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The name of this NIC in experiments.
pub const PLAIN: &str = "plain";

/// A NIC without latency: the host gets a frame when its last bit has arrived.
#[derive(Default)]
pub struct PlainCard {
    now: Time,
    frames: u64,
    bytes: u64,
    digest: Digest,
}

impl Simulated for PlainCard {
    fn run_until(&mut self, until: Time) -> Result<(), RunError> {
        self.now = self.now.max(until);
        Ok(())
    }

    fn now(&self) -> Time {
        self.now
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn ended(&self) -> Option<&Ended> {
        None
    }

    fn progress(&self) -> Progress {
        Progress {
            is_done: false,
            packets_in: self.frames,
            packets_done: self.frames,
            packets_total: Some(0),
            fraction: None,
            simulated: self.now,
            cycles: None,
        }
    }

    fn set_mode(&mut self, _: Mode) {}

    fn close(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        [("host.frames".to_owned(), self.frames), ("host.bytes".to_owned(), self.bytes)].into()
    }
}

impl Card for PlainCard {
    fn digest(&self) -> String {
        self.digest.to_hex()
    }

    fn resources(&self) -> (Time, Vec<(Clock, Resource)>) {
        (Time::ZERO, Vec::new())
    }

    fn summary(&self, _: Duration) -> Value {
        json!({ "nic": PLAIN, "frames": self.frames, "bytes": self.bytes })
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn take_tables(&mut self) -> Vec<Rows> {
        Vec::new()
    }

    fn ports(&self) -> Vec<Port> {
        vec![Port::Network(0)]
    }

    fn inject(&mut self, port: Port, at: Time, frame: Box<[u8]>) -> Result<(), InjectError> {
        InjectError::check(&self.ports(), self.now, port, at, &frame)?;
        self.frames += 1;
        self.bytes += frame.len() as u64;
        self.digest.add(Stream::Ordinary, &[at.fs()], &frame);
        Ok(())
    }
}
