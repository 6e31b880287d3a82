//! References that a core sends ahead of their cycles.
//!
//! A core executes instructions ahead until the next reference to another component. Usually that reference belongs to a later cycle,
//! but often nothing can happen to the core until then. Then it sends the reference at once, with a delay (`Tx::send_late`), and
//! continues as if it were in that cycle. So a core ticks about once for each load, and not again for each store and each send.
//!
//! Two cycles are distinguished: `ticked`, that of the present tick, and `now`, which the core has reached. They are equal unless a
//! reference was sent ahead. All that cannot be done ahead waits until a tick in cycle `now`.
//!
//! A core goes ahead of its tick only if
//!
//! - it takes no orders, and is not observed;
//! - it waits for no load and no line, because their answers determine later cycles and instructions;
//! - the memory refuses none of the outstanding stores (`bus::WordLane`), because a refusal stops the core;
//! - the cycle belongs to the present run of the system.
//!
//! The answer to a posted store changes nothing in the core except the number of outstanding references. So it does not wake the
//! core, unless the core waits for just that.

use super::core::MipsCore;
use super::refer::DataPort;
use kernel::{Activity, Cycle};

impl MipsCore {
    /// Goes ahead to a later cycle, in which the next reference is sent. Returns false if something can happen until then.
    #[inline]
    pub(super) fn goes_ahead_to(&mut self, cycle: Cycle) -> bool {
        let is_certain = self.holding == 0
            && self.control.is_none()
            && !self.is_observed
            && self.memory.is_certain()
            && self.registers.as_ref().is_none_or(DataPort::is_certain)
            && self.fetch.as_ref().is_none_or(|fetch| !fetch.is_under_way())
            && cycle <= self.memory.last_cycle();
        if is_certain {
            self.now = cycle;
        }
        is_certain
    }

    /// Waits for something that an answer or room may bring. Ahead of its tick, the core does not know yet whether it must wait.
    pub(super) fn wait(&mut self) -> Activity {
        if self.now > self.ticked { Activity::Until(self.now) } else { self.listen() }
    }

    /// Waits until memory has answered all references. If the last answer cannot come earlier, the core knows ahead of its tick that it
    /// must wait.
    pub(super) fn wait_for_memory(&mut self) -> Activity {
        if self.now > self.memory.earliest_answer() { self.wait() } else { self.listen() }
    }

    /// Sleeps until any answer, or room.
    fn listen(&mut self) -> Activity {
        self.set_listening(true);
        let registers = self.registers.as_ref().map_or(Cycle::MAX, DataPort::answer_due);
        match self.memory.answer_due().min(registers) {
            Cycle::MAX => Activity::Idle,
            due => Activity::Until(due),
        }
    }

    /// Selects whether answers to posted stores wake the core.
    #[inline(always)]
    pub(super) fn set_listening(&mut self, is_listening: bool) {
        if self.is_listening != is_listening {
            self.is_listening = is_listening;
            self.memory.set_quiet(!is_listening);
            self.registers.iter().for_each(|registers| registers.set_quiet(!is_listening));
        }
    }
}
