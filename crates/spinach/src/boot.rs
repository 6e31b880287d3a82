//! `boot-loader`: loads firmware into memories and starts the cores before the first edge, for a card without a driver.
//!
//! Ports:   `controls[i]` (cpu-control, sends).
//! Timing:  sets the program counter and releases the core at edge 0; the core sees it one connection latency later. If the
//!          connection has room for one order, the second follows when the first is taken.
//! Source:  none: it replaces a debug probe, or a memory that is programmed at manufacture.

use super::load::FirmwareMemory;
use blocks::mips::CpuControl;
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::{Activity, Component, Cycle, Ports, Tx};
use std::collections::VecDeque;

/// Replaces a driver that loads firmware: a debug probe, or a memory that is programmed at manufacture.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootLoaderParams {
    /// Memories to load with firmware.
    pub firmware: Vec<FirmwareMemory>,
    /// Number of cores to start at the firmware's entry. Cores that start by themselves are not counted.
    pub cores: usize,
}

/// Starts cores at the first edge.
pub struct BootLoader {
    params: BootLoaderParams,
    controls: Vec<Tx<CpuControl>>,
    /// Orders not yet sent to each core.
    orders: Vec<VecDeque<CpuControl>>,
}

impl BootLoader {
    /// A loader whose firmware is not yet loaded.
    pub fn new(params: BootLoaderParams, controls: Vec<Tx<CpuControl>>) -> BootLoader {
        let orders = controls.iter().map(|_| VecDeque::new()).collect();
        BootLoader { params, controls, orders }
    }

    /// Memories to load with firmware.
    pub fn memories(&self) -> &[FirmwareMemory] {
        &self.params.firmware
    }

    /// Firmware is loaded and starts at `entry`.
    pub fn is_loaded(&mut self, entry: u32) {
        self.orders.iter_mut().for_each(|orders| *orders = [CpuControl::SetPc(entry), CpuControl::Run].into());
    }
}

impl Component for BootLoader {
    fn tick(&mut self, _now: Cycle) -> Activity {
        for (control, orders) in self.controls.iter().zip(&mut self.orders) {
            // A full connection wakes this component when it has room.
            while !orders.is_empty() && control.has_room() {
                control.send(orders.pop_front().expect("an order must be waiting"));
            }
        }
        Activity::Idle
    }

    fn ports(&self, ports: &mut Ports) {
        ports.outputs("controls", &self.controls);
    }
}

impl Module for BootLoaderParams {
    const NAME: &'static str = "boot-loader";
    const ABOUT: &'static str =
        "Loads a run's firmware into memories and starts the cores of a card whose host has no driver.";
    const EXAMPLE: &'static str = r#"cores = 1
firmware = [{ memory = "sram", base = 0x0, bytes = 0x10000 }]"#;

    fn ports(&self) -> Vec<PortSpec> {
        (0..self.cores)
            .map(|i| PortSpec::from::<OneWay<CpuControl>>(format!("controls[{i}]")).about("orders to the cores"))
            .collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.cores > 64 {
            return Err(format!("cores is {}, must be at most 64", self.cores));
        }
        if self.firmware.is_empty() {
            return Err("firmware is empty; must name a memory".to_owned());
        }
        Ok(())
    }

    fn build(self, site: &mut Site) -> Built {
        let controls = (0..self.cores).map(|i| site.from::<OneWay<CpuControl>>(&format!("controls[{i}]"))).collect();
        Built::new(BootLoader::new(self, controls))
    }
}

#[cfg(test)]
mod tests {
    use crate::{LoadError, catalog, load};
    use blocks::memory::MemoryController;
    use blocks::mips::MipsCore;
    use blocks::netlist::{Card, Environment, Netlist};
    use expect_test::expect;
    use kernel::Time;

    const CARD: &str = r#"
name = "smallest"
connections = [
  "cpu.memory -> sram.requesters[0]", "cpu.fetch -> sram.requesters[1]", "boot.controls[0] -> cpu.control",
]
[clocks]
cpu = "100 MHz"
[instances.cpu]
module = "mips-core"
pipeline = "five-stage"
reset_pc = 0
runs_at_start = false
memory_cycles = 2
register_cycles = 2
stores = "posted"
multiply_cycles = 10
divide_cycles = 69
instruction_cache = { bytes = 64, line_bytes = 32, ways = 1, drops_stored_lines = true }
[instances.sram]
module = "memory-controller"
bytes = 0x1000
word_bytes = 4
first_word_cycles = 1
burst_words = 8
requesters = 2
max_bytes = 32
policy = { kind = "round-robin" }
[instances.boot]
module = "boot-loader"
cores = 1
firmware = [{ memory = "sram", base = 0x0, bytes = 0x1000 }]
"#;

    fn card(text: &str) -> Card {
        let netlist = Netlist::read("card.toml", text, &[], &|_, _| Err(String::new()));
        let design = netlist.and_then(|netlist| netlist.design(&catalog())).unwrap_or_else(|errors| panic!("{errors}"));
        Card::build(&design, 1, &Environment::default())
    }

    #[test]
    fn firmware_is_loaded_and_its_core_started() {
        starts(CARD);
        // Any `room` that a card file may state.
        let wire = "\"boot.controls[0] -> cpu.control\"";
        starts(&CARD.replace(wire, &format!("{{ wires = [{wire}], room = 1, latency = 3 }}")));
    }

    fn starts(text: &str) {
        let mut card = card(text);
        // addiu t0, zero, 42; sw t0, 0x80(zero); break
        let code: Vec<u8> =
            [0x2408_002a_u32, 0xac08_0080, 0x0000_000d].iter().flat_map(|word| word.to_be_bytes()).collect();
        load(&card, 0x100, [(0x100, &code[..])]).expect("it fits");
        card.system.run_until(Time::from_ns(1000));
        let memory = card.part::<MemoryController>("sram").expect("the part must exist");
        assert_eq!(memory.borrow().read(0x80, 4), [0, 0, 0, 42]);
        let core = card.part::<MipsCore>("cpu").expect("the part must exist");
        let fault = core.borrow().fault().map(|fault| (fault.cause.text(), fault.pc));
        assert_eq!(fault, Some(("a break instruction", 0x108)));
    }

    #[test]
    fn firmware_outside_all_memories_is_refused() {
        let refused = |text: &str, addr| -> LoadError {
            load(&card(text), 0x100, [(addr, &[0; 8][..])]).expect_err("loading must fail")
        };
        expect!["firmware has 0x8 bytes at 0xffc, must be in 0x0 to 0xfff (sram)"]
            .assert_eq(&refused(CARD, 0xffc).to_string());
        let bare = CARD
            .split("[instances.boot]")
            .next()
            .expect("the card must have an instance")
            .replace(", \"boot.controls[0] -> cpu.control\"", "");
        expect!["no part of the card loads firmware; add a `boot-loader` if the card has no host with a driver"]
            .assert_eq(&refused(&bare, 0).to_string());
    }
}
