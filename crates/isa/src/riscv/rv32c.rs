//! RV32C: 16-bit instructions, each equivalent to a 32-bit one. U chapter 16.
//!
//! Hints (such as `c.addi` by 0 or `c.li` into register 0) are ordinary rows whose equivalents change nothing. Reserved
//! encodings are exceptions of rows. Compressed floating point is absent, so its encodings are illegal.

use super::extension::Extension;
use super::format;
use super::row::Row;
use super::table::Op;
use crate::Pattern;

// A row has: name, equivalent operation, format, pattern, exceptions.
macro_rules! compressed {
    ($($name:literal $op:ident $format:ident $pattern:literal $(except $($except:literal)+)?;)*) => {
        /// The rows of the compressed instructions.
        pub(super) static COMPRESSED: &[Row] = &[$(Row {
            name: $name,
            format: format::$format,
            pattern: Pattern::parse($pattern),
            except: &[$($(Pattern::parse($except)),+)?],
            extension: Extension::C,
            op: Op::$op,
        }),*];
    };
}

compressed! {
    "c.addi4spn" Addi CIW   "000 ........ ... 00" except "000 00000000 ... 00"; // Reserved; all zeros is illegal.
    "c.lw"       Lw   CL    "010 ... ... .. ... 00";
    "c.sw"       Sw   CS    "110 ... ... .. ... 00";

    "c.nop"      Addi NONE  "000 0 00000 00000 01";
    "c.addi"     Addi CI    "000 . ..... ..... 01" except "000 0 00000 00000 01"; // c.nop.
    "c.jal"      Jal  C_JAL "001 ........... 01";
    "c.li"       Addi C_LI  "010 . ..... ..... 01";
    "c.addi16sp" Addi C_ADDI16SP "011 . 00010 ..... 01" except "011 0 00010 00000 01"; // Reserved.
    "c.lui"      Lui  C_LUI "011 . ..... ..... 01"
        except "011 . 00010 ..... 01" "011 0 ..... 00000 01"; // c.addi16sp; reserved.
    "c.srli"     Srli C_SHIFT "100 0 00 ... ..... 01";
    "c.srai"     Srai C_SHIFT "100 0 01 ... ..... 01";
    "c.andi"     Andi C_ANDI  "100 . 10 ... ..... 01";
    "c.sub"      Sub  CA    "100 0 11 ... 00 ... 01";
    "c.xor"      Xor  CA    "100 0 11 ... 01 ... 01";
    "c.or"       Or   CA    "100 0 11 ... 10 ... 01";
    "c.and"      And  CA    "100 0 11 ... 11 ... 01";
    "c.j"        Jal  CJ    "101 ........... 01";
    "c.beqz"     Beq  CB    "110 ... ... ..... 01";
    "c.bnez"     Bne  CB    "111 ... ... ..... 01";

    "c.slli"     Slli C_SLLI "000 0 ..... ..... 10";
    "c.lwsp"     Lw   C_LWSP "010 . ..... ..... 10" except "010 . 00000 ..... 10"; // Reserved.
    "c.jr"       Jalr C_JR   "100 0 ..... 00000 10" except "100 0 00000 00000 10"; // Reserved.
    "c.mv"       Add  C_MV   "100 0 ..... ..... 10" except "100 0 ..... 00000 10"; // c.jr.
    "c.ebreak"   Ebreak NONE "100 1 00000 00000 10";
    "c.jalr"     Jalr C_JALR "100 1 ..... 00000 10" except "100 1 00000 00000 10"; // c.ebreak.
    "c.add"      Add  C_ADD  "100 1 ..... ..... 10" except "100 1 ..... 00000 10"; // c.jalr.
    "c.swsp"     Sw   C_SWSP "110 ...... ..... 10";
}
