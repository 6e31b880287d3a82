//! Runs under a debugger, with a small client of gdb's protocol.

use crate::support;
use spinet::debug::{DebugError, Debugged};
use spinet::kinds::{self, OwnPolicies, Text};
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

/// First instruction of the handler `echo_ph`.
const ECHO: u32 = 0x1d00_0100;

/// A client of gdb's protocol.
struct Gdb(TcpStream);

impl Gdb {
    fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        self.0.write_all(format!("${packet}#{sum:02x}").as_bytes()).unwrap();
    }

    /// The next answer; acknowledgements before it do not count.
    fn answer(&mut self) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while self.0.read(&mut byte).unwrap() == 1 {
            match byte[0] {
                b'$' => text.clear(),
                b'#' => {
                    self.0.read_exact(&mut [0; 2]).unwrap();
                    self.0.write_all(b"+").unwrap();
                    return expanded(&text);
                }
                other => text.push(other),
            }
        }
        panic!("the server is gone after {:?}", String::from_utf8_lossy(&text));
    }

    fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.answer()
    }

    /// The answer to a command of `monitor`.
    fn monitor(&mut self, command: &str) -> String {
        let digits: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(&format!("qRcmd,{digits}"));
        let mut text = String::new();
        loop {
            match self.answer().as_str() {
                "OK" => return text,
                line => text.push_str(&String::from_utf8(bytes(line.strip_prefix('O').unwrap())).unwrap()),
            }
        }
    }

    /// General register `r` of the RISC-V core of a thread; number 32 is the program counter.
    fn register(&mut self, thread: u32, r: usize) -> u32 {
        assert_eq!(self.ask(&format!("Hg{thread:x}")), "OK");
        let all = bytes(&self.ask("g"));
        u32::from_le_bytes(all[4 * r..][..4].try_into().unwrap())
    }

    fn read(&mut self, addr: u32, n: usize) -> Vec<u8> {
        bytes(&self.ask(&format!("m{addr:x},{n:x}")))
    }
}

/// Undoes the run lengths of an answer.
fn expanded(text: &[u8]) -> String {
    let mut out: Vec<u8> = Vec::new();
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'*' => {
                let n = rest.next().unwrap() - 29;
                let last = *out.last().unwrap();
                out.extend(std::iter::repeat_n(last, n.into()));
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out).unwrap()
}

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap_or_default()).collect()
}

/// The thread and the reason of a stop such as `T05thread:03;swbreak:;`.
fn stop(answer: &str) -> (u32, String) {
    let fields: Vec<(&str, &str)> = answer[3..].split(';').filter_map(|field| field.split_once(':')).collect();
    let thread = fields.iter().find(|(key, _)| *key == "thread").unwrap_or_else(|| panic!("{answer}")).1;
    let thread = thread.rsplit('.').next().unwrap();
    let others = fields.iter().filter(|(key, _)| *key != "thread" && *key != "core");
    let why: Vec<String> = others.map(|(key, value)| format!("{key}:{value}")).collect();
    (u32::from_str_radix(thread, 16).unwrap(), format!("{} {}", &answer[..3], why.join(" ")).trim_end().to_owned())
}

fn start(folder: &Path, text: &str) -> Run {
    let kind = kinds::of_experiment(text, folder, Format::Toml);
    let wanted = Wanted { tables: true, ..Wanted::default() };
    let text = Text { text, file: "t.toml", base_dir: folder, format: Format::Toml };
    (kind.start)(&text, &wanted, OwnPolicies::default()).unwrap()
}

/// All results of a run except its host time.
fn results(run: &mut Run) -> String {
    let mut summary = run.summary();
    summary.as_object_mut().unwrap().remove("wall");
    format!("{summary} {} {:?} {:?}", run.digest(), run.card.ended(), run.card.counters())
}

/// Runs an experiment without a debugger, and under a script of a client. Both have the same results, unless the script ends the run.
fn debug(folder: &Path, text: &str, script: impl FnOnce(&mut Gdb) + Send + 'static) -> Debugged {
    let mut debugged = Debugged::new(start(folder, text), 0).unwrap();
    let client = client(debugged.address(), script);
    while !debugged.advance(Duration::from_millis(50)).unwrap().is_done && !debugged.is_killed() {}
    client.join().unwrap();
    if !debugged.is_killed() {
        let mut whole = start(folder, text);
        while !whole.advance(Duration::from_secs(60)).unwrap().is_done {}
        assert!(results(&mut debugged) == results(&mut whole), "the debugger changed a result");
    }
    debugged
}

