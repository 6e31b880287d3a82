//! One program for all tests of the crate from outside: each would compile and link the whole card again.

mod baselines;
mod engines;
mod own_policy;
mod paper;
mod policies;
mod properties;
