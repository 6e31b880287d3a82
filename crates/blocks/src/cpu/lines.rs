//! Presence of fetch lines.

/// The instruction cache as seen by a core.
pub trait FetchLines {
    /// Returns true if the 16-byte line at `addr` is present.
    fn present(&self, addr: u32) -> bool;

    /// For each line of the program, in order: the number of consecutive present lines that end with it, counted up
    /// to [`PresentLines::MOST`]. Lines at the end may be omitted.
    fn there(&self) -> &[u8];
}

/// The presence of lines, counted as for [`FetchLines::there`].
#[derive(Clone, Debug)]
pub struct PresentLines(Vec<u8>);

impl PresentLines {
    /// Maximum count: more lines than any block of a program needs.
    pub const MOST: u8 = 8;

    /// `n` lines, none of them present.
    pub fn new(n: usize) -> Self {
        PresentLines(vec![0; n])
    }

    /// Returns true if a line is present; `None` after the last.
    #[inline]
    pub fn get(&self, line: usize) -> Option<bool> {
        self.0.get(line).map(|&there| there != 0)
    }

    /// Marks a line as present or missing.
    pub fn set(&mut self, line: usize, is_there: bool) {
        self.0[line] = is_there.into();
        let mut before = line.checked_sub(1).map_or(0, |before| self.0[before]);
        for there in self.0[line..].iter_mut().take(Self::MOST.into()) {
            *there = if *there == 0 { 0 } else { Self::MOST.min(before + 1) };
            before = *there;
        }
    }

    /// Marks all lines as missing.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The value of [`FetchLines::there`].
    #[inline]
    pub fn counts(&self) -> &[u8] {
        &self.0
    }
}

/// For tests of cores: the lines of a program that begins at address 0.
#[cfg(test)]
impl FetchLines for PresentLines {
    fn present(&self, addr: u32) -> bool {
        self.get(addr as usize >> 4) == Some(true)
    }

    fn there(&self) -> &[u8] {
        self.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_line_counts_those_before_it_up_to_a_gap(
            changes in prop::collection::vec((0usize..30, any::<bool>()), 1..200),
        ) {
            let (mut lines, mut there) = (PresentLines::new(30), [false; 30]);
            for (line, is_there) in changes {
                lines.set(line, is_there);
                there[line] = is_there;
                for end in 0..30 {
                    let n = there[..=end].iter().rev().take_while(|&&there| there).count();
                    prop_assert_eq!(lines.counts()[end], n.min(PresentLines::MOST.into()) as u8);
                }
            }
        }
    }
}
