//! Mutated experiments with chains, RMT programs and policies: reading ends with a value or an error that has a place,
//! and valid experiments run. This is the gate's share of fuzzing; `make fuzz` searches longer.

use kernel::RandomStream;
use spinet::chains::{ChainCard, CheckedChains};
use spinet::experiment::Span;
use spinet::run::{Run, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

/// The mutated texts: chains as texts and as tables, every kind of policy, user-defined tables.
const ORIGINALS: [&str; 3] = [
    r#"
nic = "panic"
policy = "weighted-fair"
chain = ["ipsec [udp.dst_port == 4500]: sha -> aes => network:0", "kv@gold class=1 priority=4: aes(metadata=hash)", "out queues=1,3 repeat: aes -> aes"]
tenant = ["gold: weight=2, class=1", "ipsec: slack=2 us"]
service = ["aes: units=2, credits=3", "work: delay, cycles=20, units=1"]
traffic = "udp:size=100,count=20,rate=20G"
send = ["1=udp:size=64,count=5,rate=1G"]
[[at]]
time = "1 us"
weights = { gold = 3 }
remove = "ipsec"
"#,
    r#"
seed = 3
otherwise = "drop"
[nic]
preset = "panic"
set = { n_classes = 3, "interconnect.topology.kind" = "flattened-butterfly", "interconnect.topology.rows" = 3, "interconnect.topology.columns" = 2, "interconnect.topology.concentration" = 2, "interconnect.topology.link_flits" = 8, "interconnect.topology.link_cycles" = 2 }
[[tenant]]
name = "gold"
rate = "10G"
class = 2
[[service]]
name = "aes"
[service.policy]
policy = { kind = "strict-priority" }
branches = [
    { classes = [2], level = { policy = { kind = "fifo" } } },
    { classes = [1, 0], level = { policy = { kind = "weighted-fair", weights = [3, 1] } } },
]
[[service]]
name = "work"
engine = { kind = "delay", service = { kind = "uniform", least_cycles = 2, most_cycles = 9 }, gap_cycles = 2 }
policy = { policy = { kind = "leaky-bucket", buckets = [{ bytes_per_1000_cycles = 9000, burst_bytes = 0 }, { bytes_per_1000_cycles = 9, burst_bytes = 64 }, { bytes_per_1000_cycles = 70, burst_bytes = 0 }] } }
[[chain]]
name = "gold"
match = "udp.payload[0:2] == \"kv\" || ipv4.src in 10.0.0.0/8"
services = ["work", { service = "aes", class = 1, priority = 2, metadata = "payload.offset" }]
exit = "host:2"
[[chain]]
name = "rest"
services = []
[[traffic]]
source = "udp:size=200,count=9,rate=5G"
start = "1 us"
pacing = "line:40G"
"#,
    r#"
nic = "panic"
policy = "least-slack"
traffic = "udp:size=128,count=30,rate=30G,dst_port=11211,flows=3"
chain = ["rest: aes"]
[rmt]
stages = 3
max_hops = 4
metadata = ["over"]
[[rmt.parser.headers]]
name = "kv"
after = "udp"
when = "udp.dst_port == 11211"
bytes = 8
fields = [{ name = "op", at_bit = 0, bits = 8 }, { name = "key", at_bit = 8, bits = 24 }]
[[rmt.registers]]
kind = "meter"
name = "rate"
size = 1024
bytes_per_1000_cycles = 1000
burst_bytes = 3000
[[rmt.tables]]
name = "police"
size = 64
entries = [{ match = "kv.op == 1", order = 1, actions = [{ meter = { register = "rate", index = "flow", to = "meta.over" } }] }]
otherwise = [{ class = 1 }, { chain = { services = ["sha", "aes"] } }, "stop"]
[[rmt.tables]]
name = "drop"
entries = [{ match = "meta.over == 1", actions = [{ exit = "drop" }, { hash = { fields = ["ipv4.src"], function = "crc32" } }] }]
"#,
];

/// A mutation: inserts, removes or replaces a character, a word of any original, a line, or removes a range.
fn mutate(text: &mut String, words: &[&str], draw: &mut impl FnMut(usize) -> usize) {
    let edges: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let at = edges[draw(edges.len())];
    match draw(12) {
        0 => text.insert(
            at,
            *[' ', '"', '[', ']', '{', '}', ',', '=', ':', '-', '9', '\u{fc}'].get(draw(12)).unwrap_or(&'.'),
        ),
        1 => {
            let end = edges.iter().copied().filter(|&edge| edge > at).nth(draw(6)).unwrap_or(text.len());
            text.replace_range(at..end, "");
        }
        // Replaces words by other words of the file: names, numbers and keys.
        2..=10 => {
            let begin = text[..at].rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
            let end = text[at..].find(|c| !is_word(c)).map_or(text.len(), |len| at + len);
            let begin = (begin..=end).find(|&begin| text.is_char_boundary(begin)).unwrap_or(end);
            // Usually a word of the same kind, so that errors go beyond spelling.
            let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let kind = is_number(&text[begin..end]);
            let alike: Vec<&str> = words.iter().copied().filter(|word| is_number(word) == kind).collect();
            let from = if draw(4) == 0 { words } else { &alike };
            text.replace_range(begin..end, from[draw(from.len())]);
        }
        _ => {
            let lines: Vec<&str> = text.lines().collect();
            if !lines.is_empty() {
                let (from, to) = (draw(lines.len()), draw(lines.len()));
                let mut turned = lines.clone();
                turned.swap(from, to);
                *text = turned.join("\n");
            }
        }
    }
}

/// Runs what can be read for a little while.
fn run(mut checked: CheckedChains) {
    checked.experiment.common.limit = Some(Span::from_fs(3_000_000_000)); // 3 us
    let mut run = match ChainCard::new(checked, &Wanted::default()).map(Run::of) {
        Ok(run) => run,
        Err(error) => return drop(error.to_string()),
    };
    while let Ok(progress) = run.advance(Duration::from_secs(1)) {
        if progress.is_done {
            break;
        }
    }
    let packets = run.card.summarize(run.wall()).packets;
    assert_eq!(packets.packets_in, packets.out + packets.dropped + packets.unfinished, "every packet is accounted for");
}

#[test]
fn mutated_experiments_with_chains_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |text: &str| CheckedChains::read(text, "x.toml", folder, Format::Toml);
    let words: Vec<&str> = ORIGINALS.iter().flat_map(|text| text.split([' ', '"', ',', '\n', '[', ']'])).collect();
    let words: Vec<&str> =
        words.into_iter().filter(|word| !word.is_empty()).chain(["0", "-1", "999999999999", "70000"]).collect();
    for original in ORIGINALS {
        run(read(original).unwrap_or_else(|error| panic!("{error}")));
    }
    let (mut good, mut bad) = (0, 0);
    for seed in 0..2000 {
        let mut stream = RandomStream::new(seed, "mutations");
        let mut draw = |n: usize| stream.below(n as u64) as usize;
        let mut text = ORIGINALS[draw(ORIGINALS.len())].to_owned();
        for _ in 0..=draw(2) {
            mutate(&mut text, &words, &mut draw);
        }
        let found = std::panic::catch_unwind(|| match read(&text) {
            Ok(checked) => {
                run(checked);
                true
            }
            Err(error) => {
                assert!(error.to_string().starts_with("x.toml"), "an error has a place: {error}");
                false
            }
        });
        match found {
            Ok(true) => good += 1,
            Ok(false) => bad += 1,
            Err(_) => panic!("seed {seed}:\n{text}"),
        }
    }
    assert!(good >= 50 && bad >= 500, "mutations are neither all harmless nor all deadly: {good}, {bad}");
}
