//! Any bytes as two instruction traces, split at the first 0xff: either they are refused, or every line is counted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spinet::diff_trace::{Options, TraceDiff};
use spinet::instructions::Reader;

fuzz_target!(|data: &[u8]| {
    let middle = data.iter().position(|&byte| byte == 0xff).unwrap_or(data.len());
    let (a, b) = data.split_at(middle);
    let reader = |name: &str, bytes| Reader::new(name.into(), bytes);
    let options = Options { lookahead: 100, ..Options::default() };
    let mut diff = TraceDiff::new(reader("a", a), reader("b", b.get(1..).unwrap_or_default()), Some(0), options);
    loop {
        match diff.advance(1000) {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => return drop(error.to_string()),
        }
    }
    let found = diff.finish();
    let net: i64 = found.time.by_cause.iter().map(|row| row.total.net()).sum();
    assert_eq!(net, found.time.b_minus_a);
    let _ = found.to_string();
});
