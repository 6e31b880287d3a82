//! The Tigon-2: registers, events, and the host driver that speaks to it.

pub mod host;
mod image;

pub use image::{FirmwareImage, ImageError};
