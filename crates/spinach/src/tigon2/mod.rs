//! The Tigon-2: registers, events, and the host driver that speaks to it.

pub mod host;
mod image;

pub use host::Tigon2Host;
pub use image::{FirmwareImage, ImageError};
