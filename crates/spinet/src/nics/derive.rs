//! Files of NICs that derive from another by `base`: they state only what differs.
//!
//! The merge works on text, so that `spinet nic show` keeps comments and an error keeps its line.

use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The key that names the preset or file to derive from.
const BASE: &str = "base";
/// The key that selects the variant of a table. A table of another variant replaces the base's as a whole.
const VARIANT: &str = "kind";

/// The `base` that a text names, and its place.
pub(super) fn base_of(text: &str) -> Option<(String, Range<usize>)> {
    let root = DeTable::parse(text).ok()?;
    let value = root.get_ref().get(BASE)?;
    Some((value.get_ref().as_str()?.to_owned(), value.span()))
}

/// The result of merging a text into its base.
#[derive(Debug)]
pub(super) struct Merged {
    /// The base with the values of the derived text.
    pub text: String,
    /// Ranges of `text` that come from the derived text, each with its start in the derived text. They are in ascending
    /// order.
    copied: Vec<(Range<usize>, usize)>,
}

impl Merged {
    /// The range of the derived text that is at `span` of the merged text; `None` if `span` comes from the base.
    pub(super) fn own(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let (range, start) =
            self.copied.iter().find(|(range, _)| range.start <= span.start && span.end <= range.end)?;
        let shift = |at: usize| at - range.start + start;
        Some(shift(span.start)..shift(span.end))
    }
}

/// A value that is not allowed in a file with a base: its range, and the reason.
#[derive(Debug)]
pub(super) struct Refused(pub Range<usize>, pub String);

/// A replacement of a range of the base by a range of the derived text.
struct Edit {
    /// Empty for an insertion.
    base: Range<usize>,
    before: String,
    own: Range<usize>,
    after: &'static str,
}

/// Merges `own`, a valid TOML text with a `base`, into the valid TOML text `base`.
pub(super) fn merge(base: &str, own: &str) -> Result<Merged, Refused> {
    let (Ok(base_root), Ok(own_root)) = (DeTable::parse(base), DeTable::parse(own)) else {
        return Err(Refused(0..0, "not a TOML file".into()));
    };
    let mut merge = Merge { base, own, edits: Vec::new(), is_in_entry: false };
    let root = Target { table: base_root.get_ref(), is_inline: false, header_end: None, is_replaced: false };
    let (head, own_head) = (head_end(base), head_end(own));
    if own_head > 0 {
        merge.edits.push(Edit { base: 0..head, before: String::new(), own: 0..own_head, after: "" });
    }
    merge.table(Some(root), own_root.get_ref(), &[])?;
    Ok(merge.apply())
}

struct Merge<'a> {
    base: &'a str,
    own: &'a str,
    edits: Vec<Edit>,
    /// True inside an entry of one of the base's lists, where appended text would belong to the last entry.
    is_in_entry: bool,
}

/// A table of the base, as a place for values.
#[derive(Clone, Copy)]
struct Target<'a> {
    table: &'a DeTable<'a>,
    is_inline: bool,
    /// The end of the line with its header, if it has one.
    header_end: Option<usize>,
    /// True if the derived table has another variant, so that none of the base's values stays.
    is_replaced: bool,
}

impl<'a> Target<'a> {
    /// The table that is `value` in `text`.
    fn of(text: &str, value: &'a Spanned<DeValue<'a>>) -> Option<Target<'a>> {
        let table = value.get_ref().as_table()?;
        let header_end = has_header(text, value).then(|| line_end(text, value.span().end));
        Some(Target { table, is_inline: is_inline(text, value), header_end, is_replaced: false })
    }

    fn get(&self, name: &str) -> Option<&Spanned<DeValue<'_>>> {
        self.table.get(name).filter(|_| !self.is_replaced)
    }
}

