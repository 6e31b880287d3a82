//! Any text as the pace of packets, and as faults of a network: canonical text means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fmt::{Debug, Display};
use std::str::FromStr;
use wire::faults::Faults;
use wire::pacing::Pacing;

fn check<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse::<T>().ok().as_ref(), Some(&value), "{text}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|text: &str| {
    check::<Pacing>(text);
    check::<Faults>(text);
});
