//! Differences between two runs of an instruction, apart from time.

use crate::instructions::Entry;
use serde::Serialize;

/// The kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The runs take different paths.
    Path,
    /// The program has another instruction there.
    Instruction,
    /// An operand has another value.
    Read,
    /// Another address was accessed.
    Address,
    /// Another value, or another register, was written.
    Written,
}

impl Kind {
    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Kind::Path => "path",
            Kind::Instruction => "instruction",
            Kind::Read => "register read",
            Kind::Address => "address",
            Kind::Written => "register written",
        }
    }
}

/// A difference, and both values if it is a difference of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differs {
    pub kind: Kind,
    /// The register, if the difference is in one.
    pub register: Option<u8>,
    pub a: Option<u32>,
    pub b: Option<u32>,
}

impl Differs {
    /// The runs take different paths.
    pub const PATH: Differs = Differs { kind: Kind::Path, register: None, a: None, b: None };
}

/// Returns the first difference between two runs of the instruction at an address.
///
/// A read that only one trace records is not a difference, because tracers record different sets of reads.
pub fn compare(a: &Entry, b: &Entry) -> Option<Differs> {
    let whole = |kind, a, b| Some(Differs { kind, register: None, a, b });
    if a.word != b.word {
        return whole(Kind::Instruction, Some(a.word), Some(b.word));
    }
    let find = |registers: &[(u8, u32)], r| registers.iter().find(|(known, _)| *known == r).map(|(_, value)| *value);
    for &(r, value) in &a.read {
        if let Some(other) = find(&b.read, r).filter(|&other| other != value) {
            return Some(Differs { kind: Kind::Read, register: Some(r), a: Some(value), b: Some(other) });
        }
    }
    if a.addr != b.addr {
        return whole(Kind::Address, a.addr, b.addr);
    }
    let both = a.written.iter().chain(&b.written).map(|(r, _)| *r);
    let pairs = both.map(|r| (r, find(&a.written, r), find(&b.written, r)));
    let differing = pairs.into_iter().find(|(_, a, b)| a != b);
    differing.map(|(r, a, b)| Differs { kind: Kind::Written, register: Some(r), a, b })
}
