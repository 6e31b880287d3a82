//! Name resolution: services, ports, fields, metadata, registers. All names are resolved when a file is loaded.

use super::Card;
use super::action_params::ValueParams;
use super::error::Problem;
use super::params::RegisterParams;
use wire::expr::{ExprProblem, ExternalField, Field, Kind, Matcher};
use wire::layers::Layers;

/// Values known for each packet besides its fields, in this order; metadata words and the parser's headers follow.
pub(super) mod known {
    pub const PORT: usize = 0;
    pub const MALFORMED: usize = 1;
    pub const NOW: usize = 2;
    pub const HASH: usize = 3;
    pub const FLOW: usize = 4;
    pub const CLASS: usize = 5;
    pub const PRIORITY: usize = 6;
    pub const SLACK: usize = 7;
    pub const NETWORK: usize = 8;
    pub const TRANSPORT: usize = 9;
    pub const PAYLOAD: usize = 10;
    /// Index of the first metadata word.
    pub const METADATA: usize = 11;
}

const fn number(bits: u32) -> Kind {
    Kind::Number { bits }
}

/// Names and kinds of the known values, in the order of [`known`].
const ALWAYS: [(&str, Kind); known::METADATA] = [
    ("port", number(8)),
    ("malformed", Kind::Flag),
    ("now", number(64)),
    ("hash", number(32)),
    ("flow", number(32)),
    ("class", number(8)),
    ("priority", number(32)),
    ("slack_cycles", number(64)),
    ("network.offset", number(16)),
    ("transport.offset", number(16)),
    ("payload.offset", number(16)),
];

/// Fields that cannot be set, because that would move the following bytes or because they are not bytes of the packet.
const FIXED: [&str; 9] = [
    "len",
    "ipv4.version",
    "ipv4.header_words",
    "ipv6.version",
    "tcp.header_words",
    "udp.payload_len",
    "tcp.payload_len",
    "icmp.payload_len",
    "icmpv6.payload_len",
];

/// A value with its name resolved.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(u128),
    Field(Field),
}

impl Value {
    /// The value in a packet, if the packet has it.
    pub(super) fn of(&self, packet: &[u8], layers: &Layers, known: &[Option<u128>]) -> Option<u128> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Field(field) => field.value_with(packet, layers, known),
        }
    }
}

/// A destination of a value.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A field of the packet.
    Packet(Field),
    /// A field of a user-defined header, by its index among the known values.
    Header(usize),
    /// A word of metadata, by its index among the known values.
    Metadata(usize),
}

/// Exits of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Drop,
    Host(u16),
    Network(u8),
}

/// All known names.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub card: Card,
    pub max_hops: u32,
    pub known: Vec<ExternalField>,
    n_metadata: usize,
    registers: Vec<(String, bool)>,
}

impl Names {
    pub(super) fn new(card: &Card, max_hops: u32) -> Names {
        let always = ALWAYS.map(|(name, kind)| ExternalField { name: name.to_owned(), kind });
        Names { card: card.clone(), max_hops, known: always.to_vec(), n_metadata: 0, registers: Vec::new() }
    }

    /// Adds known values; returns the index of the first.
    pub(super) fn add(&mut self, known: Vec<ExternalField>) -> usize {
        let first = self.known.len();
        self.known.extend(known);
        first
    }

    /// Adds a word of metadata; must come before the parser's headers.
    pub(super) fn add_metadata(&mut self, name: &str) -> Result<(), Problem> {
        check_word(name)?;
        let whole = format!("meta.{name}");
        if self.known.iter().any(|known| known.name == whole) {
            return Err(Problem::Taken { what: "metadata word", name: name.to_owned() });
        }
        self.n_metadata += 1;
        self.known.push(ExternalField { name: whole, kind: number(64) });
        Ok(())
    }

    pub(super) fn add_register(&mut self, params: &RegisterParams) -> Result<(), Problem> {
        let (name, is_meter) = match params {
            RegisterParams::Words { name, .. } => (name, false),
            RegisterParams::Meter { name, .. } => (name, true),
        };
        check_word(name)?;
        if self.registers.iter().any(|(taken, _)| taken == name) {
            return Err(Problem::Taken { what: "register", name: name.clone() });
        }
        self.registers.push((name.clone(), is_meter));
        Ok(())
    }

    /// Checks the name of a new header.
    pub(super) fn check_new(&self, name: &str) -> Result<(), Problem> {
        check_word(name)?;
        let first = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
        let words = ["true", "false", "and", "or", "not", "in", "bytes", "meta"].map(str::to_owned);
        let mut taken = Field::names().chain(Field::protocols()).map(first).chain(words);
        if taken.any(|taken| taken == name) || self.known.iter().any(|known| first(&known.name) == name) {
            return Err(Problem::Taken { what: "name", name: name.to_owned() });
        }
        Ok(())
    }

    pub(super) fn matcher(&self, text: &str) -> Result<Matcher, Problem> {
        Matcher::parse_with(text, &self.known).map_err(Problem::Match)
    }

    /// A matcher for the parser, which knows only a packet's port, fields and the headers found so far.
    pub(super) fn parser_matcher(&self, text: &str) -> Result<Matcher, Problem> {
        let mut known = self.known.clone();
        let later = known.iter_mut().take(known::METADATA + self.n_metadata).enumerate();
        later.filter(|(place, _)| *place != known::PORT).for_each(|(_, known)| known.name.clear());
        Matcher::parse_with(text, &known).map_err(Problem::Match)
    }

