//! Execution contexts: what handlers run with.

use super::handles::Handle;
use super::memory::Kind;
use super::{ContextId, Driver, DriverError, HostId, MemoryId, OPERATOR, ProgramId, TenantId};
use crate::program::{self, HANDLER_BYTES, Handlers};
use pspin::delivery::Delivery;
use pspin::protocol::{Context, Region};
use std::rc::Rc;

/// An execution context, as a tenant asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextSpec {
    /// Where its handlers are.
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
    /// Copies at most so many bytes of each packet to L1; all if not given.
    pub copy_bytes: Option<u32>,
    /// What becomes of packets when something is in their way.
    pub delivery: Delivery,
}

impl ContextSpec {
    /// The handlers of a program, without any memory.
    pub fn new(program: ProgramId) -> Self {
        let (handler, symbols, copy_bytes, delivery) = Default::default();
        let (handler_memory, scratchpad, host) = Default::default();
        ContextSpec { program, handler, symbols, handler_memory, scratchpad, host, copy_bytes, delivery }
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
        let elf = &self.programs.get(tenant, spec.program)?.elf;
        let symbols = [0, 1, 2].map(|stage| spec.symbols[stage].as_deref());
        let handlers = program::find_handlers(elf, &self.params, spec.handler.as_deref(), symbols)?;
        let handler_mem = self.region_of(tenant, spec.handler_memory, Kind::Handler)?;
        let scratchpad = self.region_of(tenant, spec.scratchpad, Kind::Scratchpad)?;
        let host = spec.host.map(|host| self.hosts.get(tenant, host).copied()).transpose()?;
        let [header, payload, completion] = regions(&handlers);
        let context = Context {
            id: 0,
            handler_mem,
            host_mem_addr: host.map_or(0, |host| host.addr),
            host_mem_size: host.map_or(0, |host| host.size),
            header,
            payload,
            completion,
            scratchpads: vec![scratchpad; self.params.n_clusters as usize],
            delivery: spec.delivery,
        };
        Ok(self.keep(tenant, spec, context))
    }

    /// Writes a context down.
    pub(crate) fn keep(&mut self, tenant: TenantId, spec: &ContextSpec, mut context: Context) -> ContextId {
        let id = self.contexts.next();
        context.id = id.0 as u32;
        let idx = self.record.borrow_mut().stats.add_context();
        assert_eq!(idx as u64 + 1, id.0, "reports and the driver count contexts alike");
        let built = Built {
            program: spec.program,
            memories: [spec.handler_memory, spec.scratchpad],
            host: spec.host,
            context: Rc::new(context),
            copy_bytes: spec.copy_bytes,
            idx,
        };
        self.contexts.add(tenant, built)
    }

    /// What the card is told of a context.
    pub fn context(&self, tenant: TenantId, context: ContextId) -> Result<&Context, DriverError> {
        Ok(&self.contexts.get(tenant, context)?.context)
    }

    /// Takes a context apart; its memories stay. It must have no rules, and no packets in the card.
    pub fn destroy(&mut self, tenant: TenantId, context: ContextId) -> Result<(), DriverError> {
        self.contexts.get(tenant, context)?;
        let rule = self.rules.all().find(|(.., rule)| rule.context == context);
        if let Some((rule, ..)) = rule {
            let (what, number) = (ContextId::WHAT, context.0);
            return Err(DriverError::InUse { what, number, user: rule.to_string(), end: "be removed" });
        }
        self.check_idle(tenant, context)?;
        self.contexts.remove(tenant, context).map(drop)
    }

    /// No packet of the context is in the card, and no message of it is still to end.
    pub(super) fn check_idle(&self, tenant: TenantId, context: ContextId) -> Result<(), DriverError> {
        let built = self.contexts.get(tenant, context)?;
        let (what, number) = (ContextId::WHAT, context.0);
        let n = self.record.borrow().window.n_open_of(built.idx);
        if n > 0 {
            return Err(DriverError::Busy { what, number, n });
        }
        if let Some(rule) = self.feed.borrow().rules.of_context(built.idx) {
            let user = format!("a message that rule {rule} began");
            return Err(DriverError::InUse { what, number, user, end: "end, or be killed" });
        }
        Ok(())
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

/// Code of header, payload and completion handler.
pub(crate) fn regions(handlers: &Handlers) -> [Region; 3] {
    [0, 1, 2].map(|stage| match &handlers.stages[stage] {
        Some(symbol) => Region { addr: symbol.addr, size: HANDLER_BYTES },
        None => Region::default(),
    })
}
