//! PULP: hardware loops. PsPIN RTL a49fec8, `riscv_decoder.sv`, `riscv_id_stage.sv`.
//!
//! There are two, x0 and x1. A loop's end is the address of its last instruction. Cores implement the jump back.

macro_rules! xpulp_loop { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)* { Xpulpv2
    /// The loop starts at pc + imm.
    LpStarti "lp.starti" Loop P_LOOP "............ 00000 000 0000. 1111011" =>
        |h, i| h.hardware_loop(i.rs2, LoopPart::Start, h.pc().wrapping_add(i.imm as u32));
    /// The loop ends with the instruction at pc + imm.
    LpEndi "lp.endi" Loop P_LOOP "............ 00000 001 0000. 1111011" =>
        |h, i| h.hardware_loop(i.rs2, LoopPart::End, h.pc().wrapping_add(i.imm as u32));
    /// The loop runs rs1 times.
    LpCount "lp.count" Loop P_LOOP_COUNT "000000000000 ..... 010 0000. 1111011" =>
        |h, i| h.hardware_loop(i.rs2, LoopPart::Count, h.x(i.rs1));
    /// The loop runs imm times.
    LpCounti "lp.counti" Loop P_LOOP_COUNTI "............ 00000 011 0000. 1111011" =>
        |h, i| h.hardware_loop(i.rs2, LoopPart::Count, i.imm as u32);
    /// The loop starts at the next instruction, ends with the instruction at pc + imm, and runs rs1 times.
    LpSetup "lp.setup" Loop P_LOOP_SETUP "............ ..... 100 0000. 1111011" => |h, i| {
        h.hardware_loop(i.rs2, LoopPart::Start, h.pc().wrapping_add(i.bytes().into()));
        h.hardware_loop(i.rs2, LoopPart::End, h.pc().wrapping_add(i.imm as u32));
        h.hardware_loop(i.rs2, LoopPart::Count, h.x(i.rs1));
    };
    /// The loop starts at the next instruction and ends with the instruction at pc + the lower half of imm. The upper
    /// half of imm is the number of iterations.
    LpSetupi "lp.setupi" Loop P_LOOP_SETUPI "............ ..... 101 0000. 1111011" => |h, i| {
        h.hardware_loop(i.rs2, LoopPart::Start, h.pc().wrapping_add(i.bytes().into()));
        h.hardware_loop(i.rs2, LoopPart::End, h.pc().wrapping_add(i.imm as u32 & 0xffff));
        h.hardware_loop(i.rs2, LoopPart::Count, i.imm as u32 >> 16);
    };
}}}}
