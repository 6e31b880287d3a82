//! Host memory that the card may reach.

use super::handles::Handle;
use super::{Driver, DriverError, HostId, OPERATOR, TenantId};

/// Registered memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First byte, as handlers name it.
    pub addr: u64,
    /// Bytes.
    pub size: u32,
}

/// Size of a page, in bytes. Registered memory begins at a page.
const PAGE_BYTES: u64 = 4096;

impl Driver {
    /// Registers zeroed bytes of the tenant's memory in the host. Each address is registered only once, so later writes
    /// of the card to unregistered memory cannot reach another tenant.
    pub fn register(&mut self, tenant: TenantId, bytes: u32) -> Result<HostId, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        if bytes == 0 {
            return Err(DriverError::Value { what: "bytes", found: "0".into(), allowed: "1 or more".into() });
        }
        let addr = self.next_host;
        // An unmapped page separates two regions.
        let after = addr.checked_add(u64::from(bytes).next_multiple_of(PAGE_BYTES) + PAGE_BYTES);
        let Some(after) = after else {
            let largest = u64::MAX - addr;
            return Err(DriverError::Exhausted { memory: "host memory", requested: bytes.into(), largest });
        };
        self.next_host = after;
        Ok(self.hosts.add(tenant, Region { addr, size: bytes }))
    }

    /// Unregisters memory, so that the card cannot access it; no context may use it.
    pub fn unregister(&mut self, tenant: TenantId, host: HostId) -> Result<(), DriverError> {
        self.hosts.get(tenant, host)?;
        if let Some(user) = self.contexts.all().find(|(.., built)| built.host == Some(host)) {
            return Err(host.in_use(user.0));
        }
        self.hosts.remove(tenant, host).map(drop)
    }

    /// Address and size of registered memory.
    pub fn region(&self, tenant: TenantId, host: HostId) -> Result<Region, DriverError> {
        self.hosts.get(tenant, host).copied()
    }

    /// The tenant itself reads its host memory.
    pub fn host_read(&self, tenant: TenantId, host: HostId, offset: u32, data: &mut [u8]) -> Result<(), DriverError> {
        let addr = self.host_part(tenant, host, offset, data.len() as u64)?;
        self.record.borrow().host.read(addr, data);
        Ok(())
    }

    /// The tenant itself writes its host memory.
    pub fn host_write(&mut self, tenant: TenantId, host: HostId, offset: u32, data: &[u8]) -> Result<(), DriverError> {
        let addr = self.host_part(tenant, host, offset, data.len() as u64)?;
        self.record.borrow_mut().host.write(addr, data);
        Ok(())
    }

    /// The address of `requested` bytes at `offset`.
    pub fn host_part(&self, tenant: TenantId, host: HostId, offset: u32, requested: u64) -> Result<u64, DriverError> {
        let region = self.hosts.get(tenant, host)?;
        let (size, offset) = (u64::from(region.size), u64::from(offset));
        if offset + requested > size {
            return Err(DriverError::Beyond { what: HostId::WHAT, number: host.0, size, offset, requested });
        }
        Ok(region.addr + offset)
    }
}
