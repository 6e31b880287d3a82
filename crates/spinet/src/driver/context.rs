//! Execution contexts: the environment of handlers.

use super::handles::Handle;
use super::memory::Kind;
use super::{ContextId, Driver, DriverError, HostId, MemoryId, OPERATOR, ProgramId, TenantId};
use crate::experiment::{DESCRIPTOR_BYTES, DeliverySpec};
use crate::program;
use pspin::iommu::whole_pages;
use pspin::protocol::{Context, ErrorRecord, IoTerms, Protection, Region, Weight};
use std::rc::Rc;

/// A tenant's request for an execution context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextSpec {
    /// The program with its handlers.
    pub program: ProgramId,
    /// Common name of its handlers; may be left out if the program has handlers of one name only.
    pub handler: Option<String>,
    /// Symbols of header, payload and completion handler instead; empty for none.
    pub symbols: [Option<String>; 3],
    /// Handler memory; none if not given.
    pub handler_memory: Option<MemoryId>,
    /// Scratchpad memory; none if not given.
    pub scratchpad: Option<MemoryId>,
    /// Host memory; none if not given.
    pub host: Option<HostId>,
    /// Copies at most this many bytes of each packet to L1; the default is all.
    pub copy_bytes: Option<u32>,
    /// Treatment of packets when a buffer is full, a packet is early, or a message is late. Unset fields use the card's
    /// default.
    pub delivery: DeliverySpec,
    /// Cycles that a handler may run; at most, and by default, the card's parameter. If that is 0, a tenant may choose any
    /// number.
    pub watchdog_cycles: Option<u32>,
}

impl ContextSpec {
    /// The handlers of a program, without any memory.
    pub fn new(program: ProgramId) -> Self {
        let (handler, symbols, copy_bytes, delivery) = Default::default();
        let (handler_memory, scratchpad, host, watchdog_cycles) = Default::default();
        ContextSpec {
            program,
            handler,
            symbols,
            handler_memory,
            scratchpad,
            host,
            copy_bytes,
            delivery,
            watchdog_cycles,
        }
    }
}

/// A context that was built.
pub(super) struct Built {
    pub program: ProgramId,
    pub memories: [Option<MemoryId>; 2],
    pub host: Option<HostId>,
    pub context: Rc<Context>,
    pub copy_bytes: Option<u32>,
    /// Position in reports.
    pub idx: usize,
    /// Its descriptor in host memory, where the driver chose it.
    pub descriptor: Option<u64>,
}

impl Built {
    pub fn uses_memory(&self, memory: MemoryId) -> bool {
        self.memories.contains(&Some(memory))
    }
}

impl Driver {
    /// Builds a context. It gets packets when a rule is installed for it.
    pub fn build(&mut self, tenant: TenantId, spec: &ContextSpec) -> Result<ContextId, DriverError> {
        self.tenants.get(OPERATOR, tenant)?;
        let program = self.programs.get(tenant, spec.program)?;
        let (elf, code, data) = (&program.elf, program.code(), program.data());
        let symbols = [0, 1, 2].map(|stage| spec.symbols[stage].as_deref());
        let handlers = program::find_handlers(elf, &self.params, spec.handler.as_deref(), symbols)?;
        let handler_mem = self.region_of(tenant, spec.handler_memory, Kind::Handler)?;
        let scratchpad = self.region_of(tenant, spec.scratchpad, Kind::Scratchpad)?;
        let host = spec.host.map(|host| self.hosts.get(tenant, host).copied()).transpose()?;
        let delivery = spec.delivery.over(self.params.delivery);
        delivery.validate()?;
        let watchdog_cycles = self.watchdog_of(spec)?;
        let Some(descriptor) = self.descriptors.take(DESCRIPTOR_BYTES) else {
            return Err(DriverError::Exhausted {
                memory: "descriptors of contexts",
                requested: DESCRIPTOR_BYTES,
                largest: 0,
            });
        };
        let protection = Protection { code, data, watchdog_cycles, error_addr: Some(descriptor) };
        // The descriptor may contain data of the context that had it before.
        self.record.borrow_mut().host.write(descriptor, &[0; DESCRIPTOR_BYTES as usize]);
        let [header, payload, completion] = handlers.regions();
        let context = Context {
            id: 0,
            tenant: 0,
            weight: Weight::default(),
            io: IoTerms::default(),
            handler_mem,
            host_mem_addr: host.map_or(0, |host| host.addr),
            host_mem_size: host.map_or(0, |host| host.size),
            header,
            payload,
            completion,
            scratchpads: vec![scratchpad; self.params.n_clusters as usize],
            delivery,
            protection,
        };
        let id = self.keep(tenant, spec, context);
        self.contexts.get_mut(tenant, id)?.descriptor = Some(descriptor);
        Ok(id)
    }

