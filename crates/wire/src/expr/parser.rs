//! Recursive-descent parser. The type of the field determines how its values are parsed.

use super::ast::{Expr, Item, OPS, Op};
use super::field::{ExternalField, Field, Kind, LAYERS, SLICES};
use super::problem::{ExprProblem, MAX_DEPTH, MAX_LEN, suggestion};
use super::value::{number, shown};
use diagnostics::text::TextError;
use std::ops::Range;

pub(super) type Result<T> = std::result::Result<T, TextError<ExprProblem>>;

pub(super) fn parse(text: &str, external: &[ExternalField]) -> Result<Expr> {
    let mut parser = Parser { text, external, at: 0, depth: 0 };
    if text.len() > MAX_LEN {
        return parser.fail(0..0, ExprProblem::TooLong { found: text.len() });
    }
    if parser.is_end() {
        return parser.fail(0..text.len(), ExprProblem::Empty);
    }
    let expr = parser.any()?;
    if parser.is_end() {
        Ok(expr)
    } else {
        parser.unexpected("`&&`, `||` or the end, as in `ipv4 && udp.dst_port == 53`")
    }
}

/// Parses a field's name or slice at the start of `text`. Also returns its length.
pub(crate) fn parse_field<'t>(text: &'t str, external: &'t [ExternalField]) -> Result<(Field, usize)> {
    let mut parser = Parser { text, external, at: 0, depth: 0 };
    parser.is_end();
    match parser.name() {
        Some((name, span)) => Ok((parser.field(&name, span)?, parser.at)),
        None => parser.unexpected("a field such as `ipv4.src`"),
    }
}

impl Field {
    /// Parses a whole text as a field, which may be external, or a slice of bytes.
    pub fn parse(text: &str, external: &[ExternalField]) -> Result<Self> {
        let (field, len) = parse_field(text, external)?;
        let mut parser = Parser { text, external, at: len, depth: 0 };
        if parser.is_end() { Ok(field) } else { parser.unexpected("the end") }
    }

    /// Parses a whole text as a value of the field, in the notation of expressions.
    pub fn parse_value(&self, text: &str) -> Result<u128> {
        let mut parser = Parser { text, external: &[], at: 0, depth: 0 };
        let value = parser.value(self)?;
        if parser.is_end() { Ok(value.bits) } else { parser.unexpected("the end") }
    }
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    external: &'t [ExternalField],
    pub(super) at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Expr> {
        let mut members = vec![self.all()?];
        while self.eat("||") || self.eat_word("or") {
            members.push(self.all()?);
        }
        Ok(Expr::join(members, false))
    }

    fn all(&mut self) -> Result<Expr> {
        let mut members = vec![self.negation()?];
        while self.eat("&&") || self.eat_word("and") {
            members.push(self.negation()?);
        }
        Ok(Expr::join(members, true))
    }

    fn negation(&mut self) -> Result<Expr> {
        let mut is_negated = false;
        while self.eat("!") || self.eat_word("not") {
            is_negated = !is_negated;
        }
        let expr = self.primary()?;
        Ok(if is_negated { expr.negated() } else { expr })
    }

    fn primary(&mut self) -> Result<Expr> {
        let start = self.at;
        if self.eat("(") {
            if self.depth == MAX_DEPTH {
                return self.fail(start..self.at, ExprProblem::TooDeep);
            }
            self.depth += 1;
            let expr = self.any()?;
            self.depth -= 1;
            return if self.eat(")") { Ok(expr) } else { self.unexpected("`)`, `&&` or `||`") };
        }
        let Some((name, span)) = self.name() else {
            return self.unexpected("a protocol, a field, `!` or `(`");
        };
        match name.as_str() {
            "true" => return Ok(Expr::Constant(true)),
            "false" => return Ok(Expr::Constant(false)),
            "and" | "or" | "not" | "in" => {
                self.at = span.start;
                return self.unexpected("a protocol, a field, `!` or `(`");
            }
            _ => {}
        }
        if let Some((_, layer)) = LAYERS.iter().find(|(layer, _)| *layer == name) {
            return Ok(Expr::Present(*layer));
        }
        let field = self.field(&name, span.clone())?;
        self.test(field, span)
    }

