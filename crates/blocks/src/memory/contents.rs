//! The contents of a card's memories while the simulation is paused.

use super::{FrameMemory, FrameMemoryParams, MemoryController, MemoryControllerParams, MultiportedMemory};
use super::{MultiportedMemoryParams, ScratchpadBanks, ScratchpadBanksParams, Store};
use crate::netlist::{Card, Design, Module};
use std::cell::RefCell;
use std::rc::Rc;

/// A memory whose contents a run reads and writes while it is paused. Offsets count from its first byte.
pub trait Contents {
    /// Size in bytes.
    fn size(&self) -> u64;
    /// The bytes at an offset; the whole range is inside.
    fn peek(&self, offset: u64, bytes: u32) -> Vec<u8>;
    /// Writes at an offset and breaks links to these bytes; the whole range is inside.
    fn poke(&mut self, offset: u64, bytes: &[u8]);
}

impl Contents for MemoryController {
    fn size(&self) -> u64 {
        self.bytes()
    }

    fn peek(&self, offset: u64, bytes: u32) -> Vec<u8> {
        self.read(offset, bytes as usize)
    }

    fn poke(&mut self, offset: u64, bytes: &[u8]) {
        self.write(offset, bytes);
    }
}

impl Contents for Store {
    fn size(&self) -> u64 {
        self.behind(self.base()).into()
    }

    fn peek(&self, offset: u64, bytes: u32) -> Vec<u8> {
        self.get(self.base() + offset, bytes).expect("the range is inside").to_vec()
    }

    fn poke(&mut self, offset: u64, bytes: &[u8]) {
        let (at, len) = (self.base() + offset, bytes.len() as u32);
        self.get_mut(at, len).expect("the range is inside").copy_from_slice(bytes);
    }
}

macro_rules! through_store {
    ($($memory:ty),*) => {$(
        impl Contents for $memory {
            fn size(&self) -> u64 {
                self.store().size()
            }

            fn peek(&self, offset: u64, bytes: u32) -> Vec<u8> {
                self.store().peek(offset, bytes)
            }

            fn poke(&mut self, offset: u64, bytes: &[u8]) {
                self.store_mut().poke(offset, bytes);
            }
        }
    )*};
}

through_store!(FrameMemory, MultiportedMemory, ScratchpadBanks);

/// The memories of a card by path.
pub fn memories(card: &Card) -> Vec<(String, Rc<RefCell<dyn Contents>>)> {
    fn of<M: Contents + 'static>(card: &Card) -> impl Iterator<Item = (String, Rc<RefCell<dyn Contents>>)> {
        card.parts::<M>().into_iter().map(|(path, memory)| (path.to_owned(), memory as _))
    }
    let banked = of::<ScratchpadBanks>(card).chain(of::<MultiportedMemory>(card));
    let mut all: Vec<_> = of::<MemoryController>(card).chain(of::<FrameMemory>(card)).chain(banked).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Paths and sizes in bytes of the memories that [`memories`] will return for a card that is not built yet.
pub fn sizes(design: &Design) -> Vec<(String, u64)> {
    let kinds = [
        MemoryControllerParams::NAME,
        FrameMemoryParams::NAME,
        ScratchpadBanksParams::NAME,
        MultiportedMemoryParams::NAME,
    ];
    let size = |bytes: &toml::Value| bytes.as_integer().and_then(|bytes| u64::try_from(bytes).ok());
    let found = design.parts.iter().filter(|part| kinds.contains(&part.module));
    let found = found.filter_map(|part| Some((part.path.clone(), size(part.parameters.get("bytes")?)?)));
    let mut all: Vec<_> = found.collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_from_the_first_byte() {
        let mut store = Store::new(0x1000, 16);
        assert_eq!(store.size(), 16);
        store.poke(14, &[1, 2]);
        assert_eq!(store.get(0x100e, 2), Ok(&[1, 2][..]));
        assert_eq!(store.peek(13, 3), [0, 1, 2]);
    }
}
