//! Tests of the public interface of packet networks, of schedules, and of the hosts that run them.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod captures;
mod drawn;
mod drawn_networks;
mod engine;
mod exchange;
mod goal_binary;
mod goal_patterns;
mod goal_text;
mod host;
mod loggops_against;
mod loggops_packets;
mod loggops_rules;
mod loggops_stuck;
mod messages;
mod plain;
mod rig;
mod spec;
mod switch;
