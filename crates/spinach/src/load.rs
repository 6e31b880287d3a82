//! Loads firmware into memories before the processors run.

use crate::boot::BootLoader;
use crate::tengig::TengigHost;
use blocks::memory::{MemoryController, ScratchpadBanks};
use blocks::mips::MipsCore;
use blocks::netlist::Card;

/// A memory of the card for firmware.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirmwareMemory {
    /// Path of the memory: a `memory-controller` or a `scratchpad-banks`.
    pub memory: String,
    /// Address of its first byte in the firmware's link map.
    pub base: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// Firmware that does not fit a card.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts explain the fields")]
pub enum LoadError {
    #[error("no part of the card loads firmware; add a `boot-loader` if the card has no host with a driver")]
    NoLoader,
    #[error(
        "`firmware` of the card names `{path}`, must be a part of module `memory-controller` or `scratchpad-banks`"
    )]
    NoMemory { path: String },
    #[error("firmware starts at 0x{entry:x}, must be 0x{pc:x}, where {core} starts; the firmware is for another card")]
    Entry { entry: u32, core: String, pc: u32 },
    #[error("firmware has 0x{bytes:x} bytes at 0x{addr:x}, must be in {allowed}")]
    Outside { addr: u32, bytes: usize, allowed: String },
}

/// Loads firmware that starts at `entry` into the memories named by the card's `boot-loader` or `tengig-host`. Each of `parts`
/// is an address and its bytes.
///
/// # Errors
///
/// If a core that starts by itself starts elsewhere, or if a part is outside all memories; nothing of that part is written.
pub fn load<'a>(card: &Card, entry: u32, parts: impl IntoIterator<Item = (u32, &'a [u8])>) -> Result<(), LoadError> {
    let cores = card.parts::<MipsCore>();
    let runs = |core: &&(&str, std::rc::Rc<std::cell::RefCell<MipsCore>>)| !core.1.borrow().is_halted();
    if let Some((core, other)) = cores.iter().filter(runs).find(|(_, core)| core.borrow().pc() != entry) {
        return Err(LoadError::Entry { entry, core: (*core).to_owned(), pc: other.borrow().pc() });
    }
    let memories = memories(card).ok_or(LoadError::NoLoader)?;
    card.parts::<BootLoader>().iter().for_each(|(_, loader)| loader.borrow_mut().is_loaded(entry));
    for (addr, bytes) in parts.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let holds = |memory: &&FirmwareMemory| {
            let at = u64::from(addr.wrapping_sub(memory.base));
            addr >= memory.base && at + bytes.len() as u64 <= u64::from(memory.bytes)
        };
        let memory = memories.iter().find(holds).ok_or_else(|| outside(addr, bytes, &memories))?;
        let path = &memory.memory;
        if let Some(part) = card.part::<MemoryController>(path) {
            part.borrow_mut().write(u64::from(addr - memory.base), bytes);
        } else if let Some(part) = card.part::<ScratchpadBanks>(path) {
            let mut part = part.borrow_mut();
            let place = part.store_mut().get_mut(u64::from(addr), bytes.len() as u32);
            place.map_err(|_| outside(addr, bytes, &memories))?.copy_from_slice(bytes);
        } else {
            return Err(LoadError::NoMemory { path: path.clone() });
        }
    }
    Ok(())
}

/// The memories that firmware is loaded into; `None` if the card has no part that knows them.
pub fn memories(card: &Card) -> Option<Vec<FirmwareMemory>> {
    let (loaders, hosts) = (card.parts::<BootLoader>(), card.parts::<TengigHost>());
    match (loaders.first(), hosts.first()) {
        (Some((_, loader)), _) => Some(loader.borrow().memories().to_vec()),
        (None, Some((_, host))) => Some(host.borrow().params().firmware.clone()),
        (None, None) => None,
    }
}

fn outside(addr: u32, bytes: &[u8], memories: &[FirmwareMemory]) -> LoadError {
    let one = |memory: &FirmwareMemory| {
        let last = memory.base.wrapping_add(memory.bytes.wrapping_sub(1));
        format!("0x{:x} to 0x{last:x} ({})", memory.base, memory.memory)
    };
    let allowed = memories.iter().map(one).collect::<Vec<_>>().join(" or ");
    LoadError::Outside { addr, bytes: bytes.len(), allowed }
}