impl Merge<'_> {
    fn table(&mut self, target: Option<Target<'_>>, own: &DeTable<'_>, path: &[&str]) -> Result<(), Refused> {
        for (key, value) in own {
            let name: &str = key.get_ref();
            if path.is_empty() && name == BASE {
                continue;
            }
            let before = target.as_ref().and_then(|target| target.get(name));
            let written = written(name);
            let path = [path, &[&written]].concat();
            match (value.get_ref(), before) {
                (DeValue::Table(table), Some(before)) if before.get_ref().is_table() => {
                    let inner = Target::of(self.base, before).expect("a table");
                    let is_replaced = variant(table).is_some() && variant(table) != variant(inner.table);
                    match is_replaced {
                        true if inner.is_inline && self.is_inline(value) => self.replace(before.span(), value.span()),
                        true if inner.is_inline => {
                            let path = path.join(".");
                            let why = format!("{path} is another `{VARIANT}` than in the base: write it as {{ ... }}");
                            return Err(Refused(value.span(), why));
                        }
                        true => {
                            self.remove(inner.table);
                            self.table(Some(Target { is_replaced, ..inner }), table, &path)?;
                        }
                        false => self.table(Some(inner), table, &path)?,
                    }
                }
                (DeValue::Table(table), None) if !self.is_inline(value) => {
                    self.check_outside_entries(key.span(), &path)?;
                    self.append(table, "[", &path, "]");
                }
                (DeValue::Array(list), before)
                    if is_list_of_tables(self.own, list)
                        && before.is_none_or(|before| before.get_ref().is_array() && is_open(self.base, before)) =>
                {
                    let before = before.and_then(|before| before.get_ref().as_array());
                    for (n, item) in list.iter().enumerate() {
                        let name = |item: &Spanned<DeValue<'_>>| {
                            item.get_ref().as_table().and_then(name_of).map(str::to_owned)
                        };
                        if let Some(twice) =
                            name(item).filter(|_| list.iter().take(n).any(|other| name(other) == name(item)))
                        {
                            let why = format!("two entries of [[{}]] have the name `{twice}`", path.join("."));
                            return Err(Refused(item.span(), why));
                        }
                        self.entry(before, item, &path)?;
                    }
                }
                (_, Some(before)) if is_open(self.base, before) || is_open(self.own, value) => {
                    let why =
                        format!("{} is a table in one of the file and its base, and none in the other", path.join("."));
                    return Err(Refused(key.span(), why));
                }
                (_, Some(before)) => self.replace(before.span(), value.span()),
                (_, None) => self.insert(target, key, value, &path)?,
            }
        }
        Ok(())
    }

    /// Merges an entry of a list of tables: it changes the base's entry with the same name, or it is added.
    fn entry(
        &mut self,
        before: Option<&DeArray<'_>>,
        item: &Spanned<DeValue<'_>>,
        path: &[&str],
    ) -> Result<(), Refused> {
        let table = item.get_ref().as_table().expect("a list of tables");
        let named = |item: &&Spanned<DeValue<'_>>| {
            let found = item.get_ref().as_table().and_then(name_of);
            found.is_some() && found == name_of(table)
        };
        match before.and_then(|before| before.iter().find(named)) {
            Some(same) => {
                let target = Target::of(self.base, same);
                let outer = std::mem::replace(&mut self.is_in_entry, true);
                self.table(target, table, path)?;
                self.is_in_entry = outer;
                Ok(())
            }
            None if before.is_some() && name_of(table).is_none() => {
                let why = format!("an entry of [[{}]] must have a `name` in a file with `base`", path.join("."));
                Err(Refused(item.span(), why))
            }
            None => {
                self.check_outside_entries(item.span(), path)?;
                self.append(table, "[[", path, "]]");
                Ok(())
            }
        }
    }

    fn check_outside_entries(&self, span: Range<usize>, path: &[&str]) -> Result<(), Refused> {
        let why = || format!("the base has no {} in this entry: write it as {{ ... }} or [ ... ]", path.join("."));
        if self.is_in_entry { Err(Refused(span, why())) } else { Ok(()) }
    }

    fn is_inline(&self, value: &Spanned<DeValue<'_>>) -> bool {
        is_inline(self.own, value)
    }

    /// Removes the contents of a table.
    fn remove(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            match value.get_ref() {
                DeValue::Table(inner) if is_open(self.base, value) => {
                    if has_header(self.base, value) {
                        self.remove_lines(value.span());
                    }
                    self.remove(inner);
                }
                DeValue::Array(list) if is_open(self.base, value) => {
                    for item in list.iter() {
                        self.remove_lines(item.span());
                        item.get_ref().as_table().into_iter().for_each(|table| self.remove(table));
                    }
                }
                _ => self.remove_lines(key.span().start..value.span().end),
            }
        }
    }

    fn remove_lines(&mut self, span: Range<usize>) {
        let base = line_start(self.base, span.start)..line_end(self.base, span.end);
        self.edits.push(Edit { base, before: String::new(), own: 0..0, after: "" });
    }

    /// Replaces a value, and the comment after it if the line has no other text.
    fn replace(&mut self, base: Range<usize>, own: Range<usize>) {
        let (base_end, own_end) = match with_comment(self.base, base.end) {
            Some(end) => (end, with_comment(self.own, own.end).unwrap_or(own.end)),
            None => (base.end, own.end),
        };
        self.edits.push(Edit { base: base.start..base_end, before: String::new(), own: own.start..own_end, after: "" });
    }

    /// Adds a value that the base does not have: to the end of its table, or in a table of its own.
    fn insert(
        &mut self,
        target: Option<Target<'_>>,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        path: &[&str],
    ) -> Result<(), Refused> {
        let end = value.span().end;
        let is_alone = !target.is_some_and(|target| target.is_inline);
        let end = with_comment(self.own, end).filter(|_| is_alone).unwrap_or(end);
        let own = key.span().start..end;
        let is_plain = |value: &&Spanned<DeValue<'_>>| !is_open(self.base, value);
        let last = target.and_then(|target| {
            let values = target.table.values().filter(is_plain).map(|value| value.span().end);
            values.max().or(target.header_end)
        });
        let at = |at: usize| at..at;
        let (base, before, after) = match last {
            Some(last) if is_alone => (at(line_end(self.base, last)), "\n".into(), ""),
            Some(last) => (at(last), ", ".into(), ""),
            None if path.len() == 1 => (at(0), String::new(), "\n"),
            None => {
                let tables = &path[..path.len() - 1];
                self.check_outside_entries(key.span(), tables)?;
                (at(self.base.len()), format!("\n[{}]\n", tables.join(".")), "\n")
            }
        };
        self.edits.push(Edit { base, before, own, after });
        Ok(())
    }

    /// Appends a table that the base does not have, with its contents.
    fn append(&mut self, table: &DeTable<'_>, opening: &str, path: &[&str], closing: &str) {
        let at = self.base.len();
        let edit = |before: String, own: Range<usize>| Edit { base: at..at, before, own, after: "\n" };
        self.edits.push(edit(format!("\n{opening}{}{closing}", path.join(".")), 0..0));
        // Values come first: after the header of an inner table, they would belong to the inner table.
        let (inner, values): (Vec<_>, Vec<_>) = table.iter().partition(|(_, value)| is_open(self.own, value));
        for (key, value) in values {
            let end = value.span().end;
            let end = with_comment(self.own, end).unwrap_or(end);
            self.edits.push(edit(String::new(), key.span().start..end));
        }
        for (key, value) in inner {
            let written = written(key.get_ref());
            let path = [path, &[&written]].concat();
            match value.get_ref() {
                DeValue::Table(table) => self.append(table, "[", &path, "]"),
                DeValue::Array(list) => {
                    for table in list.iter().filter_map(|item| item.get_ref().as_table()) {
                        self.append(table, "[[", &path, "]]");
                    }
                }
                _ => {}
            }
        }
    }

    fn apply(mut self) -> Merged {
        self.edits.sort_by_key(|edit| (edit.base.start, edit.base.end));
        let (mut text, mut copied, mut at) = (String::new(), Vec::new(), 0);
        for edit in &self.edits {
            text.push_str(&self.base[at.min(edit.base.start)..edit.base.start]);
            text.push_str(&edit.before);
            let start = text.len();
            text.push_str(&self.own[edit.own.clone()]);
            copied.push((start..text.len(), edit.own.start));
            text.push_str(edit.after);
            at = edit.base.end.max(at);
        }
        text.push_str(&self.base[at..]);
        Merged { text, copied }
    }
}

