//! The Tigon-2: registers, events, and the host driver that speaks to it.

pub mod host;
mod image;
pub mod registers;

pub use host::Tigon2Host;
pub use image::{FirmwareImage, ImageError};
pub use registers::{Tigon2Registers, Tigon2RegistersParams, Tigon2RegistersPorts};
