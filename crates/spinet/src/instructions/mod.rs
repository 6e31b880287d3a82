//! Instruction traces: a line for every instruction of a core, as the RTL's tracer writes it.
//!
//! A file begins with a line of column names; then each line has the time in picoseconds and the cycle at which the
//! instruction left decode, its address and word, the instruction in words, registers written (`x10=0000002a`) and read
//! (`x11:00000001`) in hexadecimal, and the address of an access to memory (`PA:1c300040`). Compressed instructions stand
//! there as what they stand for. Lines come in the order of execution.
//!
//! Source: PsPIN RTL a49fec8, `hw/deps/riscv/riscv_tracer.sv`.

mod choose;
mod read;
mod spelling;
mod write;

pub use choose::{Choice, ChoiceError};
pub use read::{Entry, Reader, Registers, TraceReadError};
pub use spelling::{base_word, spelled};
pub use write::{CoreTraces, HEADER, TraceFile, TraceWriteError, file_name, push_line};
