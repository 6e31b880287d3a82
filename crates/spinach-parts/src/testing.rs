//! Test scenes of words and, as in `blocks`, of memory modules. Scenes are written as text.

#[path = "../../blocks/src/testing.rs"]
mod memory;

pub use memory::{scripted_requester, scripted_responder, show_reference};

use blocks::interconnect::Word;
use kernel::Rx;
use testkit::Bench;

/// Hexadecimal words and the first cycles in which they are visible: `1:a 1:b 7:ff`.
pub fn words(bench: &mut Bench, name: &str, text: &str) -> Rx<Word> {
    let read = |item: &str| {
        let (cycle, word) = item.split_once(':')?;
        Some((cycle.parse().ok()?, Word(u64::from_str_radix(word, 16).ok()?)))
    };
    let items = text.split_whitespace().map(|item| read(item).unwrap_or_else(|| panic!("`{item}`"))).collect();
    bench.input(name, 2, items)
}

pub fn show_word(word: &Word) -> String {
    format!("{:x}", word.0)
}
