//! Configuration structs of `pspinsim.h`, and the machine parameters they set.

use crate::Error;
use pspin::PspinParams;
use std::ffi::c_char;
use std::ptr;

/// `ni_conf_t`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NiConf {
    axi_aw_buffer: u32,
    axi_w_buffer: u32,
    axi_b_buffer: u32,
}

/// `no_conf_t`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoConf {
    axi_ar_buffer: u32,
    axi_r_buffer: u32,
    network_g: f64,
    max_pkt_size: u32,
    max_network_queue_len: u32,
}

/// `pcie_slv_conf_t`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PcieSlvConf {
    axi_aw_buffer: u32,
    axi_w_buffer: u32,
    axi_ar_buffer: u32,
    axi_b_buffer: u32,
    axi_r_buffer: u32,
    pcie_l: u32,
    pcie_g: f64,
}

/// `pspin_conf_t`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PspinConf {
    pub slm_files_path: *const c_char,
    pub ni_conf: NiConf,
    pub no_conf: NoConf,
    pub pcie_slv_conf: PcieSlvConf,
}

impl Default for PspinConf {
    /// Source: PsPIN a49fec8, `hw/verilator_model/src/pspinsim.cpp`.
    fn default() -> Self {
        PspinConf {
            slm_files_path: ptr::null(),
            ni_conf: NiConf { axi_aw_buffer: 32, axi_w_buffer: 32, axi_b_buffer: 32 },
            no_conf: NoConf {
                axi_ar_buffer: 32,
                axi_r_buffer: 32,
                network_g: 0.0,
                max_pkt_size: 2048,
                max_network_queue_len: 32,
            },
            pcie_slv_conf: PcieSlvConf {
                axi_aw_buffer: 32,
                axi_w_buffer: 32,
                axi_ar_buffer: 32,
                axi_b_buffer: 32,
                axi_r_buffer: 32,
                pcie_l: 2,
                pcie_g: 0.014782,
            },
        }
    }
}

/// The C program's names of machine parameters.
const FIELDS: [(&str, &str); 4] = [
    ("outbound.max_packet_bytes", "no_conf.max_pkt_size"),
    ("outbound.queue_packets", "no_conf.max_network_queue_len"),
    ("pcie.latency_cycles", "pcie_slv_conf.pcie_L, in cycles of 1000 ps,"),
    ("pcie.buffer_beats", "the smallest buffer of pcie_slv_conf"),
];

/// Number of bytes to which the functional models apply a rate.
const WORD: f64 = 64.0;
/// Cycle of the functional models, in ps.
const CYCLE_PS: u32 = 1000;

impl PspinConf {
    /// Sets only values that differ from the defaults, so a preset keeps all others.
    ///
    /// Source: PsPIN a49fec8, `NICOutbound.hpp`, `PCIeSlave.hpp`. Differs: a shorter beat has the gap of a 64-byte
    /// beat, and the five buffers of host memory have one size, the smallest of the five.
    pub fn apply(&self, params: &mut PspinParams) -> Result<(), Error> {
        let default = Self::default();
        let (no, no_default) = (&self.no_conf, &default.no_conf);
        if no.network_g != no_default.network_g {
            params.outbound.cycles_per_beat = cycles("no_conf.network_G", no.network_g)?;
        }
        if no.max_pkt_size != no_default.max_pkt_size {
            params.outbound.max_packet_bytes = no.max_pkt_size;
        }
        if no.max_network_queue_len != no_default.max_network_queue_len {
            params.outbound.queue_packets = no.max_network_queue_len;
        }
        let (pcie, pcie_default) = (&self.pcie_slv_conf, &default.pcie_slv_conf);
        if pcie.pcie_l != pcie_default.pcie_l {
            params.pcie.latency_cycles = pcie.pcie_l.div_ceil(CYCLE_PS).max(1);
        }
        if pcie.pcie_g != pcie_default.pcie_g {
            let wait = cycles("pcie_slv_conf.pcie_G", pcie.pcie_g)?;
            params.pcie.write_gap_cycles = wait.saturating_sub(1);
            params.pcie.read_gap_cycles = wait;
        }
        let buffers = |pcie: &PcieSlvConf| {
            [pcie.axi_aw_buffer, pcie.axi_w_buffer, pcie.axi_ar_buffer, pcie.axi_b_buffer, pcie.axi_r_buffer]
        };
        if buffers(pcie) != buffers(pcie_default) {
            params.pcie.buffer_beats = buffers(pcie).into_iter().min().unwrap_or(0);
        }
        params.validate().map_err(|error| {
            let field =
                FIELDS.iter().find(|(key, _)| *key == error.key).map_or(error.key, |(_, field)| (*field).to_owned());
            Error::Conf { field, found: error.found, allowed: error.allowed }
        })
    }
}

