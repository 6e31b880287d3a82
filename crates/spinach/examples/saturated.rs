//! Runs a wired card with frames in both directions to a time limit and prints how many instructions its cores executed:
//! `saturated CARD.toml FIRMWARE.elf MICROSECONDS [OPTION]...`
//!
//! | option | meaning |
//! |---|---|
//! | `receive=SIZES`, `send=SIZES` | frame sizes of a direction, without check sequence; `60:1514` alternates between two sizes, `none` sends no frames |
//! | `receive_pps=N`, `send_pps=N` | frames per second, instead of as many as the card accepts |
//! | `count=N` | number of frames of each direction |
//! | `damaged=N` | each Nth of `count` frames from the network has a wrong check sequence |
//! | `replies=N` | the host acknowledges each Nth frame instead of sending frames |
//! | `mode=shuffled`, `mode=all` | tick parts in random order; tick all parts at each edge |
//! | `record`, `profile` | record transfers, and where frames are stored; count cycles by instruction |
//! | `report` | print all counters and the times of all frames; two versions of the simulator can then be compared |
//! | `KEY=VALUE` | any other key changes the card: `host.clear_end=0` |
//!
//! Callgrind counts its host instructions; see docs/performance.md.

use blocks::assist::moves::MoveLog;
use blocks::assist::{DmaAssist, MacReceive, MacTransmit};
use blocks::feeders::{Acknowledgements, Datagrams, FrameLog, FrameSink, FrameTraffic, Frames, ListedFrame};
use blocks::feeders::{Offered, Pace, PacketFeeder, Station};
use blocks::mips::{MipsCore, Profile};
use blocks::netlist::{Card, Design, Environment, Netlist};
use kernel::{Clock, Mode, Time};
use object::BigEndian;
use object::elf::{self, FileHeader32};
use object::read::elf::{FileHeader, ProgramHeader};
use spinach::hosts::{self, SharedHost};
use spinach::tigon2::FirmwareImage;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::rc::Rc;
use wire::eth::Mac;

/// Headers of a datagram: Ethernet, IPv4 and UDP.
const HEADERS: u32 = 14 + 20 + 8;
/// The card's address in the presets.
const CARD: Mac = Mac([0, 0x60, 0xcf, 0, 0, 1]);

