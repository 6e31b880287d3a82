//! System calls, which reach the host by `ecall` or through `tohost`.

use super::memory::Memory;

/// Maximum number of bytes of output that are kept.
pub(super) const MAX_OUTPUT: usize = 1 << 20;

/// Numbers of Linux on RISC-V, which `tohost` uses too.
mod linux {
    pub const WRITE: u32 = 64;
    pub const EXIT: u32 = 93;
    pub const EXIT_GROUP: u32 = 94;
    pub const ENOSYS: u32 = 38;
    pub const EBADF: u32 = 9;
    pub const EFAULT: u32 = 14;
}

/// The result of a call.
pub(super) enum Called {
    /// The program continues with this result.
    Answer(u32),
    /// The program has ended with this exit code.
    Exit(u32),
}

/// The output of a program.
#[derive(Default)]
pub(super) struct Output {
    pub bytes: Vec<u8>,
    /// True if a part of the output was left out.
    pub is_cut: bool,
}

impl Output {
    /// Keeps bytes while there is room.
    pub fn print(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Serves a call as Linux would. Unknown calls fail with ENOSYS.
    pub fn call(&mut self, memory: &Memory, number: u32, [a0, a1, a2]: [u32; 3]) -> Called {
        Called::Answer(match number {
            linux::EXIT | linux::EXIT_GROUP => return Called::Exit(a0 & 0xff),
            linux::WRITE if a0 != 1 && a0 != 2 => linux::EBADF.wrapping_neg(),
            linux::WRITE => match memory.read(a1, a2) {
                Some(bytes) => {
                    self.print(&bytes);
                    a2
                }
                None => linux::EFAULT.wrapping_neg(),
            },
            _ => linux::ENOSYS.wrapping_neg(),
        })
    }
}
