//! Expressions as trees, and their canonical text.

use super::field::{Field, Kind, LAYERS};
use crate::eth::Mac;
use crate::layers::Layer;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An expression. `All` and `Any` have at least two members. No member of `All` is an `All`, and none of `Any` an `Any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    Constant(bool),
    Present(Layer),
    /// A flag is set.
    Flag(Field),
    Compare {
        field: Field,
        op: Op,
        value: Value,
    },
    In {
        field: Field,
        items: Vec<Item>,
    },
    Not(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Operators as text. An operator precedes those that are its prefix.
pub(super) const OPS: [(&str, Op); 6] =
    [("==", Op::Eq), ("!=", Op::Ne), ("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)];

/// A value of a field, and its notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) bits: u128,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The usual notation of the field's kind; numbers in decimal.
    Plain,
    Hex,
    /// A string with this many bytes.
    Text(u32),
}

/// A member of the set after `in`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    One(Value),
    Range(Value, Value),
    /// All addresses with the first `prefix` bits of `address`. The other bits of `address` are 0.
    Net {
        address: u128,
        prefix: u32,
    },
}

impl Item {
    /// First and last value.
    pub(super) fn bounds(&self, kind: Kind) -> (u128, u128) {
        match *self {
            Self::One(value) => (value.bits, value.bits),
            Self::Range(low, high) => (low.bits, high.bits),
            Self::Net { address, prefix } => (address, address | kind.max().checked_shr(prefix).unwrap_or(0)),
        }
    }
}

impl Expr {
    /// `members` joined by `&&` if `all`, else by `||`.
    pub(super) fn join(mut members: Vec<Expr>, all: bool) -> Expr {
        if members.len() == 1 {
            return members.remove(0);
        }
        let flat = members.into_iter().flat_map(|member| match (member, all) {
            (Expr::All(inner), true) | (Expr::Any(inner), false) => inner,
            (member, _) => vec![member],
        });
        if all { Expr::All(flat.collect()) } else { Expr::Any(flat.collect()) }
    }

    /// `!self`; a double negation cancels.
    pub(super) fn negated(self) -> Expr {
        match self {
            Expr::Not(inner) => *inner,
            Expr::Constant(value) => Expr::Constant(!value),
            other => Expr::Not(Box::new(other)),
        }
    }

    /// The field that this expression compares, and the notation of the value.
    pub(super) fn compared(&self) -> Option<(&Field, Style)> {
        match self {
            Expr::Compare { field, value, .. } => Some((field, value.style)),
            Expr::In { field, items } => match items[..] {
                [Item::One(value) | Item::Range(value, _), ..] => Some((field, value.style)),
                _ => Some((field, Style::Plain)),
            },
            Expr::Not(inner) => inner.compared(),
            _ => None,
        }
    }

    fn is_single(&self) -> bool {
        matches!(self, Expr::Constant(_) | Expr::Present(_) | Expr::Flag(_))
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Constant(value) => write!(f, "{value}"),
            Expr::Present(layer) => f.write_str(LAYERS[*layer as usize].0),
            Expr::Flag(field) => write!(f, "{field}"),
            Expr::Compare { field, op, value } => {
                let text = OPS.iter().find(|(_, o)| o == op).map_or("", |(text, _)| text);
                write!(f, "{field} {text} ")?;
                value.write(f, field.kind)
            }
            Expr::In { field, items } => {
                write!(f, "{field} in ")?;
                write_items(f, field.kind, items)
            }
            Expr::Not(inner) if inner.is_single() => write!(f, "!{inner}"),
            Expr::Not(inner) => write!(f, "!({inner})"),
            Expr::All(members) => write_joined(f, members, " && "),
            Expr::Any(members) => write_joined(f, members, " || "),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, members: &[Expr], by: &str) -> fmt::Result {
    for (i, member) in members.iter().enumerate() {
        if i > 0 {
            f.write_str(by)?;
        }
        // Only `||` within `&&` needs parentheses.
        if matches!(member, Expr::Any(_)) { write!(f, "({member})")? } else { write!(f, "{member}")? }
    }
    Ok(())
}

fn write_items(f: &mut fmt::Formatter<'_>, kind: Kind, items: &[Item]) -> fmt::Result {
    let is_bare = matches!(items, [Item::Range(..) | Item::Net { .. }]);
    f.write_str(if is_bare { "" } else { "{" })?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        match item {
            Item::One(value) => value.write(f, kind)?,
            Item::Range(low, high) => {
                low.write(f, kind)?;
                f.write_str("..")?;
                high.write(f, kind)?;
            }
            Item::Net { address, prefix } => {
                Value { bits: *address, style: Style::Plain }.write(f, kind)?;
                write!(f, "/{prefix}")?;
            }
        }
    }
    f.write_str(if is_bare { "" } else { "}" })
}

impl Value {
    pub(super) fn write(&self, f: &mut impl fmt::Write, kind: Kind) -> fmt::Result {
        let bytes = self.bits.to_be_bytes();
        match (kind, self.style) {
            (_, Style::Hex) => write!(f, "{:#x}", self.bits),
            (_, Style::Text(len)) => write_text(f, &bytes[16 - len as usize..]),
            (Kind::Mac, _) => write!(f, "{}", Mac(crate::format::array(&bytes, 10))),
            (Kind::Ipv4, _) => write!(f, "{}", Ipv4Addr::from(self.bits as u32)),
            (Kind::Ipv6, _) => write!(f, "{}", Ipv6Addr::from(self.bits)),
            (Kind::Number { .. } | Kind::Flag | Kind::Bytes { .. }, _) => write!(f, "{}", self.bits),
        }
    }
}

fn write_text(f: &mut impl fmt::Write, bytes: &[u8]) -> fmt::Result {
    f.write_char('"')?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b' '..=b'~' => f.write_char(byte as char)?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}
