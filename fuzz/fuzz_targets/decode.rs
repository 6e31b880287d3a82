//! Any words as instructions: decoding and disassembly end, and a compressed word is 2 bytes long.
#![no_main]

use isa::riscv::{decode, disassemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|words: Vec<u32>| {
    for word in words {
        let inst = decode(word);
        assert_eq!(inst.len, if word & 3 == 3 { 4 } else { 2 });
        assert!(!disassemble(inst, word).is_empty());
        if let Some(row) = inst.row() {
            assert_eq!(row.pattern.len, inst.len);
        }
    }
});
