//! What cannot be run says why.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine};
use spinet::experiment::{Checked, Experiment};
use spinet::nics;
use spinet::program;
use spinet::run::{Run, Wanted};
use spinet::toml_text::{self, Format};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The error of an experiment, without the test's folder.
fn check_as(experiment: &str, format: Format, want: Expect) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = support::folder_with_program("bad_input");
        std::fs::write(folder.join("empty.pcap"), "").unwrap();
        folder
    });
    let error = match Checked::read(experiment, "t.toml", folder, format) {
        Err(error) => error.to_string(),
        Ok(checked) => match Run::new(checked, None, &Wanted::default()) {
            Err(error) => error.to_string(),
            Ok(_) => "no error".into(),
        },
    };
    want.assert_eq(&error.replace(&format!("{}/", folder.display()), ""));
}

fn check(experiment: &str, want: Expect) {
    check_as(experiment, Format::Toml, want);
}

/// The error of an experiment that is good but for these lines at its end.
fn check_context(lines: &str, want: Expect) {
    check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n[[context]]\n{lines}"), want);
}

#[test]
fn texts_that_are_no_experiment() {
    check(
        "program = ",
        expect![[r#"
        t.toml: line 1: string values must be quoted, expected literal string
          program = 
                    ^"#]],
    );
    check(
        "program = 'nic.elf'\ntrafic = 'udp'\n",
        expect![[r#"
            t.toml: line 2: unknown field `trafic`, expected one of `program`, `nic`, `traffic`, `faults`, `tenant`, `context`, `at`, `seed`, `limit`, `stall_limit`; did you mean `traffic`?
              trafic = 'udp'
              ^^^^^^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\n",
        expect![[r#"
        t.toml: line 1: missing field `context`
          program = 'nic.elf'
          ^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\ncontext = []",
        expect!["t.toml: line 3: context: there are 0, must be 1 to 64"],
    );
    check(
        "program = 7\ntraffic = 'udp'\n[[context]]",
        expect![[r#"
            t.toml: line 1: found the number 7, must be a path or a list of paths
              program = 7
                        ^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\nseed = -1\n[[context]]",
        expect![[r#"
            t.toml: line 3: found the number -1, must be a whole number of at least 0
              seed = -1
                     ^^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\nlimit = '5 parsecs'\n[[context]]",
        expect![[r#"
        t.toml: line 3: `5 parsecs` is no time, must be such as `10 ms` (ps, ns, us, ms, s)
          limit = '5 parsecs'
                  ^^^^^^^^^^^"#]],
    );
    check_as(
        r#"{"program": "nic.elf", "traffic": "udp", "contexts": []}"#,
        Format::Json,
        expect![
            "t.toml: unknown field `contexts`, expected one of `program`, `nic`, `traffic`, `faults`, `tenant`, `context`, `at`, `seed`, `limit`, `stall_limit`; did you mean `context`?"
        ],
    );
    for faults in ["faults = 'loss=2'", "[faults]\nloss = 0.01\nlate = 3", "faults = 3"] {
        let want = match faults.len() {
            17 => expect![[r#"
                t.toml: line 3: fault `loss=2`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to 4096
                  faults = 'loss=2'
                           ^^^^^^^^"#]],
            10 => expect![[r#"
                t.toml: line 3: found the number 3, must be a text such as `loss=0.01` or a table with `loss`, `duplicate` and `reorder`
                  faults = 3
                           ^"#]],
            _ => expect![[r#"
                t.toml: line 3: fault `late=3`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to 4096
                  [faults]
                  ^^^^^^^^"#]],
        };
        check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n{faults}\n[[context]]"), want);
    }
    check_as(r#"{"program": "nic.elf""#, Format::Json, expect!["t.toml: EOF while parsing an object"]);
}

#[test]
fn deliveries() {
    check_context(
        "delivery = { early_packets = 0 }",
        expect!["t.toml: line 4: context[0].delivery: delivery.early_packets is 0, must be 1 to 65536"],
    );
    check_context(
        "delivery = { when_full = 'burn' }",
        expect![[r#"
        t.toml: line 4: unknown variant `burn`, expected one of `stall`, `drop`, `mark_ecn`, `kill_message`
          delivery = { when_full = 'burn' }
                                   ^^^^^^"#]],
    );
    check_context(
        "message = 'by flow from tcpp until udp'",
        expect![[r#"
        t.toml: line 4: context[0].message: unknown name `tcpp`, did you mean `tcp`?
          by flow from tcpp until udp
                       ^^^^"#]],
    );
}

#[test]
fn nics() {
    check(
        "program = 'nic.elf'\nnic = 'psin'\ntraffic = 'udp'\n[[context]]",
        expect![
            "t.toml: line 2: nic: nic is `psin`, must be `pspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2` or the path of a preset (*.toml); did you mean `pspin`?"
        ],
    );
    check(
        "program = 'nic.elf'\nnic = 'x.toml'\ntraffic = 'udp'\n[[context]]",
        expect!["t.toml: line 2: nic: x.toml: No such file or directory (os error 2)"],
    );
    let set = |set: &str| format!("program = 'nic.elf'\ntraffic = 'udp'\nnic = {{ set = {set} }}\n[[context]]");
    check(
        &set("{ n_cluster = 2 }"),
        expect!["t.toml: line 3: nic.set: set: there is no `n_cluster` in the preset; did you mean `n_clusters`?"],
    );
    check(
        &set("{ n_cores = 2 }"),
        expect!["t.toml: line 3: nic.set: set: there is no `n_cores` in the preset; did you mean `cluster.n_cores`?"],
    );
    check(
        &set("['cluster.n_cores=many']"),
        expect![[r#"t.toml: line 3: nic.set: set: cluster.n_cores is "many", must be of type integer, such as 8"#]],
    );
    check(
        &set("['n_clusters']"),
        expect![[r#"
        t.toml: line 3: set: `n_clusters`, must be path=value such as cluster.n_cores=4
          nic = { set = ['n_clusters'] }
                        ^^^^^^^^^^^^^^"#]],
    );
    check(
        &set("{ cluster = { n_cores = 17 } }"),
        expect![
            "t.toml: line 3: nic.set: presets/pspin.toml with cluster.n_cores: cluster.n_cores is 17, must be 1 to 16"
        ],
    );
    check(
        &set("{ n_clusters = -1 }"),
        expect!["t.toml: line 3: nic.set: set: n_clusters is -1, must be a whole number from 0 to 4294967295"],
    );
}

#[test]
fn traffic() {
    let traffic = |traffic: &str| format!("program = 'nic.elf'\ntraffic = {traffic}\n[[context]]\nhandler = 'echo'");
    check(
        &traffic("'missing.pcap'"),
        expect!["t.toml: line 2: traffic: missing.pcap: No such file or directory (os error 2)"],
    );
    check(
        &traffic("'empty.pcap'"),
        expect!["t.toml: line 2: traffic: empty.pcap: empty, must be a pcap or pcapng capture"],
    );
    check(
        &traffic("'nic.elf'"),
        expect!["t.toml: line 2: traffic: nic.elf: offset 0: found 7f 45 4c 46, must be a pcap or pcapng capture"],
    );
    check(
        &traffic("'udp:size=1'"),
        expect![[r#"
        t.toml: line 2: traffic: size is 1, must be 60 to 65535 bytes
          udp:size=1
                   ^"#]],
    );
    check(
        &traffic("'udp:payload=file:none.bin'"),
        expect!["t.toml: line 2: traffic: none.bin: No such file or directory (os error 2)"],
    );
    check(
        &traffic("{ source = 'udp', pacing = 'fast' }"),
        expect![
            "t.toml: line 2: traffic.pacing: pacing is `fast`, must be `times`, `times:FACTOR` such as `times:0.5`, `line:RATE` such as `line:400G`, or `asap`"
        ],
    );
    check(
        &traffic("{ source = 'udp', pace = 'fast' }"),
        expect![[r#"
        t.toml: line 2: unknown field `pace`, expected one of `source`, `pacing`, `snapped`, `gap_cycles`, `count`
          traffic = { source = 'udp', pace = 'fast' }
                                      ^^^^"#]],
    );
    check(
        &traffic("{ source = 'udp', snapped = 'keeps' }"),
        expect![[r#"
        t.toml: line 2: unknown variant `keeps`, expected `pad` or `keep`; did you mean `keep`?
          traffic = { source = 'udp', snapped = 'keeps' }
                                                ^^^^^^^"#]],
    );
}

#[test]
fn contexts() {
    check_context(
        "match = 'udp.dst_prt == 5'",
        expect![[r#"
        t.toml: line 4: context[0].match: unknown name `udp.dst_prt`, did you mean `udp.dst_port`?
          udp.dst_prt == 5
          ^^^^^^^^^^^"#]],
    );
    check_context(
        "message = 'by flow until'",
        expect![[r#"
        t.toml: line 4: context[0].message: the expression is empty, must be such as `udp.dst_port == 9999`
          by flow until
                       ^"#]],
    );
    check_context(
        "handler = 'ecko'",
        expect![
            "context `ecko`: nic.elf: handler is `ecko`, must be one of the program's: a function `ecko_hh`, `ecko_ph` or `ecko_th`; did you mean `echo`?"
        ],
    );
    check_context(
        "",
        expect!["context `0`: nic.elf: it has several handlers, `handler` must name one of echo, store, loop, tally"],
    );
    check_context(
        "payload = 'echo'",
        expect![
            "context `0`: nic.elf: payload is `echo`, must be a function of the program; it has _start, echo_ph, store_hh, store_ph, store_th, loop_ph, tally_ph, tally_th"
        ],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { data = 'none.bin' }",
        expect!["t.toml: line 5: context[0].handler_memory: none.bin: No such file or directory (os error 2)"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = 'none.bin'",
        expect!["t.toml: line 5: context[0].handler_memory: none.bin: No such file or directory (os error 2)"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = 7",
        expect![[r#"
            t.toml: line 5: found the number 7, must be a text or a table
              handler_memory = 7
                               ^"#]],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { size = 4, data = 'nic.elf' }",
        expect!["context `echo`: nic.elf has more than the 4 bytes of its handler memory"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { addr = 0 }",
        expect!["context `echo`: handler memory is at 0x0 to 0xfffff, must be within 0x1c000000 to 0x1c3fffff"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { size = 0xffffffff }",
        expect!["context `echo`: handler memory needs 4294967295 bytes, 1048576 are left"],
    );
    check_context("handler = 'echo'\nhost_memory = { addr = 0x7fff_ffff_ffff_ffff, size = 1 }", expect!["no error"]);
    check_context(
        "handler = 'echo'\nscratchpad_bytes = 10_000_000",
        expect!["context `echo`: scratchpad needs 10000000 bytes, 965632 are left"],
    );
    let two = |memory: &str| {
        format!("name = 'a'\nhandler = 'echo'\n{memory}\n[[context]]\nname = 'b'\nhandler = 'store'\n{memory}")
    };
    check_context(
        &two("handler_memory = { addr = 0x1c300000, size = 64 }"),
        expect!["contexts `a` and `b`: handler memory overlaps at 0x1c300000, must be apart"],
    );
    check_context(
        &two("host_memory = { addr = 0x1000, size = 64 }"),
        expect!["contexts `a` and `b`: host memory overlaps at 0x1000, must be apart"],
    );
    check_context(
        "name = 'a'\nhandler = 'echo'\n[[context]]\nname = 'a'\nhandler = 'echo'",
        expect!["t.toml: line 7: context[1].name: `a` is the name of two contexts, each must have its own"],
    );
}

/// The error of an ELF file.
fn check_elf(data: Vec<u8>, want: Expect) {
    let params = nics::load("pspin", &[], std::path::Path::new(".")).unwrap();
    let error = match Elf::parse("x.elf".into(), data) {
        Err(error) => error.to_string(),
        Ok(elf) => program::load(&elf, &params).err().map_or("no error".into(), |error| error.to_string()),
    };
    want.assert_eq(&error);
}

/// A good file with other bytes at some place.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = support::nic_program();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn files_that_are_no_programs() {
    check_elf(Vec::new(), expect!["x.elf: begins with nothing, must be an ELF file (7f 45 4c 46)"]);
    check_elf(b"#!/bin/sh".to_vec(), expect!["x.elf: begins with 23 21 2f 62, must be an ELF file (7f 45 4c 46)"]);
    check_elf(with(4, &[2]), expect!["x.elf: ELF header: the class is 64 bit, must be 32 bit"]);
    check_elf(with(5, &[2]), expect!["x.elf: ELF header: the byte order is big-endian, must be little-endian"]);
    check_elf(
        with(16, &[1]),
        expect![
            "x.elf: ELF header: the type is 1, must be 2 (linked for fixed addresses; an object file must be linked, a shared one linked with -static)"
        ],
    );
    check_elf(with(18, &[8]), expect!["x.elf: ELF header: the machine is 8, must be 243 (RISC-V)"]);
    check_elf(
        with(28, &[0xff, 0xff, 0xff]),
        expect!["x.elf: program headers: Invalid ELF program header size or alignment"],
    );
    check_elf(
        with(32, &[0xff, 0xff, 0xff]),
        expect!["x.elf: section headers: Invalid ELF section header offset/size/alignment"],
    );
    let mut short = support::nic_program();
    short.truncate(300);
    check_elf(short, expect!["x.elf: program headers: Invalid ELF program header size or alignment"]);
    let nop = support::asm("addi", 0, 0, 0, 0);
    let of = |parts: &[support::Text]| support::elf(0x1d00_0080, parts, &[("a_ph", 0x1d00_0080)]);
    check_elf(of(&[]), expect!["x.elf: nothing in it is loaded, must have code"]);
    check_elf(
        of(&[(0x1d00_0080, &[nop; 4]), (0x1d00_0088, &[nop; 4])]),
        expect!["x.elf: segment 0 and segment 1 overlap at 0x1d000088"],
    );
    check_elf(
        of(&[(0x1d00_0080, &vec![nop; 0x2000])]),
        expect!["x.elf: its code is 32896 bytes, program memory has 32768"],
    );
    check_elf(
        of(&[(0x1d00_0100, &[nop; 4])]),
        expect![
            "x.elf: there is no code at 0x1d000080, where cores start; link it with the runtime and linker script of PsPIN"
        ],
    );
    check_elf(
        of(&[(0x8000_0000, &[nop; 4])]),
        expect![
            "x.elf: section  is at 0x80000000 to 0x8000000f, must be within program memory (0x1d000000 to 0x1d007fff), handler memory (0x1c000000 to 0x1c3fffff) or L1 (0x1b000000 to 0x1b0fffff or 0x10000000 to 0x100fffff)"
        ],
    );
    check_elf(
        of(&[(0xffff_fffc, &[nop; 4])]),
        expect!["x.elf: segment 0: 16 bytes at 0xfffffffc pass the end of memory"],
    );
    check_elf(
        of(&[(0x1d00_0080, &[nop; 4]), (0x1c3f_fffc, &[nop; 2])]),
        expect![
            "x.elf: section  is at 0x1c3ffffc to 0x1c400003, must be within program memory (0x1d000000 to 0x1d007fff), handler memory (0x1c000000 to 0x1c3fffff) or L1 (0x1b000000 to 0x1b0fffff or 0x10000000 to 0x100fffff)"
        ],
    );
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let good = support::nic_program();
    let params = nics::load("pspin", &[], std::path::Path::new(".")).unwrap();
    for at in 0..good.len() {
        for bit in [0, 7] {
            let mut file = good.clone();
            file[at] ^= 1 << bit;
            if let Ok(elf) = Elf::parse("x.elf".into(), file) {
                let _ = program::load(&elf, &params);
                let _ = elf.place(0x1d00_0100);
            }
        }
    }
}

#[test]
fn no_damage_makes_the_plain_machine_panic() {
    let good = support::nic_program();
    for at in (0..good.len()).step_by(17) {
        let mut file = good.clone();
        file[at] ^= 0x81;
        if let Ok(elf) = Elf::parse("x.elf".into(), file)
            && let Ok(mut machine) = Machine::new(elf, Isa::Rv32imac, Host::LinuxUser)
        {
            assert!(machine.run(Limits { instructions: 100, cycles: 10_000 }).instructions <= 100);
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), "\\PC|[\\[\\]{}=\"'\n#.,0-9]"), 1..6),
    ) {
        let mut text = "program = ['a.c']\nseed = 3\nlimit = '1 ms'\n[nic]\nset = { 'cluster.n_cores' = 4 }\n\
            [traffic]\nsource = 'udp:size=64'\npacing = 'times:0.5'\n[[context]]\nmatch = 'udp'\nmessage = 'each'\n".to_owned();
        for (at, with) in edits {
            let (at, _) = text.char_indices().nth(at.index(text.chars().count())).unwrap();
            text.replace_range(at..=text[at..].chars().next().map_or(at, |c| at + c.len_utf8() - 1), &with);
        }
        match toml_text::read::<Experiment>(&text, "t.toml", Format::Toml) {
            Ok(experiment) => {
                let json = serde_json::to_string(&experiment).unwrap();
                let again: Experiment = toml_text::read(&json, "t.json", Format::Json).unwrap();
                prop_assert_eq!(again, experiment);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        let _ = toml_text::span_of(&text, &["context", "0", "match"]);
    }
}

#[test]
fn tenants_and_what_is_done_to_them() {
    let check_lines = |lines: &str, want: Expect| {
        check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n{lines}"), want);
    };
    let context = "[[context]]\nname = 'a'\nhandler = 'echo'\n";
    check_lines(
        "[[context]]\ntenant = 'x'\n",
        expect!["t.toml: line 4: context[0].tenant: there is no tenant `x`, must be the `name` of a [[tenant]]"],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'none.c'\n"),
        expect!["t.toml: line 8: tenant[0].program: none.c: No such file or directory (os error 2)"],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n"),
        expect!["t.toml: line 10: tenant[1].name: `t` is the name of two tenants, each must have its own"],
    );
    // Linked for memory that the first program has.
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n"),
        expect![
            "nic.elf: in program memory it takes 0x1d000080 to 0x1d000433, of which 0x1d000080 is taken; link it at 0x1d000440, where 31680 bytes are free"
        ],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\nscope = 'udp.port'\n"),
        expect![[r#"
        t.toml: line 9: tenant[0].scope: unknown name `udp.port`
          udp.port
          ^^^^^^^^"#]],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\n"),
        expect![
            "t.toml: line 6: at[0]: nothing is to be done, must have one or more of `install`, `remove`, `write`, `read`"
        ],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nremove = {{ context = 'b', messages = 'end' }}\n"),
        expect!["t.toml: line 8: at[0].remove: there is no context `b`, must be the `name` of a [[context]]"],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nremove = {{ context = 'a', messages = 'stop' }}\n"),
        expect![[r#"
            t.toml: line 8: unknown variant `stop`, expected `end` or `kill`
              remove = { context = 'a', messages = 'stop' }
                                                   ^^^^^^"#]],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\ninstall = {{ context = 'a' }}\n"),
        expect!["t.toml: line 8: at[0].install: the rule of `a` is installed already"],
    );
    check_lines(
        &format!("{context}installed = false\n[[at]]\ntime = '1 us'\nremove = {{ context = 'a', messages = 'end' }}\n"),
        expect!["t.toml: line 9: at[0].remove: the rule of `a` is not installed"],
    );
    check_lines(
        &format!("{context}message = 'by flow last'\npriority = 1\n"),
        expect![
            "t.toml: line 6: context[0].message: `last` cannot be known with contexts that come and go, have priorities, or belong to tenants with a scope; say what ends a message"
        ],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nwrite = {{ context = 'a', data = 'none.bin' }}\n"),
        expect!["t.toml: line 8: at[0].write: none.bin: No such file or directory (os error 2)"],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nread = {{ context = 'a', offset = 1048570, size = 8 }}\n"),
        expect!["at 1 us: 1048578 bytes of the handler memory of `a` are named, it has 1048576"],
    );
}
