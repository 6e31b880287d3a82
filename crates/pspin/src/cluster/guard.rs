//! Physical memory protection: the memory that a core may access in user mode.

use crate::map;
use crate::params::{PspinParams, Regions};
use crate::protocol::{DATA_REGIONS, Region, Task};
use blocks::cpu::CodeWindow;

/// PMP works on words: a region extends to the end of its last word.
const WORD: u32 = 4;

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct AddressRange {
    base: u32,
    size: u32,
}

impl AddressRange {
    fn new(base: u32, size: u32) -> Self {
        let to_word_end = (base % WORD).wrapping_add(size).wrapping_neg() % WORD;
        AddressRange { base, size: size.saturating_add(to_word_end) }
    }

    /// Returns true if `bytes` from `addr` on are within the range.
    #[inline(always)]
    fn holds(self, addr: u32, bytes: u32) -> bool {
        u64::from(addr.wrapping_sub(self.base)) + u64::from(bytes) <= u64::from(self.size)
    }
}

/// Windows of the own L1, by the addresses that tasks use: scratchpad, packet, stack.
const OWN: usize = 3;
const SCRATCHPAD: usize = 0;
const PACKET: usize = 1;
const STACK: usize = 2;
/// Number of windows elsewhere: scratchpads of 15 other clusters, packet, handler memory, the parts of static data.
const OUTSIDE: usize = 15 + 2 + DATA_REGIONS;

/// The memory that one core may access in user mode. Machine mode may access everything.
///
/// Coarse regions: all L1s and their peripherals; the pages of the task's packet and handler memory; the first 64 KiB
/// of L2 handler memory; the console, for stores only. Source: PsPIN RTL a49fec8, `hpu_driver.sv`.
///
/// Exact regions: the core's own stack; the task's packet, in L1 and L2; its scratchpad in each cluster; its handler
/// memory; code and static data of its program; this core's registers of the driver and of the DMA; the console, for
/// stores only. Between tasks: the stack, the driver and the runtime's loop. Source: Di Girolamo et al., ISCA 2021,
/// III-B: the driver sets PMP regions for each task. Regions consist of words, as in PMP (RISC-V privileged
/// specification 20211203, 3.7).
pub struct Guard {
    regions: Regions,
    checks_transfers: bool,
    fragment_bytes: u32,
    /// Address and size of the own L1.
    l1_base: u32,
    l1_bytes: u32,
    /// All L1s with their peripherals, for coarse regions.
    all_l1s: AddressRange,
    /// The core's stack, by its offset in the own L1.
    stack: AddressRange,
    /// Offset of the scratchpads in every L1.
    scratchpad_offset: u32,
    own: [AddressRange; OWN],
    outside: [AddressRange; OUTSIDE],
    n_outside: usize,
    /// Code of all tasks, and code of the running task.
    code: [CodeWindow; 2],
    /// A task runs. Its DMA registers are accessible.
    has_task: bool,
}

impl Guard {
    /// The guard of a core without a task.
    pub fn new(cluster: u32, core: u32, params: &PspinParams) -> Self {
        let reserved = if core == 0 { map::stack_reserved(params.cluster.n_cores) } else { 0 };
        let mut guard = Guard {
            regions: params.isolation.regions,
            checks_transfers: params.isolation.check_transfers,
            fragment_bytes: params.sharing.fragment_bytes,
            l1_base: map::L1_BASE + cluster * map::L1_STRIDE,
            l1_bytes: params.cluster.l1_bytes,
            all_l1s: AddressRange { base: map::L1_BASE, size: map::l1_window(params.n_clusters) },
            stack: AddressRange::new(core * map::STACK_BYTES + reserved, map::STACK_BYTES - reserved),
            scratchpad_offset: params.cluster.scratchpad_offset,
            own: [AddressRange::default(); OWN],
            outside: [AddressRange::default(); OUTSIDE],
            n_outside: 0,
            code: [CodeWindow::ALL, CodeWindow::default()],
            has_task: false,
        };
        guard.set(None);
        guard
    }

    /// Sets the code that the core may run with or without a task.
    pub fn set_runtime(&mut self, runtime: Region) {
        if self.regions == Regions::Exact {
            self.code[0] = CodeWindow { base: runtime.addr, bytes: runtime.size };
        }
    }

    /// The code that the core may run.
    pub fn code(&self) -> [CodeWindow; 2] {
        self.code
    }

    /// Opens the memory that a task may access, with its packet at `pkt_ptr` in the own L1. `None` closes it.
    pub fn set(&mut self, task: Option<(&Task, u32)>) {
        self.has_task = task.is_some();
        self.n_outside = 0;
        self.own = [AddressRange::default(); OWN];
        match self.regions {
            Regions::Coarse => self.set_coarse(task.map(|(task, _)| task)),
            Regions::Exact => self.set_exact(task),
        }
    }

