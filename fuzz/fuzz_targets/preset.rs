//! Any text as the parameters of a card: reading and validation end with a value or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pspin::PspinParams;
use spinet::toml_text::{self, Format};

fuzz_target!(|text: &str| {
    if let Ok(params) = toml_text::read::<PspinParams>(text, "fuzz.toml", Format::Toml) {
        let _ = params.validate();
    }
});
