//! The nearest of the words that are allowed, for errors that ask "did you mean".

/// The candidate nearest to `word`, if one is near enough to be meant.
///
/// Near: the same letters apart from case and punctuation, or at most a third of them edited.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64; // The distance takes quadratic time, and nobody means a name by so long a word.
    if word.len() > LONGEST {
        return None;
    }
    let word = letters(word);
    let limit = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < letters(candidate).len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Letters to insert, remove, replace or swap with the next, to get from one word to the other.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let names = ["udp.dst_port", "udp.src_port", "ipv4.src", "len"];
        assert_eq!(nearest("udp.dstport", names), Some("udp.dst_port"));
        assert_eq!(nearest("upd.dst_port", names), Some("udp.dst_port"));
        assert_eq!(nearest("IPv4.scr", names), Some("ipv4.src"));
        assert_eq!(nearest("lne", names), Some("len"));
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("banana", names), None);
    }
}
