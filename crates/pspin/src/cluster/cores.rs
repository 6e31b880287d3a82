//! The cores of a cluster, and the banks of L1 that they request.

use super::access::is_link;
use super::hpu::{Hpu, Wait};
use super::l1::L1;
use super::ready::Ready;
use crate::map;
use crate::params::{MAX_CORES, PspinParams, RtlMistakes};
use blocks::cpu::Program;
use kernel::Cycle;
use std::ops::{Index, IndexMut};

/// Registers of the first two arguments, by number.
const A0: u8 = 10;
const A1: u8 = 11;

/// Peripherals of the first cluster.
pub(super) const FIRST_PERIPHERALS: u32 = map::L1_BASE + map::CLUSTER_PERIPHERALS;

/// All HPUs with the calendar of their next actions.
pub(super) struct Cores {
    /// Position of their cluster.
    pub cluster: u32,
    pub hpus: Vec<Hpu>,
    pub ready: Ready,
    /// For each core and each outside port: the bank of this cluster's L1 that its current or last request is for.
    pub banks: [u8; 2 * MAX_CORES],
    /// An AMO to an address that is not a multiple of 4 ends in an exception.
    pub misaligned_amo_traps: bool,
    pub mistakes: RtlMistakes,
    /// Words that an inter-core FIFO holds.
    fifo_depth: usize,
}

impl Index<usize> for Cores {
    type Output = Hpu;

    #[inline(always)]
    fn index(&self, i: usize) -> &Hpu {
        &self.hpus[i]
    }
}

impl IndexMut<usize> for Cores {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut Hpu {
        &mut self.hpus[i]
    }
}

impl Cores {
    pub fn new(cluster: u32, params: &PspinParams) -> Self {
        let n_cores = params.cluster.n_cores;
        Cores {
            cluster,
            hpus: (0..n_cores).map(|core| Hpu::new(cluster, core, params)).collect(),
            ready: Ready::new(n_cores),
            banks: [0; 2 * MAX_CORES],
            misaligned_amo_traps: params.isolation.misaligned_amo_traps,
            mistakes: params.rtl_mistakes,
            fifo_depth: params.cluster.inter_core_fifo as usize,
        }
    }

    pub fn len(&self) -> usize {
        self.hpus.len()
    }

    /// Returns true if an address is that of a peripheral of the cluster, or of a register on a core's own link.
    #[inline]
    pub fn is_beside(&self, addr: u32) -> bool {
        let own = map::L1_BASE + self.cluster * map::L1_STRIDE + map::CLUSTER_PERIPHERALS;
        let window = addr >> 20;
        let is_mistaken =
            self.mistakes.peripherals_of_cluster_0_are_own && window == FIRST_PERIPHERALS >> 20 && !is_link(addr);
        window == map::ALIAS_PERIPHERALS >> 20 || window == own >> 20 || is_mistaken
    }

    /// Core `i` requests memory from cycle `at` on.
    #[inline(always)]
    pub fn request(&mut self, i: usize, now: Cycle, at: Cycle, l1: &L1) {
        let hpu = &mut self.hpus[i];
        hpu.wait = Wait::Access;
        let addr = hpu.next_address();
        if hpu.accesses_l1(addr) {
            self.banks[i] = l1.bank(addr) as u8;
            self.ready.request(i as u32, self.banks[i], now, at);
        } else {
            self.ready.add(i, now, at);
        }
    }

    /// Core `i` waits, and acts in cycle `at`.
    pub fn wait(&mut self, i: usize, wait: Wait, now: Cycle, at: Cycle) {
        self.hpus[i].wait = wait;
        self.ready.add(i, now, at);
    }

    /// Lets core `i` repeat its access in cycle `at`, if the access waits for `what`.
    pub fn repeat(&mut self, i: usize, what: Wait, now: Cycle, at: Cycle) {
        if self.hpus[i].wait == what {
            self.wait(i, Wait::Access, now, at);
        }
    }

    /// Lets core `i` repeat its access to the driver in cycle `at`, if it waits for the driver.
    pub fn repeat_driver(&mut self, i: usize, at: Cycle) {
        self.repeat(i, Wait::Driver, at, at);
    }

    /// Core `i` reads its own inter-core FIFO or writes its neighbour's, `target`. All other accesses return the FIFO's
    /// fill level. Returns `None` if the core must wait.
    pub fn access_fifo(&mut self, i: usize, target: usize, addr: u32, write: Option<u32>, now: Cycle) -> Option<u32> {
        let n = self.hpus.len();
        let fifo = &mut self.hpus[target].fifo;
        match (addr & 0x3fc, write, target == i) {
            (0, Some(_), false) if fifo.len() == self.fifo_depth => None,
            (0, Some(word), false) => {
                fifo.push_back(word);
                self.repeat(target, Wait::Fifo, now, now + 1);
                Some(0)
            }
            (0, None, true) => {
                let word = fifo.pop_front()?;
                self.repeat((i + n - 1) % n, Wait::Fifo, now, now + 1);
                Some(word)
            }
            _ => Some(fifo.len() as u32),
        }
    }

    /// Gives core `i` the registers that boot code leaves to the runtime: its cluster in a0, and its number within the
    /// cluster in a1.
    ///
    /// assumed: PsPIN's runtime (a49fec8, `hpu.c`) starts its loop again after an exception. The loop passes the numbers
    /// in both registers to handlers. In the paper (III-B) the state of the runtime is restored.
    pub fn restore_place(&mut self, i: usize) {
        let cluster = self.cluster;
        let core = &mut self.hpus[i].core;
        core.set_x(A0, cluster);
        core.set_x(A1, i as u32);
    }

    /// The first cycle in which a watchdog runs out or has run out.
    pub fn next_deadline(&self) -> Cycle {
        self.hpus.iter().map(|hpu| hpu.deadline).min().unwrap_or(Cycle::MAX)
    }

    /// Completes the profiles before the program changes.
    pub fn settle_profiles(&mut self, program: &Program) {
        self.hpus.iter_mut().for_each(|hpu| hpu.core.settle_profile(program));
    }
}
