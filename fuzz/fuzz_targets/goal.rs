//! Any bytes as a schedule, in both forms: either they are refused, or the schedule stays the same after writing and
//! reading, and a run of it ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::goal::{Schedule, binary, text, write};
use net::loggops::{Model, Params, run};

fn check(schedule: &Schedule) {
    let (mut as_text, mut as_binary) = (Vec::new(), Vec::new());
    write::text(schedule, &mut as_text).expect("a vector takes all");
    write::binary(schedule, &mut as_binary).expect("a vector takes all");
    assert_eq!(text::read(&as_text[..], "text").as_ref(), Ok(schedule));
    assert_eq!(binary::read(&as_binary, "binary").as_ref(), Ok(schedule));
    for model in [Model::Loggopsim2010, Model::Atlahs] {
        if let Err(error) = run(schedule, &Params::default(), model, true) {
            assert!(!error.to_string().is_empty());
        }
    }
}

fuzz_target!(|data: &[u8]| {
    for found in [text::read(data, "text"), binary::read(data, "binary")] {
        match found {
            Ok(schedule) => check(&schedule),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