    pub(super) fn field(&self, name: &str) -> Result<Field, Problem> {
        Field::parse(name, &self.known).map_err(|error| match error.problem {
            problem @ ExprProblem::UnknownName { .. } => Problem::Expr(problem),
            _ => Problem::Match(error),
        })
    }

    /// A value comparable with `like`; `most` is the greatest allowed one.
    pub(super) fn value(&self, params: &ValueParams, like: &ExternalField, most: u128) -> Result<Value, Problem> {
        let most = most.min(like.kind.max());
        let fits = |number: u128| match number <= most {
            true => Ok(Value::Number(number)),
            false => Err(Problem::found(number, format!("0 to {most}"))),
        };
        let text = match params {
            ValueParams::Number(number) => return fits((*number).into()),
            ValueParams::Text(text) => text,
        };
        let as_value = Field::parse(&like.name, std::slice::from_ref(like)).and_then(|field| field.parse_value(text));
        match (as_value, self.field(text)) {
            (Ok(number), _) => fits(number),
            (_, Ok(field)) => Ok(Value::Field(field)),
            // Names begin with letters; addresses may too, but contain colons.
            (Err(error), _) if text.contains(':') || !text.starts_with(char::is_alphabetic) => {
                Err(Problem::Expr(error.problem))
            }
            (_, Err(problem)) => Err(problem),
        }
    }

    /// A number of `bits` bits.
    pub(super) fn number(&self, params: &ValueParams, name: &str, bits: u32, most: u128) -> Result<Value, Problem> {
        self.value(params, &ExternalField { name: name.to_owned(), kind: number(bits) }, most)
    }

    pub(super) fn target(&self, name: &str) -> Result<(Target, ExternalField), Problem> {
        let field = self.field(name)?;
        let kind = field.kind();
        let like = ExternalField { name: name.to_owned(), kind };
        let Some(place) = field.external_index() else {
            return match FIXED.contains(&name) {
                true => Err(Problem::Fixed { field: name.to_owned(), hint: ": that would move the bytes after it" }),
                false => Ok((Target::Packet(field), like)),
            };
        };
        let end = known::METADATA + self.n_metadata;
        match place {
            place if place < known::METADATA => {
                let hint = match place {
                    known::HASH | known::FLOW | known::CLASS | known::PRIORITY | known::SLACK => {
                        "; use the action of this name"
                    }
                    _ => "",
                };
                Err(Problem::Fixed { field: name.to_owned(), hint })
            }
            place if place < end => Ok((Target::Metadata(place), like)),
            _ if kind == Kind::Flag || name.ends_with(".offset") => {
                Err(Problem::Fixed { field: name.to_owned(), hint: ": the parser finds it" })
            }
            place => Ok((Target::Header(place), like)),
        }
    }

    pub(super) fn service(&self, name: &str) -> Result<u8, Problem> {
        let place = self.card.services.iter().position(|service| service == name);
        let known = self.card.services.iter().map(String::as_str);
        place.map(|place| place as u8).ok_or_else(|| Problem::unknown("service", name, known))
    }

    /// The index of the register of this name and sort.
    pub(super) fn register(&self, name: &str, is_meter: bool) -> Result<usize, Problem> {
        let place = self.registers.iter().position(|register| register.0 == name && register.1 == is_meter);
        let what = if is_meter { "meter" } else { "register of words" };
        let known = self.registers.iter().filter(|register| register.1 == is_meter).map(|register| register.0.as_str());
        place.ok_or_else(|| Problem::unknown(what, name, known))
    }

    /// Names of the registers of words.
    pub(super) fn registers_of_words(&self) -> impl Iterator<Item = &str> {
        self.registers.iter().filter(|(_, is_meter)| !is_meter).map(|(name, _)| name.as_str())
    }

    pub(super) fn exit(&self, text: &str) -> Result<Exit, Problem> {
        let (side, number) = text.split_once(':').map_or((text, None), |(side, number)| (side, Some(number)));
        let place = |n: u32| match number.map_or(Ok(0), str::parse::<u32>) {
            Ok(place) if place < n => Ok(place),
            _ => {
                let last = n - 1; // A card has at least one of each.
                Err(Problem::found(format!("`{text}`"), format!("`{side}:0` to `{side}:{last}`")))
            }
        };
        match (side, number) {
            ("drop", None) => Ok(Exit::Drop),
            ("host", _) => place(self.card.host_queues.into()).map(|queue| Exit::Host(queue as u16)),
            ("network", _) => place(self.card.network_ports.into()).map(|port| Exit::Network(port as u8)),
            _ => {
                let words = ["host", "network", "drop"];
                let near = diagnostics::near::suggestion(side, words);
                Err(Problem::found(
                    format!("`{text}`"),
                    format!("`host`, `host:QUEUE`, `network:PORT` or `drop`{near}"),
                ))
            }
        }
    }
}

/// Checks a user-defined name: lower-case letters, digits and `_`, beginning with a letter.
pub(super) fn check_word(name: &str) -> Result<(), Problem> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_part) && name.len() <= 64;
    match is_word {
        true => Ok(()),
        false => {
            Err(Problem::found(format!("`{name}`"), "lower-case letters, digits and `_`, up to 64, the first a letter"))
        }
    }
}
