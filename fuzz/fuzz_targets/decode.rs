//! Any words as instructions: a decoded word can be encoded to a word that decodes to the same instruction, and all can
//! be displayed.
#![no_main]

use isa::riscv::{decode, disassemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for bytes in data.chunks_exact(4) {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let inst = decode(word);
        assert!(!disassemble(inst, word).is_empty());
        let Some(row) = inst.row() else { continue };
        // The word may differ: some instructions, such as `fence`, have unused bits.
        let word = row.encode(inst.operands()).expect("what decodes can be encoded");
        assert_eq!(decode(word), inst, "{}", row.name);
    }
});
