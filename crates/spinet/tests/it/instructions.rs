//! Instruction traces of whole runs.

use crate::support::{self, asm};
use expect_test::expect;
use spinet::elf::Elf;
use spinet::exec::{Host, Isa, Limits, Machine};
use spinet::experiment::Checked;
use spinet::handlers::HandlerCard;
use spinet::instructions::{Choice, Reader};
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const EXPERIMENT: &str =
    "program = 'nic.elf'\ntraffic = 'udp:size=64,count=40,rate=100G'\n[[context]]\nhandler = 'store'\n";

/// The digest of a run, and its traces by name.
fn run(test: &str, choice: Option<Choice>) -> (String, BTreeMap<String, String>) {
    let folder = support::folder_with_program(test);
    let traces = folder.join("instructions");
    std::fs::create_dir_all(&traces).unwrap();
    let checked = Checked::read(EXPERIMENT, "t.toml", &folder, Format::Toml).unwrap();
    let wanted = Wanted { instructions: choice.map(|choice| (traces.clone(), choice)), ..Wanted::default() };
    let mut run = Run::of(HandlerCard::new(checked, &wanted).unwrap());
    while !run.advance(Duration::from_secs(60)).unwrap().is_done {}
    let files = std::fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    (run.digest(), files.map(|path| (name(&path), text(&path))).collect())
}

#[test]
fn a_trace_changes_nothing() {
    let (plain, none) = run("trace_none", None);
    let (traced, all) = run("trace_all", Some(Choice::ALL));
    assert_eq!(plain, traced);
    assert_eq!((none.len(), all.len()), (0, 32));
    let instructions: usize = all.values().map(|text| text.lines().count() - 1).sum();
    assert!(instructions > 1000, "{instructions}");
}

#[test]
fn cores_and_time_are_as_chosen() {
    let (_, all) = run("trace_whole", Some(Choice::ALL));
    let choice = Choice::parse(Some("1:*,0:2"), Some("0.1 us..0.2 us")).unwrap();
    let (_, some) = run("trace_some", Some(choice));
    let names: Vec<_> = some.keys().map(String::as_str).collect();
    assert_eq!((names.len(), names[0], names[1]), (9, "trace_core_00_2.log", "trace_core_01_0.log"));
    for (name, text) in &some {
        let within = |line: &&str| {
            line.split_whitespace().next().unwrap().parse().is_ok_and(|ps: u64| (100_000..200_000).contains(&ps))
        };
        let wanted: Vec<_> = all[name].lines().filter(within).collect();
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), wanted, "{name}");
    }
}

#[test]
fn every_line_is_read_back() {
    let (_, all) = run("trace_back", Some(Choice::ALL));
    for (name, text) in &all {
        let mut reader = Reader::new(name.clone(), text.as_bytes());
        let mut n = 0;
        while reader.read().unwrap().is_some() {
            n += 1;
        }
        assert_eq!(n + 1, text.lines().count(), "{name}");
    }
}

