//! The cards of Spinach: the Tigon-2 and the 10 Gigabit NIC, wired from the modules of [`blocks`] by data.
//!
//! Here is only what a card has of its own: its register block, its host driver. Everything else is a module of `blocks`.

pub mod tengig;
pub mod tigon2;