    /// The field with this name, including the slice after it.
    fn field(&mut self, name: &str, span: Range<usize>) -> Result<Field> {
        if let Some(&(of, _)) = SLICES.iter().find(|(of, _)| *of == name) {
            return self.slice(of, span);
        }
        match Field::named(name).or_else(|| Field::external(name, self.external)) {
            Some(field) => Ok(field),
            None => {
                let near = suggestion(name, self.external);
                self.fail(span, ExprProblem::UnknownName { found: name.into(), near })
            }
        }
    }

    fn slice(&mut self, of: &'static str, span: Range<usize>) -> Result<Field> {
        if !self.eat("[") {
            return self.fail(span, ExprProblem::NoPlace { name: of });
        }
        let offset = self.small_number()?;
        let start = self.at;
        let len = if self.eat(":") { self.small_number()? } else { 1 };
        if !(1..=16).contains(&len) {
            return self.fail(start..self.at, ExprProblem::SliceLen { found: len });
        }
        if !self.eat("]") {
            return self.unexpected("`]`");
        }
        let mask = self.mask(of, offset, len)?;
        match Field::slice(of, offset, len, mask) {
            Some(field) => Ok(field),
            None => self.fail(span, ExprProblem::UnknownName { found: of.into(), near: None }),
        }
    }

    /// The optional mask after a slice: `& NUMBER`. The number keeps at least one bit of the slice.
    fn mask(&mut self, of: &'static str, offset: u32, len: u32) -> Result<Option<u128>> {
        self.skip_space();
        let start = self.at;
        if self.text[start..].starts_with("&&") || !self.eat("&") {
            return Ok(None);
        }
        let Some(slice) = Field::slice(of, offset, len, None) else { return Ok(None) };
        self.skip_space();
        let mask_start = self.at;
        let mask = self.value(&slice)?.bits;
        match mask {
            0 => self.fail(mask_start..self.at, ExprProblem::EmptyMask),
            mask => Ok(Some(mask)),
        }
    }

    fn small_number(&mut self) -> Result<u32> {
        self.skip_space();
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        match number(digits).and_then(|(n, _)| u32::try_from(n?).ok()) {
            Some(n) => Ok(n),
            None => {
                self.at = start;
                self.unexpected("a number below 2^32")
            }
        }
    }

