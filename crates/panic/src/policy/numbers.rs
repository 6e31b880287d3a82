//! Numbers of policies that have some: one for each class, or branch, that they decide between.

use super::Bucket;

/// What whoever sends packets of a class asks of services; each policy takes what it goes by.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its share, 1 to 65536.
    pub weight: u32,
    /// The rate that it is held to, if it is.
    pub rate: Option<Bucket>,
}

impl Default for Asked {
    fn default() -> Self {
        Asked { weight: 1, rate: None }
    }
}

/// A policy's number for one class.
pub trait Number {
    /// How one looks, for errors, where its keys do not say it.
    const LIKE: Option<&'static str>;
    /// Policies with such numbers hold packets back, which is done at the outermost level only.
    const IS_OUTERMOST: bool;

    /// The number of a class.
    fn of(asked: &Asked) -> Self;

    /// What is wrong with it: the key in it, with a dot before, if it has keys; and what.
    fn check(&self) -> Result<(), (&'static str, String)>;
}

/// All numbers of a policy, in the order of what it decides between.
pub trait Numbers {
    /// See [`Number::LIKE`].
    fn like(&self) -> Option<&'static str>;
    /// See [`Number::IS_OUTERMOST`].
    fn is_outermost(&self) -> bool;
    /// How many there are.
    fn n(&self) -> usize;
    /// What is wrong with the first that cannot be: its position and key, and what.
    fn check(&self) -> Result<(), (String, String)>;
    /// One more.
    fn push(&mut self, asked: &Asked);
}

impl<N: Number> Numbers for Vec<N> {
    fn like(&self) -> Option<&'static str> {
        N::LIKE
    }

    fn is_outermost(&self) -> bool {
        N::IS_OUTERMOST
    }

    fn n(&self) -> usize {
        self.len()
    }

    fn check(&self) -> Result<(), (String, String)> {
        let placed = |(i, number): (usize, &N)| number.check().map_err(|(key, what)| (format!("[{i}]{key}"), what));
        self.iter().enumerate().try_for_each(placed)
    }

    fn push(&mut self, asked: &Asked) {
        self.push(N::of(asked));
    }
}
