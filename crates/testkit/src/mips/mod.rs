//! The MIPS versions: programs as text, random programs, and a minimal machine.

pub mod plain;
pub mod program;
mod random_items;
pub mod text;