    /// The part after a field: a comparison, or nothing for a flag.
    fn test(&mut self, field: Field, name: Range<usize>) -> Result<Expr> {
        let whole = name.start..self.at;
        if self.eat_word("in") {
            let items = self.items(&field)?;
            return Ok(Expr::In { field, items });
        }
        self.skip_space();
        let start = self.at;
        let Some(&(_, op)) = OPS.iter().find(|(text, _)| self.text[start..].starts_with(text)) else {
            if self.text[start..].starts_with('=') {
                return self.unexpected("`==`");
            }
            if field.kind == Kind::Flag {
                return Ok(Expr::Flag(field));
            }
            let example = match field.kind {
                Kind::Mac => "02:00:00:00:00:01",
                Kind::Ipv4 => "10.0.0.1",
                Kind::Ipv6 => "2001:db8::1",
                Kind::Number { .. } | Kind::Bytes { .. } | Kind::Flag => "1",
            };
            return self.fail(whole, ExprProblem::NotAFlag { field: field.to_string(), example });
        };
        self.at += if matches!(op, Op::Lt | Op::Gt) { 1 } else { 2 };
        let is_ordered = !matches!(field.kind, Kind::Flag | Kind::Mac);
        if !is_ordered && !matches!(op, Op::Eq | Op::Ne) {
            return self.fail(start..self.at, ExprProblem::NoOrder { field: field.to_string() });
        }
        let value_start = self.at;
        let value = self.value(&field)?;
        let value_span = self.trim(value_start..self.at);
        if self.text[self.at..].starts_with('/') {
            let end =
                self.text[self.at + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(self.text.len() - self.at - 1);
            let span = value_span.start..self.at + 1 + end;
            let net = self.text[span.clone()].to_string();
            return self.fail(span, ExprProblem::PrefixInComparison { field: field.to_string(), net });
        }
        let max = field.kind.max();
        if (op == Op::Lt && value.bits == 0) || (op == Op::Gt && value.bits == max) {
            return self
                .fail(start..self.at, ExprProblem::NeverTrue { field: field.to_string(), max: shown(max, &field) });
        }
        Ok(Expr::Compare { field, op, value })
    }

    /// The part after `in`: a set, or one range or prefix.
    fn items(&mut self, field: &Field) -> Result<Vec<Item>> {
        self.skip_space();
        let start = self.at;
        if !self.eat("{") {
            let item = self.item(field)?;
            if matches!(item, Item::One(_)) {
                self.at = start;
                return self.unexpected("a range `a..b`, a prefix `10.0.0.0/8` or a set `{a, b}`");
            }
            return Ok(vec![item]);
        }
        let mut items = Vec::new();
        while !self.eat("}") {
            if !items.is_empty() && !self.eat(",") {
                return self.unexpected("`,` or `}`");
            }
            if !items.is_empty() && self.eat("}") {
                break; // A trailing comma is allowed.
            }
            items.push(self.item(field)?);
        }
        if items.is_empty() { self.fail(start..self.at, ExprProblem::EmptySet) } else { Ok(items) }
    }

    fn item(&mut self, field: &Field) -> Result<Item> {
        self.skip_space();
        let start = self.at;
        let low = self.value(field)?;
        if self.eat("..") {
            if matches!(field.kind, Kind::Flag | Kind::Mac) {
                return self.fail(start..self.at, ExprProblem::NoOrder { field: field.to_string() });
            }
            let high = self.value(field)?;
            if high.bits < low.bits {
                return self.fail(start..self.at, ExprProblem::ReversedRange);
            }
            return Ok(Item::Range(low, high));
        }
        if !self.text[self.at..].starts_with('/') {
            return Ok(Item::One(low));
        }
        self.at += 1;
        let bits = match field.kind {
            Kind::Ipv4 => 32,
            Kind::Ipv6 => 128,
            _ => return self.fail(start..self.at, ExprProblem::NoPrefix { field: field.to_string() }),
        };
        let prefix_start = self.at;
        let digits = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.').to_string();
        if digits.is_empty() {
            return self.unexpected("a number of bits such as 8");
        }
        match digits.parse::<u32>() {
            Ok(prefix) if prefix <= bits => {
                let host = field.kind.max().checked_shr(prefix).unwrap_or(0);
                Ok(Item::Net { address: low.bits & !host, prefix })
            }
            _ => self.fail(prefix_start..self.at, ExprProblem::Prefix { found: digits, max: bits }),
        }
    }

    /// A name: letters, digits, `_` and `.`, beginning with a letter.
    fn name(&mut self) -> Option<(String, Range<usize>)> {
        self.skip_space();
        let start = self.at;
        if !self.text[start..].starts_with(|c: char| c.is_alphabetic()) {
            return None;
        }
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.').to_string();
        Some((name, start..self.at))
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    pub(super) fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn is_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let before = self.at;
        self.skip_space();
        let is_there = self.text[self.at..].starts_with(symbol);
        self.at = if is_there { self.at + symbol.len() } else { before };
        is_there
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let is_there = self.name().is_some_and(|(name, _)| name == word);
        if !is_there {
            self.at = before;
        }
        is_there
    }

    fn trim(&self, span: Range<usize>) -> Range<usize> {
        let text = &self.text[span.clone()];
        span.start + (text.len() - text.trim_start().len())..span.end
    }

    pub(super) fn fail<T>(&self, span: Range<usize>, problem: ExprProblem) -> Result<T> {
        Err(TextError { text: self.text.into(), span, problem })
    }

    /// The error for the text at this position.
    pub(super) fn unexpected<T>(&mut self, allowed: &'static str) -> Result<T> {
        self.skip_space();
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = match rest.chars().next() {
            None => 0,
            Some(c) if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            Some(c) if "=&|<>".contains(c) => rest.find(|next| next != c).unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
        let found = if len == 0 { "the end".into() } else { format!("`{}`", &rest[..len]) };
        self.fail(self.at..self.at + len, ExprProblem::Unexpected { found, allowed })
    }
}