/// The end of the comment at the head of a file, which describes the file.
fn head_end(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| line.starts_with('#')).map(str::len).sum()
}

/// The end of the line, if the rest of the line is empty or a comment.
fn with_comment(text: &str, end: usize) -> Option<usize> {
    let line = &text[end..line_end(text, end)];
    let is_comment = line.trim_start().is_empty() || line.trim_start().starts_with('#');
    is_comment.then_some(end + line.len())
}

fn is_inline(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    text[value.span().start..].starts_with('{')
}

/// Returns true for `[[name]]` entries, in contrast to values such as `[{ a = 1 }]`.
fn is_list_of_tables(text: &str, list: &DeArray<'_>) -> bool {
    !list.is_empty() && list.iter().all(|item| item.get_ref().is_table() && !is_inline(text, item))
}

/// Returns true for a table or list with headers or dotted keys, which cannot be replaced as a value.
fn is_open(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    match value.get_ref() {
        DeValue::Table(_) => !is_inline(text, value),
        DeValue::Array(list) => is_list_of_tables(text, list),
        _ => false,
    }
}

/// Returns true for a table with a header of its own, `[name]`.
fn has_header(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().is_table() && text[value.span().start..].starts_with('[')
}

/// A key as it is written in a header.
fn written(name: &str) -> Cow<'_, str> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.is_empty() && name.chars().all(is_bare) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(toml::Value::from(name).to_string())
    }
}

fn variant<'a>(table: &'a DeTable<'_>) -> Option<&'a str> {
    table.get(VARIANT)?.get_ref().as_str()
}

fn name_of<'a>(table: &'a DeTable<'_>) -> Option<&'a str> {
    table.get("name")?.get_ref().as_str()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

#[cfg(test)]
mod tests;
