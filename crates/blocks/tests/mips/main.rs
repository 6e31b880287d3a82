//! Timing and behaviour of the MIPS core, as programs and what they cost.

mod bench;
mod caches;
mod links;
mod locks;
mod memory;
mod orders;
mod pipeline;
