//! Programs of hosts on the nodes of a network, with all kinds of cards.

use crate::support;
use kernel::Time;
use net::NodeId;
use net::host::{BuildProgram, Entry, Event, Host, Payload, Program};
use serde_json::Value;
use spinet::kinds::{self, OwnPolicies, Text};
use spinet::run::{Run, RunError, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Byte time at 100 Gbit/s, in ps.
const BYTE: u64 = 80;
/// Preamble, headers and FCS of a message of one packet.
const HEADERS: u64 = 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4;

/// Times in ps, which programs write and tests read.
type Log = Arc<Mutex<Vec<u64>>>;

/// Sends messages of 64 bytes back and forth. Node 0 begins, and logs the time of each answer.
struct PingPong {
    left: u32,
    log: Log,
}

impl PingPong {
    fn builder(count: u32, log: &Log) -> BuildProgram {
        let log = log.clone();
        BuildProgram::new(move |_| Ok(Box::new(PingPong { left: count, log: log.clone() })))
    }
}

impl Program for PingPong {
    fn start(&mut self, host: &mut Host) {
        host.append(Entry::ALL);
        if host.node() == NodeId(0) {
            // The card has to boot first.
            host.wait(Time::from_ns(10_000), 0);
        }
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        let peer = NodeId(1 - host.node().0);
        let is_first = host.node() == NodeId(0);
        match event {
            Event::Timer(_) => {
                host.put(peer, 0, Payload::Zeros(64));
            }
            Event::Received(_) => {
                self.left -= 1;
                if is_first {
                    self.log.lock().unwrap().push(host.now().ps());
                }
                if !is_first || self.left > 0 {
                    host.put(peer, 0, Payload::Zeros(64));
                }
            }
            _ => {}
        }
    }

    fn waits_for(&self) -> Option<String> {
        (self.left > 0).then(|| format!("{} messages", self.left))
    }
}

fn try_run(text: &str, folder: &Path, hosts: &[(&str, BuildProgram)], threads: usize) -> Result<Run, RunError> {
    let text = Text { text, file: "net.toml", base_dir: folder, format: Format::Toml };
    let hosts = hosts.iter().map(|(name, program)| ((*name).to_owned(), program.clone())).collect();
    let wanted = Wanted { threads, hosts, ..Wanted::default() };
    let mut run = (kinds::NETWORK.start)(&text, &wanted, OwnPolicies::default())?;
    while !run.advance(Duration::from_millis(20))?.is_done {}
    Ok(run)
}

fn run(text: &str, folder: &Path, hosts: &[(&str, BuildProgram)], threads: usize) -> Run {
    try_run(text, folder, hosts, threads).unwrap_or_else(|error| panic!("{error}"))
}

/// Two nodes; `card` is the card of both.
fn pair(card: &str) -> String {
    format!(
        "links = [{{ from = 'a', to = 'b', with = {{ rate = '100G', delay = '500 ns' }} }}]\n\
         [[nodes]]\nname = 'a'\n{card}\n[[nodes]]\nname = 'b'\n{card}\n"
    )
}

fn ended(run: &Run) -> Value {
    run.summary()["ended"].clone()
}

#[test]
fn plain_nics_carry_messages_at_the_speed_of_their_link() {
    let folder = support::folder_with_program("hosts_plain");
    let log = Log::default();
    let ping_pong = PingPong::builder(5, &log);
    let run = run(&pair(""), &folder, &[("a", ping_pong.clone()), ("b", ping_pong)], 2);
    assert_eq!(ended(&run)["reason"], "complete", "{}", ended(&run));
    let one_way = (HEADERS + 64) * BYTE + 500_000;
    let want: Vec<u64> = (1..=5).map(|i| 10_000_000 + i * 2 * one_way).collect();
    assert_eq!(*log.lock().unwrap(), want);
    assert_eq!(run.card.counters()["a.host.messages.received"], 5);
}

/// PsPINs pass two sorts of messages to the host: those that no context takes, and those that a handler copies to host memory.
#[test]
fn messages_pass_cards_on_their_way_to_the_host() {
    let folder = support::folder_with_program("hosts_pspin");
    let times = |context: &str, threads| {
        let log = Log::default();
        let ping_pong = PingPong::builder(5, &log);
        let card = format!("program = 'nic.elf'\ncontext = [{{ {context} }}]");
        let run = run(&pair(&card), &folder, &[("a", ping_pong.clone()), ("b", ping_pong)], threads);
        assert_eq!(ended(&run)["reason"], "complete", "{}", ended(&run));
        assert_eq!(run.card.counters()["b.host.messages.received"], 5);
        let times = log.lock().unwrap().clone();
        (times, run.digest())
    };
    let one_way = (HEADERS + 64) * BYTE + 500_000;
    let ordinary = times("handler = 'echo', match = 'udp.dst_port == 1'", 1);
    let copied = times("handler = 'store', match = 'udp.dst_port == 4791'", 1);
    for (name, (times, _)) in [("ordinary", &ordinary), ("copied", &copied)] {
        assert_eq!(times.len(), 5);
        let rounds: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // A card needs time for the packet, but less than 2 us.
        for round in rounds {
            assert!((2 * one_way..2 * one_way + 4_000_000).contains(&round), "{name}: {round} ps");
        }
    }
    assert!(copied.0 > ordinary.0, "a handler and PCIe take time");
    assert_eq!(times("handler = 'store', match = 'udp.dst_port == 4791'", 2), copied, "threads change no result");
}

/// Watches the counter that the handler `tally` writes to host memory.
struct Watcher {
    want: u32,
    seen: Vec<u32>,
    log: Log,
}

impl Program for Watcher {
    fn start(&mut self, host: &mut Host) {
        let memory = host.card_memory()[0].clone();
        assert_eq!(memory.bytes, 64);
        host.watch(memory.addr, 4);
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        if let Event::Written { .. } = event {
            let mut count = [0; 4];
            host.read(host.card_memory()[0].addr, &mut count);
            self.seen.push(u32::from_le_bytes(count));
            self.log.lock().unwrap().push(u64::from(u32::from_le_bytes(count)));
        }
    }

    fn waits_for(&self) -> Option<String> {
        let last = self.seen.last().copied().unwrap_or(0);
        (last < self.want).then(|| format!("the counter to be {} (it is {last})", self.want))
    }
}

const WATCHED: &str = "
    links = [{ from = 'a', to = 'b' }]
    [[nodes]]
    name = 'a'
    send = { source = 'udp:size=100,count=3,rate=1G', to = 'b' }
    [[nodes]]
    name = 'b'
    program = 'nic.elf'
    context = [{ handler = 'tally', host_memory = { size = 64 } }]
";

#[test]
fn programs_see_what_handlers_write_to_host_memory() {
    let folder = support::folder_with_program("hosts_watch");
    let watch = |want, threads| {
        let log = Log::default();
        let program = log.clone();
        let watcher = BuildProgram::new(move |_| {
            Ok(Box::new(Watcher { want, seen: Vec::new(), log: program.clone() }) as Box<dyn Program>)
        });
        let run = run(WATCHED, &folder, &[("b", watcher)], threads);
        let seen = log.lock().unwrap().clone();
        (seen, ended(&run), run.digest())
    };
    let (seen, end, digest) = watch(3, 1);
    assert_eq!((seen, end["reason"].as_str()), (vec![1, 2, 3], Some("complete")));
    assert_eq!(watch(3, 2).2, digest);
    let (_, end, _) = watch(4, 1);
    assert_eq!(end["reason"], "stalled");
    let text = end["text"].as_str().unwrap_or_default();
    assert!(text.contains("the host of `b` waits for the counter to be 4 (it is 3)"), "{text}");
}

#[test]
fn programs_for_unknown_nodes_are_refused() {
    let folder = support::folder_with_program("hosts_unknown");
    let ping_pong = PingPong::builder(1, &Log::default());
    let error = try_run(&pair(""), &folder, &[("aa", ping_pong)], 1).err().unwrap().to_string();
    assert_eq!(error, "the program of a host names node `aa`, which does not exist");
}

#[test]
fn parameters_of_messages_are_checked() {
    let folder = support::folder_with_program("hosts_params");
    let error = try_run(&pair("messages = { mtu = 8 }"), &folder, &[], 1).err().unwrap().to_string();
    assert!(error.ends_with("nodes[0].messages.mtu: is 8, must be 64 to 32768"), "{error}");
}

/// Node 0 sends a message of one packet.
struct OneMessage;

impl Program for OneMessage {
    fn start(&mut self, host: &mut Host) {
        host.append(Entry::ALL);
        if host.node() == NodeId(0) {
            host.put(NodeId(1), 0, Payload::Zeros(64));
        }
    }

    fn event(&mut self, _: Event, _: &mut Host) {}

    fn waits_for(&self) -> Option<String> {
        None
    }
}

/// The first packet leaves at once. Without an acknowledgment, it leaves again after each of the first three timeouts.
#[test]
fn a_sender_gives_up_if_its_peer_never_answers() {
    let folder = support::folder_with_program("hosts_give_up");
    for transport in ["selective", "go_back_n"] {
        let messages = format!("messages = {{ transport = '{transport}', timeout = '10 us', retries = 3 }}");
        let lossy = pair(&messages).replace("'500 ns'", "'500 ns', faults = 'loss=1'");
        for threads in [1, 2] {
            let program = BuildProgram::new(|_| Ok(Box::new(OneMessage)));
            let run = run(&lossy, &folder, &[("a", program.clone()), ("b", program)], threads);
            let summary = run.summary();
            assert_eq!(ended(&run)["reason"], "complete", "{}", ended(&run));
            assert_eq!(summary["packets"]["in"], 4, "{transport}, {threads} threads");
            assert_eq!(summary["messages"]["unfinished"], 1);
            let remark = summary["remarks"].as_array().unwrap().iter().find(|remark| remark["kind"] == "silent_peers");
            assert_eq!(
                remark.unwrap()["text"],
                "`a` gave up sending to `b`: no acknowledgment came during `retries` timeouts in a row"
            );
        }
    }
}

/// A run ends with the last event of a host, which can be later than the last frame.
#[test]
fn simulated_time_reaches_the_last_event_of_a_host() {
    let folder = support::folder_with_program("hosts_time");
    let log = Log::default();
    let ping_pong = PingPong::builder(2, &log);
    let card = pair("messages = { deliver_latency = '7 us' }");
    let run = run(&card, &folder, &[("a", ping_pong.clone()), ("b", ping_pong)], 2);
    let one_way = (HEADERS + 64) * BYTE + 500_000 + 7_000_000;
    let end = 10_000_000 + 4 * one_way;
    assert_eq!(log.lock().unwrap().last(), Some(&end));
    assert_eq!(run.summary()["time"]["simulated_ns"], end as f64 / 1000.0);
}

#[test]
fn a_host_runs_a_program_or_a_rank() {
    let folder = support::folder_with_program("hosts_rank");
    std::fs::write(folder.join("s.goal"), "num_ranks 1\nrank 0 {\ncalc 5\n}\n").unwrap();
    let text = format!("schedule = 's.goal'\n{}", pair(""));
    let ping_pong = PingPong::builder(1, &Log::default());
    let error = try_run(&text, &folder, &[("a", ping_pong.clone())], 1).err().unwrap().to_string();
    assert_eq!(error, "the host of node `a` has a program, and runs a rank of the schedule, too");
    assert_eq!(ended(&run(&text, &folder, &[("b", ping_pong)], 1))["reason"], "stalled");
}