    fn set_coarse(&mut self, task: Option<&Task>) {
        self.own[0] = self.own_window(0, self.l1_bytes);
        self.open(self.all_l1s.base, self.all_l1s.size);
        self.open(map::ALIAS_BASE, 0x100_0000);
        self.open(map::L2_HANDLER_BASE, 0x1_0000);
        if let Some(task) = task {
            self.open(task.pkt_addr & !0xfff, 0x1000);
            self.open(task.context.handler_mem.addr & !0xf_ffff, 0x10_0000);
        }
    }

    fn set_exact(&mut self, task: Option<(&Task, u32)>) {
        self.own[STACK] = self.own_window(self.stack.base, self.stack.size);
        self.code[1] = CodeWindow::default();
        let Some((task, pkt_ptr)) = task else { return };
        let own_id = (self.l1_base - map::L1_BASE) / map::L1_STRIDE;
        self.own[PACKET] = self.own_window(pkt_ptr.wrapping_sub(self.l1_base), task.pkt_size);
        for (id, scratchpad) in (0..).zip(&task.context.scratchpads) {
            // A driver may set any value. The sum wraps at 32 bits, as in the hardware.
            let offset = self.scratchpad_offset.wrapping_add(scratchpad.addr);
            if id == own_id {
                self.own[SCRATCHPAD] = self.own_window(offset, scratchpad.size);
            } else {
                self.open((map::L1_BASE + id * map::L1_STRIDE).wrapping_add(offset), scratchpad.size);
            }
        }
        let Region { addr, size } = task.context.handler_mem;
        self.open(addr, size);
        self.open(task.pkt_addr, task.l2_size);
        let Region { addr, size } = task.context.protection.code;
        self.code[1] = CodeWindow { base: addr, bytes: size };
        for data in task.context.protection.data.iter().take(DATA_REGIONS) {
            self.open(data.addr, data.size);
        }
    }

    /// A range of the own L1, cut at the end of L1, where addresses wrap.
    fn own_window(&self, offset: u32, size: u32) -> AddressRange {
        let AddressRange { size, .. } = AddressRange::new(offset, size);
        AddressRange { base: self.l1_base.wrapping_add(offset), size: size.min(self.l1_bytes.saturating_sub(offset)) }
    }

    fn open(&mut self, base: u32, size: u32) {
        if size > 0 {
            self.outside[self.n_outside] = AddressRange::new(base, size);
            self.n_outside += 1;
        }
    }

    /// Returns true if an address is in the own L1, under any of its aliases.
    #[inline(always)]
    pub fn is_own_l1(&self, addr: u32) -> bool {
        // Both windows are 2 MiB long: L1 and its test-and-set alias.
        let window = addr >> 21;
        window == map::ALIAS_BASE >> 21 || window == self.l1_base >> 21
    }

    /// Returns true if the core may access `bytes` of its own L1 from this address on, under any alias.
    #[inline(always)]
    pub fn allows_l1(&self, addr: u32, bytes: u32) -> bool {
        self.own.iter().any(|window| window.holds(addr, bytes)) || self.allows_alias(addr, bytes)
    }

    /// Does the same for the aliases of L1: the test-and-set range, and the repetitions of L1 after its end.
    #[cold]
    #[inline(never)]
    fn allows_alias(&self, addr: u32, bytes: u32) -> bool {
        let canonical = self.l1_base + (addr & (self.l1_bytes - 1));
        self.is_own_l1(addr) && self.own.iter().any(|window| window.holds(canonical, bytes))
    }

    /// The core's stack: its offset in L1 and its size, in bytes.
    pub fn stack(&self) -> (u32, u32) {
        (self.stack.base, self.stack.size)
    }

    /// Returns true if a task must not find data of another task.
    pub fn is_exact(&self) -> bool {
        self.regions == Regions::Exact
    }

    /// Returns true if the core may load or store `bytes` from this address on. The address is outside its own L1.
    pub fn allows(&self, addr: u32, bytes: u32, stores: bool) -> bool {
        let console = match self.regions {
            Regions::Coarse => AddressRange { base: map::SOC_PERIPHERALS, size: 0x1_0000 },
            Regions::Exact => AddressRange { base: map::STDOUT, size: 0x1000 },
        };
        stores && console.holds(addr, bytes) || self.holds_outside(addr, bytes)
    }

    /// Returns true if the core may use this register on its own link. Bits 13 to 10 of the address are 1 for the DMA
    /// and 4 for the driver.
    pub fn allows_link(&self, addr: u32) -> bool {
        match (self.regions, addr >> 10 & 0xf) {
            (Regions::Coarse, _) | (_, 4) => true,
            (_, 1) => self.has_task,
            _ => false,
        }
    }

