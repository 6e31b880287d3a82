//! Jumps, branches, traps and system instructions.
//!
//! A jump or branch takes effect after the next instruction, its delay slot. A "likely" branch that is not taken annuls
//! the delay slot.

macro_rules! control { (($next:ident $($more:ident)*) $($rows:tt)*) => { $next! { ($($more)*) $($rows)*
    /// Jumps within the 256 MiB of the delay slot. A J.
    J "j" Jump J "000010 .........................." => |c, i| c.branch(flow::region(c.pc(), i.imm));
    /// ra = address after the delay slot; jumps within its 256 MiB. A JAL.
    Jal "jal" Jump JAL "000011 .........................." =>
        |c, i| { c.set(RA, c.pc().wrapping_add(8)); c.branch(flow::region(c.pc(), i.imm)); };
    /// Jumps to rs. A JR.
    Jr "jr" JumpReg RS "000000 ..... 00000 00000 00000 001000" => |c, i| c.branch(c.r(i.rs));
    /// rd = address after the delay slot; jumps to rs. A JALR.
    Jalr "jalr" JumpReg JALR "000000 ..... 00000 ..... 00000 001001" => |c, i| {
        let target = c.r(i.rs); // Before rd changes: it may be rs.
        c.set(i.rd, c.pc().wrapping_add(8));
        c.branch(target);
    };

    /// Branches if rs = rt. A BEQ.
    Beq "beq" Branch B2 "000100 ..... ..... ................" =>
        |c, i| if c.r(i.rs) == c.r(i.rt) { c.branch(flow::target(c.pc(), i.imm)) };
    /// Branches if rs and rt differ. A BNE.
    Bne "bne" Branch B2 "000101 ..... ..... ................" =>
        |c, i| if c.r(i.rs) != c.r(i.rt) { c.branch(flow::target(c.pc(), i.imm)) };
    /// Branches if rs <= 0. A BLEZ.
    Blez "blez" Branch B1 "000110 ..... 00000 ................" =>
        |c, i| if c.r(i.rs) as i32 <= 0 { c.branch(flow::target(c.pc(), i.imm)) };
    /// Branches if rs > 0. A BGTZ.
    Bgtz "bgtz" Branch B1 "000111 ..... 00000 ................" =>
        |c, i| if c.r(i.rs) as i32 > 0 { c.branch(flow::target(c.pc(), i.imm)) };
    /// Branches if rs < 0. A BLTZ.
    Bltz "bltz" Branch B1 "000001 ..... 00000 ................" =>
        |c, i| if (c.r(i.rs) as i32) < 0 { c.branch(flow::target(c.pc(), i.imm)) };
    /// Branches if rs >= 0. A BGEZ.
    Bgez "bgez" Branch B1 "000001 ..... 00001 ................" =>
        |c, i| if c.r(i.rs) as i32 >= 0 { c.branch(flow::target(c.pc(), i.imm)) };
    /// ra = address after the delay slot; branches if rs < 0. A BLTZAL.
    Bltzal "bltzal" Branch BAL "000001 ..... 10000 ................" => |c, i| {
        let taken = (c.r(i.rs) as i32) < 0; // Before ra changes: it may be rs.
        c.set(RA, c.pc().wrapping_add(8));
        if taken { c.branch(flow::target(c.pc(), i.imm)) }
    };
    /// ra = address after the delay slot; branches if rs >= 0. A BGEZAL.
    Bgezal "bgezal" Branch BAL "000001 ..... 10001 ................" => |c, i| {
        let taken = c.r(i.rs) as i32 >= 0;
        c.set(RA, c.pc().wrapping_add(8));
        if taken { c.branch(flow::target(c.pc(), i.imm)) }
    };

    /// Branches if rs = rt, else annuls the delay slot. A BEQL.
    Beql "beql" BranchLikely B2 "010100 ..... ..... ................" =>
        |c, i| flow::likely(c, c.r(i.rs) == c.r(i.rt), i.imm);
    /// Branches if rs and rt differ, else annuls the delay slot. A BNEL.
    Bnel "bnel" BranchLikely B2 "010101 ..... ..... ................" =>
        |c, i| flow::likely(c, c.r(i.rs) != c.r(i.rt), i.imm);
    /// Branches if rs <= 0, else annuls the delay slot. A BLEZL.
    Blezl "blezl" BranchLikely B1 "010110 ..... 00000 ................" =>
        |c, i| flow::likely(c, c.r(i.rs) as i32 <= 0, i.imm);
    /// Branches if rs > 0, else annuls the delay slot. A BGTZL.
    Bgtzl "bgtzl" BranchLikely B1 "010111 ..... 00000 ................" =>
        |c, i| flow::likely(c, c.r(i.rs) as i32 > 0, i.imm);
    /// Branches if rs < 0, else annuls the delay slot. A BLTZL.
    Bltzl "bltzl" BranchLikely B1 "000001 ..... 00010 ................" =>
        |c, i| flow::likely(c, (c.r(i.rs) as i32) < 0, i.imm);
    /// Branches if rs >= 0, else annuls the delay slot. A BGEZL.
    Bgezl "bgezl" BranchLikely B1 "000001 ..... 00011 ................" =>
        |c, i| flow::likely(c, c.r(i.rs) as i32 >= 0, i.imm);
    /// ra = address after the delay slot; branches if rs < 0, else annuls the delay slot. A BLTZALL.
    Bltzall "bltzall" BranchLikely BAL "000001 ..... 10010 ................" => |c, i| {
        let taken = (c.r(i.rs) as i32) < 0;
        c.set(RA, c.pc().wrapping_add(8));
        flow::likely(c, taken, i.imm);
    };
    /// ra = address after the delay slot; branches if rs >= 0, else annuls the delay slot. A BGEZALL.
    Bgezall "bgezall" BranchLikely BAL "000001 ..... 10011 ................" => |c, i| {
        let taken = c.r(i.rs) as i32 >= 0;
        c.set(RA, c.pc().wrapping_add(8));
        flow::likely(c, taken, i.imm);
    };

    /// An exception if rs >= rt, signed. A TGE.
    Tge "tge" Trap TRAP "000000 ..... ..... .......... 110000" =>
        |c, i| flow::trap(c, c.r(i.rs) as i32 >= c.r(i.rt) as i32, i.imm);
    /// An exception if rs >= rt, unsigned. A TGEU.
    Tgeu "tgeu" Trap TRAP "000000 ..... ..... .......... 110001" =>
        |c, i| flow::trap(c, c.r(i.rs) >= c.r(i.rt), i.imm);
    /// An exception if rs < rt, signed. A TLT.
    Tlt "tlt" Trap TRAP "000000 ..... ..... .......... 110010" =>
        |c, i| flow::trap(c, (c.r(i.rs) as i32) < c.r(i.rt) as i32, i.imm);
    /// An exception if rs < rt, unsigned. A TLTU.
    Tltu "tltu" Trap TRAP "000000 ..... ..... .......... 110011" =>
        |c, i| flow::trap(c, c.r(i.rs) < c.r(i.rt), i.imm);
    /// An exception if rs = rt. A TEQ.
    Teq "teq" Trap TRAP "000000 ..... ..... .......... 110100" =>
        |c, i| flow::trap(c, c.r(i.rs) == c.r(i.rt), i.imm);
    /// An exception if rs and rt differ. A TNE.
    Tne "tne" Trap TRAP "000000 ..... ..... .......... 110110" =>
        |c, i| flow::trap(c, c.r(i.rs) != c.r(i.rt), i.imm);
    /// An exception if rs >= imm, signed. A TGEI.
    Tgei "tgei" Trap TRAPI "000001 ..... 01000 ................" => |c, i| flow::trap(c, c.r(i.rs) as i32 >= i.imm, 0);
    /// An exception if rs >= imm, sign-extended and both as unsigned. A TGEIU.
    Tgeiu "tgeiu" Trap TRAPI "000001 ..... 01001 ................" => |c, i| flow::trap(c, c.r(i.rs) >= i.imm as u32, 0);
    /// An exception if rs < imm, signed. A TLTI.
    Tlti "tlti" Trap TRAPI "000001 ..... 01010 ................" => |c, i| flow::trap(c, (c.r(i.rs) as i32) < i.imm, 0);
    /// An exception if rs < imm, sign-extended and both as unsigned. A TLTIU.
    Tltiu "tltiu" Trap TRAPI "000001 ..... 01011 ................" => |c, i| flow::trap(c, c.r(i.rs) < i.imm as u32, 0);
    /// An exception if rs = imm. A TEQI.
    Teqi "teqi" Trap TRAPI "000001 ..... 01100 ................" => |c, i| flow::trap(c, c.r(i.rs) as i32 == i.imm, 0);
    /// An exception if rs and imm differ. A TNEI.
    Tnei "tnei" Trap TRAPI "000001 ..... 01110 ................" => |c, i| flow::trap(c, c.r(i.rs) as i32 != i.imm, 0);

    /// System call. A SYSCALL.
    Syscall "syscall" System CODE "000000 .................... 001100" =>
        |c, i| c.exception(Exception::Syscall(i.imm as u32));
    /// Breakpoint. A BREAK.
    Break "break" System CODE "000000 .................... 001101" =>
        |c, i| c.exception(Exception::Breakpoint(i.imm as u32));
    /// Memory barrier. A SYNC.
    Sync "sync" System NONE "000000 00000 00000 00000 00000 001111" => |c, _i| c.sync();
}}}
