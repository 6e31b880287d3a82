//! Errors in a text that a person wrote: the problem, the line, and carets under the position.

use std::fmt;
use std::ops::Range;

/// A problem at a position in a text. Displays the problem, then the line, then carets under the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError<P> {
    /// The whole text.
    pub text: String,
    /// The wrong bytes; empty at the end of the text.
    pub span: Range<usize>,
    /// The problem.
    pub problem: P,
}

impl<P> TextError<P> {
    /// The same error in a larger `text` that contains the smaller one at `offset`.
    pub fn within<Q: From<P>>(self, text: &str, offset: usize) -> TextError<Q> {
        let span = self.span.start + offset..self.span.end + offset;
        TextError { text: text.into(), span, problem: self.problem.into() }
    }
}

/// Number of columns shown of a long line.
const WIDTH: usize = 100;

impl<P: fmt::Display> fmt::Display for TextError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.text.floor_char_boundary(self.span.start);
        let end = self.text.floor_char_boundary(self.span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line: Vec<char> = self.text[line_start..].chars().take_while(|&c| c != '\n').collect();
        let column = self.text[line_start..start].chars().count();
        let width = self.text[start..end].chars().take_while(|&c| c != '\n').count().max(1);
        // Shows the part of a long line around the position.
        let first = if line.len() <= WIDTH { 0 } else { column.saturating_sub(WIDTH / 2) };
        let last = line.len().min(first + WIDTH);
        let shown: String = line[first..last].iter().map(|&c| if c.is_control() { ' ' } else { c }).collect();
        let (left, right) = (if first > 0 { "..." } else { "" }, if last < line.len() { "..." } else { "" });
        let carets = "^".repeat(width.min((last + 1).saturating_sub(column).max(1)));
        // The problem may quote the text, so line breaks are replaced here too.
        let problem: String = self.problem.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        f.write_str(&problem)?;
        if self.text.trim().is_empty() {
            return Ok(()); // An empty text has no position.
        }
        writeln!(f)?;
        writeln!(f, "  {left}{shown}{right}")?;
        write!(f, "  {}{carets}", " ".repeat(left.len() + column - first))
    }
}

impl<P: fmt::Debug + fmt::Display> std::error::Error for TextError<P> {}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, span: Range<usize>, want: Expect) {
        want.assert_eq(&TextError { text: text.into(), span, problem: "wrong" }.to_string());
    }

    #[test]
    fn carets_are_under_the_position() {
        check(
            "a == b",
            5..6,
            expect![[r#"
            wrong
              a == b
                   ^"#]],
        );
        check("", 0..0, expect!["wrong"]);
        check(
            "one\ntwo é three",
            9..15,
            expect![[r#"
                wrong
                  two é three
                      ^^^^^^"#]],
        );
        check(
            &format!("{}here{}", "x".repeat(300), "y".repeat(300)),
            300..304,
            expect![[r#"
            wrong
              ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxhereyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
                                                                   ^^^^"#]],
        );
    }
}
