//! Physical memory protection (PMP) of a standard core.

use super::core::{AccessKind, Core, Stop};
use super::csr::Privilege;
use isa::riscv::{Amo, cause};
use std::ops::Range;

const READ: u8 = 1;
const WRITE: u8 = 2;
const EXECUTE: u8 = 4;
/// Address matching mode of an entry.
const MATCHING: u8 = 3 << 3;
const OFF: u8 = 0;
const TOP_OF_RANGE: u8 = 1 << 3;
const FOUR_BYTES: u8 = 2 << 3;
const POWER_OF_TWO: u8 = MATCHING;
const LOCKED: u8 = 1 << 7;
/// Implemented bits of an entry.
const CONFIG: u8 = LOCKED | MATCHING | EXECUTE | WRITE | READ;
const ENTRIES: usize = 16;

/// PMP with sixteen entries and granules of 4 bytes.
///
/// Source:  RISC-V Privileged ISA 20211203, 3.7. The reserved combination W without R clears W.
/// Assumed: after reset, entry 0 allows all accesses in all modes, so that programs without PMP code can use user
/// mode; the standard leaves this to the platform.
#[derive(Clone, Debug, Default)]
pub(super) struct Pmp {
    config: [u8; ENTRIES],
    addr: [u32; ENTRIES],
}

impl Pmp {
    /// Allows all accesses in all modes.
    pub fn open() -> Self {
        let mut pmp = Pmp::default();
        (pmp.config[0], pmp.addr[0]) = (POWER_OF_TWO | EXECUTE | WRITE | READ, u32::MAX);
        pmp
    }

