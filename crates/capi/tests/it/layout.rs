//! Structs and constants as the C compiler sees them.

use super::support::Bench;
use expect_test::expect;

/// Source of the numbers: PsPIN a49fec8, `hw/verilator_model/include`.
#[test]
fn structs_have_pspins_layout() {
    let bench = Bench::new();
    bench.compile("layout");
    let ran = bench.run("layout", &[], &[]);
    expect![[r#"
        spin_ec_t 76 bytes: handler_mem_addr@0 handler_mem_size@4 host_mem_addr@8 host_mem_size@16 hh_addr@20 hh_size@24 ph_addr@28 ph_size@32 th_addr@36 th_size@40 scratchpad_addr@44 scratchpad_size@60
        ni_conf_t 12 bytes: axi_aw_buffer@0 axi_w_buffer@4 axi_b_buffer@8
        no_conf_t 24 bytes: axi_ar_buffer@0 axi_r_buffer@4 network_G@8 max_pkt_size@16 max_network_queue_len@20
        pcie_slv_conf_t 32 bytes: axi_aw_buffer@0 axi_w_buffer@4 axi_ar_buffer@8 axi_b_buffer@12 axi_r_buffer@16 pcie_L@20 pcie_G@24
        pspin_conf_t 80 bytes: slm_files_path@0 ni_conf@8 no_conf@24 pcie_slv_conf@48
        addresses 4, sizes 4, host 8, nic 4 bytes
        4 clusters of 8 cores, 10 bits of msgid
        host 1000000000000000, L1 100000, runtime 400 4000, packets 4400 8000, scratchpads c400 f3c00, L2 packets 1c400000 4194304
        0 1 0 1 256
        no path; 32 32 32; 32 32 0 2048 32; 32 32 32 32 32 2 0.014782
        exit code 0
    "#]].assert_eq(&ran.text());
}