fn client(address: SocketAddr, script: impl FnOnce(&mut Gdb) + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut gdb = Gdb(TcpStream::connect(address).unwrap());
        gdb.0.set_nodelay(true).unwrap();
        let supported = gdb.ask("qSupported:swbreak+;hwbreak+");
        assert!(supported.contains("qXfer:memory-map:read+"), "{supported}");
        script(&mut gdb);
    })
}

fn handlers(test: &str, handler: &str, more: &str) -> (PathBuf, String) {
    let text = format!(
        "program = 'nic.elf'\ntraffic = 'udp:size=64..1500,count=40,rate=100G,payload=random'\n{more}\n\
        [[context]]\nhandler = '{handler}'\n"
    );
    (support::folder_with_program(test), text)
}

#[test]
fn a_run_with_breakpoints_and_steps_is_the_run_without() {
    let (folder, text) = handlers("debug_breakpoints", "echo", "");
    debug(&folder, &text, |gdb| {
        assert_eq!(gdb.ask(&format!("Z0,{ECHO:x},4")), "OK");
        for _ in 0..40 {
            let (thread, why) = stop(&gdb.ask("vCont;c"));
            assert_eq!(why, "T05 swbreak:");
            assert_eq!((gdb.register(thread, 32), gdb.register(thread, 10)), (ECHO, ECHO), "pc, and a0 of the call");
            // The core loads address and size of the packet in two instructions, while others run.
            assert_eq!(gdb.ask(&format!("z0,{ECHO:x},4")), "OK");
            let mut pc = ECHO;
            while pc < ECHO + 8 {
                let (other, why) = stop(&gdb.ask(&format!("vCont;s:{thread:x}")));
                if other != thread {
                    assert_eq!(why, "T05 swbreak:", "a core that cannot be held back");
                    continue;
                }
                pc += 4;
                assert_eq!((gdb.register(thread, 32), why.as_str()), (pc, "T05"));
            }
            let (packet, size) = (gdb.register(thread, 12), gdb.register(thread, 13));
            assert!((64..=1500).contains(&size), "{size}");
            // The core has read both from the registers of its task, which gdb can read, too.
            assert_eq!(gdb.read(0x1b20_5010, 8), [packet.to_le_bytes(), size.to_le_bytes()].concat());
            assert_eq!(gdb.read(packet + 12, 2), [8, 0], "the type of an Ethernet frame with IPv4");
            assert_eq!(gdb.ask(&format!("Z0,{ECHO:x},4")), "OK");
        }
        assert_eq!(gdb.ask(&format!("z0,{ECHO:x},4")), "OK");
        assert_eq!(gdb.ask("vCont;c"), "W00");
    });
}

#[test]
fn a_debugger_that_goes_away_lets_the_run_end() {
    let (folder, text) = handlers("debug_detach", "echo", "");
    debug(&folder, &text, |gdb| {
        assert_eq!(gdb.ask(&format!("Z0,{ECHO:x},4")), "OK");
        gdb.ask("vCont;c");
        assert_eq!(gdb.ask("D"), "OK");
    });
    debug(&folder, &text, |gdb| {
        assert_eq!(gdb.ask(&format!("Z0,{ECHO:x},4")), "OK");
        gdb.ask("vCont;c");
    });
    let killed = debug(&folder, &text, |gdb| gdb.send("k"));
    assert!(killed.is_killed());
}

#[test]
fn watchpoints_stop_behind_the_access() {
    let (folder, text) = handlers("debug_watch", "tally", "");
    debug(&folder, &text, |gdb| {
        // The handler's memory, whose first word counts packets.
        assert_eq!(gdb.monitor("break packet 0"), "the run stops at packet 0\n");
        let (thread, _) = stop(&gdb.ask("vCont;c"));
        assert_eq!(stop(&gdb.ask(&format!("vCont;s:{thread:x}"))).0, thread);
        let counter = gdb.register(thread, 12);
        gdb.monitor("delete");
        assert!((0x1c00_0000..0x1c40_0000).contains(&counter), "{counter:#x}");
        assert_eq!(gdb.ask(&format!("Z2,{counter:x},4")), "OK");
        for packet in 1..=3u32 {
            let (thread, why) = stop(&gdb.ask("vCont;c"));
            assert_eq!(why, format!("T05 watch:{counter:08x}"));
            assert!(gdb.register(thread, 32) > 0x1d00_0380 + 8, "behind the AMO");
            assert!(gdb.read(counter, 4)[0] >= packet as u8, "it has counted");
        }
        assert_eq!(gdb.ask(&format!("z2,{counter:x},4")), "OK");
        assert_eq!(gdb.ask("vCont;c"), "W00");
    });
}

