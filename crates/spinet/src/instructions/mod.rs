//! Instruction traces: a line for each instruction of a core, in the format of the RTL's tracer.
//!
//! A file begins with a line of column names. Each further line has the time in picoseconds and the cycle at which the
//! instruction left decode, its address and word, its disassembly, the registers that it wrote (`x10=0000002a`) and
//! read (`x11:00000001`) in hexadecimal, and the address of a memory access (`PA:1c300040`). Compressed instructions
//! are shown expanded. Lines are in the order of execution.
//!
//! Source: PsPIN RTL a49fec8, `hw/deps/riscv/riscv_tracer.sv`.

mod choose;
mod disassembly;
mod line;
mod read;
mod write;

pub use choose::{Choice, ChoiceError};
pub use disassembly::{base_word, tracer_text};
pub use read::{Entry, Reader, Registers, TraceReadError};
pub use write::{CoreTraces, HEADER, TraceFile, TraceWriteError, file_name};
