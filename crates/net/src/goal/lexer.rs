//! Words, numbers and signs of a schedule's text, line by line.

use super::GoalError;
use std::io::{BufRead, Read};
use std::ops::Range;

/// Maximum bytes of a line.
const MAX_LINE: usize = 1 << 16;

/// The form of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A letter, then letters, digits and `_`.
    Word,
    /// Digits, with a minus sign in front if it is negative.
    Number,
    /// Any other byte.
    Sign,
    /// The end of a line.
    Newline,
    /// The end of the file.
    End,
}

/// A token, and where it is in its line.
#[derive(Clone, Debug)]
pub struct Token {
    pub form: Form,
    pub span: Range<usize>,
}

/// UTF-8's byte order mark, which some editors write in front of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The tokens of a text. Memory does not grow with the text.
pub struct Lexer<'a, R> {
    reader: R,
    file: &'a str,
    line: Vec<u8>,
    number: u64,
    at: usize,
    is_at_end: bool,
    /// The line and column in which an open comment began.
    comment: Option<(u64, usize)>,
}

impl<'a, R: BufRead> Lexer<'a, R> {
    pub fn new(reader: R, file: &'a str) -> Result<Self, GoalError> {
        let mut lexer = Lexer { reader, file, line: Vec::new(), number: 0, at: 0, is_at_end: false, comment: None };
        lexer.read_line()?;
        if lexer.line.starts_with(BYTE_ORDER_MARK) {
            lexer.at = BYTE_ORDER_MARK.len();
        }
        Ok(lexer)
    }

    fn read_line(&mut self) -> Result<(), GoalError> {
        self.line.clear();
        self.at = 0;
        self.number += 1;
        let mut limited = self.reader.by_ref().take(MAX_LINE as u64 + 1);
        limited.read_until(b'\n', &mut self.line).map_err(|error| GoalError::io(self.file, &error))?;
        self.is_at_end = self.line.is_empty();
        if self.line.len() > MAX_LINE {
            self.line.truncate(MAX_LINE);
            return Err(self.error(0..0, format!("the line is too long (allowed: up to {MAX_LINE} bytes)")));
        }
        while let [.., b'\n' | b'\r'] = self.line[..] {
            self.line.pop();
        }
        Ok(())
    }

    /// Number of the line of the next token.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    /// The text of a token of this line.
    pub fn text(&self, token: &Token) -> &[u8] {
        &self.line[token.span.clone()]
    }

    /// A token as messages show it.
    pub fn shown(&self, token: &Token) -> String {
        match token.form {
            Form::Newline => "the end of the line".to_owned(),
            Form::End => "the end of the file".to_owned(),
            _ => format!("`{}`", String::from_utf8_lossy(self.text(token))),
        }
    }

    /// An error in this line.
    pub fn error(&self, span: Range<usize>, problem: String) -> GoalError {
        GoalError::at_line(self.file, self.number, &self.line, span, problem)
    }

    /// The next token; does not go past it.
    pub fn peek(&mut self) -> Result<Token, GoalError> {
        self.skip_blank();
        let (at, line) = (self.at, &self.line);
        let run = |is: fn(&u8) -> bool| line[at..].iter().take_while(|byte| is(byte)).count();
        let token = |form, length| Token { form, span: at..at + length };
        Ok(match line.get(at) {
            None if self.is_at_end => {
                if let Some((number, column)) = self.comment {
                    let problem = format!("the comment that begins in line {number}, column {column}, has no end");
                    return Err(self.error(at..at, format!("{problem} (allowed: `*/`)")));
                }
                token(Form::End, 0)
            }
            None => token(Form::Newline, 0),
            Some(byte) if byte.is_ascii_alphabetic() => {
                token(Form::Word, run(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
            }
            Some(byte) if byte.is_ascii_digit() => token(Form::Number, run(u8::is_ascii_digit)),
            Some(b'-') if line.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                let digits = line[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                token(Form::Number, 1 + digits)
            }
            // All bytes of a character that is not ASCII, so that messages can show it.
            Some(byte) if !byte.is_ascii() => token(Form::Sign, run(|byte| !byte.is_ascii())),
            Some(_) => token(Form::Sign, 1),
        })
    }

    /// Goes past a token that [`Lexer::peek`] returned.
    pub fn advance(&mut self, token: &Token) -> Result<(), GoalError> {
        match token.form {
            Form::Newline => self.read_line(),
            _ => {
                self.at = token.span.end;
                Ok(())
            }
        }
    }

    /// Skips blanks and comments of this line.
    fn skip_blank(&mut self) {
        loop {
            let rest = &self.line[self.at..];
            if self.comment.is_some() {
                match rest.windows(2).position(|pair| pair == b"*/") {
                    Some(length) => {
                        self.at += length + 2;
                        self.comment = None;
                    }
                    None => {
                        self.at = self.line.len();
                        return;
                    }
                }
            } else if rest.starts_with(b"//") {
                self.at = self.line.len();
            } else if rest.starts_with(b"/*") {
                self.comment = Some((self.number, self.at + 1));
                self.at += 2;
            } else if let Some(b' ' | b'\t' | b'\r') = rest.first() {
                self.at += 1;
            } else {
                return;
            }
        }
    }
}