type Options = BTreeMap<String, String>;
/// Loaded parts of a program: load address and bytes of each.
type Parts = Vec<(u32, Vec<u8>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [card, firmware, limit, options @ ..] = &arguments[..] else {
        return Err("usage: saturated CARD.toml FIRMWARE.elf MICROSECONDS [OPTION]...".into());
    };
    let mut options: Options = options
        .iter()
        .map(|option| option.split_once('=').unwrap_or((option, "")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let offered = offered(&mut options)?;
    let [mode, record, profile, report] = ["mode", "record", "profile", "report"].map(|key| options.remove(key));
    let settings: Vec<(String, toml::Value)> = options
        .iter()
        .map(|(key, value)| Ok((key.clone(), toml::from_str::<toml::Table>(&format!("v = {value}"))?["v"].clone())))
        .collect::<Result<_, toml::de::Error>>()?;
    let beside = |wanted: &str, by: &str| {
        let file = Path::new(by).with_file_name(wanted).with_extension("toml");
        let preset = Path::new("presets").join(wanted).with_extension("toml");
        let file = if file.exists() { file } else { preset };
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        Ok((file.display().to_string(), text))
    };
    let design = Netlist::read(card, &fs::read_to_string(card)?, &settings, &beside)?.design(&spinach::catalog())?;
    let (entry, sections) = sections(&fs::read(firmware)?)?;
    let mut environment = Environment::default();
    environment.insert(Rc::new(offered));
    let loads_image = hosts::kinds(&design).iter().any(|kind| kind.loads_image);
    if loads_image {
        environment.insert(Rc::new(image(entry, &sections)?));
    }
    let mut card = Card::build(&design, 1, &environment);
    if !loads_image {
        spinach::load(&card, entry, sections.iter().map(|(addr, bytes)| (*addr, &bytes[..])))?;
    }
    let (hosts, moves) = (hosts::of(&card), record.map(|_| recorded(&card, &design)).unwrap_or_default());
    if profile.is_some() {
        let ranges: Vec<(u32, u32)> =
            sections.iter().map(|(addr, bytes)| (*addr, *addr + bytes.len() as u32)).collect();
        card.parts::<MipsCore>()
            .iter()
            .for_each(|(_, core)| core.borrow_mut().set_profile(Profile::new(ranges.clone())));
    }
    card.system.set_mode(match mode.as_deref() {
        Some("shuffled") => Mode::Shuffled(7),
        Some("all") => Mode::TickAll,
        _ => Mode::Normal,
    });
    card.system.run_until(Time::from_ns(1000 * limit.parse::<u64>()?));
    if report.is_some() {
        print_report(&card, &hosts, &moves);
    }
    let executed: u64 = card
        .parts::<MipsCore>()
        .iter()
        .map(|(_, core)| core.borrow().instructions().map(|(_, count)| count).sum::<u64>())
        .sum();
    println!("{executed} instructions");
    Ok(())
}

/// The traffic of both sides.
fn offered(options: &mut Options) -> Result<Offered, Box<dyn Error>> {
    let own = Station { mac: CARD, ip: Ipv4Addr::new(10, 0, 0, 2), port: 9_999 };
    let other = Station { mac: Mac([2, 0, 0, 0, 0, 1]), ip: Ipv4Addr::new(10, 0, 0, 1), port: 10_000 };
    let number = |options: &mut Options, key: &str| options.remove(key).map(|text| text.parse::<u64>()).transpose();
    let (count, damaged) = (number(options, "count")?, number(options, "damaged")?);
    let mut way = |key: &str, from, to| -> Result<FrameTraffic, Box<dyn Error>> {
        let sizes = options.remove(key).unwrap_or("1514".to_owned());
        let pps = number(options, &format!("{key}_pps"))?;
        if sizes == "none" {
            return Ok(FrameTraffic::default());
        }
        let sizes = sizes.split(':').map(|size| Ok(size.parse::<u32>()? - HEADERS));
        let datagram_bytes = sizes.collect::<Result<_, std::num::ParseIntError>>()?;
        let mut frames = Frames::Datagrams(Datagrams { count, datagram_bytes, from, to });
        if let (Some(each), "receive") = (damaged, key) {
            let frame = |id| {
                let frame = frames.frame(id)?;
                Some(ListedFrame { is_intact: id % each != 0, ..frame })
            };
            frames = Frames::List((0..).map_while(frame).collect());
        }
        let pace = pps.map_or(Pace::Saturating, |pps| Pace::Every(Time::from_fs(1_000_000_000_000_000 / pps)));
        Ok(FrameTraffic { frames, pace, start: Time::ZERO })
    };
    let (network, host) = (way("receive", other, own)?, way("send", own, other)?);
    let every = options.remove("replies").map(|every| every.parse()).transpose()?;
    let replies = every.map(|every| Acknowledgements { every, from: own, to: other });
    Ok(Offered { network, host, replies, gap_cycles: 0 })
}

/// Entry and loaded parts of a big-endian ELF file of 32 bits.
fn sections(file: &[u8]) -> Result<(u32, Parts), Box<dyn Error>> {
    let header = FileHeader32::<BigEndian>::parse(file)?;
    let mut parts = Parts::new();
    for part in header.program_headers(BigEndian, file)? {
        let bytes = part.data(BigEndian, file).map_err(|()| "a part of the firmware is cut off")?;
        if part.p_type(BigEndian) == elf::PT_LOAD && !bytes.is_empty() {
            parts.push((part.p_paddr(BigEndian), bytes.to_vec()));
        }
    }
    Ok((header.e_entry(BigEndian), parts))
}

fn image(entry: u32, sections: &[(u32, Vec<u8>)]) -> Result<FirmwareImage, Box<dyn Error>> {
    let first = sections.iter().map(|&(addr, _)| addr).min().ok_or("the firmware is empty")?;
    let end = sections.iter().map(|(addr, bytes)| *addr as usize + bytes.len()).max().unwrap_or(0);
    let mut all = vec![0; end - first as usize];
    for (addr, bytes) in sections {
        let at = (addr - first) as usize;
        all[at..at + bytes.len()].copy_from_slice(bytes);
    }
    Ok(FirmwareImage::raw(all, first, entry)?)
}

/// Records the transfers of all assists and the places of frames in host memory.
fn recorded(card: &Card, design: &Design) -> Vec<MoveLog> {
    let clock = |path: &str| {
        let part = design.parts.iter().find(|part| part.path == path).expect("a part of the card");
        Clock::new(design.clocks[&part.clock].freq())
    };
    let mut logs = Vec::new();
    let mut log = || {
        logs.push(MoveLog::default());
        logs[logs.len() - 1].clone()
    };
    card.parts::<DmaAssist>().iter().for_each(|(path, dma)| dma.borrow_mut().record(clock(path), log()));
    card.parts::<MacReceive>().iter().for_each(|(_, receive)| receive.borrow_mut().record(log()));
    card.parts::<MacTransmit>().iter().for_each(|(_, transmit)| transmit.borrow_mut().record(log()));
    hosts::of(card).iter().for_each(|host| host.borrow_mut().keep_places());
    logs
}

fn print_report(card: &Card, hosts: &[SharedHost], moves: &[MoveLog]) {
    card.system.counters().iter().for_each(|(name, total)| println!("{name} {total}"));
    card.system.resources().iter().for_each(|(_, one)| println!("{one:?}"));
    let passages = |what: &str, log: &FrameLog| {
        log.kept().iter().for_each(|one| println!("{what} {:?} {} {}", one.id, one.at.fs(), one.bytes));
    };
    for (path, feeder) in card.parts::<PacketFeeder>() {
        passages(path, feeder.borrow().log());
    }
    for (path, sink) in card.parts::<FrameSink>() {
        passages(path, sink.borrow().log());
        println!("{path} {} good", sink.borrow().checker().good());
    }
    for host in hosts {
        let host = host.borrow();
        passages("posted", host.posted());
        passages("received", host.received());
        println!("{} good, {} damaged, {:?}", host.checker().good(), host.damaged(), host.started());
        println!("{:?} {:?} {:?}", host.rings(), host.faults(), host.places());
    }
    for (path, receive) in card.parts::<MacReceive>() {
        println!("{path} {:?}", receive.borrow().dropped());
    }
    for (path, core) in card.parts::<MipsCore>() {
        let core = core.borrow();
        println!("{path} {:?} {:?} {:?}", core.pc(), core.registers(), core.fault());
        core.profile().iter().for_each(|profile| println!("{:?} {:?}", profile.lock_attempts(), profile.code()));
    }
    moves.iter().for_each(|log| println!("{:?}", log.borrow()));
}
