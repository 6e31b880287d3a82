//! The machine that an instruction acts on.

/// What an instruction can do to the machine that executes it.
///
/// [`execute`](super::execute) calls these methods and nothing else. The machine fetches and decodes, and keeps two
/// program counters, as MIPS does to have delay slots: the address of the instruction that executes and that of the next.
/// Behind the call the second becomes the first, and what becomes the second is 4 behind it, or what
/// [`Cpu::branch`] said. A method that takes `rt` writes the register itself, at once or later, so a memory may answer when it
/// likes. Register 0 may appear everywhere; it reads as 0 and ignores writes.
pub trait Cpu {
    /// The value of register `r`, `r < 32`.
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

    /// Continues at `target` behind the delay slot. Of a jump to a register it may be misaligned.
    fn branch(&mut self, target: u32);

    /// The next instruction, in the delay slot, does nothing.
    fn annul(&mut self);

    /// Reads memory into `rt`. The address may be misaligned.
    fn load(&mut self, rt: u8, addr: u32, kind: Load);

    /// Writes memory. The address may be misaligned.
    fn store(&mut self, addr: u32, value: u32, kind: Store);

    /// Writes the word at `addr` if nobody has since [`Load::Linked`] read it, and 1 to `rt` if it did so, else 0.
    fn store_conditional(&mut self, rt: u8, addr: u32, value: u32);

    /// Waits until the accesses so far are done.
    fn sync(&mut self);

    /// The instruction ends in an exception; it has changed nothing.
    fn exception(&mut self, what: Exception);
}

/// Why an instruction could not be done, as far as memory has no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exception {
    /// A signed sum or difference does not fit.
    Overflow,
    /// The condition of a trap instruction holds; with its code, which only programs give a meaning.
    Trap(u32),
    /// `break`, with its code.
    Breakpoint(u32),
    /// `syscall`, with its code.
    Syscall(u32),
    /// This word is no instruction of this machine.
    Reserved(u32),
}

/// What a load reads and how it fills the register.
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
    /// 32 bits that become linked: [`Cpu::store_conditional`] asks for that.
    Linked,
    /// From the address to the end of its word, into the upper bytes.
    Left,
    /// From the start of the word to the address, into the lower bytes.
    Right,
}

impl Load {
    /// Whether the address may be this one: not where the access would straddle two words.
    #[inline]
    pub const fn is_aligned(self, addr: u32) -> bool {
        match self {
            Load::Byte | Load::ByteU | Load::Left | Load::Right => true,
            Load::Half | Load::HalfU => addr.is_multiple_of(2),
            Load::Word | Load::Linked => addr.is_multiple_of(4),
        }
    }

    /// What the register receives, which holds `old`, when the aligned word around `addr` is `word`.
    #[inline]
    pub const fn value(self, addr: u32, word: u32, old: u32) -> u32 {
        // Distances of the accessed byte and half word from the right.
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

/// What a store writes.
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
    /// Whether the address may be this one: not where the access would straddle two words.
    #[inline]
    pub const fn is_aligned(self, addr: u32) -> bool {
        match self {
            Store::Byte | Store::Left | Store::Right => true,
            Store::Half => addr.is_multiple_of(2),
            Store::Word => addr.is_multiple_of(4),
        }
    }

    /// What is written to the aligned word around `addr`: the bits, in their places, and which bits they are.
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

    /// Rows are the four bytes of a word's address; the word is 11223344, the register aabbccdd.
    #[test]
    fn parts_of_words_are_taken_from_the_left() {
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
