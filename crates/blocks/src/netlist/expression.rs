//! Values that depend on parameters: `"$name"`, and arithmetic such as `"4 + 2 * $cpus"`.

use super::node::{Node, Value, kind};
use diagnostics::near::suggestion;
use std::collections::BTreeMap;

/// Parameters and their final values, by name.
pub(super) type Scope = BTreeMap<String, toml::Value>;

/// Evaluates `node` with the parameters of `scope`. A text with `$` is an expression; `$$` is a dollar sign. In a
/// list, `"2..$n"` stands for the whole numbers from 2 to before `$n`. An error comes with the invalid node.
pub(super) fn evaluate<'a>(node: &'a Node, scope: &Scope) -> Result<toml::Value, (&'a Node, String)> {
    match &node.value {
        Value::Plain(toml::Value::String(text)) => evaluate_text(text, scope).map_err(|problem| (node, problem)),
        Value::Plain(value) => Ok(value.clone()),
        Value::List(list) => {
            let mut values = Vec::new();
            for node in list {
                match node.text().filter(|text| text.contains('$')).and_then(|text| text.split_once("..")) {
                    Some((first, last)) => values.extend(range(first, last, scope).map_err(|problem| (node, problem))?),
                    None => values.push(evaluate(node, scope)?),
                }
            }
            Ok(toml::Value::Array(values))
        }
        Value::Table(table) => table
            .iter()
            .map(|(key, node)| Ok((key.name.clone(), evaluate(node, scope)?)))
            .collect::<Result<_, _>>()
            .map(toml::Value::Table),
    }
}

fn evaluate_text(text: &str, scope: &Scope) -> Result<toml::Value, String> {
    if !text.replace("$$", "").contains('$') {
        return Ok(toml::Value::String(text.replace("$$", "$")));
    }
    match text.trim().strip_prefix('$').filter(|name| is_name(name)) {
        Some(name) => parameter(name, scope).cloned(),
        None => whole_number(text, scope).map(toml::Value::Integer),
    }
}

/// The whole numbers from `first` to before `last`.
fn range(first: &str, last: &str, scope: &Scope) -> Result<impl Iterator<Item = toml::Value> + use<>, String> {
    const MOST: i64 = 4096;
    let (first, last) = (whole_number(first, scope)?, whole_number(last, scope)?);
    match last.checked_sub(first) {
        Some(0..=MOST) => Ok((first..last).map(toml::Value::Integer)),
        _ => Err(format!("the range is {first}..{last}, must have 0 to {MOST} numbers")),
    }
}

/// Evaluates an expression such as `4 + 2 * $cpus`.
pub(super) fn whole_number(text: &str, scope: &Scope) -> Result<i64, String> {
    let mut reader = Reader { text, rest: text, scope, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(found) => Err(reader.unexpected(found)),
    }
}

