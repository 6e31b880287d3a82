//! An engine of known rate and latency (Table 1); it does not change packets.

use super::{EngineClock, EngineSite, Headers, Lanes, Work};
use crate::protocol::Message;
use blocks::checks::within;

/// Parameters of a fixed-rate engine: any accelerator for which these numbers are known. It does not change packets.
///
/// Ports:   flits in, flits out.
/// Timing:  `bits_per_cycle` enter each cycle; each packet starts in a new cycle. A packet is done `base_cycles` after its last
///          bits, plus `block_cycles` for each block of `block_bytes`, the last of which may be partial. Up to `in_flight`
///          packets overlap; 1 means not pipelined.
/// Source:  Table 1. SHA1 of 113 Gb/s at 220 MHz is 512 bits a cycle; its 0.47 to 10.8 us are 4 cycles and 98 for each block of
///          64 bytes, after the input (assumed: packets of 64 and of 1500 bytes); 64 packets overlap (4.3.1).
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateParams {
    /// Clock of the engine.
    pub clock: EngineClock,
    /// FIFO between the scratchpad and the engine, in flits, 2 to 65536.
    pub fifo_flits: u32,
    /// Input width, in bits per cycle, 1 to 65536.
    pub bits_per_cycle: u32,
    /// Cycles for each packet, 0 to 1048576.
    pub base_cycles: u32,
    /// Size of a block, 1 to 65536.
    pub block_bytes: u32,
    /// Cycles for each block, also for a partial one, 0 to 65536.
    pub block_cycles: u32,
    /// Maximum number of packets in the engine, 1 to 4096.
    pub in_flight: u32,
}

impl RateParams {
    fn lanes(&self) -> Lanes {
        Lanes { clock: self.clock, n_lanes: 1, fifo_flits: self.fifo_flits, headers: Headers::Keep }
    }

    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        self.lanes().check()?;
        within("bits_per_cycle", self.bits_per_cycle, 1, 1 << 16)?;
        within("base_cycles", self.base_cycles, 0, 1 << 20)?;
        within("block_bytes", self.block_bytes, 1, 1 << 16)?;
        within("block_cycles", self.block_cycles, 0, 1 << 16)?;
        within("in_flight", self.in_flight, 1, 4096)
    }

    /// Adds the engine.
    pub(in crate::unit) fn add(&self, site: EngineSite) {
        self.lanes().add(site, || self.clone());
    }
}

impl Work for RateParams {
    fn intake_cycles(&self, bytes: usize) -> u64 {
        (8 * bytes as u64).div_ceil(self.bits_per_cycle.into())
    }

    fn finish_cycles(&self, len: usize, _len_after: usize) -> u64 {
        let n_blocks = (len as u64).div_ceil(self.block_bytes.into());
        u64::from(self.base_cycles) + n_blocks * u64::from(self.block_cycles)
    }

    fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    fn transform(&mut self, _message: &mut Message) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Packet, RATE, outputs};
    use expect_test::expect;

    /// Departure cycles (4 ns) of descriptors when all packets wait; the first is taken in cycle 1.
    fn departures(in_flight: u32, bits_per_cycle: u32) -> String {
        let toml = RATE
            .replace("{ kind = \"own\", khz = 220_000, crossing_cycles = 2 }", "{ kind = \"nic\" }")
            .replace("in_flight = 128", &format!("in_flight = {in_flight}"))
            .replace("bits_per_cycle = 512", &format!("bits_per_cycle = {bits_per_cycle}"));
        let outs = outputs(&toml, &[64, 64, 128, 64].map(|len| Packet::of(&vec![0; len])));
        outs.iter().map(|out| out.first.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn packets_overlap_if_the_engine_is_pipelined() {
        expect!["108 110 211 214"].assert_eq(&departures(64, 512));
        expect!["139 171 333 336"].assert_eq(&departures(64, 16));
        expect!["108 110 310 313"].assert_eq(&departures(2, 512));
        expect!["108 211 413 516"].assert_eq(&departures(1, 512));
    }

    #[test]
    fn bad_parameters_are_errors() {
        let check = |from: &str, to: &str| match toml::from_str::<crate::unit::EngineParams>(&RATE.replace(from, to)) {
            Ok(params) => params.check().unwrap_err(),
            Err(error) => error.message().to_owned(),
        };
        expect!["block_bytes is 0, must be 1 to 65536"].assert_eq(&check("block_bytes = 64", "block_bytes = 0"));
        expect!["in_flight is 0, must be 1 to 4096"].assert_eq(&check("in_flight = 128", "in_flight = 0"));
        expect!["invalid value: integer `-1`, expected u32"]
            .assert_eq(&check("bits_per_cycle = 512", "bits_per_cycle = -1"));
        expect!["missing field `base_cycles`"].assert_eq(&check("base_cycles = 4", ""));
        expect!["unknown field `bass_cycles`, expected one of `clock`, `fifo_flits`, `bits_per_cycle`, `base_cycles`, `block_bytes`, `block_cycles`, `in_flight`"].assert_eq(&check("base_cycles", "bass_cycles"));
    }
}
