//! Memories, and the modules in front of them.

mod cache_controller;
mod contents;
mod controller;
mod frame_memory;
mod links;
mod multiported;
mod rows;
mod scratchpad_banks;
mod store;
mod zeroed;

pub use cache_controller::{CacheController, CacheControllerParams, CacheControllerPorts};
pub use contents::{Contents, memories, sizes};
pub use controller::{MemoryController, MemoryControllerParams};
pub use frame_memory::{FrameMemory, FrameMemoryParams};
pub use links::Links;
pub use multiported::{MultiportedMemory, MultiportedMemoryParams};
pub use rows::{Rows, RowsParams};
pub use scratchpad_banks::{ScratchpadBanks, ScratchpadBanksParams, ScratchpadBanksPorts};
pub use store::Store;
pub use zeroed::Zeroed;