#[test]
fn a_line_says_what_an_instruction_did() {
    const CODE: u32 = 0x8000_0000;
    let code = [
        asm("auipc", 11, 0, 0, 0x1000),
        asm("c.li", 10, 0, 0, 5) | asm("c.mv", 12, 0, 10, 0) << 16,
        asm("sw", 0, 11, 10, 4),
        asm("lbu", 13, 11, 0, 4),
        asm("add", 13, 13, 10, 0),
        asm("amoadd.w", 14, 11, 12, 0),
        asm("div", 15, 13, 12, 0),
        asm("bne", 0, 15, 0, 8),
        asm("addi", 1, 0, 0, 1),
        asm("csrrw", 5, 11, 0, 0x340),
        asm("lw", 9, 0, 0, 16),
    ];
    let file = support::elf(CODE, &[(CODE, &code), (CODE + 0x1000, &[0; 4])], &[]);
    let mut machine = Machine::new(Elf::parse("x.elf".into(), file).unwrap(), Isa::RV32IMAC, Host::Bare).unwrap();
    let path = support::folder("trace_exec").join("x.log");
    let trace = machine.trace(&path).unwrap();
    machine.run(Limits { instructions: 12, cycles: 10_000 });
    trace.flush().unwrap();
    expect![[r#"
        |                Time           Cycles PC       Instr    Mnemonic
        |                    0               0 80000000 00001597 auipc            x11, 0x1000         x11=80001000
        |                 1000               1 80000004 00500513 addi             x10, x0, 5          x10=00000005
        |                 2000               2 80000006 00a00633 add              x12, x0, x10        x12=00000005 x10:00000005
        |                 3000               3 80000008 00a5a223 sw               x10, 4(x11)         x10:00000005 x11:80001000  PA:80001004
        |                 4000               4 8000000c 0045c683 lbu              x13, 4(x11)         x13=00000005 x11:80001000  PA:80001004
        |                 6000               6 80000010 00a686b3 add              x13, x13, x10       x13=0000000a x13:00000005 x10:00000005
        |                 7000               7 80000014 00c5a72f amoadd.w         x14, x12, (x11)     x14=00000000 x11:80001000 x12:00000005  PA:80001000
        |                 8000               8 80000018 02c6c7b3 div              x15, x13, x12       x15=00000002 x13:0000000a x12:00000005
        |                40000              40 8000001c 00079463 bne              x15, x0, 8          x15:00000002
        |                43000              43 80000024 340592f3 csrrw            x5, x11, 0x340       x5=00000000 x11:80001000
        |                44000              44 80000028 01002483 lw               x9, 16(x0)           PA:00000010
    "#]]
    .assert_eq(&behind_a_bar(&path));
}

/// The file with a bar before each line, since the blanks there are part of the format.
fn behind_a_bar(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().lines().map(|line| format!("|{line}\n")).collect()
}

#[test]
fn accumulators_and_post_increments_are_told() {
    const CODE: u32 = 0x8000_0000;
    let code = [
        asm("auipc", 11, 0, 0, 0x1000),
        asm("addi", 12, 0, 0, 7),
        0x0045_a50b, // p.lw x10, 4(x11!)
        0x00c5_a22b, // p.sw x12, 4(x11!)
        0x20c5_f783, // p.lw x15, x12(x11)
        0x42c5_06b3, // p.mac x13, x10, x12
        0x0066_2463, // p.beqimm x12, 6
        0x0040_507b, // lp.setupi x0, 4
    ];
    let file = support::elf(CODE, &[(CODE, &code), (CODE + 0x1000, &[3; 4])], &[]);
    let elf = Elf::parse("x.elf".into(), file).unwrap();
    let mut machine = Machine::new(elf, Isa::RV32IMAC_XPULPV2, Host::Bare).unwrap();
    let path = support::folder("trace_pulp").join("x.log");
    let trace = machine.trace(&path).unwrap();
    machine.run(Limits { instructions: 8, cycles: 10_000 });
    trace.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    expect![[r#"
        80000004 00700613 addi             x12, x0, 7          x12=00000007
        80000008 0045a50b p.lw             x10, 4(x11!)        x10=00000003 x11=80001004 x11:80001000  PA:80001000
        8000000c 00c5a22b p.sw             x12, 4(x11!)        x11=80001008 x12:00000007 x11:80001004  PA:80001004
        80000010 20c5f783 lw               x15, x12(x11)       x15=00000000 x12:00000007 x11:80001008  PA:8000100f
        80000014 42c506b3 p.mac            x13, x10, x12       x13=00000015 x13:00000000 x10:00000003 x12:00000007
        80000018 00662463 p.beqimm         x12, 8              x12:00000007
        8000001c 0040507b lp.setupi        0x0, 0x4, 0x0      
    "#]]
    .assert_eq(&text.lines().skip(2).map(|line| line[38..].to_owned() + "\n").collect::<String>());
    let mut reader = Reader::new("x.log".into(), text.as_bytes());
    assert_eq!(std::iter::from_fn(|| reader.read().unwrap()).count(), 8);
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    let folder = support::folder_with_program("trace_nowhere");
    let checked = Checked::read(EXPERIMENT, "t.toml", &folder, Format::Toml).unwrap();
    let wanted = Wanted { instructions: Some((folder.join("nowhere"), Choice::ALL)), ..Wanted::default() };
    let error = HandlerCard::new(checked, &wanted).map(drop).unwrap_err().to_string();
    assert!(error.contains("nowhere/trace_core_00_0.log: No such file"), "{error}");
    if Path::new("/dev/full").exists() {
        // A disk that is full.
        let link = folder.join("trace_core_00_0.log");
        let _ = std::fs::remove_file(&link);
        #[cfg(unix)]
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let checked = Checked::read(EXPERIMENT, "t.toml", &folder, Format::Toml).unwrap();
        let wanted = Wanted {
            instructions: Some((folder.clone(), Choice::parse(Some("0:0"), None).unwrap())),
            ..Wanted::default()
        };
        let mut run = Run::of(HandlerCard::new(checked, &wanted).unwrap());
        let error = loop {
            match run.advance(Duration::from_secs(60)) {
                Ok(progress) => assert!(!progress.is_done),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("No space left"), "{error}");
    }
}
