//! Memory of the card: its owners, and the host's reads and writes.

use super::handles::Handle;
use super::heap::Heap;
use super::{Driver, DriverError, MemoryId, OPERATOR, TenantId, TicketId};
use pspin::HostAccessDone;
use pspin::map;
use pspin::protocol::Region;

/// A memory of the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// L2 handler memory.
    Handler,
    /// Program memory.
    Program,
    /// Scratchpad memory: the same part of every cluster's L1.
    Scratchpad,
}

impl Kind {
    /// Its name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Handler => "handler memory",
            Kind::Program => "program memory",
            Kind::Scratchpad => "scratchpad memory",
        }
    }
}

/// A part of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryRange {
    /// The memory.
    pub kind: Kind,
    /// Address of the first byte; for a scratchpad, the offset from the start of the scratchpads.
    pub addr: u32,
    /// Bytes.
    pub size: u32,
}

/// An access of the host that is in progress, or whose bytes the tenant has not taken.
pub(super) enum Access {
    Write,
    Read(Option<Box<[u8]>>),
}

/// Cycles within which the card answers under any load: the largest access takes 65,536 beats and shares the port with
/// three initiators.
const PATIENCE: u64 = 10_000_000;

impl Driver {
    pub(super) fn heap(&mut self, kind: Kind) -> &mut Heap {
        match kind {
            Kind::Handler => &mut self.handler_memory,
            Kind::Program => &mut self.program_memory,
            Kind::Scratchpad => &mut self.scratchpad_memory,
        }
    }

