//! Test benches and oracles. For tests only; no model depends on this crate.
//!
//! For components, [`bench()`]: a component between scripts of what arrives when and a log of what it sends when. It runs
//! every scene three times (as usual, with the components of an edge in random order, and with all of them ticked at
//! every edge) and asks for one and the same log, so that a test of a component's timing is at the same time a test of
//! its promise to sleep.
//!
//! For modules that speak the memory protocol, [`check_memory_contract`]: a card of the module, requesters that ask at
//! random and know what they must get, and memories that take their time.
//!
//! For cores, [`random_program::random_program`] and [`qemu::Emulator`]: programs that an independent implementation
//! and a core of ours must end alike.

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
