//! All integration tests in one program; separate ones would each compile and link the whole card.

mod baselines;
mod engines;
mod own_policy;
mod paper;
mod policies;
mod properties;
