//! The machine that instructions act on.

/// Operations that an instruction can perform on the machine that executes it.
///
/// [`execute`](super::execute) calls only these methods. The machine fetches, decodes, and keeps two program counters
/// because of delay slots: the address of the current instruction and that of the next. After the call, the second
/// becomes the first. The new second one is 4 higher, or the target of [`Cpu::branch`].
///
/// A method with a parameter `rt` writes that register itself, at once or later, so a memory access may take any time.
/// Every method accepts register 0, which reads as 0 and ignores writes.
pub trait Cpu {
    /// The value of register `r`, which is below 32.
    fn r(&self, r: u8) -> u32;

    /// Writes register `r`; a write to register 0 is ignored.
    fn set(&mut self, r: u8, value: u32);

    /// The upper word of the last product, or the last remainder.
    fn hi(&self) -> u32;

    /// The lower word of the last product, or the last quotient.
    fn lo(&self) -> u32;

    /// Writes HI.
    fn set_hi(&mut self, value: u32);

    /// Writes LO.
    fn set_lo(&mut self, value: u32);

    /// Address of the instruction that executes.
    fn pc(&self) -> u32;

    /// Continues at `target` after the delay slot. The target of a register jump may be misaligned.
    fn branch(&mut self, target: u32);

    /// Annuls the instruction in the delay slot.
    fn annul(&mut self);

    /// Reads memory into `rt`. The address may be misaligned.
    fn load(&mut self, rt: u8, addr: u32, kind: Load);

    /// Writes memory. The address may be misaligned.
    fn store(&mut self, addr: u32, value: u32, kind: Store);

    /// If the reservation of the last [`Load::Linked`] holds, writes the word at `addr` and sets `rt` to 1; else sets
    /// it to 0.
    fn store_conditional(&mut self, rt: u8, addr: u32, value: u32);

    /// Waits until all earlier memory accesses are complete.
    fn sync(&mut self);

    /// Raises an exception. The instruction has changed no state.
    fn exception(&mut self, cause: Exception);
}

/// Reasons for an exception, except those that memory raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exception {
    /// A signed sum or difference overflows.
    Overflow,
    /// The condition of a trap instruction holds. The code has a meaning only to programs.
    Trap(u32),
    /// `break`, with its code.
    Breakpoint(u32),
    /// `syscall`, with its code.
    Syscall(u32),
    /// The word is not an instruction of this machine.
    Reserved(u32),
}

/// Width of a load and how it fills the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// 8 bits, sign-extended.
    Byte,
    /// 8 bits, zero-extended.
    ByteU,
    /// 16 bits, sign-extended.
    Half,
    /// 16 bits, zero-extended.
    HalfU,
    /// 32 bits.
    Word,
    /// 32 bits, and a reservation for [`Cpu::store_conditional`].
    Linked,
    /// From the address to the end of its word, into the upper bytes.
    Left,
    /// From the start of the word to the address, into the lower bytes.
    Right,
}

impl Load {
    /// Returns true if an access to `addr` stays within one word.
    #[inline]
    pub const fn is_aligned(self, addr: u32) -> bool {
        match self {
            Load::Byte | Load::ByteU | Load::Left | Load::Right => true,
            Load::Half | Load::HalfU => addr.is_multiple_of(2),
            Load::Word | Load::Linked => addr.is_multiple_of(4),
        }
    }

    /// The new register value, given the aligned word around `addr` and the old register value.
    #[inline]
    pub const fn value(self, addr: u32, word: u32, old: u32) -> u32 {
        // Distance of the accessed byte and halfword from the right end of the word, in bits.
        let (byte, half) = (8 * (3 - (addr & 3)), 8 * (2 - (addr & 2)));
        match self {
            Load::Byte => (word >> byte) as u8 as i8 as u32,
            Load::ByteU => (word >> byte) as u8 as u32,
            Load::Half => (word >> half) as u16 as i16 as u32,
            Load::HalfU => (word >> half) as u16 as u32,
            Load::Word | Load::Linked => word,
            Load::Left => word << (24 - byte) | old & !(u32::MAX << (24 - byte)),
            Load::Right => word >> byte | old & !(u32::MAX >> byte),
        }
    }
}

/// Bytes that a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// The upper bytes, from the address to the end of its word.
    Left,
    /// The lower bytes, from the start of the word to the address.
    Right,
}

impl Store {
    /// Returns true if an access to `addr` stays within one word.
    #[inline]
    pub const fn is_aligned(self, addr: u32) -> bool {
        match self {
            Store::Byte | Store::Left | Store::Right => true,
            Store::Half => addr.is_multiple_of(2),
            Store::Word => addr.is_multiple_of(4),
        }
    }

    /// The value and the mask of the bits to write to the aligned word around `addr`.
    #[inline]
    pub const fn bits(self, addr: u32, value: u32) -> (u32, u32) {
        let (byte, half) = (8 * (3 - (addr & 3)), 8 * (2 - (addr & 2)));
        let (shifted, mask) = match self {
            Store::Byte => (value << byte, 0xff << byte),
            Store::Half => (value << half, 0xffff << half),
            Store::Word => (value, u32::MAX),
            Store::Left => (value >> (24 - byte), u32::MAX >> (24 - byte)),
            Store::Right => (value << byte, u32::MAX << byte),
        };
        (shifted & mask, mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// Each row lists the results for the four byte addresses in a word. The word is 11223344, the register aabbccdd.
    #[test]
    fn unaligned_accesses_are_big_endian() {
        let mut text = String::from("   lb       lbu      lh       lwl      lwr      sb       swl      swr\n");
        for addr in 0..4 {
            text += &format!("{addr} ");
            for load in [Load::Byte, Load::ByteU, Load::Half, Load::Left, Load::Right] {
                text += &format!(" {:08x}", load.value(addr, 0x11223344, 0xaabbccdd));
            }
            for store in [Store::Byte, Store::Left, Store::Right] {
                let (bits, mask) = store.bits(addr, 0xaabbccdd);
                text += &format!(" {:08x}", 0x11223344 & !mask | bits);
            }
            text.push('\n');
        }
        expect![[r#"
               lb       lbu      lh       lwl      lwr      sb       swl      swr
            0  00000011 00000011 00001122 11223344 aabbcc11 dd223344 aabbccdd dd223344
            1  00000022 00000022 00001122 223344dd aabb1122 11dd3344 11aabbcc ccdd3344
            2  00000033 00000033 00003344 3344ccdd aa112233 1122dd44 1122aabb bbccdd44
            3  00000044 00000044 00003344 44bbccdd 11223344 112233dd 112233aa aabbccdd
        "#]]
        .assert_eq(&text);
    }
}
