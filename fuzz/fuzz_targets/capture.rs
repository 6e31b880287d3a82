//! Any bytes as a capture: reading ends, returns only bytes of the file, and lengths agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::capture::{CaptureLimits, CaptureReader};

fuzz_target!(|file: &[u8]| {
    let Ok(mut reader) = CaptureReader::new(file, "fuzz", CaptureLimits::default()) else { return };
    let mut bytes = 0;
    while let Ok(Some(record)) = reader.next() {
        assert!(record.bytes.len() <= record.original_len as usize);
        bytes += record.bytes.len();
    }
    assert!(bytes <= file.len());
});
