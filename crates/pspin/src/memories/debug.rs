//! The memories under a debugger.

use super::Memories;

impl Memories {
    /// Writes a range of handler or packet memory. No simulated time passes. Returns false, and writes nothing, if the range is not
    /// within one of them.
    pub fn write(&mut self, addr: u32, data: &[u8]) -> bool {
        let holds = |memory: &&mut super::Memory| memory.bytes(addr, data.len() as u32).is_some();
        let Some(memory) = self.memories.iter_mut().find(holds) else { return false };
        memory.write(addr, data);
        true
    }
}
