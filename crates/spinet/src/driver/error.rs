//! Errors of the driver.

use crate::elf::ElfError;
use crate::experiment::IoError;
use crate::experiment::engine::EngineError;
use crate::program::ProgramError;
use diagnostics::param::ParamError;
use wire::expr::ExprError;
use wire::message::MessageError;
use wire::rule_set::RuleSetError;

/// A refused request of a tenant. The request changed nothing.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum DriverError {
    #[error("there is no {what} {number}; handles are what the driver handed out")]
    Unknown { what: &'static str, number: u64 },
    #[error("{what} {number} is gone: it was freed, removed or closed before, and cannot be used or freed again")]
    Gone { what: &'static str, number: u64 },
    #[error("{what} {number} is not of tenant {tenant}; a tenant uses what it was given itself")]
    Foreign { what: &'static str, number: u64, tenant: u64 },
    #[error("{what} {number} is used by {user}, which must {end} first")]
    InUse { what: &'static str, number: u64, user: String, end: &'static str },
    #[error("{what} {number} has {n} packets in the card, must have none; let time go on until they are done")]
    Busy { what: &'static str, number: u64, n: u64 },
    #[error("{memory}: {requested} bytes are requested, the largest free part has {largest}")]
    Exhausted { memory: &'static str, requested: u64, largest: u64 },
    #[error("{what} is {found}, must be {allowed}")]
    Value { what: &'static str, found: String, allowed: String },
    #[error("{what} {error}")]
    Io { what: &'static str, error: IoError },
    #[error("{what} {number} has {size} bytes, {requested} at {offset} reach beyond it")]
    Beyond { what: &'static str, number: u64, size: u64, offset: u64, requested: u64 },
    #[error(
        "{file}: in {memory} it takes {first:#010x} to {last:#010x}, of which {at:#010x} is taken; link it at {room:#010x}, where {largest} bytes are free"
    )]
    Taken { file: String, memory: &'static str, first: u64, last: u64, at: u64, room: u64, largest: u64 },
    #[error(transparent)]
    Elf(#[from] ElfError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Param(#[from] ParamError),
    #[error("packet {index} {problem}")]
    Packet { index: usize, problem: String },
    #[error("match: {0}")]
    Match(#[from] ExprError),
    #[error("message: {0}")]
    Message(#[from] MessageError),
    #[error("rule_set: {0}")]
    RuleSet(#[from] RuleSetError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{rule} sends the same packets to {context} already; remove it first, or leave it")]
    Installed { rule: String, context: String },
    #[error("the card has not answered {ticket} within {cycles} cycles")]
    Unanswered { ticket: String, cycles: u64 },
}
