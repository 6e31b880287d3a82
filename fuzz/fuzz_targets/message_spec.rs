//! Any text as a message definition: an error can be shown, and canonical text means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::message::MessageSpec;

fuzz_target!(|text: &str| match MessageSpec::parse(text) {
    Ok(spec) => {
        let again = MessageSpec::parse(&spec.to_string()).expect("canonical text is a definition");
        assert_eq!(again, spec);
    }
    Err(error) => {
        assert!(error.span.end <= text.len());
        let _ = error.to_string();
    }
});
