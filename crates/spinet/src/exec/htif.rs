//! The host-target interface: a bare program and its host communicate by two 64-bit numbers in the program's memory.
//!
//! `tohost` contains a device (8 bits), a command (8 bits) and data (48 bits). For device 0, odd data end the program:
//! they are twice the exit code plus 1. Even data are the address of a system call, which consists of eight 64-bit
//! numbers: the number of the call and its arguments. The result replaces the first number. Device 1 prints a
//! character. After each request, the host sets `tohost` to 0; after a system call, it also sets `fromhost` to 1. The
//! simulators for which the public tests are written do the same.

use super::calls::{Called, Output};
use super::memory::Memory;

/// A store to one half of `tohost` and a store to the other half within this number of instructions form one request.
/// Compilers choose the order of the halves, and often the upper one stays 0. assumed: more instructions are not needed
/// to compute the other half's address.
pub(super) const PATIENCE: u64 = 16;

/// A point of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub instructions: u64,
    pub cycles: u64,
    pub pc: u32,
}

/// A number that the program is storing.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingNumber {
    /// The point at which its first half was stored.
    pub at: Moment,
    /// Address of that half.
    half: u32,
    /// True if no store to the other half is expected any more.
    pub is_whole: bool,
}

/// The result of a request.
pub(super) enum HostReply {
    /// The program continues.
    Served,
    /// The program ended itself with this number.
    Exit(u32),
    /// The number is not a valid request.
    Strange(String),
}

/// Addresses of the two numbers, and the request that is being stored.
#[derive(Debug, Default)]
pub(super) struct Htif {
    pub tohost: Option<u32>,
    pub fromhost: Option<u32>,
    pub pending: Option<PendingNumber>,
}

impl Htif {
    /// Notes that the program stored `bytes` bytes at `addr`. `at` is the point after the store.
    pub fn stored(&mut self, addr: u32, bytes: u32, at: Moment) {
        let Some(tohost) = self.tohost else { return };
        let within = addr.wrapping_sub(tohost);
        if within >= 8 && within.wrapping_add(bytes - 1) >= 8 {
            return;
        }
        let half = within & 4;
        match &mut self.pending {
            Some(pending) => pending.is_whole |= pending.half != half,
            None => self.pending = Some(PendingNumber { at, half, is_whole: false }),
        }
    }

    /// Reads `tohost` and executes the request.
    pub fn serve(&mut self, memory: &mut Memory, output: &mut Output) -> HostReply {
        self.pending = None;
        let Some(tohost) = self.tohost else { return HostReply::Served };
        let half = |memory: &Memory, addr| memory.load(addr, 4).unwrap_or(0);
        let (low, high) = (half(memory, tohost), half(memory, tohost.wrapping_add(4)));
        let command = (high >> 24, high >> 16 & 0xff);
        let result = match command {
            (0, 0) if low == 0 && high == 0 => return HostReply::Served,
            (0, 0) if low & 1 == 1 => return HostReply::Exit(low >> 1),
            (0, 0) if high == 0 && memory.around(low, 64).is_some() => {
                let word = |i: u32| half(memory, low + 8 * i);
                match output.call(memory, word(0), [word(1), word(2), word(3)]) {
                    Called::Exit(code) => return HostReply::Exit(code),
                    Called::Answer(answer) => {
                        let sign = if (answer as i32) < 0 { u32::MAX } else { 0 };
                        memory.store(low, answer, 4);
                        memory.store(low + 4, sign, 4);
                        if let Some(fromhost) = self.fromhost {
                            memory.store(fromhost, 1, 4);
                            memory.store(fromhost.wrapping_add(4), 0, 4);
                        }
                        HostReply::Served
                    }
                }
            }
            (0, 0) => {
                HostReply::Strange(format!("asks for the system call at {low:#010x}, where no 64 bytes of memory are"))
            }
            (1, 1) => {
                output.print(&[low as u8]);
                HostReply::Served
            }
            (device, command) => HostReply::Strange(format!(
                "asks for device {device}, command {command}; served are 0, 0 (exit, system calls) and 1, 1 (a character)"
            )),
        };
        memory.store(tohost, 0, 4);
        memory.store(tohost.wrapping_add(4), 0, 4);
        result
    }
}
