//! Chains of services: the most common use of an RMT pipeline, in one line or table.

use super::action::{Action, Hop};
use super::action_params::{HopParams, ValueParams};
use super::error::Problem;
use super::names::{Exit, Names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::expr::Matcher;

/// A chain: selects packets, the services they visit, and their exit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainParams {
    /// Its name.
    pub name: String,
    /// Match expression for packets from the network. Without one, the chain matches all packets, unless it has queues.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Transmit queues whose packets take the chain; such a chain has no match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<u16>,
    /// Services in order.
    pub services: Vec<HopParams>,
    /// Traffic class of the packets, and default of each visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Default priority of each visit; lower is more urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Slack: total cycles that the packets may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_cycles: Option<u64>,
    /// Exit: `host`, `host:QUEUE`, `network:PORT` or `drop`. The default is the host's first queue; for packets from transmit
    /// queues, the first network port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// Allows a service to be visited more than once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeat: bool,
    /// Chains with lower numbers are tried first, those with equal numbers in the given order.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub order: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ChainParams {
    /// A chain of these services that matches all packets.
    pub fn new(name: &str, services: &[&str]) -> ChainParams {
        ChainParams {
            name: name.to_owned(),
            matches: None,
            queues: Vec::new(),
            services: services.iter().map(|service| HopParams::new(service)).collect(),
            class: None,
            priority: None,
            slack_cycles: None,
            exit: None,
            repeat: false,
            order: 0,
        }
    }
}

/// Returns true if `name` is a valid name of a chain or a service.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part) && name.len() <= 64
}

/// The part of a chain to which an error belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChainKey {
    Name,
    Match,
    Queue(usize),
    Services,
    Service(usize),
    HopClass(usize),
    HopMetadata(usize),
    Class,
    Exit,
}

impl ChainKey {
    /// Its key in a file.
    pub(super) fn key(self) -> String {
        match self {
            ChainKey::Name => "name".to_owned(),
            ChainKey::Match => "match".to_owned(),
            ChainKey::Queue(i) => format!("queues[{i}]"),
            ChainKey::Services => "services".to_owned(),
            ChainKey::Service(i) => format!("services[{i}]"),
            ChainKey::HopClass(i) => format!("services[{i}].class"),
            ChainKey::HopMetadata(i) => format!("services[{i}].metadata"),
            ChainKey::Class => "class".to_owned(),
            ChainKey::Exit => "exit".to_owned(),
        }
    }
}

/// A chain with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub matcher: Matcher,
    pub actions: Vec<Action>,
}

type Result<T> = std::result::Result<T, (ChainKey, Problem)>;

impl Names {
    /// Resolves a chain's names.
    pub(super) fn chain(&self, params: &ChainParams) -> Result<Chain> {
        if !is_name(&params.name) {
            let allowed = "letters, digits, `_`, `-` and `.`, up to 64, the first a letter or digit";
            return Err((ChainKey::Name, Problem::found(format!("`{}`", params.name), allowed)));
        }
        let has_queues = !params.queues.is_empty();
        if has_queues && params.matches.is_some() {
            return Err((ChainKey::Match, Problem::MatchAndQueues));
        }
        for (i, &queue) in params.queues.iter().enumerate() {
            if queue >= self.card.host_queues {
                let allowed = format!("0 to {}", self.card.host_queues - 1);
                return Err((ChainKey::Queue(i), Problem::found(queue, allowed)));
            }
            if params.queues[..i].contains(&queue) {
                return Err((ChainKey::Queue(i), Problem::Taken { what: "queue", name: queue.to_string() }));
            }
        }
        let expr = params.matches.as_deref().unwrap_or("true");
        let matcher = self.matcher(expr).map_err(|problem| (ChainKey::Match, problem))?;
        let mut actions = vec![Action::Chain(self.hops(&params.services, params.repeat)?)];
        if let Some(class) = params.class {
            let class = self.class(&ValueParams::Number(class.into())).map_err(|problem| (ChainKey::Class, problem))?;
            actions.push(Action::Class(class));
        }
        let number = |number: u64| super::names::Value::Number(number.into());
        actions.extend(params.priority.map(|priority| Action::Priority(number(priority.into()))));
        actions.extend(params.slack_cycles.map(|cycles| Action::SlackCycles(number(cycles))));
        let text = params.exit.as_deref().unwrap_or(if has_queues { "network" } else { "host" });
        let exit = self.exit(text).map_err(|problem| (ChainKey::Exit, problem))?;
        if has_queues && !matches!(exit, Exit::Network(_)) {
            let allowed = "`network:PORT`, because the chain is for transmit queues";
            return Err((ChainKey::Exit, Problem::found(format!("`{text}`"), allowed)));
        }
        actions.push(Action::Exit(exit));
        Ok(Chain { matcher, actions })
    }

    /// Resolves the services to visit.
    pub(super) fn hops(&self, services: &[HopParams], repeat: bool) -> Result<Vec<Hop>> {
        let mut hops: Vec<Hop> = Vec::new();
        for (i, params) in services.iter().enumerate() {
            let service = self.service(&params.service).map_err(|problem| (ChainKey::Service(i), problem))?;
            if let Some(first) = hops.iter().position(|hop| hop.service == service).filter(|_| !repeat) {
                return Err((
                    ChainKey::Service(i),
                    Problem::Loop { service: params.service.clone(), first: first + 1 },
                ));
            }
            if let Some(class) = params.class {
                self.class(&ValueParams::Number(class.into())).map_err(|problem| (ChainKey::HopClass(i), problem))?;
            }
            let metadata = self.number(&params.metadata, "metadata", 64, u128::MAX);
            let metadata = metadata.map_err(|problem| (ChainKey::HopMetadata(i), problem))?;
            hops.push(Hop { service, class: params.class, priority: params.priority, metadata });
        }
        if hops.len() > self.max_hops as usize {
            return Err((ChainKey::Services, Problem::TooManyHops { found: hops.len(), most: self.max_hops }));
        }
        Ok(hops)
    }

    /// Resolves a traffic class.
    pub(super) fn class(&self, params: &ValueParams) -> std::result::Result<super::names::Value, Problem> {
        self.number(params, "class", 8, u128::from(self.card.n_classes).saturating_sub(1))
    }
}
