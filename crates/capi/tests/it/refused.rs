//! Errors of drivers, and defaults from environment variables.

use super::support::Bench;
use expect_test::expect;
use std::path::Path;

#[test]
fn errors_name_the_cause() {
    let bench = Bench::with_handlers();
    bench.write("empty/file", "");
    bench.compile("wrong");
    let ran = bench.run("wrong", &["handlers"], &[]);
    expect![[r#"
        pspinsim_run(): 1
        pspinsim_run_tick(&done): 1
        pspinsim_packet_eos(): 1
        pspinsim_fini(): 1
        pspinsim_cb_set_pkt_out(NULL): 1
        pspinsim_default_conf(NULL): 1
        pspinsim_init(argc, argv, NULL): 1
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_init(argc, argv, &conf): 1
        trace off!
        pspinsim_init(argc, argv, &conf): 0
        pspinsim_init(argc, argv, &conf): 1
        pspinsim_packet_add(NULL, 0, &byte, 1, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, NULL, 1, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 0, 0, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 1, 16385, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, SIZE_MAX, 1, 1, 0, 0): 1
        pspinsim_packet_add(&ec, 0, &byte, 1, SIZE_MAX, 1, 0, 0): 1
        spin_nicmem_write(0x1c000000, &byte, SIZE_MAX, NULL): 1
        spin_nicmem_read(0x1c000000, &byte, SIZE_MAX, NULL): 1
        pspinsim_packet_trace_read("nowhere", "nowhere"): 1
        spin_nicmem_write(0x1c400000, &byte, 1, NULL): 1
        spin_nicmem_write(0x1c000000, &byte, 0, NULL): 1
        spin_nicmem_read(0x1d007fff, &byte, 2, NULL): 1
        spin_nicmem_read(0x1d007fff, NULL, 1, NULL): 1
        spin_find_handler_by_name("nowhere", "x_ph", &addr, &size): 1
        spin_find_handler_by_name(argv[1], NULL, &addr, &size): 1
        spin_find_handler_by_name(argv[1], "no_such_ph", &addr, &size): 0
        untouched: 1 2 0
        pspinsim_run(): 1
        pspinsim_run(): 1
        pspinsim_run(): 1
        pspinsim_run_tick(&done): 0
        done: 0
    "#]]
    .assert_eq(ran.stdout.split("\n###### Statistics").next().expect("a first part"));
    expect![[r#"
        error: pspinsim_run: there is no simulation; call this function after pspinsim_init and before pspinsim_fini
        error: pspinsim_run_tick: there is no simulation; call this function after pspinsim_init and before pspinsim_fini
        error: pspinsim_packet_eos: there is no simulation; call this function after pspinsim_init and before pspinsim_fini
        error: pspinsim_fini: there is no simulation; call this function after pspinsim_init and before pspinsim_fini
        error: pspinsim_cb_set_pkt_out: there is no simulation; call this function after pspinsim_init and before pspinsim_fini
        error: pspinsim_default_conf: conf is NULL, must point to room for the result
        error: pspinsim_init: conf->slm_files_path is NULL and PSPIN_HW is not set; set one to the folder of memory images or the ELF file
        error: pspinsim_init: nowhere: No such file or directory (os error 2)
        error: pspinsim_init: empty: prog_mem_stim.slm is missing; write a folder with memory images, or an ELF file; `spinet build` makes both
        error: pspinsim_init: conf: no_conf.network_G is -1, must be 0 to 15625 ns per byte
        error: pspinsim_init: there is a simulation already; call pspinsim_fini first
        error: pspinsim_packet_add: ec is NULL, must point to an execution context
        error: pspinsim_packet_add: pkt_data is NULL, must point to the bytes
        error: pspinsim_packet_add: pkt_len is 0, must be 1 to 4194304, the bytes of L2 packet memory
        error: pspinsim_packet_add: pkt_l1_len is 16385, must be 0 to 16384, the bytes of a ring of the L1 packet buffer
        error: pspinsim_packet_add: pkt_len is 18446744073709551615, must be 1 to 4194304, the bytes of L2 packet memory
        error: pspinsim_packet_add: pkt_l1_len is 18446744073709551615, must be 0 to 16384, the bytes of a ring of the L1 packet buffer
        error: spin_nicmem_write: access to 18446744073709551615 bytes at 0x1c000000, must be within handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: access to 18446744073709551615 bytes at 0x1c000000, must be within handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: pspinsim_packet_trace_read: nowhere: No such file or directory (os error 2)
        error: spin_nicmem_write: access to 1 bytes at 0x1c400000, must be within handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_write: access to 0 bytes at 0x1c000000, must be within handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: access to 2 bytes at 0x1d007fff, must be within handler memory (0x1c000000 to 0x1c3fffff) or program memory (0x1d000000 to 0x1d007fff)
        error: spin_nicmem_read: data is NULL, must point to room for the bytes
        error: spin_find_handler_by_name: nowhere: No such file or directory (os error 2)
        error: spin_find_handler_by_name: handler_name is NULL, must point to a name
        error: pspinsim_run: all packets are done, but pspinsim_packet_eos was not called
        error: pspinsim_run: all packets are done, but messages wait for their last packet (eom): 77
        error: pspinsim_run: deadlock: 1 packets are not done, and no event is pending
          HPU 2.0 waits for an inter-core FIFO at 0x1d0002c4
    "#]].assert_eq(&ran.stderr);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn environment_variables_select_images_and_machine() {
    let bench = Bench::new();
    bench.program("ping_pong.elf", "hw/sim_files/slm_files");
    bench.program("ping_pong.elf", "ping_pong");
    bench.compile("variables");
    let hw = bench.path("hw").display().to_string();
    expect![[r#"
        trace off!
        images in FOLDER/hw/sim_files/slm_files
        1056000 ps: packet 0 done, in L2 for 106000, scheduled after 5000
        exit code 0
    "#]]
    .assert_eq(&bench.run("variables", &[], &[("PSPIN_HW", &hw)]).text());
    let preset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../presets/pspin-rtl.toml");
    let text = std::fs::read_to_string(preset).expect("a preset").replace("n_clusters = 4", "n_clusters = 1");
    bench.write("one.toml", text);
    let variables = [("PSPIN_HW", &hw[..]), ("SPINET_NIC", "one.toml")];
    expect![[r#"
        trace off!
        images in FOLDER/hw/sim_files/slm_files
        1056000 ps: packet 0 done, in L2 for 106000, scheduled after 5000
        exit code 0
    "#]]
    .assert_eq(&bench.run("variables", &[], &variables).text());
    let variables = [("PSPIN_HW", &hw[..]), ("SPINET_NIC", "pspn")];
    expect![[r#"
        stderr: error: pspinsim_init: SPINET_NIC: nic is `pspn`, must be `pspin`, `fpspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-rtl`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2`, `tigon2-cached` or the path of a preset (*.toml); did you mean `pspin`?
        exit code 1
    "#]].assert_eq(&bench.run("variables", &[], &variables).text());
}