#[test]
fn packets_and_faults_stop_the_run() {
    let (folder, text) = handlers("debug_packets", "echo", "");
    debug(&folder, &text, |gdb| {
        assert_eq!(gdb.monitor("break packet 7"), "the run stops at packet 7\n");
        assert_eq!(gdb.monitor("break packet 0 of message 11"), "the run stops at packet 0 of message 11\n");
        assert_eq!(gdb.monitor("breaks"), "packet 7\npacket 0 of message 11\n");
        for packet in ["packet 7 (0 of message 7)", "packet 11 (0 of message 11)"] {
            let (thread, why) = stop(&gdb.ask("vCont;c"));
            assert_eq!((why.as_str(), gdb.register(thread, 32)), ("T05", ECHO));
            let reason = gdb.monitor("reason");
            assert!(reason.starts_with("a handler begins: HPU ") && reason.contains(packet), "{reason}");
            assert!(gdb.monitor("packet").contains(packet));
        }
        assert_eq!(gdb.monitor("delete"), "no breaks at packets and faults\n");
        assert_eq!(gdb.ask("vCont;c"), "W00");
    });
    // A watchdog ends handlers that never end.
    let (folder, text) =
        handlers("debug_faults", "loop", "limit = '30 us'\nnic = { set = { 'isolation.watchdog_cycles' = 500 } }");
    debug(&folder, &text, |gdb| {
        assert_eq!(gdb.monitor("break fault"), "the run stops at faults\n");
        let (thread, why) = stop(&gdb.ask("vCont;c"));
        assert_eq!((why.as_str(), gdb.register(thread, 32)), ("T18", ECHO + 0x200), "SIGXCPU at the endless loop");
        let reason = gdb.monitor("reason");
        assert!(reason.starts_with("ran longer than its watchdog allows"), "{reason}");
        assert_eq!(gdb.ask("D"), "OK");
    });
}

#[test]
fn memory_of_every_level_is_read_and_written() {
    let (folder, text) = handlers("debug_memory", "echo", "");
    debug(&folder, &text, |gdb| {
        let map = gdb.monitor("memory");
        assert!(map.contains("0x10400000 to 0x104fffff  L1 of cluster 1\n"), "{map}");
        assert!(map.contains("program memory, read only"), "{map}");
        // For thread 9, the first of cluster 1, its own L1 has two addresses.
        assert_eq!(gdb.ask("Hg9"), "OK");
        for addr in [0x1048_0000, 0x1008_0000, 0x1c10_0000, 0x1c7f_fff0u32] {
            assert_eq!(gdb.ask(&format!("M{addr:x},3:aabbcc")), "OK", "{addr:#x}");
            assert_eq!(gdb.read(addr, 4), [0xaa, 0xbb, 0xcc, 0], "{addr:#x}");
        }
        assert_eq!(gdb.read(0x1b08_0000, 3), [0xaa, 0xbb, 0xcc]);
        assert_eq!(gdb.read(0x1b08_0000, 3), gdb.read(0x1048_0000, 3));
        assert_eq!(gdb.read(ECHO, 4), support::asm("lw", 12, 11, 0, 0x10).to_le_bytes());
        assert!(gdb.ask(&format!("M{ECHO:x},1:00")).starts_with('E'), "program memory");
        assert!(gdb.ask("m0,4").starts_with('E'), "no memory");
        for addr in [0x1048_0000, 0x1008_0000, 0x1c10_0000, 0x1c7f_fff0u32] {
            assert_eq!(gdb.ask(&format!("M{addr:x},3:000000")), "OK");
        }
        assert_eq!(gdb.ask("D"), "OK");
    });
}

#[test]
fn ctrl_c_stops_the_run_and_monitor_answers() {
    let (folder, text) = handlers("debug_interrupt", "loop", "limit = '60 us'");
    debug(&folder, &text, |gdb| {
        gdb.send("vCont;c");
        gdb.0.write_all(&[3]).unwrap();
        assert_eq!(stop(&gdb.answer()).1, "T02");
        let time = gdb.monitor("time");
        assert!(time.contains(" ns, cycle "), "{time}");
        assert!(gdb.monitor("help").contains("monitor break packet K"));
        assert!(gdb.monitor("nonsense").starts_with("nonsense: no such command\n"));
        assert!(gdb.monitor("break packet x").starts_with("the packet and the message must be numbers"));
        assert!(gdb.monitor("host 0 99999").contains("up to 1024"));
        assert!(gdb.ask("G00").starts_with('E'), "registers cannot be written");
        assert_eq!(gdb.ask("D"), "OK");
    });
}

