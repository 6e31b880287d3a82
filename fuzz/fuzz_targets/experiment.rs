//! Any text as an experiment: what is understood can be written down and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spinet::experiment::Checked;
use spinet::toml_text::Format;
use std::path::Path;

fuzz_target!(|text: &str| {
    if let Ok(checked) = Checked::read(text, "fuzz.toml", Path::new(env!("CARGO_MANIFEST_DIR")), Format::Toml) {
        let written = serde_json::to_string(&checked.experiment).expect("an experiment is data");
        Checked::read(&written, "fuzz.json", Path::new(env!("CARGO_MANIFEST_DIR")), Format::Json).expect("what we wrote");
    }
});
