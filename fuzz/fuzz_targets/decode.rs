//! Any words as instructions: what decodes encodes back to the same word, and all of it can be shown.
#![no_main]

use isa::riscv::{decode, disassemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for bytes in data.chunks_exact(4) {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let inst = decode(word);
        assert!(!disassemble(inst, word).is_empty());
        let Some(row) = inst.row() else { continue };
        let mask = if inst.len == 4 { u32::MAX } else { 0xffff };
        assert_eq!(row.encode(inst.operands()), Some(word & mask), "{}", row.name);
    }
});
