//! Runs with chains of offloads: the fates of packets, and that observers change nothing.

use crate::support;
use expect_test::expect;
use kernel::Mode;
use proptest::prelude::*;
use spinet::chains::{ChainCard, ChainSummary, CheckedChains};
use spinet::run::{Card, Ended, Run, Simulated, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

fn checked(text: &str) -> CheckedChains {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    CheckedChains::read(text, "test", here, Format::Toml).unwrap_or_else(|error| panic!("{error}"))
}

fn start(text: &str, wanted: &Wanted) -> Run<ChainCard> {
    ChainCard::new(checked(text), wanted).map(Run::of).unwrap_or_else(|error| panic!("{error}"))
}

fn finish(mut run: Run<ChainCard>, slice: Duration) -> Run<ChainCard> {
    while !run.advance(slice).unwrap_or_else(|error| panic!("{error}")).is_done {}
    let packets = run.card.summarize(run.wall()).packets;
    assert_eq!(packets.packets_in, packets.out + packets.dropped + packets.unfinished, "every packet is accounted for");
    run
}

fn run(text: &str) -> ChainSummary {
    finish(start(text, &Wanted::default()), Duration::from_secs(1)).card.summarize(Duration::ZERO)
}

const TWO_TENANTS: &str = r#"
    preset_services = false
    policy = "weighted-fair"
    chain = ["gold [udp.dst_port == 1]: work", "rest: work"]
    tenant = ["gold: weight=2"]
    traffic = [
        { source = "udp:size=512,count=3000,rate=40G,dst_port=1" },
        { source = "udp:size=512,count=3000,rate=40G,dst_port=2" },
    ]
    service = ["work: delay, cycles=20, units=1, credits=4"]
"#;

#[test]
fn tenants_get_what_their_weights_say() {
    let shares = |text: &str| run(text).tenants.iter().map(|tenant| tenant.share).collect::<Vec<_>>();
    let weighted = shares(TWO_TENANTS);
    assert!((weighted[0] - 2.0 / 3.0).abs() < 0.01, "{weighted:?}");
    // Arrivals are random: with two synchronous streams, the second one would always find a longer queue.
    let drawn = TWO_TENANTS.replace("rate=40G", "rate=40G,arrivals=poisson");
    let equal = shares(&drawn.replace("weighted-fair", "fifo"));
    assert!((equal[0] - 0.5).abs() < 0.05, "{equal:?}");
    let turned = format!("{TWO_TENANTS}\n[[at]]\ntime = '1 us'\nweights = {{ gold = 1, rest = 2 }}\n");
    assert!((shares(&turned)[0] - 1.0 / 3.0).abs() < 0.02, "{:?}", shares(&turned));
}

/// A table's entries change in the middle: from then on all packets are dropped.
#[test]
fn entries_of_tables_change_while_packets_flow() {
    let text = r#"
        preset_services = false
        service = ["work: delay, cycles=0, units=2, credits=8"]
        chain = ["all: work"]
        traffic = "udp:size=500,count=2000,rate=26.2G"
        [rmt]
        stages = 2
        max_hops = 4
        registers = [{ kind = "words", name = "seen", size = 4 }]
        [[rmt.tables]]
        name = "police"
        entries = [{ match = "udp", actions = [{ count = { register = "seen", index = 1 } }] }]
        [[at]]
        time = "159.9 us"
        [at.entries]
        police = [
            { match = "udp.dst_port == 9999", actions = [{ exit = "drop" }, "stop", { count = { register = "seen", index = 2 } }] },
        ]
    "#;
    let summary = run(text);
    // 524 bytes of line a packet are 160 ns each.
    assert_eq!((summary.packets.out, summary.packets.dropped_by_reason["rmt"]), (1000, 1000));
    let table = &summary.tables[0];
    assert_eq!((table.table.as_str(), table.entries[0].packets, table.entries[0].bytes), ("police", 1000, 500_000));
    assert_eq!(summary.registers[0].words, [(1, 1000), (2, 1000)]);

    let errors = [
        ("police =", "polise ="),
        ("\"udp.dst_port == 9999\"", "\"udp.port == 1\""),
        ("exit = \"drop\"", "exit = \"host:99\""),
    ];
    let told = errors.map(|(from, to)| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        CheckedChains::read(&text.replace(from, to), "t.toml", here, Format::Toml).unwrap_err().to_string()
    });
    expect![[r#"
        t.toml: line 16: at[0].entries.polise: unknown table `polise`; known: police, chains; did you mean `police`?
        t.toml: line 17: at[0].entries.police[0].match: unknown name `udp.port`, udp has `src_port`, `dst_port`, `len`, `checksum`, `payload_len`
          udp.port == 1
          ^^^^^^^^
        t.toml: line 17: at[0].entries.police[0].actions[0].exit: found `host:99`, must be `host:0` to `host:15`
    "#]]
    .assert_eq(&(told.join("\n") + "\n"));
}

#[test]
fn fairness_goes_by_the_weights_as_they_were_in_time() {
    let steady = run(TWO_TENANTS);
    assert!(steady.jain_index > 0.999, "{}", steady.jain_index);
    // The weights are swapped halfway, so both tenants get about the same in total, unlike the weights at any time.
    let turned = run(&format!("{TWO_TENANTS}\n[[at]]\ntime = '160 us'\nweights = {{ gold = 1, rest = 2 }}\n"));
    let weights: Vec<_> = turned.tenants.iter().map(|tenant| (tenant.weight, tenant.last_weight)).collect();
    assert_eq!(weights, [(2, 1), (1, 2)]);
    assert!((turned.tenants[0].share - 0.5).abs() < 0.05, "{}", turned.tenants[0].share);
    assert!(turned.jain_index > 0.995, "{}", turned.jain_index);
}

#[test]
fn a_tenant_that_no_chain_names_is_told_of() {
    let told = |text: &str| run(text).remarks.into_iter().map(|remark| remark.text).collect::<Vec<_>>();
    assert_eq!(told(TWO_TENANTS), [""; 0]);
    let misspelt = TWO_TENANTS.replace("\"gold: weight=2\"", "\"glod: weight=2\"");
    let near = "no chain is of tenant `glod`, so it has no packets; did you mean `gold`, the name of a chain?";
    assert_eq!(told(&misspelt), [near]);
}

#[test]
fn nobody_who_looks_on_changes_anything() {
    let folder = std::env::temp_dir().join(format!("spinet-chains-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let alone = finish(start(TWO_TENANTS, &Wanted::default()), Duration::from_secs(1));
    let wanted = Wanted { tables: true, captures: Some(folder.clone()), ..Wanted::default() };
    let mut watched = finish(start(TWO_TENANTS, &wanted), Duration::from_micros(50));
    assert_eq!(alone.digest(), watched.digest());
    assert_eq!((alone.card.cycles(), alone.card.ended()), (watched.card.cycles(), Some(&Ended::Complete)));
    let rows = watched.card.take_tables().remove(0).columns;
    assert_eq!(rows[0].1.len(), 8 * 6000, "a row a packet");
    let mut shuffled = start(TWO_TENANTS, &Wanted::default());
    shuffled.set_mode(Mode::Shuffled(7));
    assert_eq!(finish(shuffled, Duration::from_secs(1)).digest(), alone.digest());
    std::fs::remove_dir_all(folder).expect("it was made");
}

/// Hours without traffic take no host time on any card, and do not change the packets before and after.
#[test]
fn silence_is_skipped() {
    let quiet = support::capture_of("chains_quiet.pcapng", &[64; 6], Duration::from_secs(3000));
    let busy = support::capture_of("chains_busy.pcapng", &[64; 6], Duration::from_micros(100));
    for nic in ["panic", "panic-rtl", "pipeline", "manycore", "rmt"] {
        let experiment = |file: &str| {
            format!(
                "nic = '{nic}'\npreset_services = false\nchain = ['all: work => network:0']\n\
                 service = ['work: delay, cycles=20, units=1, credits=4']\ntraffic = [{{ source = '{file}' }}]\n"
            )
        };
        let begin = std::time::Instant::now();
        let (silent, other) = (run(&experiment(&quiet)), run(&experiment(&busy)));
        assert!(begin.elapsed() < Duration::from_secs(20), "{nic}: {:?}", begin.elapsed());
        assert_eq!((silent.ended.reason, silent.packets.out), ("complete", 6), "{nic}");
        assert_eq!(silent.latency_ns.as_ref().unwrap().max, other.latency_ns.as_ref().unwrap().max, "{nic}");
    }
}

#[test]
fn a_limit_ends_a_run_and_tells_what_was_inside() {
    let text = format!("limit = '30 us'\n{TWO_TENANTS}");
    let summary = run(&text);
    assert_eq!(summary.ended.reason, "limit");
    assert!(summary.packets.unfinished > 0 && summary.packets.packets_in < 6000, "{:?}", summary.packets);
}

/// A random experiment: services of any shape, chains through any of them, more traffic than they can take.
fn experiment() -> impl Strategy<Value = String> {
    let service = (1u32..4, 1u32..6, 0u32..60);
    let chain = (prop::collection::vec(0usize..3, 0..4), 0usize..2);
    let policy = prop::sample::select(vec!["fifo", "round-robin", "weighted-fair", "strict-priority", "least-slack"]);
    let traffic = (64u32..1500, 1u32..120, 1u64..1000);
    (prop::collection::vec(service, 3), prop::collection::vec(chain, 1..4), policy, traffic).prop_map(
        |(services, chains, policy, (size, rate, seed))| {
            let mut text = format!(
                "preset_services = false\nseed = {seed}\npolicy = '{policy}'\n\
                 traffic = 'udp:size={size},count=300,rate={rate}G,flows=4'\nservice = ["
            );
            for (i, (units, credits, cycles)) in services.iter().enumerate() {
                let spread = cycles * 2;
                text += &format!(
                    "'s{i}: delay-uniform, least_cycles={cycles}, most_cycles={spread}, units={units}, credits={credits}',"
                );
            }
            text += "]\nchain = [";
            for (i, (hops, exit)) in chains.iter().enumerate() {
                // A service occurs once in a chain.
                let mut once: Vec<usize> = Vec::new();
                hops.iter().for_each(|hop| if !once.contains(hop) { once.push(*hop) });
                let hops: Vec<String> = once.iter().map(|hop| format!("s{hop}")).collect();
                let (port, exit) = (10_000 + i, ["host:3", "network:0"][*exit]);
                text += &format!("'c{i} [udp.src_port == {port}]: {} => {exit}',", hops.join(" -> "));
            }
            text + "]\n"
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_runs_is_accounted_for_and_is_the_same_again(text in experiment()) {
        let first = finish(start(&text, &Wanted::default()), Duration::from_secs(1));
        let second = finish(start(&text, &Wanted { tables: true, ..Wanted::default() }), Duration::from_micros(100));
        prop_assert_eq!(first.card.ended(), Some(&Ended::Complete));
        prop_assert_eq!(first.digest(), second.digest());
        prop_assert_eq!(first.card.cycles(), second.card.cycles());
        let summary = first.card.summarize(Duration::ZERO);
        prop_assert_eq!(summary.packets.unfinished, 0);
        let tenants: u64 = summary.chains.iter().map(|chain| chain.group.out + chain.group.dropped).sum();
        prop_assert_eq!(tenants, 300);
    }
}
