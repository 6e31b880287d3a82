//! Suggestions for misspelt words ("did you mean"), lists of names, and readable versions of serde's errors.

use std::fmt::Display;

/// The candidate nearest to `word`, if it is near enough.
///
/// Near: equal except for case and punctuation, or an edit distance of at most a third of the letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64; // The distance takes quadratic time, and no name is longer.
    if word.len() > LONGEST {
        return None;
    }
    let (given, word) = (word, letters(word));
    let limit = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
        // Never suggest the rejected word itself.
        .filter(|(_, candidate)| **candidate != *given)
        .filter(|(distance, candidate)| *distance <= limit && *distance < letters(candidate).len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The end of an error message that suggests `near`; empty for `None`.
pub fn did_you_mean(near: Option<impl Display>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The end of an error message that suggests the candidate nearest to `word`; empty if none is near.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean(nearest(word, candidates))
}

/// Names in backticks, separated by commas; of a long list, the first ones.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}

fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Edit distance: number of letters to insert, remove, replace or swap with the next.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

/// Adds a suggestion to serde's message about an unknown word. The message has all words in backticks: first the word
/// that was found, then the expected ones.
pub fn explain_serde_error(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match quoted.next().filter(|_| is_unknown).and_then(|found| nearest(found, quoted)) {
        Some(near) => message.to_owned() + &did_you_mean(Some(near)),
        None => explain_type_error(message),
    }
}

/// Rewrites serde's type errors in the terms of configuration files: `invalid type: map, expected a sequence`.
fn explain_type_error(message: &str) -> String {
    let is_about = |what| message.strip_prefix(what)?.split_once(", expected ");
    let Some((found, expected)) = is_about("invalid type: ").or_else(|| is_about("invalid value: ")) else {
        return message.into();
    };
    // For numbers of more than 64 bits, serde's message includes the type.
    let found = found.trim_end_matches(" as i128").trim_end_matches(" as u128");
    let is_below_0 = !found.starts_with("integer `") || found.starts_with("integer `-");
    let word = |text: &str| match text {
        "any valid TOML value" => "a whole number from -2^63 to 2^63 - 1".to_owned(),
        "usize" | "u64" if !is_below_0 => "a whole number below 2^64".into(),
        "map" => "a table".into(),
        "sequence" | "a sequence" => "a list".into(),
        "a map" | "struct" => "a table".into(),
        "a string" => "a text".into(),
        "usize" | "u64" => "a whole number of at least 0".into(),
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => "a whole number from 0 to 4294967295".into(),
        "i64" | "i32" => "a whole number".into(),
        _ => match text.split_once(' ') {
            Some(("string", value)) => format!("the text {value}"),
            Some(("integer" | "floating", value)) => {
                format!("the number {}", value.trim_start_matches("point ").replace('`', ""))
            }
            Some(("boolean", value)) => value.into(),
            Some(("struct", _)) => "a table".into(),
            _ => text.into(),
        },
    };
    let hint = if found == "map" && expected == "a sequence" { "; a list of tables is written [[name]]" } else { "" };
    format!("found {}, must be {}{hint}", word(found), word(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_numbers_of_any_length_unchanged() {
        let integer = |number: &str, wanted: &str| {
            explain_serde_error(&format!("invalid value: integer `{number}`, expected {wanted}"))
        };
        assert_eq!(
            integer("4294967296", "u32"),
            "found the number 4294967296, must be a whole number from 0 to 4294967295"
        );
        assert_eq!(integer("-1", "u64"), "found the number -1, must be a whole number of at least 0");
        let large = "18446744073709551616";
        let plain = format!("found the number {large}, must be ");
        assert_eq!(
            explain_serde_error(&format!("invalid type: integer `{large}` as i128, expected u64")),
            format!("{plain}a whole number below 2^64")
        );
        assert_eq!(
            explain_serde_error(&format!("invalid type: integer `{large}` as i128, expected any valid TOML value")),
            format!("{plain}a whole number from -2^63 to 2^63 - 1")
        );
    }

    #[test]
    fn misspelt_words_get_suggestions_and_other_words_do_not() {
        let names = ["udp.dst_port", "udp.src_port", "ipv4.src", "len"];
        assert_eq!(nearest("udp.dstport", names), Some("udp.dst_port"));
        assert_eq!(nearest("upd.dst_port", names), Some("udp.dst_port"));
        assert_eq!(nearest("IPv4.scr", names), Some("ipv4.src"));
        assert_eq!(nearest("lne", names), Some("len"));
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("banana", names), None);
    }
}
