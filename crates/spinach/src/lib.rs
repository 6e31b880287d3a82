//! The Spinach cards Tigon-2 and 10 Gigabit NIC, wired from the modules of [`blocks`] by data.
//!
//! This crate holds only what is specific to a card: its register block and its host driver. Everything else is a module of
//! `blocks`.

mod boot;
pub mod hosts;
mod load;
pub mod measure;
pub mod tengig;
pub mod tigon2;

pub use boot::{BootLoader, BootLoaderParams};
pub use load::{FirmwareMemory, LoadError, load, memories};

/// All modules that a card file may use: those of `blocks` and those of these cards.
pub fn catalog() -> blocks::netlist::Catalog {
    blocks::catalog()
        .with::<BootLoaderParams>()
        .with::<tengig::EventQueueParams>()
        .with::<tengig::TengigHostParams>()
        .with::<tengig::TengigRegistersParams>()
        .with::<tigon2::host::Tigon2HostParams>()
        .with::<tigon2::Tigon2RegistersParams>()
}
