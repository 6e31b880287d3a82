//! A cluster under a debugger.

use super::Cluster;
use super::hpu::Hpu;
use super::hpu_driver::HpuTask;
use crate::protocol::{Command, CommandTarget, Region, Stage};
use blocks::debug::{Event, Probe, Task};

/// Size in bytes of the registers that show a task.
pub const TASK_BYTES: u32 = 0x1b0;

/// The task that a core works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Number of the packet.
    pub packet: u64,
    /// Kind of the handler.
    pub stage: Stage,
    /// The handler's code.
    pub handler: Region,
}

impl Cluster {
    /// Reports what a core does to `probe`.
    pub fn set_probe(&mut self, core: u32, probe: Probe) {
        self.cores[core as usize].core.set_probe(probe);
    }

    /// Program counter and general registers of a core.
    pub fn registers(&self, core: u32) -> (u32, &[u32]) {
        let core = &self.cores[core as usize].core;
        (core.pc(), core.registers())
    }

    /// The handler that a core runs.
    pub fn work(&self, core: u32) -> Option<Work> {
        let task = &self.cores[core as usize].driver.running()?.task;
        Some(Work { packet: task.packet.0, stage: task.stage, handler: task.handler })
    }

    /// Reads the registers in which a core's driver shows its task. No simulated time passes. Returns the number of
    /// bytes; 0 without a task.
    pub fn read_task(&self, core: u32, offset: u32, data: &mut [u8]) -> usize {
        let driver = &self.cores[core as usize].driver;
        let byte = |at: u32| Some(driver.task_register(at & !3)?.to_le_bytes()[at as usize % 4]);
        data.iter_mut().zip((offset..TASK_BYTES).map_while(byte)).map(|(to, byte)| *to = byte).count()
    }

    /// Writes a range of L1. No simulated time passes. Returns false, and writes nothing, if the range ends beyond L1.
    pub fn write_l1(&mut self, offset: u32, data: &[u8]) -> bool {
        let is_inside = self.l1.range(offset, data.len()).is_some();
        if is_inside {
            self.l1.write(offset, data);
        }
        is_inside
    }
}

impl Hpu {
    /// Reports to the probe of the core that its task starts or ends.
    pub(super) fn report_task(&mut self) {
        let Hpu { core, driver, .. } = self;
        core.report_with(|| match driver.running() {
            None => Event::Ends,
            Some(HpuTask { task, pkt_ptr }) => Event::Begins(Task {
                packet: task.packet.0,
                queue: task.msgid,
                stage: task.stage as u8,
                copy: (*pkt_ptr, task.pkt_size),
                stored: (task.pkt_addr, task.l2_size),
            }),
        });
    }

    /// Reports to the probe of the core the memory of the card that a command reads or writes.
    pub(super) fn report_command(&mut self, command: &Command) {
        let [_, _, addr, size, word, ..] = command.words;
        let (reads, bytes) = match command.target {
            CommandTarget::NicSend => (true, word),
            CommandTarget::HostDma => (command.writes_host(), size),
            CommandTarget::HostDirect => return, // Its data are the words of the command.
        };
        let (from, to) = if reads { (Some(addr), None) } else { (None, Some(addr)) };
        self.core.report_with(|| Event::Moves { from, to, bytes });
    }
}
