//! The host's 4 KB window: registers, the shared first kilobyte of memory, and a movable window into the rest.
//!
//! Bytes on the port are in PCI order, which is little-endian: a word keeps its value, so its bytes are mirrored. With the byte
//! swap bit of misc host control set they keep their order. assumed: the word swap bit affects only 64-bit accesses on the bus;
//! with it, as drivers set it, words are at their addresses.

use super::block::Block;
use super::map;
use super::state::HOST_BYTE_SWAP;
use blocks::bus::{Access, BusError, Data, Reference, Reply, Requester, Responder, word};
use kernel::{Cycle, Ports, Time};

/// Size of the window; higher addresses alias.
const BYTES: u64 = 0x1000;
/// Offset of shared memory, and of the 2 KB window into local memory. Source: docs/machines/tigon2.md.
const SHARED: u64 = 0x400;
const LOCAL: u64 = 0x800;
/// Mailboxes in memory: 32 of 8 bytes, of which the second word is used. Source: docs/machines/tigon2.md.
const MAILBOXES: std::ops::Range<u64> = 0x100..0x200;

/// The host's accesses, executed one at a time.
pub struct HostWindow {
    host: Responder,
    sram: Requester,
    active: Option<Active>,
}

/// An access to memory in progress.
struct Active {
    reference: Reference,
    /// Address in memory.
    addr: u64,
    requested: u32,
    settled: u32,
    read: Data,
    failed: Option<BusError>,
    /// Time lost to contention by its parts.
    waited: Time,
}

impl HostWindow {
    pub fn new(host: Responder, sram: Requester) -> HostWindow {
        HostWindow { host, sram, active: None }
    }

    pub fn ports(&self, ports: &mut Ports) {
        self.host.port("host", ports);
        self.sram.port("sram", ports);
    }

    /// Serves the host; returns true if it did anything.
    pub fn tick(&mut self, now: Cycle, block: &mut Block) -> bool {
        let mut any = self.take_replies();
        any |= self.finish(block);
        any |= self.begin(now, block);
        any |= self.ask();
        any
    }

    /// Processes replies; their ids are byte ranges of the access.
    fn take_replies(&mut self) -> bool {
        let mut any = false;
        while let Some(reply) = self.sram.replies.take() {
            any = true;
            let active = self.active.as_mut().expect("a reply must belong to the active access");
            active.settled += reply.id;
            active.waited = active.waited + reply.waited;
            match reply.result {
                Ok(data) => active.read.extend_from_slice(&data),
                Err(error) => _ = active.failed.get_or_insert(error),
            }
        }
        any
    }

    fn finish(&mut self, block: &mut Block) -> bool {
        let is_done = |active: &Active| active.settled == active.reference.access.len();
        if !self.active.as_ref().is_some_and(is_done) || !self.host.replies.has_room() {
            return false;
        }
        let Active { reference, addr, mut read, failed, waited, .. } =
            self.active.take().expect("an access must be complete");
        mirror(block, &mut read);
        if matches!(reference.access, Access::Write(_)) {
            // The mailboxes whose low word was written.
            let end = addr + u64::from(reference.access.len());
            for mailbox in 0..32 {
                let low = MAILBOXES.start + 8 * u64::from(mailbox) + 4;
                if addr <= low && low < end {
                    block.mail(mailbox);
                }
            }
        }
        let reply = Reply::new(reference.id, failed.map_or(Ok(read), Err));
        self.host.replies.send(reply.having_waited(waited));
        true
    }

    /// Starts the next access, and answers it if it is to registers.
    fn begin(&mut self, now: Cycle, block: &mut Block) -> bool {
        if self.active.is_some() || !self.host.references.has_item() || !self.host.replies.has_room() {
            return false;
        }
        let mut reference = self.host.references.take().expect("an access must be there");
        if let Access::Write(data) = &mut reference.access {
            mirror(block, data);
        }
        let (offset, len) = (reference.addr % BYTES, u64::from(reference.access.len()));
        let addr = match offset {
            _ if len == 0 || offset % 4 != 0 || len % 4 != 0 || offset + len > BYTES => None,
            0..SHARED if offset as u32 == map::WINDOW_DATA && len == 4 => {
                Some(u64::from(block.state.storage[map::WINDOW_BASE as usize / 4]))
            }
            0..SHARED => {
                let result = registers(now, block, &reference);
                self.host.replies.send(Reply::new(reference.id, result));
                return true;
            }
            SHARED..LOCAL if offset + len <= LOCAL => Some(offset - SHARED),
            SHARED..LOCAL => None,
            _ => {
                let base = u64::from(block.state.storage[map::WINDOW_BASE as usize / 4]);
                Some((base & !(BYTES - LOCAL - 1)) + (offset - LOCAL))
            }
        };
        match addr {
            None => {
                let result = Err(BusError::Length(reference.addr, reference.access.len()));
                self.host.replies.send(Reply::new(reference.id, result));
            }
            Some(addr) => {
                let (requested, settled, read, failed, waited) = (0, 0, Data::new(), None, Time::ZERO);
                self.active = Some(Active { reference, addr, requested, settled, read, failed, waited });
            }
        }
        true
    }

    /// Sends the next part of up to 8 bytes to memory.
    fn ask(&mut self) -> bool {
        let Some(active) = &mut self.active else { return false };
        let left = active.reference.access.len() - active.requested;
        if left == 0 || !self.sram.references.has_room() {
            return false;
        }
        let addr = active.addr + u64::from(active.requested);
        let bytes = left.min(8 - (addr % 8) as u32);
        let access = match &active.reference.access {
            Access::Read(_) => Access::Read(bytes),
            Access::Write(data) => {
                let from = active.requested as usize;
                Access::Write(Data::from_slice(&data[from..from + bytes as usize]))
            }
            Access::Linked(link) => Access::Linked(*link),
        };
        active.requested += bytes;
        self.sram.references.send(Reference { id: bytes, addr, access });
        true
    }
}

/// Converts between bus byte order and big-endian words.
fn mirror(block: &Block, bytes: &mut [u8]) {
    if block.state.host_control & HOST_BYTE_SWAP == 0 {
        bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    }
}

/// An access to whole registers.
fn registers(now: Cycle, block: &mut Block, reference: &Reference) -> Result<Data, BusError> {
    let first = (reference.addr % SHARED) as u32;
    match &reference.access {
        Access::Read(bytes) => {
            let words = (0..bytes / 4).map(|i| block.read(now, first + 4 * i));
            let mut read: Data = words.flat_map(u32::to_be_bytes).collect();
            mirror(block, &mut read);
            Ok(read)
        }
        Access::Write(data) => {
            for (i, bytes) in (0..).zip(data.chunks_exact(4)) {
                block.write(now, first + 4 * i, word(bytes));
            }
            Ok(Data::new())
        }
        Access::Linked(_) => Err(BusError::NoLink(reference.addr)),
    }
}
