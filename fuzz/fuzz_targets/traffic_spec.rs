//! Any text as a traffic definition: an error can be shown, canonical text means the same, and it generates packets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::pacing::Pacing;
use wire::source::Source;
use wire::traffic::{Generator, Payload, TrafficSpec};

fuzz_target!(|text: &str| match TrafficSpec::parse(text) {
    Ok(spec) => {
        let again = TrafficSpec::parse(&spec.to_string()).expect("canonical text is a definition");
        assert_eq!(again, spec);
        if matches!(spec.payload, Payload::File(_)) {
            return;
        }
        let mut generator = Generator::new(spec, Pacing::TIMES).expect("a definition that was read is valid");
        for _ in 0..20 {
            if !matches!(generator.next(), Ok(Some(_))) {
                break;
            }
        }
    }
    Err(error) => {
        assert!(error.span.end <= text.len());
        let _ = error.to_string();
    }
});
