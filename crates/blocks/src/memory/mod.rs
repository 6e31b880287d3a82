//! What holds bytes, and what stands in front of it.

mod controller;
mod scratchpad_banks;
mod store;

pub use controller::{MemoryController, MemoryControllerParams};
pub use scratchpad_banks::{ScratchpadBanks, ScratchpadBanksParams};
pub use store::Store;