    /// Allocates bytes in a memory of the card. They are zero once a rule lets handlers use them. Where the host cannot
    /// clear scratchpads, a scratchpad keeps its old contents.
    pub fn allocate(&mut self, tenant: TenantId, kind: Kind, bytes: u32) -> Result<MemoryId, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        if bytes == 0 {
            return Err(DriverError::Value { what: "bytes", found: "0".into(), allowed: "1 or more".into() });
        }
        let heap = self.heap(kind);
        let Some(addr) = heap.take(bytes.into()) else {
            let largest = heap.largest().1;
            return Err(DriverError::Exhausted { memory: kind.name(), requested: bytes.into(), largest });
        };
        let addr = u32::try_from(addr).expect("the card's memories have 32-bit addresses");
        Ok(self.memories.add(tenant, MemoryRange { kind, addr, size: bytes }))
    }

    /// Registers handler memory of a context at a place that the caller chose; `None` if it has no bytes. It is never
    /// freed.
    pub(crate) fn adopt_memory(&mut self, tenant: TenantId, region: Region) -> Option<MemoryId> {
        let Region { addr, size } = region;
        (size > 0).then(|| self.memories.add(tenant, MemoryRange { kind: Kind::Handler, addr, size }))
    }

    /// Frees memory that no context uses. The driver writes zeros to it if the host can reach it. This occupies the
    /// host's port for a cycle per 64 bytes; for a scratchpad, in each cluster.
    pub fn free(&mut self, tenant: TenantId, memory: MemoryId) -> Result<(), DriverError> {
        let part = *self.memories.get(tenant, memory)?;
        if let Some(user) = self.contexts.all().find(|(.., built)| built.uses_memory(memory)) {
            return Err(memory.in_use(user.0));
        }
        self.memories.remove(tenant, memory)?;
        self.give_back(part);
        Ok(())
    }

    /// Returns a part to its heap, and clears it.
    pub(super) fn give_back(&mut self, part: MemoryRange) {
        self.heap(part.kind).give_back(part.addr.into());
        let zeros = vec![0; part.size as usize];
        if part.kind != Kind::Scratchpad {
            self.begin_write(OPERATOR, part.addr, &zeros);
        } else if self.params.isolation.host_clears_scratchpads {
            let first = map::L1_BASE + self.params.cluster.scratchpad_offset + part.addr;
            for cluster in 0..self.params.n_clusters {
                self.begin_write(OPERATOR, first + cluster * map::L1_STRIDE, &zeros);
            }
        }
    }

    /// The range of an allocated memory.
    pub fn part(&self, tenant: TenantId, memory: MemoryId) -> Result<MemoryRange, DriverError> {
        self.memories.get(tenant, memory).copied()
    }

    /// Writes into handler memory or program memory, from the next cycle on and after all earlier accesses.
    pub fn write(
        &mut self,
        tenant: TenantId,
        memory: MemoryId,
        offset: u32,
        bytes: &[u8],
    ) -> Result<TicketId, DriverError> {
        let addr = self.reach(tenant, memory, offset, bytes.len() as u64)?;
        Ok(self.begin_write(tenant, addr, bytes))
    }

    /// Reads `size` bytes of handler memory or program memory, in the same way; [`Driver::take`] returns them when they
    /// have arrived.
    pub fn read(
        &mut self,
        tenant: TenantId,
        memory: MemoryId,
        offset: u32,
        size: u32,
    ) -> Result<TicketId, DriverError> {
        let addr = self.reach(tenant, memory, offset, size.into())?;
        let ticket = self.tickets.add(tenant, Access::Read(None));
        self.nic.host_read(self.at + 1, addr, size, ticket.0);
        Ok(ticket)
    }

    /// Returns the bytes of a finished read, once; `None` while it is under way.
    pub fn take(&mut self, tenant: TenantId, ticket: TicketId) -> Result<Option<Box<[u8]>>, DriverError> {
        match self.tickets.get_mut(tenant, ticket)? {
            Access::Read(bytes @ Some(_)) => {
                let bytes = bytes.take();
                self.tickets.remove(tenant, ticket)?;
                Ok(bytes)
            }
            Access::Read(None) | Access::Write => Ok(None),
        }
    }

    /// Returns true if an access has ended.
    pub fn is_done(&self, tenant: TenantId, ticket: TicketId) -> Result<bool, DriverError> {
        match self.tickets.get(tenant, ticket) {
            Ok(access) => Ok(matches!(access, Access::Read(Some(_)))),
            // No record of a finished write is kept.
            Err(DriverError::Gone { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Simulates until an access has ended.
    pub fn wait(&mut self, tenant: TenantId, ticket: TicketId) -> Result<(), DriverError> {
        let end = self.at + PATIENCE;
        while !self.is_done(tenant, ticket)? {
            if self.at == end {
                return Err(DriverError::Unanswered { ticket: ticket.to_string(), cycles: PATIENCE });
            }
            self.run_until(self.at + 1);
        }
        Ok(())
    }

    /// Simulates until all accesses of the host are done.
    pub(super) fn settle(&mut self) -> Result<(), DriverError> {
        let writes = self.tickets.all().filter(|(.., access)| matches!(access, Access::Write));
        match writes.map(|(ticket, owner, _)| (owner, ticket)).last() {
            // They end in order.
            Some((owner, ticket)) => self.wait(owner, ticket),
            None => Ok(()),
        }
    }

    pub(super) fn begin_write(&mut self, tenant: TenantId, addr: u32, bytes: &[u8]) -> TicketId {
        let ticket = self.tickets.add(tenant, Access::Write);
        self.nic.host_write(self.at + 1, addr, bytes, ticket.0);
        ticket
    }

    /// Records the results of accesses that have ended.
    pub(super) fn end_accesses(&mut self) {
        for HostAccessDone { tag, result, .. } in self.nic.take_host_accesses() {
            let bytes = result.expect("the driver asks for what the host port reaches");
            let ticket = TicketId::from_number(tag);
            match self.tickets.any_mut(ticket) {
                Some(Access::Read(slot)) => *slot = Some(bytes),
                Some(Access::Write) => self.tickets.drop_any(ticket),
                None => {}
            }
        }
    }

    /// The card's address of some bytes of a tenant's memory.
    fn reach(&self, tenant: TenantId, memory: MemoryId, offset: u32, requested: u64) -> Result<u32, DriverError> {
        let part = self.memories.get(tenant, memory)?;
        if part.kind == Kind::Scratchpad {
            let allowed = "handler memory or program memory: only handlers can access a scratchpad".into();
            return Err(DriverError::Value { what: "memory", found: format!("{memory}, a scratchpad"), allowed });
        }
        let (size, offset) = (u64::from(part.size), u64::from(offset));
        if offset + requested > size {
            return Err(DriverError::Beyond { what: MemoryId::WHAT, number: memory.0, size, offset, requested });
        }
        Ok(part.addr + offset as u32)
    }
}
