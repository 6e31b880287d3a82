//! Any text as an experiment, in TOML and JSON: an error can be displayed, and a valid experiment can be written and
//! read again. No file is opened.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spinet::experiment::{Experiment, read};
use spinet::nics::parse_setting;
use spinet::toml_text::{Format, span_of};

fuzz_target!(|text: &str| {
    for format in [Format::Toml, Format::Json] {
        match read::<Experiment>(text, "fuzz", format) {
            Ok(experiment) => {
                let json = serde_json::to_string(&experiment).expect("experiments are texts and numbers");
                let again: Experiment = read(&json, "fuzz", Format::Json).expect("what was written can be read");
                assert_eq!(serde_json::to_string(&again).expect("as before"), json);
            }
            Err(error) => drop(error.to_string()),
        }
    }
    let _ = span_of(text, &["context", "0", "match"]);
    let _ = parse_setting(text);
});
