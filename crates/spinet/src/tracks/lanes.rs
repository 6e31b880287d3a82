//! The place at which a slice is drawn: the track of its step, and its lane on the track.

use crate::paths::Step;

/// Lanes of a track, as bits: 1 for a free lane.
#[derive(Default)]
pub(super) struct Lanes {
    free: Vec<u64>,
    /// Before this word, no lane is free.
    first: usize,
}

impl Lanes {
    /// Takes the free lane with the lowest number.
    #[inline]
    pub fn enter(&mut self) -> u32 {
        while let Some(0) = self.free.get(self.first) {
            self.first += 1;
        }
        if self.first == self.free.len() {
            self.free.push(u64::MAX);
        }
        let word = &mut self.free[self.first];
        let lane = self.first as u32 * u64::BITS + word.trailing_zeros();
        *word &= *word - 1;
        lane
    }

    #[inline]
    pub fn leave(&mut self, lane: u32) {
        let word = (lane / u64::BITS) as usize;
        self.free[word] |= 1 << (lane % u64::BITS);
        self.first = self.first.min(word);
    }
}

/// Tracks by place, cause, and the numbers of the place.
#[derive(Default)]
pub(super) struct OfSteps(Vec<Vec<Vec<Vec<Option<u32>>>>>);

impl OfSteps {
    /// The entry of a step.
    pub fn of(&mut self, step: &Step) -> &mut Option<u32> {
        fn at<T: Default>(list: &mut Vec<T>, position: usize) -> &mut T {
            if list.len() <= position {
                list.resize_with(position + 1, T::default);
            }
            &mut list[position]
        }
        let number = |which: usize| step.at.numbers[which].map_or(0, |number| number as usize + 1);
        let places = at(&mut self.0, step.at.place.into());
        at(at(at(places, step.cause.into()), number(0)), number(1))
    }
}
