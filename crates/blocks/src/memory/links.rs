//! Links of load-linked and store-conditional accesses.

use crate::bus::{BusError, Data, Link};
use std::collections::VecDeque;

/// Maximum number of links kept; a new link replaces the oldest. assumed: more than the cores that share a memory.
const MOST: usize = 64;

/// The links of a memory, each to an aligned word of four bytes.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Token and word address of each link.
    held: VecDeque<(u32, u64)>,
    /// Number of links made so far; the next token.
    n_made: u32,
}

impl Links {
    /// Breaks the links to words among the written bytes.
    #[inline]
    pub fn written(&mut self, addr: u64, bytes: u32) {
        if !self.held.is_empty() {
            let last = addr.saturating_add(u64::from(bytes.max(1) - 1));
            self.held.retain(|&(_, word)| word + 3 < addr || word > last);
        }
    }

    /// Carries out a linked access to the word at `addr`, whose value is `now`. Returns the reply and the bytes to
    /// write.
    pub fn serve(&mut self, link: Link, addr: u64, now: &[u8]) -> Result<(Data, Option<[u8; 4]>), BusError> {
        if !addr.is_multiple_of(u64::from(Link::BYTES)) {
            return Err(BusError::NoLink(addr));
        }
        match link {
            Link::Load => {
                let token = self.n_made;
                self.n_made = token.wrapping_add(1);
                if self.held.len() == MOST {
                    self.held.pop_front();
                }
                self.held.push_back((token, addr));
                let mut data = Data::from_slice(now);
                data.extend_from_slice(&token.to_be_bytes());
                Ok((data, None))
            }
            Link::Store { word, token } => {
                let holds = self.held.contains(&(token, addr));
                // The store uses up its link, whether it succeeded or not. If it succeeded, its write breaks the
                // other links.
                self.held.retain(|&(other, _)| other != token);
                if holds {
                    self.written(addr, Link::BYTES);
                }
                Ok((Data::from_slice(&[u8::from(holds)]), holds.then(|| word.to_be_bytes())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `l` links the word at an address, `w` writes a byte there, `s` stores by the n-th link.
    fn check(script: &str, want: Expect) {
        let mut links = Links::default();
        let shown = script.split(' ').map(|item| {
            let (kind, rest) = item.split_at(1);
            let (addr, token) = rest.split_once('#').unwrap_or((rest, "0"));
            let (addr, token) = (addr.parse().expect("an address"), token.parse().expect("a token"));
            let link = match kind {
                "l" => Link::Load,
                "s" => Link::Store { word: 7, token },
                _ => {
                    links.written(addr, 1);
                    return format!("{item}\n");
                }
            };
            match links.serve(link, addr, &[0; 4]) {
                Ok((data, written)) => {
                    format!("{item} {:?}{}\n", data.as_slice(), if written.is_some() { " writes" } else { "" })
                }
                Err(error) => format!("{item} {error}\n"),
            }
        });
        want.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn a_link_holds_until_its_word_is_written() {
        check(
            "l4 w3 w8 s4#0 s4#0 l4 w7 s4#1",
            expect![[r#"
            l4 [0, 0, 0, 0, 0, 0, 0, 0]
            w3
            w8
            s4#0 [1] writes
            s4#0 [0]
            l4 [0, 0, 0, 0, 0, 0, 0, 1]
            w7
            s4#1 [0]
        "#]],
        );
    }

    #[test]
    fn the_first_of_two_stores_to_a_linked_word_succeeds() {
        check(
            "l4 l4 s4#1 s4#0",
            expect![[r#"
            l4 [0, 0, 0, 0, 0, 0, 0, 0]
            l4 [0, 0, 0, 0, 0, 0, 0, 1]
            s4#1 [1] writes
            s4#0 [0]
        "#]],
        );
    }

    #[test]
    fn a_link_is_valid_only_for_its_aligned_word() {
        check(
            "l4 s8#0 l5 l8 l12 s8#1 s12#2",
            expect![[r#"
            l4 [0, 0, 0, 0, 0, 0, 0, 0]
            s8#0 [0]
            l5 no word can be linked at 0x5
            l8 [0, 0, 0, 0, 0, 0, 0, 1]
            l12 [0, 0, 0, 0, 0, 0, 0, 2]
            s8#1 [1] writes
            s12#2 [1] writes
        "#]],
        );
    }
}
