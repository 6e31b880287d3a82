//! The modules of this library, by name.

use crate::memory::ScratchpadBanksParams;
use crate::netlist::Catalog;

/// All modules of this crate.
pub fn catalog() -> Catalog {
    Catalog::default().with::<ScratchpadBanksParams>()
}
