//! What holds bytes, and what stands in front of it.

mod controller;
mod frame_memory;
mod rows;
mod scratchpad_banks;
mod store;

pub use controller::{MemoryController, MemoryControllerParams};
pub use frame_memory::{FrameMemory, FrameMemoryParams};
pub use rows::{Rows, RowsParams};
pub use scratchpad_banks::{ScratchpadBanks, ScratchpadBanksParams};
pub use store::Store;
