//! Checks contexts and rules for cards whose match engine has rule sets.

use super::ContextSpec;
use pspin::PspinParams;
use pspin::params::Matching;
use wire::message::MessageSpec;
use wire::rule_set::Limits;

/// A context or a rule that the card's match engine does not support.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EngineError {
    #[error(
        "this card's match engine has rule sets, no expressions; write `rule_set` instead of `match` and `message`"
    )]
    Expression,
    #[error("this card has no match engine with rule sets; write `match` and `message` instead of `rule_set`")]
    NoEngine,
    #[error("`rule_set` already selects packets and messages; leave `match` and `message` out")]
    Both,
    #[error("this card's match engine has {allowed} rule sets, one for each context; use at most {allowed} contexts")]
    TooMany { allowed: u32 },
}

/// The limits of a card's match engine, if it has rule sets.
pub fn limits(nic: &PspinParams) -> Option<Limits> {
    let (ingress, messages) = (nic.ingress, nic.scheduler.n_mpqs);
    let Matching::RuleSets = ingress.matching else { return None };
    Some(Limits { rules: ingress.rules, bytes: ingress.match_bytes, message_at: ingress.message_at, messages })
}

/// Checks the context at this position for a card with rule sets. A context without a rule set takes every packet, and each packet is
/// a message.
pub fn checked(spec: &ContextSpec, index: usize, nic: &PspinParams) -> Result<(), (&'static str, EngineError)> {
    let is_plain = MessageSpec::parse(&spec.message).is_ok_and(|message| message == MessageSpec::Each);
    let allowed = nic.ingress.rule_sets;
    let own = |key| if spec.rule_set.is_some() { (key, EngineError::Both) } else { (key, EngineError::Expression) };
    match () {
        () if spec.matches.is_some() => Err(own("match")),
        () if !is_plain => Err(own("message")),
        () if index >= allowed as usize => Err(("rule_set", EngineError::TooMany { allowed })),
        () => Ok(()),
    }
}
