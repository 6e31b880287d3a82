//! Parses and prints chains: `ipsec [udp.dst_port == 4500] class=1: sha -> aes => network:0`.

use super::EntryHandle;
use super::Rmt;
use super::action_params::{HopParams, ValueParams};
use super::chain::{ChainKey, ChainParams, is_name};
use super::error::{ChainTextError, Problem};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

type Result<T> = std::result::Result<T, ChainTextError>;

/// Longest text, in bytes.
const MAX_LEN: usize = 65_536;
const SETTINGS: [&str; 6] = ["class", "priority", "slack_cycles", "queues", "order", "repeat"];
const HOP_SETTINGS: [&str; 3] = ["class", "priority", "metadata"];

impl ChainParams {
    /// Parses a chain without resolving its names.
    pub fn parse(text: &str) -> Result<Self> {
        read(text).map(|read| read.0)
    }
}

impl Rmt {
    /// Parses a chain and resolves its names, so that every error has a place; does not insert it.
    pub fn parse_chain(&self, text: &str) -> Result<ChainParams> {
        let (chain, places) = read(text)?;
        let Err((part, problem)) = self.check_chain(EntryHandle(u64::MAX), &chain) else { return Ok(chain) };
        let found = places.iter().find(|place| place.0 == part);
        let span = found.map_or(0..text.len(), |place| place.1.clone());
        Err(match problem {
            Problem::Match(error) => error.within(text, span.start),
            problem => ChainTextError { text: text.into(), span, problem },
        })
    }
}

impl FromStr for ChainParams {
    type Err = ChainTextError;
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// Parts of the chain and their positions in the text.
type Places = Vec<(ChainKey, Range<usize>)>;

fn read(text: &str) -> Result<(ChainParams, Places)> {
    let mut reader = Reader { text, at: 0, places: Vec::new() };
    if text.len() > MAX_LEN {
        return reader.fail(0..0, Problem::found(format!("{} bytes", text.len()), format!("at most {MAX_LEN}")));
    }
    let chain = reader.chain()?;
    Ok((chain, reader.places))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    places: Places,
}

impl<'t> Reader<'t> {
    fn chain(&mut self) -> Result<ChainParams> {
        let (name, span) = self.name("a name, then `:` and services, for example `ipsec: sha -> aes`")?;
        self.places.push((ChainKey::Name, span));
        let mut chain = ChainParams::new(name, &[]);
        if self.eat("[") {
            chain.matches = Some(self.expression()?);
        }
        while !self.eat(":") {
            self.setting(&mut chain)?;
        }
        let start = self.skip_space();
        if !self.is_end() && !self.text[self.at..].starts_with("=>") {
            loop {
                let hop = self.hop(chain.services.len())?;
                chain.services.push(hop);
                if !self.eat("->") {
                    break;
                }
            }
        }
        self.places.push((ChainKey::Services, start..self.at));
        if self.eat("=>") {
            let start = self.skip_space();
            let exit = self.take_while(|c| !c.is_whitespace());
            if exit.is_empty() {
                return self.unexpected("`host`, `host:QUEUE`, `network:PORT` or `drop`");
            }
            self.places.push((ChainKey::Exit, start..self.at));
            chain.exit = Some(exit.to_owned());
        }
        let allowed = if chain.exit.is_some() { "the end" } else { "`->`, `=>` or the end" };
        if self.is_end() { Ok(chain) } else { self.unexpected(allowed) }
    }

