//! Problems in expressions, with suggestions.

use super::field::{ExternalField, Field, LAYERS, SLICES};
use diagnostics::near::{did_you_mean, nearest};

/// Longest expression, in bytes.
pub(super) const MAX_LEN: usize = 65_536;
/// Maximum nesting of parentheses. Each level costs a few stack frames.
pub(super) const MAX_DEPTH: usize = 64;

/// Problems in expressions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum ExprProblem {
    #[error("the expression is empty; write for example `udp.dst_port == 9999`")]
    Empty,
    #[error("the expression has {found} bytes, must be at most {}", MAX_LEN)]
    TooLong { found: usize },
    #[error("parentheses are nested {} deep, must be at most {MAX_DEPTH}", MAX_DEPTH + 1)]
    TooDeep,
    #[error("found {found}, must be {allowed}")]
    Unexpected { found: String, allowed: &'static str },
    #[error("unknown name `{found}`{}", near.as_ref().map_or_else(|| fields_of(found), |near| did_you_mean(Some(near))))]
    UnknownName { found: String, near: Option<String> },
    #[error("`{field}` is not a flag; compare it, for example `{field} == {example}`")]
    NotAFlag { field: String, example: &'static str },
    #[error("`{name}` needs an offset and a length, for example `{name}[0:4]` for 4 bytes at offset 0")]
    NoPlace { name: &'static str },
    #[error("a slice has {found} bytes, must be 1 to 16")]
    SliceLen { found: u32 },
    #[error("`{found}` is not a value of `{field}`, must be {allowed}")]
    WrongValue { field: String, found: String, allowed: String },
    #[error("{found} does not fit `{field}`, must be 0 to {max}")]
    TooLarge { field: String, found: String, max: String },
    #[error("`{field}` has no order, must be compared with ==, != or in")]
    NoOrder { field: String },
    #[error("the comparison can never be true, `{field}` must be compared with 0 to {max}")]
    NeverTrue { field: String, max: String },
    #[error("the mask is 0, must keep at least one bit")]
    EmptyMask,
    #[error("the set is empty, must hold at least one value")]
    EmptySet,
    #[error("the end of the range is below its start, must be at or above it")]
    ReversedRange,
    #[error("the prefix is {found}, must be 0 to {max}")]
    Prefix { found: String, max: u32 },
    #[error("`{field}` has no prefixes, must be an IPv4 or IPv6 address")]
    NoPrefix { field: String },
    #[error("found a prefix, which means many addresses; must be `{field} in {net}`")]
    PrefixInComparison { field: String, net: String },
}

/// The fields of the protocol that the name begins with; empty for external fields.
fn fields_of(name: &str) -> String {
    let Some((first, _)) = name.split_once('.') else { return String::new() };
    let first = if first == "ip" { "ipv4" } else { first };
    let own = Field::names().filter_map(|field| field.strip_prefix(first)?.strip_prefix('.'));
    let fields: Vec<String> = own.map(|field| format!("`{field}`")).collect();
    if fields.is_empty() { String::new() } else { format!(", {first} has {}", fields.join(", ")) }
}

/// A suggestion for a name: a similar name, or one whose prefix other tools omit or shorten (`ip.src` for `ipv4.src`,
/// `tcp.syn` for `tcp.flags.syn`).
pub(super) fn suggestion(name: &str, external: &[ExternalField]) -> Option<String> {
    let (first, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    let is_same = |external: &str| {
        let first_known = external.split('.').next().unwrap_or(external);
        let is_family = first == first_known || (first == "ip" && first_known == "ipv4");
        is_family && external.rsplit('.').next() == Some(if name == "ip" { "ipv4" } else { last })
    };
    let of_packets: Vec<&'static str> =
        Field::names().chain(LAYERS.iter().map(|l| l.0)).chain(SLICES.iter().map(|s| s.0)).collect();
    let words = ["true", "false", "and", "or", "not"];
    let others = words.into_iter().chain(external.iter().map(|external| external.name.as_str()));
    let same = of_packets.iter().copied().find(|external| is_same(external));
    same.or_else(|| nearest(name, of_packets.iter().copied().chain(others))).map(str::to_owned)
}
