//! Test benches and oracles. For tests only; no model depends on this crate.
//!
//! For components, [`bench()`]: it feeds a component from scripts and logs its outputs with their cycles. It runs every
//! scene three times: normally, with random tick order, and with all components ticked at every edge. All logs must be
//! equal, so every timing test also tests the promise of `Idle`.
//!
//! For modules with the memory protocol, [`check_memory_contract`]: it wires the module with random requesters, which
//! know the correct answers, and with memories of random latency.
//!
//! For cores, [`random_program::random_program`] and [`qemu::Emulator`]: random programs must end with the same state
//! on an independent implementation and on our cores.

pub mod assembler;
mod bench;
pub mod linked;
mod memory_contract;
pub mod mips;
pub mod plain_hart;
mod preset;
pub mod qemu;
mod random_items;
pub mod random_program;
pub mod text;

pub use bench::{Bench, Log, bench, bench_at};
pub use memory_contract::{ModelMemory, RandomRequester, check_memory_contract};
pub use preset::preset;
