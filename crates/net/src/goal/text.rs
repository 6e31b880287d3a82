//! Reads the text form.
//!
//! `num_ranks N`, then for each rank `rank R { ... }`, in order from 0. In the braces, each line is an operation or a
//! dependency:
//!
//! ```text
//! [label:] send 8b to 3 [tag 1] [cpu 0] [nic 0]
//! [label:] recv 8b from 3 [tag 1] [cpu 0] [nic 0]
//! [label:] calc 100 [cpu 0]
//! label requires label
//! label irequires label
//! ```

use super::builder::Builder;
use super::lexer::{Form, Lexer, Token};
use super::{ANY, GoalError, Kind, Op, Schedule};
use diagnostics::near;
use std::collections::HashMap;
use std::io::BufRead;
use std::ops::Range;

/// Words that begin a statement, so a label cannot have these names.
const KEYWORDS: [&str; 5] = ["send", "recv", "calc", "rank", "num_ranks"];

/// Reads a schedule. Errors call it `file`.
pub fn read(reader: impl BufRead, file: &str) -> Result<Schedule, GoalError> {
    let mut parser = Parser { lexer: Lexer::new(reader, file)?, labels: HashMap::new(), names: Vec::new() };
    let n_ranks = parser.header()?;
    let mut builder = Builder::new(n_ranks);
    for rank in 0..n_ranks {
        parser.rank(&mut builder, rank, n_ranks)?;
    }
    let token = parser.next_statement()?;
    if token.form != Form::End {
        let last = n_ranks - 1;
        return Err(parser.unexpected(
            &token,
            "there is text behind the last rank",
            &format!("nothing behind rank {last}"),
        ));
    }
    builder.finish().map_err(|problem| GoalError::of_file(file, problem))
}

struct Parser<'a, R> {
    lexer: Lexer<'a, R>,
    /// The operation of each label of the rank.
    labels: HashMap<Box<str>, u32>,
    /// For each operation of the rank, its label if it has one.
    names: Vec<Option<Box<str>>>,
}

/// A label, and where it is in the line.
struct Label {
    name: Box<str>,
    span: Range<usize>,
}

