//! Match expressions: select packets in one line.
//!
//! ```text
//! ipv4 && udp.dst_port == 9999
//! tcp.flags.syn && !tcp.flags.ack
//! ipv4.src in 10.0.0.0/8 or ipv6.src in 2001:db8::/32
//! udp.dst_port in {53, 123, 5000..5999}
//! eth.type == 0x88b5 && bytes[42:2] == 0x1234
//! tcp.payload[0:4] == "GET "
//! bytes[42:2] & 0x8000 == 0x8000
//! ```
//!
//! A protocol's name tests whether the packet has that layer; a flag's name tests whether it is set. Fields are
//! compared with `==`, `!=`, `<`, `<=`, `>`, `>=` and `in`. `bytes[offset:length]` and `udp.payload[offset:length]` are
//! up to 16 bytes as a big-endian number or a string. `bytes[offset:length] & MASK` keeps only the bits of MASK. `&&` binds
//! tighter than `||`; `and`, `or` and `not` are synonyms of `&&`, `||` and `!`.
//!
//! **A comparison with a field that the packet does not have is false**, including `!=`: `udp.dst_port != 53` means
//! "UDP, and not to port 53". `!(udp.dst_port == 53)` is also true for packets that are not UDP.

mod ast;
mod field;
mod parser;
mod problem;
mod program;
mod value;

pub use field::{ExternalField, Field, Kind};
pub(crate) use parser::parse_field;
pub use problem::ExprProblem;

use crate::layers::Layers;
use diagnostics::text::TextError;
use std::fmt;
use std::str::FromStr;

/// An error in an expression, with its position.
pub type ExprError = TextError<ExprProblem>;

/// A compiled expression. Displays as its canonical text, which parses to the same expression.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Matcher {
    expr: ast::Expr,
    program: program::Program,
}

impl Matcher {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Self::parse_with(text, &[])
    }

    /// Parses an expression that may contain `external` fields. [`Matcher::matches_with`] evaluates it.
    pub fn parse_with(text: &str, external: &[ExternalField]) -> Result<Self, ExprError> {
        let expr = parser::parse(text, external)?;
        let program = program::Program::of(&expr);
        Ok(Self { expr, program })
    }

    /// The conditions that must all hold: the members of an `&&`, or the expression itself.
    pub fn parts(&self) -> Vec<Matcher> {
        let part = |expr: &ast::Expr| Matcher { expr: expr.clone(), program: program::Program::of(expr) };
        match &self.expr {
            ast::Expr::All(members) => members.iter().map(part).collect(),
            whole => vec![part(whole)],
        }
    }

    /// The packet's value of the field that a comparison tests, such as `udp.dst_port is 53`; `None` if it lacks the
    /// field.
    pub fn found(&self, packet: &[u8], layers: &Layers) -> Option<String> {
        let (field, style) = self.expr.compared()?;
        let mut text = format!("{field} is ");
        let value = ast::Value { bits: field.value(packet, layers)?, style };
        value.write(&mut text, field.kind).ok()?;
        Some(text)
    }

    /// Returns true if the packet, which begins with the Ethernet header, matches.
    pub fn matches(&self, packet: &[u8]) -> bool {
        self.matches_layers(packet, &Layers::parse(packet))
    }

    /// The same with layers that were found before.
    pub fn matches_layers(&self, packet: &[u8], layers: &Layers) -> bool {
        self.program.run(packet, layers, &[])
    }

    /// The same with the values of external fields, in the order that the parser got them. Missing values are absent,
    /// like fields that a packet does not have.
    pub fn matches_with(&self, packet: &[u8], layers: &Layers, external: &[Option<u128>]) -> bool {
        self.program.run(packet, layers, external)
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.expr == other.expr // The program is derived from it.
    }
}

impl Eq for Matcher {}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl FromStr for Matcher {
    type Err = ExprError;
    fn from_str(text: &str) -> Result<Self, ExprError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Matcher {
    type Error = ExprError;
    fn try_from(text: String) -> Result<Self, ExprError> {
        Self::parse(&text)
    }
}

impl From<Matcher> for String {
    fn from(matcher: Matcher) -> Self {
        matcher.to_string()
    }
}

#[cfg(test)]
mod tests;
