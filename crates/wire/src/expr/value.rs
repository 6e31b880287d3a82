//! Parses values: numbers, addresses and strings, depending on the field.

use super::ast::{Style, Value};
use super::field::{Field, Kind};
use super::parser::{Parser, Result};
use super::problem::ExprProblem;
use crate::eth::Mac;
use std::net::{Ipv4Addr, Ipv6Addr};

impl Parser<'_> {
    /// Parses a value of `field`.
    pub(super) fn value(&mut self, field: &Field) -> Result<Value> {
        self.skip_space();
        let start = self.at;
        if self.text[start..].starts_with('"') {
            return self.string(field);
        }
        let rest = &self.text[start..];
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '%');
        let len = rest
            .char_indices()
            .find(|(i, c)| !is_part(*c) || rest[*i..].starts_with(".."))
            .map_or(rest.len(), |(i, _)| i);
        let word = &rest[..len];
        if word.is_empty() {
            return self.unexpected("a value");
        }
        self.at += len;
        let plain = |bits| Some(Value { bits, style: Style::Plain });
        let value = match field.kind {
            Kind::Number { .. } | Kind::Bytes { .. } => match number(word) {
                Some((Some(bits), style)) => Some(Value { bits, style }),
                Some((None, _)) => return self.too_large(start, field),
                None => None,
            },
            Kind::Flag => match word {
                "1" | "true" => plain(1),
                "0" | "false" => plain(0),
                _ => None,
            },
            Kind::Mac => {
                word.parse::<Mac>().ok().and_then(|mac| plain(mac.0.iter().fold(0, |v, b| v << 8 | u128::from(*b))))
            }
            Kind::Ipv4 => word.parse::<Ipv4Addr>().ok().and_then(|a| plain(u128::from(u32::from(a)))),
            Kind::Ipv6 => word.parse::<Ipv6Addr>().ok().and_then(|a| plain(u128::from(a))),
        };
        let max = field.kind.max();
        match value {
            Some(value) if value.bits <= max => Ok(value),
            Some(_) => self.too_large(start, field),
            None => {
                let allowed = match field.kind {
                    Kind::Number { .. } => format!("a number, 0 to {max}"),
                    Kind::Bytes { len } => format!("a number of {len} bytes such as 0x2a, or a string of that length"),
                    Kind::Flag => "0 or 1".into(),
                    Kind::Mac => "a MAC address such as 02:00:00:00:00:01".into(),
                    Kind::Ipv4 => "an IPv4 address such as 10.0.0.1".into(),
                    Kind::Ipv6 => "an IPv6 address such as 2001:db8::1".into(),
                };
                let (field, found) = (field.to_string(), word.into());
                self.fail(start..self.at, ExprProblem::WrongValue { field, found, allowed })
            }
        }
    }

    /// The error for the number from `start` to here, which exceeds the range of `field`.
    fn too_large<T>(&self, start: usize, field: &Field) -> Result<T> {
        let (found, max) = (self.text[start..self.at].to_string(), shown(field.kind.max(), field));
        self.fail(start..self.at, ExprProblem::TooLarge { field: field.to_string(), found, max })
    }

    /// Parses a string. Only slices have string values.
    fn string(&mut self, field: &Field) -> Result<Value> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut chars = self.text[start + 1..].char_indices();
        let hex = |chars: &mut std::str::CharIndices<'_>| {
            let mut digit = || chars.next().and_then(|(_, c)| c.to_digit(16));
            Some((digit()? * 16 + digit()?) as u8)
        };
        loop {
            let unclosed = ExprProblem::Unexpected { found: "the end".into(), allowed: "a string that ends with `\"`" };
            let Some((i, c)) = chars.next() else { return self.fail(start..self.text.len(), unclosed) };
            match c {
                '"' => {
                    self.at = start + 1 + i + 1;
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => bytes.push(c as u8),
                    Some((_, 'n')) => bytes.push(b'\n'),
                    Some((_, 'r')) => bytes.push(b'\r'),
                    Some((_, 't')) => bytes.push(b'\t'),
                    Some((_, 'x')) if let Some(byte) = hex(&mut chars) => bytes.push(byte),
                    _ => {
                        let allowed = "`\\\\`, `\\\"`, `\\n`, `\\r`, `\\t` or `\\x` and two digits";
                        let problem = ExprProblem::Unexpected { found: "`\\`".into(), allowed };
                        return self.fail(start + 1 + i..start + 2 + i, problem);
                    }
                },
                c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        let found = self.text[start..self.at].to_string();
        let allowed = match field.kind {
            Kind::Bytes { len } if len as usize == bytes.len() => {
                let bits = bytes.iter().fold(0, |v, b| v << 8 | u128::from(*b));
                return Ok(Value { bits, style: Style::Text(len) });
            }
            Kind::Bytes { len: 1 } => format!("1 byte long, not {}", bytes.len()),
            Kind::Bytes { len } => format!("{len} bytes long, not {}", bytes.len()),
            _ => "a value without quotes".into(),
        };
        self.fail(start..self.at, ExprProblem::WrongValue { field: field.to_string(), found, allowed })
    }
}

/// The largest value in the field's notation.
pub(super) fn shown(max: u128, field: &Field) -> String {
    let style = if matches!(field.kind, Kind::Bytes { .. }) { Style::Hex } else { Style::Plain };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = Value { bits: max, style }.write(&mut text, field.kind);
    text
}

/// Parses a number in decimal, or in hexadecimal after `0x`; `_` may separate digits. The value is `None` above 128
/// bits.
pub(super) fn number(word: &str) -> Option<(Option<u128>, Style)> {
    let (digits, radix, style) = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        Some(digits) => (digits, 16, Style::Hex),
        None => (word, 10, Style::Plain),
    };
    if !digits.starts_with(|c: char| c.is_digit(radix)) || !digits.chars().all(|c| c == '_' || c.is_digit(radix)) {
        return None;
    }
    let digits: String = digits.chars().filter(|&c| c != '_').collect();
    Some((u128::from_str_radix(&digits, radix).ok(), style))
}