    /// Stores a new context.
    pub(crate) fn keep(&mut self, tenant: TenantId, spec: &ContextSpec, mut context: Context) -> ContextId {
        let id = self.contexts.next();
        context.id = id.0 as u32;
        context.tenant = tenant.0 as u32;
        let owner = self.tenants.get(OPERATOR, tenant).expect("a tenant builds contexts");
        (context.weight, context.io) = (owner.weight, owner.io);
        let idx = self.record.borrow_mut().stats.add_context();
        assert_eq!(idx as u64 + 1, id.0, "reports and the driver number contexts in the same way");
        if context.host_mem_size > 0 {
            let (addr, bytes) = whole_pages(context.host_mem_addr, context.host_mem_size.into());
            let registered = self.page_tables.borrow_mut().register(context.id, addr, addr, bytes, true);
            registered.expect("a context is new, and whole pages are registered");
        }
        let built = Built {
            program: spec.program,
            memories: [spec.handler_memory, spec.scratchpad],
            host: spec.host,
            context: Rc::new(context),
            copy_bytes: spec.copy_bytes,
            idx,
            descriptor: None,
        };
        self.contexts.add(tenant, built)
    }

    /// The context as the card sees it.
    pub fn context(&self, tenant: TenantId, context: ContextId) -> Result<&Context, DriverError> {
        Ok(&self.contexts.get(tenant, context)?.context)
    }

    /// Frees a context; its memories stay allocated. It must have no rules, and no packets in the card.
    pub fn destroy(&mut self, tenant: TenantId, context: ContextId) -> Result<(), DriverError> {
        self.contexts.get(tenant, context)?;
        let rule = self.rules.all().find(|(.., rule)| rule.context == context);
        if let Some((rule, ..)) = rule {
            let (what, number) = (ContextId::WHAT, context.0);
            return Err(DriverError::InUse { what, number, user: rule.to_string(), end: "be removed" });
        }
        self.check_idle(tenant, context)?;
        let built = self.contexts.remove(tenant, context)?;
        let Context { id, host_mem_addr, host_mem_size, .. } = *built.context;
        if host_mem_size > 0 {
            let (addr, bytes) = whole_pages(host_mem_addr, host_mem_size.into());
            self.page_tables.borrow_mut().unregister(id, addr, bytes).expect("it was registered");
        }
        if let Some(descriptor) = built.descriptor {
            self.descriptors.give_back(descriptor);
        }
        Ok(())
    }

    /// The error of a handler that the card wrote last into the context's descriptor in host memory, if there was one.
    pub fn error_record(&self, tenant: TenantId, context: ContextId) -> Result<Option<ErrorRecord>, DriverError> {
        let built = self.contexts.get(tenant, context)?;
        let Some(addr) = built.context.protection.error_addr else { return Ok(None) };
        let mut bytes = [0; 32];
        self.record.borrow().host.read(addr, &mut bytes);
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[4 * at + i]));
        let record = ErrorRecord::from_words([0, 1, 2, 3, 4, 5, 6, 7].map(word));
        Ok((record.count > 0).then_some(record))
    }

    /// Returns an error if a packet of the context is in the card, or if a message of it is open.
    pub(super) fn check_idle(&self, tenant: TenantId, context: ContextId) -> Result<(), DriverError> {
        let built = self.contexts.get(tenant, context)?;
        let (what, number) = (ContextId::WHAT, context.0);
        let n = self.record.borrow().window.n_open_of(built.idx);
        if n > 0 {
            return Err(DriverError::Busy { what, number, n });
        }
        let feed = &mut *self.feed.borrow_mut();
        feed.end_given_up(self.at + 1);
        if let Some(rule) = feed.rules.of_context(built.idx) {
            let user = format!("a message that rule {rule} began");
            return Err(DriverError::InUse { what, number, user, end: "end, or be killed" });
        }
        Ok(())
    }

    /// A tenant that chooses its handlers' watchdog freely could keep all HPUs forever.
    fn watchdog_of(&self, spec: &ContextSpec) -> Result<u32, DriverError> {
        let most = self.params.isolation.watchdog_cycles;
        let cycles = spec.watchdog_cycles.unwrap_or(most);
        if most > 0 && !(1..=most).contains(&cycles) {
            let allowed = format!("1 to {most}, which is the card's isolation.watchdog_cycles");
            return Err(DriverError::Value { what: "watchdog_cycles", found: cycles.to_string(), allowed });
        }
        Ok(cycles)
    }

    fn region_of(&self, tenant: TenantId, memory: Option<MemoryId>, kind: Kind) -> Result<Region, DriverError> {
        let Some(memory) = memory else { return Ok(Region::default()) };
        let part = self.memories.get(tenant, memory)?;
        if part.kind != kind {
            let (found, allowed) = (format!("{memory}, which is {}", part.kind.name()), kind.name().into());
            return Err(DriverError::Value { what: "memory", found, allowed });
        }
        Ok(Region { addr: part.addr, size: part.size })
    }
}