    /// Value of `pmpcfg` register `word`: four entries.
    pub fn config(&self, word: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|i| self.config[4 * word + i]))
    }

    /// Value of `pmpaddr` register `entry`.
    pub fn addr(&self, entry: usize) -> u32 {
        self.addr[entry]
    }

    /// Writes `pmpcfg` register `word`, except locked entries.
    pub fn write_config(&mut self, word: usize, value: u32) {
        for (config, new) in self.config[4 * word..].iter_mut().zip(value.to_le_bytes()) {
            let reserved = if new & (READ | WRITE) == WRITE { WRITE } else { 0 };
            if *config & LOCKED == 0 {
                *config = new & CONFIG & !reserved;
            }
        }
    }

    /// Writes `pmpaddr` register `entry`, unless it is locked or is the bottom of a locked range.
    pub fn write_addr(&mut self, entry: usize, value: u32) {
        let is_bottom = |next: &u8| next & LOCKED != 0 && next & MATCHING == TOP_OF_RANGE;
        if self.config[entry] & LOCKED == 0 && !self.config.get(entry + 1).is_some_and(is_bottom) {
            self.addr[entry] = value;
        }
    }

    /// Stores the value without making it legal.
    pub fn keep_config(&mut self, word: usize, value: u32) {
        self.config[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Stores the value without making it legal.
    pub fn keep_addr(&mut self, entry: usize, value: u32) {
        self.addr[entry] = value;
    }

    /// Addresses that an entry matches. They have 34 bits; cores without paging use 32.
    fn range(&self, entry: usize) -> Range<u64> {
        let addr = u64::from(self.addr[entry]);
        match self.config[entry] & MATCHING {
            OFF => 0..0,
            TOP_OF_RANGE => {
                let bottom = entry.checked_sub(1).map_or(0, |below| u64::from(self.addr[below]));
                4 * bottom..4 * addr
            }
            FOUR_BYTES => 4 * addr..4 * addr + 4,
            _ => {
                let granules = 2 << self.addr[entry].trailing_ones();
                let base = addr & !(granules - 1);
                4 * base..4 * (base + granules)
            }
        }
    }

    /// Returns true if an entry, or the absence of one, grants all of `rights`.
    fn grants(&self, entry: Option<usize>, rights: u8, privilege: Privilege) -> bool {
        match entry.map(|entry| self.config[entry]) {
            Some(config) if privilege == Privilege::User || config & LOCKED != 0 => config & rights == rights,
            _ => privilege == Privilege::Machine,
        }
    }

    /// Returns true if an access is allowed: the first entry that matches one of its bytes must match all of them.
    fn allows(&self, addr: u32, bytes: u32, rights: u8, privilege: Privilege) -> bool {
        let (first, end) = (u64::from(addr), u64::from(addr) + u64::from(bytes));
        let matching = (0..ENTRIES).map(|entry| (entry, self.range(entry)));
        match matching.into_iter().find(|(_, range)| range.start < end && first < range.end) {
            Some((entry, range)) => {
                range.start <= first && end <= range.end && self.grants(Some(entry), rights, privilege)
            }
            None => self.grants(None, rights, privilege),
        }
    }

    /// The range around `pc` with the same permission as `pc` itself, if code may run there.
    fn executable(&self, pc: u32, privilege: Privilege) -> Option<Range<u64>> {
        let pc = u64::from(pc);
        let mut around = 0..1 << 32;
        for entry in 0..ENTRIES {
            let range = self.range(entry);
            if range.contains(&pc) {
                around = around.start.max(range.start)..around.end.min(range.end);
                return self.grants(Some(entry), EXECUTE, privilege).then_some(around);
            }
            if range.start < range.end && range.end <= pc {
                around.start = around.start.max(range.end);
            } else if range.start < range.end {
                around.end = around.end.min(range.start);
            }
        }
        self.grants(None, EXECUTE, privilege).then_some(around)
    }
}

impl Core {
    /// Returns true if PMP allows the access that the core waits for.
    pub fn may_access(&self) -> bool {
        let access = self.access();
        let rights = match access.kind {
            AccessKind::Load(_) | AccessKind::Amo(Amo::LoadReserved) => READ,
            AccessKind::Store(_) | AccessKind::Amo(Amo::StoreConditional) => WRITE,
            AccessKind::Amo(_) => READ | WRITE,
        };
        self.csrs.pmp.allows(access.addr, access.bytes(), rights, self.csrs.data_privilege())
    }

    /// The range around the program counter that PMP lets run like the program counter itself; `None` if it must not
    /// run.
    pub fn executable(&self) -> Option<Range<u64>> {
        self.csrs.pmp.executable(self.pc(), self.privilege())
    }

    /// Takes a trap because the fetch of the next instruction was refused at `addr`, an address inside it.
    pub fn refuse_fetch(&mut self, addr: u32) -> Stop {
        self.trap(cause::INSTRUCTION_FAULT, addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Permissions of user and machine mode for words of memory under these entries: `(pmpcfg byte, pmpaddr)`.
    fn check(entries: &[(u8, u32)], want: Expect) {
        let mut pmp = Pmp::default();
        for (entry, &(config, addr)) in entries.iter().enumerate() {
            pmp.write_addr(entry, addr);
            pmp.write_config(entry / 4, pmp.config(entry / 4) | u32::from(config) << (entry % 4 * 8));
        }
        let mut text = String::new();
        for addr in (0..48).step_by(4) {
            text += &format!("{addr:2}");
            for privilege in [Privilege::User, Privilege::Machine] {
                let may = |right, letter| if pmp.allows(addr, 4, right, privilege) { letter } else { '-' };
                text.extend([' ', may(READ, 'r'), may(WRITE, 'w'), may(EXECUTE, 'x')]);
                let is_executable = pmp.executable(addr, privilege).is_some_and(|range| range.contains(&addr.into()));
                assert_eq!(is_executable, pmp.allows(addr, 4, EXECUTE, privilege), "at {addr}");
            }
            text += "\n";
        }
        want.assert_eq(&text);
    }

    #[test]
    fn the_first_matching_entry_decides() {
        // Bytes 8 to 11 by a single word, 16 to 31 by a power of two, and up to 40 from the previous entry.
        let entries =
            [(FOUR_BYTES | READ, 2), (POWER_OF_TWO | READ | WRITE, 5), (OFF, 6), (TOP_OF_RANGE | EXECUTE, 10)];
        check(
            &entries,
            expect![[r#"
             0 --- rwx
             4 --- rwx
             8 r-- rwx
            12 --- rwx
            16 rw- rwx
            20 rw- rwx
            24 rw- rwx
            28 rw- rwx
            32 --x rwx
            36 --x rwx
            40 --- rwx
            44 --- rwx
        "#]],
        );
    }

    #[test]
    fn locked_entries_bind_machine_mode_and_stay() {
        let mut pmp = Pmp::default();
        pmp.write_addr(0, 2);
        pmp.write_addr(1, 4);
        pmp.write_config(0, u32::from(LOCKED | TOP_OF_RANGE | READ) << 8);
        assert!(!pmp.allows(8, 4, WRITE, Privilege::Machine) && pmp.allows(8, 4, READ, Privilege::Machine));
        pmp.write_addr(0, 0);
        pmp.write_addr(1, 0);
        pmp.write_config(0, 0);
        assert_eq!((pmp.addr(0), pmp.addr(1), pmp.config(0)), (2, 4, 0x8900));
        // An access that matches only in part is refused.
        assert!(!pmp.allows(4, 8, READ, Privilege::Machine) && !pmp.allows(14, 4, READ, Privilege::Machine));
    }

    #[test]
    fn illegal_values_are_made_legal() {
        let mut pmp = Pmp::default();
        pmp.write_config(0, 0xffff_ff02);
        assert_eq!(pmp.config(0), 0x9f9f_9f00);
    }

    #[test]
    fn after_reset_all_accesses_are_allowed() {
        let pmp = Pmp::open();
        assert_eq!(pmp.executable(0xffff_fffe, Privilege::User), Some(0..1 << 32));
        assert!(pmp.allows(0xffff_fffc, 4, READ | WRITE, Privilege::User));
    }
}