impl<R: BufRead> Parser<'_, R> {
    /// `num_ranks N`.
    fn header(&mut self) -> Result<u32, GoalError> {
        let token = self.next_statement()?;
        if token.form != Form::Word || self.lexer.text(&token) != b"num_ranks" {
            return Err(self.unexpected(&token, "a schedule begins with its number of ranks", "`num_ranks N`"));
        }
        self.lexer.advance(&token)?;
        self.number("the number of ranks", 1, u64::from(u32::MAX) - 1, false).map(|n| n as u32)
    }

    /// `rank R { ... }`.
    fn rank(&mut self, builder: &mut Builder, rank: u32, n_ranks: u32) -> Result<(), GoalError> {
        self.labels.clear();
        self.names.clear();
        let token = self.next_statement()?;
        if token.form != Form::Word || self.lexer.text(&token) != b"rank" {
            let problem = match token.form {
                Form::End => format!("ranks are missing: the file has {rank} of {n_ranks}"),
                _ => "a rank must begin here".to_owned(),
            };
            return Err(self.unexpected(&token, &problem, &format!("`rank {rank} {{`")));
        }
        self.lexer.advance(&token)?;
        let token = self.lexer.peek()?;
        let found = self.number("the rank", 0, u64::from(u32::MAX) - 1, false)?;
        if found != u64::from(rank) {
            let problem = format!("the ranks must come in order from 0 (found {found}; allowed {rank})");
            return Err(self.lexer.error(token.span, problem));
        }
        self.sign(b'{', "behind the rank")?;
        loop {
            let token = self.next_statement()?;
            match token.form {
                Form::Sign if self.lexer.text(&token) == b"}" => {
                    self.lexer.advance(&token)?;
                    break;
                }
                Form::Word => self.statement(builder)?,
                Form::End => {
                    let problem = format!("the file ends inside rank {rank}");
                    return Err(self.unexpected(&token, &problem, "`}` or an operation"));
                }
                _ => return Err(self.unexpected(&token, "a statement must begin here", STATEMENTS)),
            }
        }
        builder.end_rank().map_err(|cycle| self.cycle(builder, rank, &cycle))
    }

    /// The error for operations that wait for each other.
    fn cycle(&self, builder: &Builder, rank: u32, cycle: &[u32]) -> GoalError {
        let named = |op: &u32| {
            let label = self.names[*op as usize].as_deref().unwrap_or("-"); // Only labelled operations are in a cycle.
            format!("`{label}` (line {})", builder.rank_ops()[*op as usize].line)
        };
        let chain: Vec<String> = cycle.iter().chain(&cycle[..1]).map(named).collect();
        let chain = chain.join(" waits for ");
        let problem = format!("operations of rank {rank} wait for each other: {chain} (allowed: no cycle)");
        self.lexer.error(0..0, problem)
    }

    /// An operation or a dependency.
    fn statement(&mut self, builder: &mut Builder) -> Result<(), GoalError> {
        let line = self.lexer.line_number().try_into().unwrap_or(u32::MAX);
        let token = self.lexer.peek()?;
        if let Some(kind) = self.kind(&token) {
            return self.operation(builder, kind, line, None);
        }
        let word = self.word(&token);
        if matches!(&*word, "rank" | "num_ranks") {
            return Err(self.unexpected(&token, "the rank before has no end", "`}` in front of it"));
        }
        self.lexer.advance(&token)?;
        let label = Label { name: word, span: token.span.clone() };
        let behind = self.lexer.peek()?;
        match (behind.form, self.lexer.text(&behind)) {
            (Form::Sign, b":") => {
                self.lexer.advance(&behind)?;
                let token = self.lexer.peek()?;
                let Some(kind) = self.kind(&token) else {
                    return Err(self.unexpected(&token, "an operation must follow a label", "`send`, `recv`, `calc`"));
                };
                self.operation(builder, kind, line, Some(label))
            }
            (Form::Word, b"requires") => self.dependency(builder, &behind, label, false),
            (Form::Word, b"irequires") => self.dependency(builder, &behind, label, true),
            _ => {
                // A keyword with a mistake looks like a label.
                let hint = near::suggestion(&label.name, KEYWORDS);
                if !hint.is_empty() && behind.form == Form::Number {
                    let problem =
                        format!("unknown operation (found `{}`; allowed `send`, `recv`, `calc`){hint}", label.name);
                    return Err(self.lexer.error(label.span, problem));
                }
                let problem = format!("a colon or a dependency must follow the label `{}`", label.name);
                Err(self.unexpected(&behind, &problem, "`:`, `requires`, `irequires`"))
            }
        }
    }

    fn operation(
        &mut self,
        builder: &mut Builder,
        kind: Kind,
        line: u32,
        label: Option<Label>,
    ) -> Result<(), GoalError> {
        if let Some(Label { name, span }) = &label
            && let Some(&known) = self.labels.get(name)
        {
            let before = builder.rank_ops()[known as usize].line;
            let problem = format!("the label `{name}` is already in use, in line {before} (allowed: another label)");
            return Err(self.lexer.error(span.clone(), problem));
        }
        let token = self.lexer.peek()?;
        self.lexer.advance(&token)?;
        let mut op = Op { size: 0, peer: 0, tag: 0, line, kind, cpu: 0, nic: 0 };
        let mut peer_at = token.span;
        if kind == Kind::Calc {
            op.size = self.number("the time in ns", 0, u64::MAX, false)?;
        } else {
            op.size = self.number("the number of bytes", 0, u64::MAX, false)?;
            self.keyword("b", "behind the number of bytes")?;
            let direction = if kind == Kind::Send { "to" } else { "from" };
            self.keyword(direction, &format!("in a {kind}"))?;
            peer_at = self.lexer.peek()?.span;
            let most = u64::from(u32::MAX) - 1;
            op.peer = self.number("the peer", 0, most, kind == Kind::Recv)? as u32;
        }
        self.options(&mut op)?;
        let end = self.lexer.peek()?;
        let span = peer_at.start..peer_at.end.max(peer_at.start);
        let number = builder.add(op).map_err(|problem| self.lexer.error(span, problem))?;
        if !matches!(end.form, Form::Newline | Form::End) {
            return Err(self.unexpected_option(&end, kind));
        }
        self.names.push(label.as_ref().map(|label| label.name.clone()));
        if let Some(Label { name, .. }) = label {
            self.labels.insert(name, number);
        }
        self.lexer.advance(&end)
    }

    /// `tag`, `cpu` and `nic`, in this order.
    fn options(&mut self, op: &mut Op) -> Result<(), GoalError> {
        let is_message = op.kind != Kind::Calc;
        let has = |name| is_message || name == "cpu";
        for name in ["tag", "cpu", "nic"].into_iter().filter(|name| has(*name)) {
            let token = self.lexer.peek()?;
            if token.form != Form::Word || self.lexer.text(&token) != name.as_bytes() {
                continue;
            }
            self.lexer.advance(&token)?;
            match name {
                "tag" => op.tag = self.number("the tag", 0, u64::from(u32::MAX), true)? as u32,
                "cpu" => op.cpu = self.number("the cpu", 0, 255, false)? as u8,
                _ => op.nic = self.number("the nic", 0, 255, false)? as u8,
            }
        }
        Ok(())
    }

    /// The error for a token behind an operation.
    fn unexpected_option(&self, token: &Token, kind: Kind) -> GoalError {
        let all: &[&str] = if kind == Kind::Calc { &["cpu"] } else { &["tag", "cpu", "nic"] };
        let word = self.word(token);
        if token.form == Form::Word && all.contains(&&*word) {
            let order = all.join("`, `");
            let problem = format!("`{word}` is twice or too late (allowed: `{order}`, each once and in this order)");
            return self.lexer.error(token.span.clone(), problem);
        }
        let hint = if token.form == Form::Word { near::suggestion(&word, all.iter().copied()) } else { String::new() };
        let allowed = format!("{}, or the end of the line", near::listed(all.iter().copied()));
        let problem = format!("the {kind} must end here (found {}; allowed {allowed}){hint}", self.lexer.shown(token));
        self.lexer.error(token.span.clone(), problem)
    }

    fn dependency(
        &mut self,
        builder: &mut Builder,
        word: &Token,
        label: Label,
        on_start: bool,
    ) -> Result<(), GoalError> {
        let op = self.labelled(&label)?;
        self.lexer.advance(word)?;
        let token = self.lexer.peek()?;
        if token.form != Form::Word {
            return Err(self.unexpected(&token, "a label must follow", "a label of this rank"));
        }
        let second = Label { name: self.word(&token), span: token.span.clone() };
        let of = self.labelled(&second)?;
        self.lexer.advance(&token)?;
        builder
            .depend(op, of, on_start)
            .map_err(|problem| self.lexer.error(label.span.start..second.span.end, problem))?;
        let end = self.lexer.peek()?;
        if !matches!(end.form, Form::Newline | Form::End) {
            return Err(self.unexpected(&end, "the dependency must end here", "the end of the line"));
        }
        self.lexer.advance(&end)
    }

    /// The operation of a label.
    fn labelled(&self, label: &Label) -> Result<u32, GoalError> {
        self.labels.get(&label.name).copied().ok_or_else(|| {
            let hint = near::suggestion(&label.name, self.labels.keys().map(|name| &**name));
            let allowed = "a label that is defined above, in the same rank";
            let problem = format!("unknown label (found `{}`; allowed {allowed}){hint}", label.name);
            self.lexer.error(label.span.clone(), problem)
        })
    }

    /// The next token that is not the end of a line.
    fn next_statement(&mut self) -> Result<Token, GoalError> {
        loop {
            let token = self.lexer.peek()?;
            if token.form != Form::Newline {
                return Ok(token);
            }
            self.lexer.advance(&token)?;
        }
    }

    fn kind(&self, token: &Token) -> Option<Kind> {
        let text = self.lexer.text(token);
        Kind::ALL.into_iter().find(|kind| token.form == Form::Word && kind.name().as_bytes() == text)
    }

    fn word(&self, token: &Token) -> Box<str> {
        String::from_utf8_lossy(self.lexer.text(token)).into()
    }

    /// A number within bounds; if `or_any`, also -1, which is returned as [`ANY`].
    fn number(&mut self, what: &str, least: u64, most: u64, or_any: bool) -> Result<u64, GoalError> {
        let token = self.lexer.peek()?;
        let any = if or_any { ", or -1 for any" } else { "" };
        let text = String::from_utf8_lossy(self.lexer.text(&token));
        let value = match &*text {
            "-1" if or_any => Some(u64::from(ANY)),
            text => text.parse().ok().filter(|value| token.form == Form::Number && (least..=most).contains(value)),
        };
        let Some(value) = value else {
            return Err(self.unexpected(
                &token,
                &format!("{what} must be a number"),
                &format!("{least} to {most}{any}"),
            ));
        };
        self.lexer.advance(&token)?;
        Ok(value)
    }

    fn keyword(&mut self, keyword: &str, place: &str) -> Result<(), GoalError> {
        let token = self.lexer.peek()?;
        if token.form != Form::Word || self.lexer.text(&token) != keyword.as_bytes() {
            let problem = format!("`{keyword}` must stand {place}");
            return Err(self.unexpected(&token, &problem, &format!("`{keyword}`")));
        }
        self.lexer.advance(&token)
    }

    fn sign(&mut self, sign: u8, place: &str) -> Result<(), GoalError> {
        let token = self.lexer.peek()?;
        let shown = char::from(sign);
        if self.lexer.text(&token) != [sign] {
            return Err(self.unexpected(&token, &format!("`{shown}` must stand {place}"), &format!("`{shown}`")));
        }
        self.lexer.advance(&token)
    }

    fn unexpected(&self, token: &Token, problem: &str, allowed: &str) -> GoalError {
        let problem = format!("{problem} (found {}; allowed {allowed})", self.lexer.shown(token));
        self.lexer.error(token.span.clone(), problem)
    }
}

const STATEMENTS: &str = "`send`, `recv`, `calc`, a label, or `}`";