#[test]
fn units_of_a_chain_are_threads() {
    use panic::unit::riscv::{MEMORY_BASE, REGISTERS_BASE};
    let folder = support::folder("debug_chains");
    // Answers every packet: length to x6, address to x7, and both to the output doorbell.
    let program = [
        support::asm("lui", 5, 0, 0, REGISTERS_BASE as i32),
        support::asm("lw", 6, 5, 0, 0),
        support::asm("lw", 7, 5, 0, 4),
        support::asm("sw", 0, 5, 7, 0x40),
        support::asm("sw", 0, 5, 6, 0x44),
        support::asm("jal", 0, 0, 0, -16),
    ];
    let elf = support::elf(MEMORY_BASE, &[(MEMORY_BASE, &program)], &[("_start", MEMORY_BASE)]);
    std::fs::write(folder.join("core.elf"), elf).unwrap();
    let text = "service = ['core: riscv, program=core.elf, units=2']\nchain = ['all: core']\npreset_services = false\n\
        traffic = 'udp:size=512,count=12,rate=10G'\n";
    debug(&folder, text, |gdb| {
        let answered = MEMORY_BASE + 16;
        assert_eq!(gdb.ask(&format!("Z0,{answered:x},4")), "OK");
        for _ in 0..4 {
            let (thread, why) = stop(&gdb.ask("vCont;c"));
            assert_eq!(
                (why.as_str(), gdb.register(thread, 32), gdb.register(thread, 6)),
                ("T05 swbreak:", answered, 512)
            );
            let packet = gdb.register(thread, 7);
            assert_eq!(gdb.read(packet + 12, 2), [8, 0], "the type of an Ethernet frame with IPv4");
        }
        assert_eq!(gdb.ask(&format!("z0,{answered:x},4")), "OK");
        gdb.monitor("break packet 9");
        let (thread, _) = stop(&gdb.ask("vCont;c"));
        assert_eq!(gdb.register(thread, 32), MEMORY_BASE + 8, "behind the load that took the packet");
        let reason = gdb.monitor("reason");
        assert!(reason.starts_with("a handler begins: core[") && reason.contains("packet 9, program"), "{reason}");
        assert!(gdb.monitor("memory").contains("memory of each unit of core"));
        assert_eq!(gdb.ask("vCont;c"), "W00");
    });
}

#[test]
fn firmware_cores_are_big_endian_threads() {
    let folder = support::folder("debug_firmware");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/elf/tigon2.bin"), folder.join("tigon2.bin")).unwrap();
    let text = "firmware = 'tigon2.bin'\nnic = { set = { 'host.clear_end' = 0x8000 } }\n\
        traffic = 'udp:size=list:60:742,payload=numbered,count=4'\nlimit = '1 ms'\n";
    debug(&folder, text, |gdb| {
        let register = |gdb: &mut Gdb, r: usize| {
            assert_eq!(gdb.ask("Hg1"), "OK");
            u32::from_be_bytes(bytes(&gdb.ask("g"))[4 * r..][..4].try_into().unwrap())
        };
        let mut before = None;
        for _ in 0..60 {
            assert_eq!(stop(&gdb.ask("vCont;s:1;c")), (1, "T05".to_owned()));
            let pc = register(gdb, 37);
            let word = u32::from_be_bytes(gdb.read(pc, 4).try_into().unwrap());
            let text = isa::mips::disassemble(isa::mips::decode(word), pc);
            // `lui` and `addiu` set the register as expected.
            if let Some((r, value)) = before.take() {
                assert_eq!(register(gdb, r), value, "before {text}");
            }
            let (rs, rt, immediate) = (word >> 21 & 31, (word >> 16 & 31) as usize, word as u16);
            before = match word >> 26 {
                0x0f if rt != 0 => Some((rt, u32::from(immediate) << 16)),
                0x09 if rt != 0 => Some((rt, register(gdb, rs as usize).wrapping_add(immediate as i16 as u32))),
                _ => None,
            };
        }
        let map = gdb.monitor("memory");
        assert!(map.contains("scratchpad of cpu_a"), "{map}");
        assert_eq!(gdb.ask("D"), "OK");
    });
}

#[test]
fn a_card_without_programs_and_a_port_in_use_are_refused() {
    let chains = "service = ['work: delay, cycles=20, units=2']\nchain = ['all: work']\npreset_services = false\n\
        traffic = 'udp:size=512,count=4,rate=40G'\n";
    let folder = support::folder("debug_refused");
    let refused = |run, port| Debugged::new(run, port).err().map(|error| error.to_string());
    assert_eq!(
        refused(start(&folder, chains), 0).as_deref(),
        Some("no core of this card runs a program, so there is nothing to debug")
    );
    let (folder, text) = handlers("debug_port", "echo", "");
    let first = Debugged::new(start(&folder, &text), 0).unwrap();
    let port = first.address().port();
    let error = Debugged::new(start(&folder, &text), port).err().unwrap();
    assert!(matches!(error, DebugError::Listen { .. }));
    assert!(error.to_string().starts_with(&format!("port {port} of this machine: ")), "{error}");
}
