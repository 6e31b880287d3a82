//! The cards of Spinach: the Tigon-2 and the 10 Gigabit NIC, wired from the modules of [`blocks`] by data.
//!
//! Here is only what a card has of its own: its register block, its host driver. Everything else is a module of `blocks`.

mod boot;
pub mod hosts;
mod load;
pub mod measure;
pub mod tengig;
pub mod tigon2;

pub use boot::{BootLoader, BootLoaderParams};
pub use load::{FirmwareMemory, LoadError, load};

/// All modules that a wiring may name: those of `blocks`, and those of these cards.
pub fn catalog() -> blocks::netlist::Catalog {
    blocks::catalog()
        .with::<BootLoaderParams>()
        .with::<tengig::EventQueueParams>()
        .with::<tengig::TengigHostParams>()
        .with::<tengig::TengigRegistersParams>()
        .with::<tigon2::host::Tigon2HostParams>()
        .with::<tigon2::Tigon2RegistersParams>()
}
