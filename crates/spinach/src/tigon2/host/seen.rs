//! The host's interface for a run.

use super::Tigon2Host;
use crate::hosts::Host;
use blocks::feeders::{Checker, FrameLog, HostPlace, Offered};
use kernel::Time;

impl Host for Tigon2Host {
    fn check(&self, offered: &Offered) -> Result<(), String> {
        self.params.check_traffic(offered).map_err(|error| error.to_string())
    }

    fn started(&self) -> Option<Time> {
        self.started.map(|cycle| self.clock.edge(cycle))
    }

    fn is_done(&self) -> bool {
        let has_none = self.traffic.due(self.next_id).is_none() && !self.owes_reply();
        self.started.is_some() && self.send.ahead() == 0 && has_none
    }

    /// When the driver took them from the return ring; good frames only.
    fn received(&self) -> &FrameLog {
        &self.received
    }

    fn posted(&self) -> &FrameLog {
        &self.posted
    }

    fn keep_places(&mut self) {
        self.places.get_or_insert_default();
    }

    fn places(&self) -> [&[HostPlace]; 2] {
        self.places.as_ref().map_or_else(Default::default, |places| places.each_ref().map(Vec::as_slice))
    }

    fn checker(&self) -> &Checker {
        &self.checker
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }

    fn next_send(&self) -> Option<Time> {
        Tigon2Host::next_send(self)
    }

    fn skip(&self, now: Time, span: Time) {
        self.traffic.skip(self.clock, now, span);
    }

    fn diagnosis(&self) -> Option<String> {
        self.diagnosis.as_ref().map(ToString::to_string)
    }

    fn rings(&self) -> Vec<String> {
        self.ring_states().iter().map(ToString::to_string).collect()
    }

    fn faults(&self) -> Vec<String> {
        self.faults.kept().iter().map(|(at, _, text)| format!("{at}: {text}")).collect()
    }
}