    /// Returns true if the core may use the slow peripherals of its cluster.
    pub fn allows_peripherals(&self) -> bool {
        self.regions == Regions::Coarse
    }

    /// Largest part of a transfer at a time; `None` if transfers are neither checked nor cut.
    pub fn fragment_bytes(&self) -> Option<u32> {
        self.checks_transfers.then_some(self.fragment_bytes)
    }

    /// Returns true if transfers and commands of the core may move `bytes` from this address of the NIC on.
    pub fn allows_transfer(&self, addr: u32, bytes: u32) -> bool {
        let is_own = self.own.iter().any(|window| window.holds(addr, bytes));
        !self.checks_transfers || bytes == 0 || self.holds_outside(addr, bytes) || is_own
    }

    /// Returns true if commands of the core may move `bytes` from this address of the host on. `task` is the running
    /// task.
    pub fn allows_host(&self, task: &Task, addr: u64, bytes: u32) -> bool {
        let at = addr.wrapping_sub(task.context.host_mem_addr);
        let size = u64::from(task.context.host_mem_size);
        !self.checks_transfers || bytes == 0 || at < size && size - at >= bytes.into()
    }

    fn holds_outside(&self, addr: u32, bytes: u32) -> bool {
        self.outside[..self.n_outside].iter().any(|window| window.holds(addr, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Context, PacketId, Stage};
    use crate::testing::paper_params;

    /// Core 1 of cluster 2 has no task and may access only its stack: offsets 0x400 to 0x7ff.
    fn check(addr: u32, bytes: u32) -> bool {
        let params = paper_params();
        Guard::new(2, 1, &params).allows_l1(addr, bytes)
    }

    #[test]
    fn a_window_of_the_own_l1_has_all_its_names_and_ends_where_it_ends() {
        let l1 = map::L1_BASE + 2 * map::L1_STRIDE;
        for name in [l1, l1 + (1 << 20), map::ALIAS_BASE, map::ALIAS_BASE + (1 << 20)] {
            assert!(check(name + 0x400, 4) && check(name + 0x7fc, 4) && check(name + 0x7ff, 1), "{name:#x}");
            assert!(!check(name + 0x3ff, 1) && !check(name + 0x3fe, 4), "{name:#x}: before it");
            assert!(!check(name + 0x7fd, 4) && !check(name + 0x800, 1), "{name:#x}: behind it");
        }
        for other in [map::L1_BASE, l1 + map::CLUSTER_PERIPHERALS, map::L2_HANDLER_BASE, 0] {
            assert!(!check(other + 0x400, 4), "{other:#x}");
        }
    }

    #[test]
    fn a_window_ends_with_the_word_that_it_ends_in() {
        let size = |base, size| AddressRange::new(base, size).size;
        assert_eq!([0, 1, 4, 5, 8].map(|bytes| size(0x100, bytes)), [0, 4, 4, 8, 8]);
        assert_eq!([1, 2, 3, 6, 7].map(|bytes| size(0x102, bytes)), [2, 2, 6, 6, 10]);
        assert_eq!([size(0x101, u32::MAX), size(0x100, u32::MAX), size(0x103, u32::MAX)], [u32::MAX; 3]);
    }

    #[test]
    fn windows_that_drivers_name_beyond_all_addresses_are_no_others() {
        let params = paper_params();
        let mut guard = Guard::new(0, 1, &params);
        let context = Context { scratchpads: vec![Region { addr: u32::MAX - 3, size: 64 }; 4], ..Context::default() };
        let task = Task {
            packet: PacketId(0),
            taken: 0,
            stage: Stage::Payload,
            msgid: 0,
            handler: Region::default(),
            context: context.into(),
            pkt_addr: 0,
            pkt_size: 0,
            l2_size: 0,
            trigger_feedback: true,
        };
        guard.set(Some((&task, map::L1_BASE)));
        let scratchpad = params.cluster.scratchpad_offset - 4;
        for l1 in [map::L1_BASE, map::L1_BASE + map::L1_STRIDE] {
            let allows = |at| guard.allows_l1(l1 + at, 4) || guard.allows(l1 + at, 4, false);
            assert!(allows(scratchpad) && allows(scratchpad + 60) && !allows(scratchpad + 64), "{l1:#x}");
        }
    }

    #[test]
    fn a_window_goes_no_further_than_the_l1() {
        let params = paper_params();
        let guard = Guard::new(0, 0, &params);
        let end = guard.l1_bytes;
        assert_eq!(guard.own_window(end - 8, 64), AddressRange { base: map::L1_BASE + end - 8, size: 8 });
        assert_eq!(guard.own_window(end + 64, 64).size, 0);
        assert_eq!(guard.own_window(16, 5).size, 8, "regions go by words");
    }
}