/// Returns true for a valid parameter name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn parameter<'a>(name: &str, scope: &'a Scope) -> Result<&'a toml::Value, String> {
    scope.get(name).ok_or_else(|| {
        let near = suggestion(name, scope.keys().map(String::as_str));
        format!("there is no parameter `{name}` here{near}")
    })
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    scope: &'a Scope,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        is_there
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            value = if self.take('+') {
                value.checked_add(self.product()?)
            } else if self.take('-') {
                value.checked_sub(self.product()?)
            } else {
                return Ok(value);
            }
            .ok_or_else(|| self.too_large())?;
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.atom()?;
        loop {
            let (divides, divisor) = if self.take('*') {
                value = value.checked_mul(self.atom()?).ok_or_else(|| self.too_large())?;
                continue;
            } else if self.take('/') {
                (true, self.atom()?)
            } else if self.take('%') {
                (false, self.atom()?)
            } else {
                return Ok(value);
            };
            let result = if divides { value.checked_div(divisor) } else { value.checked_rem(divisor) };
            value =
                result.ok_or_else(|| format!("`{}` divides by 0, must divide by a number other than 0", self.text))?;
        }
    }

    fn atom(&mut self) -> Result<i64, String> {
        if self.take('(') {
            self.depth += 1;
            if self.depth > 32 {
                return Err(format!("`{}` has parentheses nested 33 deep, must be at most 32", self.text));
            }
            let value = self.sum()?;
            self.depth -= 1;
            return if self.take(')') {
                Ok(value)
            } else {
                Err(format!("`{}` has a `(` without its `)`, must have both", self.text))
            };
        }
        let is_parameter = self.take('$');
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.peek();
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match (is_parameter, word) {
            (_, "") => match self.peek() {
                Some(found) => Err(self.unexpected(found)),
                None => Err(format!("`{}` ends early, must go on with a number, `$name` or `(`", self.text)),
            },
            (true, name) => match parameter(name, self.scope)? {
                toml::Value::Integer(value) => Ok(*value),
                other => Err(format!("parameter `{name}` is {}, must be a whole number", kind(other))),
            },
            (false, digits) => {
                digits.parse().map_err(|_| format!("found `{digits}`, must be a whole number or a parameter `$name`"))
            }
        }
    }

    fn too_large(&self) -> String {
        format!("`{}` is too large, must be -2^63 to 2^63 - 1", self.text)
    }

    fn unexpected(&self, found: char) -> String {
        format!(
            "`{}`: `{found}` does not belong here; allowed are whole numbers, `$name`, + - * / % and brackets",
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::{Problems, Source};
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, want: Expect) {
        let scope = Scope::from([
            ("cpus".to_owned(), toml::Value::Integer(3)),
            ("clock".to_owned(), toml::Value::String("fast".to_owned())),
        ]);
        let value = evaluate_text(text, &scope);
        want.assert_eq(&value.map_or_else(|problem| format!("error: {problem}"), |value| value.to_string()));
    }

    #[test]
    fn texts_with_a_dollar_are_values_of_parameters_or_sums() {
        check("plain", expect![[r#""plain""#]]);
        check("a $$ sign", expect![[r#""a $ sign""#]]);
        check("$clock", expect![[r#""fast""#]]);
        check("$cpus", expect!["3"]);
        check("4 + 2 * $cpus - 10 / (1 + $cpus % 2)", expect!["5"]);
    }

    #[test]
    fn a_range_in_a_list_is_its_numbers() {
        let source = std::sync::Arc::new(Source {
            name: "x".to_owned(),
            text: "v = [0, [\"2..2 + $n\"], \"$n..1\"]".to_owned(),
        });
        let table = Node::read(&source, &mut Problems::default()).expect("TOML");
        let with = |n| evaluate(&table[0].1, &Scope::from([("n".to_owned(), toml::Value::Integer(n))]));
        let message = |n| with(n).map_or_else(|(_, problem)| problem, |value| value.to_string());
        expect!["[0, [2]]"].assert_eq(&message(1));
        expect!["the range is 3..1, must have 0 to 4096 numbers"].assert_eq(&message(3));
        expect!["the range is 2..9000000002, must have 0 to 4096 numbers"].assert_eq(&message(9_000_000_000));
    }

    #[test]
    fn mistakes_are_named() {
        check("$cpu", expect!["error: there is no parameter `cpu` here; did you mean `cpus`?"]);
        check("2 * $clock", expect!["error: parameter `clock` is a text, must be a whole number"]);
        check("$cpus +", expect!["error: `$cpus +` ends early, must go on with a number, `$name` or `(`"]);
        check(
            "$cpus cpus",
            expect![
                "error: `$cpus cpus`: `c` does not belong here; allowed are whole numbers, `$name`, + - * / % and brackets"
            ],
        );
        check(
            "$cpus / ($cpus - 3)",
            expect!["error: `$cpus / ($cpus - 3)` divides by 0, must divide by a number other than 0"],
        );
        check(
            "$cpus * 9223372036854775807",
            expect!["error: `$cpus * 9223372036854775807` is too large, must be -2^63 to 2^63 - 1"],
        );
        check(
            &format!("{}$cpus", "(".repeat(40)),
            expect![
                "error: `(((((((((((((((((((((((((((((((((((((((($cpus` has parentheses nested 33 deep, must be at most 32"
            ],
        );
        check("cpus + $cpus", expect!["error: found `cpus`, must be a whole number or a parameter `$name`"]);
        check(
            "é$",
            expect![
                "error: `é$`: `é` does not belong here; allowed are whole numbers, `$name`, + - * / % and brackets"
            ],
        );
    }
}
