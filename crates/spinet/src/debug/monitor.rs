//! The commands of `monitor`, for functions for which gdb has no command.

use super::Work;
use super::target::CardTarget;
use super::watcher::Reason;
use std::fmt::Write as _;

/// A packet for which the run stops at the start of its handler. Without a message, `packet` is the number in its
/// source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketBreak {
    message: Option<u64>,
    packet: u64,
}

impl PacketBreak {
    /// Returns true if a core works on the packet.
    pub fn holds(self, work: &Work) -> bool {
        match self.message {
            Some(message) => work.message == Some((message, self.packet)),
            None => work.packet == self.packet,
        }
    }
}

impl std::fmt::Display for PacketBreak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "packet {}", self.packet)?;
        self.message.map_or(Ok(()), |message| write!(f, " of message {message}"))
    }
}

const HELP: &str = "\
monitor break packet K               stop where a handler begins to process packet K of the traffic, from 0
monitor break packet K of message M  the same for packet K of message M, both from 0
monitor break fault                  stop at exceptions: refused accesses, illegal instructions, watchdogs
monitor breaks                       list these breaks
monitor delete                       delete them
monitor packet                       the packets that cores work on
monitor reason                       why the run stopped
monitor time                         simulated time
monitor memory                       the memories and their addresses
monitor host ADDRESS COUNT           bytes of host memory
All cores always run: a core cannot be held back, and stops do not change simulated time.
";

/// The answer to a command.
pub fn answer(target: &mut CardTarget, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        [] | ["help"] => HELP.to_owned(),
        ["break", "fault"] => {
            target.watcher.borrow_mut().breaks_on_faults = true;
            "the run stops at faults\n".to_owned()
        }
        ["break", "packet", packet] => add(target, packet, None),
        ["break", "packet", packet, "of", "message", message] => add(target, packet, Some(message)),
        ["breaks"] => breaks(target),
        ["delete"] => {
            target.packets.clear();
            target.watcher.borrow_mut().breaks_on_faults = false;
            "no breaks at packets and faults\n".to_owned()
        }
        ["packet"] => packets(target),
        ["reason"] => format!("{}\n", reason(target)),
        ["time"] => time(target),
        ["memory"] => memory(target),
        ["host", addr, count] => host(target, addr, count).unwrap_or_else(|| {
            format!("host {addr} {count}: must be an address and a number of bytes up to {MOST_HOST_BYTES}\n")
        }),
        _ => format!("{command}: no such command\n{HELP}"),
    }
}

fn add(target: &mut CardTarget, packet: &str, message: Option<&str>) -> String {
    let (Some(packet), Some(message)) = (number(packet), message.map_or(Some(None), |text| number(text).map(Some)))
    else {
        return "the packet and the message must be numbers: monitor break packet 3 of message 0\n".to_owned();
    };
    let added = PacketBreak { message, packet };
    if !target.packets.contains(&added) {
        target.packets.push(added);
    }
    format!("the run stops at {added}\n")
}

fn breaks(target: &CardTarget) -> String {
    let faults = target.watcher.borrow().breaks_on_faults.then(|| "faults\n".to_owned());
    let all: String = target.packets.iter().map(|packet| format!("{packet}\n")).chain(faults).collect();
    if all.is_empty() { "none\n".to_owned() } else { all }
}

/// The name of a core with its packet and its state, for lists of threads.
pub fn about(target: &CardTarget, core: usize) -> String {
    let (cores, mut text) = (target.cores(), String::new());
    text.push_str(&cores.names()[core]);
    // Writing to a string cannot fail.
    match cores.work(core) {
        Some(Work { packet, message: Some((message, position)), stage, .. }) => {
            let _ = write!(text, ": packet {packet} ({position} of message {message}), {stage}");
        }
        Some(Work { packet, message: None, stage, .. }) => {
            let _ = write!(text, ": packet {packet}, {stage}");
        }
        None => {}
    }
    let _ = write!(text, "; {}", cores.state(core));
    text
}

fn packets(target: &CardTarget) -> String {
    let at_work: Vec<String> = (0..target.n_cores)
        .filter(|&core| target.cores().work(core).is_some())
        .map(|core| format!("{}{}\n", if core == target.current { "* " } else { "  " }, about(target, core)))
        .collect();
    if at_work.is_empty() { "no core works on a packet\n".to_owned() } else { at_work.concat() }
}

/// Why the run stopped last.
fn reason(target: &CardTarget) -> String {
    let Some(stop) = target.stop else { return "nothing has stopped the run".to_owned() };
    let core = about(target, stop.core);
    match stop.reason {
        Reason::Breakpoint(pc) => format!("breakpoint at {pc:#010x}: {core}"),
        Reason::Step => format!("step: {core}"),
        Reason::Watch(_, addr) => format!("watchpoint at {addr:#010x}: {core}"),
        Reason::Fault(cause, value) => {
            let name = target.cores().fault(cause).unwrap_or_default();
            format!("{name} ({value:#010x}): {core}")
        }
        Reason::Packet => format!("a handler begins: {core}"),
    }
}

fn time(target: &CardTarget) -> String {
    let progress = target.run.card.progress();
    let cycles = progress.cycles.map_or(String::new(), |cycles| format!(", cycle {cycles}"));
    format!("{} ns{cycles}\n", progress.simulated.ps() as f64 / 1000.0)
}

fn memory(target: &CardTarget) -> String {
    let line = |region: super::Region| {
        let last = region.base + (region.bytes - 1);
        let access = if region.is_writable { "" } else { ", read only" };
        format!("{:#010x} to {last:#010x}  {}{access}\n", region.base, region.name)
    };
    target.cores().regions().into_iter().map(line).collect()
}

/// Maximum number of bytes of host memory in an answer.
const MOST_HOST_BYTES: u64 = 1024;

fn host(target: &CardTarget, addr: &str, count: &str) -> Option<String> {
    let (addr, count) = (number(addr)?, number(count).filter(|count| (1..=MOST_HOST_BYTES).contains(count))?);
    addr.checked_add(count)?;
    let mut data = vec![0; count as usize];
    if !target.run.card.read_host(addr, &mut data) {
        return Some("this card has no host memory that handlers write\n".to_owned());
    }
    let row = |(at, bytes): (u64, &[u8])| {
        let bytes: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
        format!("{at:#018x}:{bytes}\n")
    };
    Some((addr..).step_by(16).zip(data.chunks(16)).map(row).collect())
}

/// A number, decimal or hexadecimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
