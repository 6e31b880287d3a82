//! The cards of Spinach: the Tigon-2 and the 10 Gigabit NIC, wired from the modules of [`blocks`] by data.
//!
//! Here is only what a card has of its own: its register block, its host driver. Everything else is a module of `blocks`.

pub mod tengig;
pub mod tigon2;

use blocks::netlist::Catalog;

/// All modules that a card may be wired from: those of [`blocks`] and the cards' own.
pub fn catalog() -> Catalog {
    blocks::catalog().with::<tengig::TengigHostParams>().with::<tengig::TengigRegistersParams>()
}
