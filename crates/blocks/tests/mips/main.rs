//! Timing and behavior of the MIPS core, as programs and their cycles.

mod bench;
mod caches;
mod lanes;
mod links;
mod locks;
mod memory;
mod orders;
mod pipeline;
