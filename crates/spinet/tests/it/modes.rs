//! PsPINs with drawn parameters, programs and traffic: no result depends on the order of ticks, on whether components sleep, or
//! on records of the run.

use crate::support;
use kernel::Mode;
use proptest::prelude::*;
use spinet::experiment::Checked;
use spinet::handlers::HandlerCard;
use spinet::run::{Card, Run, Simulated, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

/// Values of parameters that make the parts of the card wait for each other. The first value of each is the preset's.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("n_clusters", &["4", "1", "2"]),
    ("cluster.n_cores", &["8", "1", "3"]),
    ("cluster.dma_fifo", &["12", "2"]),
    ("cluster.dma_bursts", &["2", "1"]),
    ("cluster.core_commands", &["4", "1"]),
    ("cluster.inter_core_fifo", &["32", "2"]),
    ("cluster.packet_buffer_bytes", &["65536", "8192"]),
    ("cluster.icache.miss_cycles", &["8", "40"]),
    ("interconnect.core_request_cycles", &["8", "1"]),
    ("interconnect.nhi_reply_cycles", &["3", "20"]),
    ("scheduler.n_mpqs", &["256", "2", "16"]),
    ("scheduler.shared_cells", &["128", "4"]),
    ("scheduler.max_tasks_per_cluster", &["20", "1"]),
    ("commands.in_flight_per_unit", &["7", "1"]),
    ("commands.host_dma_fifo", &["64", "2"]),
    ("commands.host_direct_fifo", &["16", "2"]),
    ("commands.one_host_burst", &["false", "true"]),
    ("outbound.command_slots", &["16", "1"]),
    ("outbound.queue_packets", &["32", "2"]),
    ("outbound.cycles_per_beat", &["0", "3"]),
    ("outbound.start_cycles", &["0", "9"]),
    ("pcie.model", &["'tlp'", "'ideal'"]),
    ("iommu.entries", &["64", "4"]),
    ("iommu.walks", &["4", "1"]),
    ("isolation.watchdog_cycles", &["1000000", "3000"]),
    ("delivery.when_full", &["'stall'", "'drop'"]),
];

/// Contexts: for each, a match and how its packets form messages.
const CONTEXTS: [&str; 3] = [
    "handler = 'echo'\nmatch = 'udp.src_port in 10000..10003'",
    "handler = 'store'\nmessage = 'by 5-tuple last'\nmatch = 'udp.src_port in 10004..10007'",
    "handler = 'tally'\nmatch = 'udp.src_port in 10008..10011'",
];

fn experiments() -> impl Strategy<Value = String> {
    // One parameter in four differs from the preset's.
    let parameters: Vec<_> = PARAMETERS
        .iter()
        .map(|&(key, values)| {
            let values: Vec<String> = values[1..].iter().map(|value| format!("{key:?} = {value}\n")).collect();
            prop_oneof![3 => Just(String::new()), 1 => prop::sample::select(values)]
        })
        .collect();
    let traffic = (60u32..1500, 0u32..200, 1u32..12, 1u32..9, 5u32..400, any::<bool>());
    let contexts = prop::sample::subsequence(&CONTEXTS[..], 1..=3);
    (parameters, traffic, contexts, 0u64..1000).prop_map(
        |(parameters, (least, more, flows, messages, gbps, bursts), contexts, seed)| {
            let count = flows * messages + more; // No message is empty.
            let arrivals = if bursts { "poisson" } else { "constant" };
            let contexts: String = contexts.iter().map(|text| format!("[[context]]\n{text}\n")).collect();
            format!(
                "program = 'nic.elf'\nseed = {seed}\n\
                 traffic = 'udp:size={least}..1500,count={count},flows={flows},messages={messages},rate={gbps}G,\
                 arrivals={arrivals},payload=random'\n[nic.set]\n{}{contexts}",
                parameters.concat()
            )
        },
    )
}

/// Everything that a run tells: why it ended, its digest, its counters, and all rows of its tables.
fn results(folder: &Path, text: &str, mode: Mode, slice: Duration, wanted: &Wanted) -> Vec<String> {
    let checked =
        Checked::read(text, "drawn.toml", folder, Format::Toml).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut run = Run::of(HandlerCard::new(checked, wanted).unwrap());
    run.set_mode(mode);
    while !run.advance(slice).unwrap().is_done {}
    let mut lines = vec![format!("{:?}", run.card.ended()), run.digest()];
    lines.extend(run.card.counters().into_iter().map(|(name, value)| format!("{name} {value}")));
    for table in run.card.take_tables() {
        lines.extend(table.columns.iter().map(|(name, bytes)| format!("{}.{name} {bytes:?}", table.table)));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drawn_cards_give_the_same_results_in_all_modes(text in experiments(), seed in 1u64..1000) {
        let folder = support::folder_with_program("drawn");
        let tables = Wanted { tables: true, ..Wanted::default() };
        let long = Duration::from_secs(60);
        let normal = results(&folder, &text, Mode::Normal, long, &tables);
        prop_assert!(normal == results(&folder, &text, Mode::TickAll, long, &tables), "components that sleep too long\n{}", text);
        let shuffled = results(&folder, &text, Mode::Shuffled(seed), Duration::from_micros(50), &tables);
        prop_assert!(normal == shuffled, "the order of ticks, or slices\n{}", text);
        let profiled = Wanted { profile: true, ..tables };
        let ended = results(&folder, &text, Mode::Normal, long, &profiled);
        prop_assert!(normal == ended, "a profile\n{}", text);
    }
}
