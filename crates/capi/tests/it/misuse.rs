//! C programs that misuse the library. The library must return errors and must not crash.

use super::programs;
use super::support::Bench;
use expect_test::{Expect, expect};

fn check(arguments: &[&str], want: Expect) {
    let bench = Bench::with_handlers();
    bench.write("runtime.elf", programs::runtime());
    bench.compile("misuse");
    let ran = bench.run("misuse", arguments, &[]);
    let statistics = |line: &&str| !line.is_empty() && !line.starts_with(['#', ' ', '-', '\t']);
    let lines: Vec<&str> = ran.stdout.lines().filter(statistics).collect();
    want.assert_eq(&format!("{}\n{}exit code {:?}", lines.join("\n"), ran.stderr, ran.code));
}

#[test]
fn unknown_and_ended_machines_are_refused() {
    check(
        &["machines", "runtime.elf"],
        expect![[r#"
            spinet_boot("pspin", runtime, 1, &first): 0
            spinet_boot("pspin", runtime, 1, &second): 0
            spinet_shutdown(NULL): 0
            spinet_shutdown(first): 0
            spinet_shutdown(first): -3, machine 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            spinet_open(first, "late", NULL, &tenant): -3, machine 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            spinet_now(forged, &ps): -2, there is no machine 305419896; handles are what the driver handed out
            spinet_shutdown(forged): -2, there is no machine 305419896; handles are what the driver handed out
            spinet_now(first, &ps): -13, the machine was booted on another thread; use it on that thread
            spinet_shutdown(first): -13, the machine was booted on another thread; use it on that thread
            spinet_boot("pspin", unused, 1, &third): 0
            spinet_shutdown(third): -13, the machine was booted on another thread; use it on that thread
            spinet_open(second, "still there", NULL, &tenant): 0
            spinet_shutdown(second): 0
            tenant 1, time 5
            exit code Some(0)"#]],
    );
}

#[test]
fn simulations_can_end_early_and_change_threads() {
    check(
        &["simulations", "handlers"],
        expect![[r#"
            trace off!
            NIC inbound engine:
            NIC outbound engine:
            PCIe Slave:
            PCIe Master:
            trace off!
            packet 1 is done
            NIC inbound engine:
            NIC outbound engine:
            PCIe Slave:
            PCIe Master:
            trace off!
            a packet of 64 bytes, and the program leaves
            error: pspinsim_init: conf->slm_files_path is NULL and PSPIN_HW is not set; set one to the folder of memory images or the ELF file
            error: pspinsim_fini: the simulation is running; do not call this function from a callback
            error: pspinsim_run: the simulation is running; do not call this function from a callback
            exit code Some(3)"#]],
    );
}

#[test]
fn a_full_stderr_does_no_harm() {
    check(&["full"], expect!["init: 1\nexit code Some(0)"]);
}

/// The path of the program may name an endless device.
#[test]
fn endless_files_are_refused() {
    let bench = Bench::new();
    bench.compile("wrong");
    let ran = bench.run("wrong", &["/dev/zero"], &[]);
    let is_about = |line: &&str| line.contains("/dev/zero");
    let lines: Vec<&str> = ran.stderr.lines().filter(is_about).collect();
    expect![[r#"
        error: pspinsim_init: /dev/zero: the file is too long (at most 268435456 bytes are allowed)
        error: pspinsim_init: /dev/zero: the file is too long (at most 268435456 bytes are allowed)
        error: spin_find_handler_by_name: /dev/zero: more than 268435456 bytes, must be a program within this limit
        error: spin_find_handler_by_name: /dev/zero: more than 268435456 bytes, must be a program within this limit"#]]
    .assert_eq(&lines.join("\n"));
}