    /// Parses the match expression in brackets; it may contain brackets and strings.
    fn expression(&mut self) -> Result<String> {
        let start = self.at;
        let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
        for (i, c) in self.text[start..].char_indices() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if is_string => is_escaped = true,
                '"' => is_string = !is_string,
                _ if is_string => {}
                '[' => depth += 1,
                ']' if depth > 0 => depth -= 1,
                ']' => {
                    self.at = start + i + 1;
                    self.places.push((ChainKey::Match, start..start + i));
                    return Ok(self.text[start..start + i].to_owned());
                }
                _ => {}
            }
        }
        self.fail(start - 1..start, Problem::found("`[` without an end", "closed by `]` after the match expression"))
    }

    /// Parses a setting such as `class=1` before the colon.
    fn setting(&mut self, chain: &mut ChainParams) -> Result<()> {
        let allowed = "`:`, or before it `[MATCH]` and settings, for example `class=1`";
        let (key, span) = self.name(allowed)?;
        let is_twice = match key {
            "class" => chain.class.replace(self.number(Some(ChainKey::Class), u8::MAX.into())? as u8).is_some(),
            "priority" => chain.priority.replace(self.number(None, u32::MAX.into())? as u32).is_some(),
            "slack_cycles" => chain.slack_cycles.replace(self.number(None, u64::MAX)?).is_some(),
            "order" => {
                let is_twice = chain.order != 0;
                chain.order = self.number(None, u32::MAX.into())? as u32;
                is_twice
            }
            "queues" => {
                let is_twice = !chain.queues.is_empty();
                chain.queues.push(self.number(Some(ChainKey::Queue(0)), u16::MAX.into())? as u16);
                while self.eat(",") {
                    let n = chain.queues.len();
                    chain.queues.push(self.digits(Some(ChainKey::Queue(n)), u16::MAX.into())? as u16);
                }
                is_twice
            }
            "repeat" => std::mem::replace(&mut chain.repeat, true),
            _ => return self.fail(span, Problem::unknown("setting", key, SETTINGS.into_iter())),
        };
        let taken = Problem::Taken { what: "setting", name: key.to_owned() };
        if is_twice { self.fail(span, taken) } else { Ok(()) }
    }

    /// Parses `aes` or `aes(class=1, priority=2, metadata=hash)`.
    fn hop(&mut self, i: usize) -> Result<HopParams> {
        let (service, span) = self.name("a service")?;
        self.places.push((ChainKey::Service(i), span));
        let mut hop = HopParams::new(service);
        if !self.eat("(") {
            return Ok(hop);
        }
        let mut seen: Vec<&str> = Vec::new();
        while !self.eat(")") {
            if !seen.is_empty() && !self.eat(",") {
                return self.unexpected("`,` or `)`");
            }
            let (key, span) = self.name("`class`, `priority` or `metadata`")?;
            if seen.contains(&key) {
                return self.fail(span, Problem::Taken { what: "setting", name: key.to_owned() });
            }
            seen.push(key);
            match key {
                "class" => hop.class = Some(self.number(Some(ChainKey::HopClass(i)), u8::MAX.into())? as u8),
                "priority" => hop.priority = Some(self.number(None, u32::MAX.into())? as u32),
                "metadata" => hop.metadata = self.value(i)?,
                _ => return self.fail(span, Problem::unknown("setting", key, HOP_SETTINGS.into_iter())),
            }
        }
        Ok(hop)
    }

    /// Parses a number or a field.
    fn value(&mut self, i: usize) -> Result<ValueParams> {
        self.expect("=")?;
        let start = self.skip_space();
        let word = self.take_while(|c| !matches!(c, ',' | ')')).trim_end();
        if word.is_empty() {
            return self.unexpected("a number or the name of a field");
        }
        self.places.push((ChainKey::HopMetadata(i), start..start + word.len()));
        let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|_| is_decimal);
        Ok(number.map_or_else(|| ValueParams::Text(word.to_owned()), ValueParams::Number))
    }

    /// Parses `=` and a number.
    fn number(&mut self, part: Option<ChainKey>, most: u64) -> Result<u64> {
        self.expect("=")?;
        self.digits(part, most)
    }

    fn digits(&mut self, part: Option<ChainKey>, most: u64) -> Result<u64> {
        let start = self.skip_space();
        let digits = self.take_while(|c| c.is_alphanumeric() || c == '_');
        let span = start..self.at;
        let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse().ok().filter(|number| is_decimal && *number <= most) {
            Some(number) => {
                self.places.extend(part.map(|part| (part, span)));
                Ok(number)
            }
            None if digits.is_empty() => self.unexpected("a number"),
            None => self.fail(span, Problem::found(format!("`{digits}`"), format!("a number from 0 to {most}"))),
        }
    }

    /// Parses a name; a hyphen in it is not the start of an arrow.
    fn name(&mut self, allowed: &'static str) -> Result<(&'t str, Range<usize>)> {
        let start = self.skip_space();
        let rest = &self.text[start..];
        let is_part = |i: usize, c: char| is_name_part(c) && !(c == '-' && rest[i + 1..].starts_with('>'));
        let len = rest.char_indices().find(|&(i, c)| !is_part(i, c)).map_or(rest.len(), |(i, _)| i);
        if !is_name(&rest[..len]) {
            return self.unexpected(allowed);
        }
        self.at += len;
        Ok((&rest[..len], start..self.at))
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn skip_space(&mut self) -> usize {
        self.take_while(char::is_whitespace);
        self.at
    }

    fn is_end(&mut self) -> bool {
        self.skip_space() == self.text.len()
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let before = self.at;
        self.skip_space();
        let is_there = self.text[self.at..].starts_with(symbol);
        self.at = if is_there { self.at + symbol.len() } else { before };
        is_there
    }

    fn expect(&mut self, symbol: &'static str) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { self.unexpected("`=` and a value") }
    }

    fn fail<T>(&self, span: Range<usize>, problem: Problem) -> Result<T> {
        Err(ChainTextError { text: self.text.into(), span, problem })
    }

    /// The error for the next token.
    fn unexpected<T>(&mut self, allowed: &str) -> Result<T> {
        let start = self.skip_space();
        let rest = &self.text[start..];
        let first = rest.chars().next();
        let len = match first {
            None => 0,
            Some(c) if is_name_part(c) => rest.find(|c| !is_name_part(c)).unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
        let found = if len == 0 { "the end".into() } else { format!("`{}`", &rest[..len]) };
        self.fail(start..start + len, Problem::found(found, allowed))
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

impl fmt::Display for ChainParams {
    /// Prints the text that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChainParams { name, matches, queues, services, class, priority, slack_cycles, exit, repeat, order } = self;
        f.write_str(name)?;
        if let Some(matches) = matches {
            write!(f, " [{matches}]")?;
        }
        let setting = |f: &mut fmt::Formatter<'_>, key: &str, value: Option<u64>| match value {
            Some(value) => write!(f, " {key}={value}"),
            None => Ok(()),
        };
        setting(f, "class", class.map(u64::from))?;
        setting(f, "priority", priority.map(u64::from))?;
        setting(f, "slack_cycles", *slack_cycles)?;
        if !queues.is_empty() {
            let queues: Vec<String> = queues.iter().map(u16::to_string).collect();
            write!(f, " queues={}", queues.join(","))?;
        }
        setting(f, "order", Some(u64::from(*order)).filter(|&order| order != 0))?;
        f.write_str(if *repeat { " repeat:" } else { ":" })?;
        for (i, hop) in services.iter().enumerate() {
            write!(f, "{}{hop}", if i > 0 { " -> " } else { " " })?;
        }
        exit.as_ref().map_or(Ok(()), |exit| write!(f, " => {exit}"))
    }
}

impl fmt::Display for HopParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.service)?;
        let mut settings = Vec::new();
        settings.extend(self.class.map(|class| format!("class={class}")));
        settings.extend(self.priority.map(|priority| format!("priority={priority}")));
        match &self.metadata {
            ValueParams::Number(0) => {}
            ValueParams::Number(number) => settings.push(format!("metadata={number}")),
            ValueParams::Text(text) => settings.push(format!("metadata={text}")),
        }
        if settings.is_empty() { Ok(()) } else { write!(f, "({})", settings.join(", ")) }
    }
}
