//! Any text as an expression: an error can be displayed, and canonical text means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::expr::Matcher;

fuzz_target!(|text: &str| match Matcher::parse(text) {
    Ok(matcher) => {
        let again = Matcher::parse(&matcher.to_string()).expect("canonical text is an expression");
        assert_eq!(again, matcher);
        matcher.matches(text.as_bytes());
    }
    Err(error) => {
        assert!(error.span.end <= text.len());
        let _ = error.to_string();
    }
});