/// Number of whole cycles that 64 bytes take at `ns_per_byte`.
fn cycles(field: &'static str, ns_per_byte: f64) -> Result<u32, Error> {
    if ns_per_byte.is_nan() || ns_per_byte < 0.0 || ns_per_byte * WORD > 1e6 {
        let allowed = "0 to 15625 ns per byte".to_owned();
        return Err(Error::Conf { field: field.to_owned(), found: ns_per_byte.to_string(), allowed });
    }
    Ok((ns_per_byte * WORD) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::path::Path;

    fn check(change: impl FnOnce(&mut PspinConf), want: Expect) {
        let mut conf = PspinConf::default();
        change(&mut conf);
        let mut params = spinet::nics::load("pspin-rtl", &[], Path::new("")).expect("a preset");
        let shown = match conf.apply(&mut params) {
            Ok(()) => format!("{:?}\n{:?}", params.outbound, params.pcie),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn defaults_change_nothing() {
        let preset = spinet::nics::load("pspin-rtl", &[], Path::new("")).expect("a preset");
        let mut params = preset.clone();
        PspinConf::default().apply(&mut params).expect("defaults");
        assert_eq!(params, preset);
    }

    #[test]
    fn rates_become_whole_cycles() {
        // 200 Gbit/s is 2.38 cycles for 64 bytes.
        check(
            |conf| conf.no_conf.network_g = 0.037252,
            expect![[r#"
                OutboundParams { command_slots: 16, max_packet_bytes: 2048, queue_packets: 32, rdma_header_bytes: 32, cycles_per_beat: 2, start_cycles: 0, response_cycles: 0 }
                PcieParams { model: Ideal, latency_cycles: 1, write_gap_cycles: 0, read_gap_cycles: 0, buffer_beats: 32, link: LinkParams { lanes: 16, lane_mtps: 32000, code_bits: 128, code_line_bits: 130, latency_cycles: 150, host_read_cycles: 100, header_bytes: 16, completion_header_bytes: 12, framing_bytes: 8, max_payload_bytes: 256, max_read_request_bytes: 512, read_completion_boundary_bytes: 64, read_tags: 256 } }"#]],
        );
        check(
            |conf| {
                conf.pcie_slv_conf.pcie_g = 0.05;
                conf.pcie_slv_conf.pcie_l = 2001;
                conf.pcie_slv_conf.axi_ar_buffer = 8;
            },
            expect![[r#"
                OutboundParams { command_slots: 16, max_packet_bytes: 2048, queue_packets: 32, rdma_header_bytes: 32, cycles_per_beat: 0, start_cycles: 0, response_cycles: 0 }
                PcieParams { model: Ideal, latency_cycles: 3, write_gap_cycles: 2, read_gap_cycles: 3, buffer_beats: 8, link: LinkParams { lanes: 16, lane_mtps: 32000, code_bits: 128, code_line_bits: 130, latency_cycles: 150, host_read_cycles: 100, header_bytes: 16, completion_header_bytes: 12, framing_bytes: 8, max_payload_bytes: 256, max_read_request_bytes: 512, read_completion_boundary_bytes: 64, read_tags: 256 } }"#]],
        );
    }

    #[test]
    fn invalid_values_are_refused() {
        check(
            |conf| conf.no_conf.network_g = f64::NAN,
            expect!["conf: no_conf.network_G is NaN, must be 0 to 15625 ns per byte"],
        );
        check(
            |conf| conf.no_conf.max_pkt_size = 0,
            expect![
                "conf: no_conf.max_pkt_size is 0, must be 96 to 65536, at least 64 more than outbound.rdma_header_bytes"
            ],
        );
    }
}
