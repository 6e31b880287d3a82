//! Networks of cards: the results of a run for a user.

use crate::support;
use expect_test::{Expect, expect};
use serde_json::Value;
use spinet::kinds::{self, OwnPolicies, Text};
use spinet::run::{Run, RunError, Wanted};
use spinet::toml_text::Format;
use std::path::Path;
use std::time::Duration;

/// The host of `left` sends to `right`, whose handler sends everything back. No packet matches on `left`.
const PAIR: &str = "
    [[nodes]]
    name = 'left'
    program = 'nic.elf'
    context = [{ handler = 'echo', match = 'udp.dst_port == 1' }]
    send = { source = 'udp:size=64..1500,count=20,rate=50G', to = 'right' }
    [[nodes]]
    name = 'right'
    program = 'nic.elf'
    context = [{ handler = 'echo' }]
    [[links]]
    from = 'left'
    to = 'right'
    with = { rate = '100G', delay = '500 ns' }
";

fn start(text: &str, folder: &Path, wanted: &Wanted) -> Result<Run, RunError> {
    let text = Text { text, file: "net.toml", base_dir: folder, format: Format::Toml };
    assert_eq!(kinds::of_experiment(text.text, folder, Format::Toml).name, "network");
    (kinds::NETWORK.start)(&text, wanted, OwnPolicies::default())
}

/// Runs to the end, in slices of `ms` milliseconds of host time.
fn run(text: &str, folder: &Path, wanted: &Wanted, ms: u64) -> Run {
    let mut run = start(text, folder, wanted).unwrap_or_else(|error| panic!("{error}"));
    while !run.advance(Duration::from_millis(ms)).unwrap_or_else(|error| panic!("{error}")).is_done {}
    run
}

fn show(summary: &Value) -> String {
    let packets = &summary["packets"];
    let mut text = format!("{}: {}\n", summary["ended"]["reason"], summary["ended"]["text"]).replace('"', "");
    text += &format!("{} in, {} out, {} dropped\n", packets["in"], packets["out"], packets["dropped"]);
    for node in summary["nodes"].as_array().into_iter().flatten() {
        text +=
            &format!("{} {}: {} in, {} done\n", node["name"], node["ip"], node["in"], node["done"]).replace('"', "");
    }
    for link in summary["links"].as_array().into_iter().flatten() {
        text += &format!("{} -> {}: {} frames\n", link["from"], link["to"], link["frames"]).replace('"', "");
    }
    text
}

fn refused(text: &str, want: Expect) {
    let folder = support::folder_with_program("network_refused");
    let error = start(text, &folder, &Wanted::default()).err().expect("it is wrong");
    want.assert_eq(&error.to_string().replace(&folder.display().to_string(), "FOLDER"));
}

#[test]
fn packets_go_from_host_to_handler_and_back() {
    let folder = support::folder_with_program("network_pair");
    let run = run(PAIR, &folder, &Wanted::default(), 100);
    expect![[r#"
        complete: all packets are done
        40 in, 40 out, 0 dropped
        left 10.0.0.1: 20 in, 20 done
        right 10.0.0.2: 20 in, 20 done
        left -> right: 20 frames
        right -> left: 20 frames
    "#]]
    .assert_eq(&show(&run.summary()));
}

/// A star: three hosts send to two nodes, whose handlers count the packets.
const STAR: &str = "
    topology = { name = 'star', nodes = 6 }
    link = { rate = '100G', delay = '333 ns' }
    [[nodes]]
    name = 'n0'
    program = 'nic.elf'
    context = [{ handler = 'echo', match = 'udp.dst_port == 1' }]
    send = { source = 'udp:size=imix,count=30,rate=40G,arrivals=poisson', to = 'n3' }
    [[nodes]]
    name = 'n1'
    send = { source = 'udp:size=imix,count=30,rate=90G,arrivals=poisson', to = 'n3' }
    [[nodes]]
    name = 'n2'
    send = { source = 'udp:size=imix,count=30,rate=40G,arrivals=poisson', to = 'n4' }
    [[nodes]]
    name = '*'
    program = 'nic.elf'
    context = [{ handler = 'tally' }]
";

#[test]
fn threads_and_slices_change_no_result() {
    let folder = support::folder_with_program("network_threads");
    let result = |threads, ms| {
        let run = run(STAR, &folder, &Wanted { threads, tables: true, ..Wanted::default() }, ms);
        let mut summary = run.summary();
        summary["wall"].take();
        (run.digest(), summary)
    };
    let want = result(1, 100);
    assert_eq!(want.1["packets"]["out"], 90);
    for (threads, ms) in [(2, 1), (3, 100), (4, 1)] {
        assert!(result(threads, ms) == want, "{threads} threads in slices of {ms} ms differ");
    }
}

/// A fat tree whose first node has a PsPIN.
const TREE: &str = "
    topology = { name = 'fat-tree', levels = 2, radix = 4, nodes = 8 }
    link = { rate = '100G', delay = '300 ns' }
    [[nodes]]
    name = 'n0'
    program = 'nic.elf'
    context = [{ handler = 'tally' }]
    [[nodes]]
    name = 'n[2]'
";

#[test]
fn nodes_of_a_topology_have_the_card_of_the_first_entry_that_fits() {
    let folder = support::folder_with_program("network_tree");
    let send = "name = 'n*'\n    send = { source = 'udp:size=1000,count=5,rate=10G,payload=random', to = 'n0' }";
    let run = run(&TREE.replace("name = 'n[2]'", send), &folder, &Wanted::default(), 100);
    let summary = run.summary();
    // Seven hosts send five frames each.
    let packets = &summary["packets"];
    assert_eq!(
        (&packets["in"], &packets["out"], &packets["dropped"]),
        (&35.into(), &35.into(), &0.into()),
        "{packets}"
    );
    assert_eq!((&summary["nodes"][0]["kind"], &summary["nodes"][0]["done"]), (&"handlers".into(), &35.into()));
    assert_eq!(summary["nodes"][7]["kind"], "plain");
}

#[test]
fn mistakes_name_their_place() {
    refused(
        "[[nodes]]\nname = 'a'\nprogram = 'nic.elf'\nlimit = '1 ms'\n",
        expect!["net.toml: line 4: nodes[0].limit: `limit` belongs to the network, above [[nodes]]"],
    );
    refused(
        "[[nodes]]\nname = '0'\n",
        expect![
            "net.toml: line 2: nodes[0].name: `0` is not a valid name; allowed are a letter, then letters, digits, `-`, `_` and `.`"
        ],
    );
    refused(
        &format!("[[nodes]]\nname = '{}'\n", "a".repeat(201)),
        expect![
            "net.toml: line 2: nodes[0].name: the name has 201 characters, must have at most 200; results have a folder of that name"
        ],
    );
    refused(
        &PAIR.replace("to = 'right'\n    with", "to = 'rigth'\n    with"),
        expect![
            "net.toml: line 13: links[0].to: is `rigth`, must be a node or switch: `left`, `right`; did you mean `right`?"
        ],
    );
    refused(
        &PAIR.replace("to = 'right' }", "to = 'rigt' }"),
        expect!["net.toml: line 6: nodes[0].send.to: there is no node `rigt`; did you mean `right`?"],
    );
    refused(
        &PAIR.replace("'right'\n    program = 'nic.elf'", "'right'\n    program = 'none.elf'"),
        expect!["node `right`: net.toml: program: FOLDER/none.elf: No such file or directory (os error 2)"],
    );
    refused(
        &PAIR.replace("handler = 'echo' }", "handlr = 'echo' }"),
        expect![
            "node `right`: net.toml: unknown key `handlr` in `context`, expected one of `name`, `tenant`, `match`, `message`, `rule_set`, `priority`, `installed`, `handler`, `header`, `payload`, `completion`, `handler_memory`, `host_memory`, `scratchpad_bytes`, `copy_bytes`, `watchdog_cycles`, `delivery`; did you mean `handler`?"
        ],
    );
    refused(
        &PAIR.replace("[[links]]", "[[links]]\nspeed = 3"),
        expect![[r#"
        net.toml: line 12: unknown key `speed` in `links`, expected one of `from`, `to`, `name`, `with`
          speed = 3
          ^^^^^"#]],
    );
    refused(
        &PAIR.replace("100G", "fast"),
        expect![[r#"
        net.toml: line 14: `fast` is not a rate above 0; write for example `100G` or `800 bit/s`, or `none` for no limit
              with = { rate = 'fast', delay = '500 ns' }
                              ^^^^^^"#]],
    );
    refused(
        &PAIR.replace("'right'\n    program", "'left'\n    program"),
        expect!["net.toml: line 8: nodes[1].name: `left` is the name of two nodes, each must have its own"],
    );
    refused(
        &PAIR.replace("to = 'right'\n    with", "to = 'right:1'\n    with"),
        expect!["node `right`: port 1 has a link, and the card has 1 network port"],
    );
    refused(
        &format!("traffic = 'udp:count=3'\n{PAIR}"),
        expect!["net.toml: line 1: traffic: packets of a network come from its nodes: write `send` in [[nodes]]"],
    );
    refused(
        TREE,
        expect!["net.toml: line 9: nodes[1].name: `n[2]` fits no node of the topology, whose nodes are n0 to n7"],
    );
    refused(
        &TREE.replace("levels = 2", "levels = 9"),
        expect!["net.toml: line 2: topology.levels: is 9, must be 1 to 4"],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n*'\n[[nodes]]\nname = 'n1'\n",
        expect![
            "net.toml: line 5: nodes[1].name: earlier entries describe all nodes of `n1`; put special entries above general ones"
        ],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nsend = { source = 'udp:count=5', too = 'n1' }\n",
        expect![[r#"
            net.toml: line 4: unknown key `too` in `nodes.send`, expected one of `to`, `source`, `port`, `queue`, `pacing`, `start`, `count`, `snapped`, `gap_cycles`; did you mean `to`?
              send = { source = 'udp:count=5', too = 'n1' }
                                               ^^^"#]],
    );
    refused(
        "faults = 'loss=1'\ntopology = { name = 'pair' }\n",
        expect!["net.toml: line 1: faults: links lose packets: write `faults` in [link], or in `with` of a link"],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nmesages = { mtu = 256 }\n",
        expect![
            "net.toml: line 4: nodes[0].mesages: unknown key, must be one of `name`, `count`, `ip`, `mac`, `send`, `messages`, `host_program`, `rank`, `thread`, `nic`, `program`, `weight`, `io`, `tenant`, `context`, `at`; did you mean `messages`?"
        ],
    );
    refused(
        "topology = 'star'\n",
        expect![[r#"
        net.toml: line 1: found the text "star", must be a table with the name of a topology, such as { name = "star", nodes = 4 }
          topology = 'star'
                     ^^^^^^"#]],
    );
    refused(
        "topology = { name = 'star', nodes = 2 }\nswitch = { buffer_bytes = 100 }\n",
        expect!["net.toml: line 2: switch.buffer_bytes: is 100, must be 9018 to 1099511627776"],
    );
    refused(
        "captures = ['n0:5']\ntopology = { name = 'pair' }\n",
        expect!["network: captures is `n0:5`, must be one of `n0:0`"],
    );
    refused(
        "seed = 99999999999999999999\ntopology = { name = 'pair' }\n",
        expect![[r#"
        net.toml: line 1: found the number 99999999999999999999, must be a whole number below 2^64
          seed = 99999999999999999999
                 ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nsend = 'none.pcap'\n",
        expect!["net.toml: line 4: nodes[0].send: FOLDER/none.pcap: No such file or directory (os error 2)"],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nsend = ['udp:count=1', 'none.pcap']\n",
        expect!["net.toml: line 4: nodes[0].send[1]: FOLDER/none.pcap: No such file or directory (os error 2)"],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nmac = '01:00:5e:00:00:01'\n",
        expect![
            "net.toml: line 4: nodes[0].mac: is `01:00:5e:00:00:01`, must be the MAC address of a node, such as 02:00:00:00:00:01; bit 0 of the first byte is 0"
        ],
    );
    refused(
        "topology = { name = 'pair' }\n[[nodes]]\nname = 'n0'\nip = '224.0.0.1'\n",
        expect!["net.toml: line 4: nodes[0].ip: is 224.0.0.1, must be the address of a node, not of a group of nodes"],
    );
    refused(
        "[[nodes]]\nname = 'a'\n[[nodes]]\nname = 'b'\n",
        expect!["net.toml: links: is a list without node `a`, must be one in which each node has a link"],
    );
    refused(
        &TREE.replace("'n[2]'", "'n1'\ncount = 3"),
        expect![
            "net.toml: line 10: nodes[1].count: count is only for networks without a topology; the topology defines the number of nodes"
        ],
    );
}

/// Three PsPINs of one entry. Packets reach only `n2`, after the time that a PsPIN takes to boot.
const SLEEPERS: &str = "
    topology = { name = 'star', nodes = 4 }
    [[nodes]]
    name = 'n0'
    send = { source = 'udp:size=100,count=2,rate=1G', to = 'n2', start = '20 us' }
    [[nodes]]
    name = 'n*'
    program = 'nic.elf'
    context = [{ handler = 'tally' }]
";

#[test]
fn cards_that_no_packet_reaches_cost_nothing() {
    let folder = support::folder_with_program("network_sleepers");
    let digests = |text: &str| {
        let summary = run(text, &folder, &Wanted::default(), 100).summary();
        let nodes = summary["nodes"].as_array().cloned().unwrap_or_default();
        (nodes.iter().map(|node| node["digest"].clone()).collect::<Vec<_>>(), summary["packets"]["out"].clone())
    };
    let (sleeping, out) = digests(SLEEPERS);
    assert_eq!(out, 2);
    // A card with an entry of its own is built at the start.
    let own = (1..4).map(|i| SLEEPERS[SLEEPERS.rfind("[[nodes]]").unwrap()..].replace("n*", &format!("n{i}")));
    let eager = SLEEPERS[..SLEEPERS.rfind("[[nodes]]").unwrap()].to_owned() + &own.collect::<String>();
    assert_eq!(digests(&eager).0, sleeping);
}

/// `right` has room for four packets, and a handler takes longer than a packet on the link.
#[test]
fn drops_inside_cards_are_named() {
    let folder = support::folder_with_program("network_card_drops");
    let text = PAIR.replace("size=64..1500,count=20,rate=50G", "size=1000,count=200,rate=400G").replace("'100G'", "'400G'").replace(
        "context = [{ handler = 'echo' }]",
        "nic = { set = { 'l2.packet_bytes' = 4096 } }\n    context = [{ handler = 'echo', delivery = { when_full = 'drop' } }]",
    );
    let summary = run(&text, &folder, &Wanted::default(), 100).summary();
    let right = &summary["nodes"][1];
    let dropped = right["dropped_by_reason"]["packet_memory_full"].as_u64().unwrap_or(0);
    assert!(dropped > 1, "{right} {}", summary["ended"]);
    assert_eq!(summary["nodes"][0]["dropped_by_reason"], serde_json::json!({}));
    let remark = summary["remarks"].as_array().unwrap().iter().find(|remark| remark["kind"] == "card_drops");
    assert_eq!(
        remark.unwrap()["text"],
        format!("cards dropped {dropped} packets: `right` {dropped} packet_memory_full")
    );
}

/// A card whose firmware stops ends the run. The results until then are there, and do not depend on threads.
#[test]
fn a_card_that_stops_ends_the_run_with_its_results() {
    let folder = support::folder_with_program("network_stopped");
    // addiu v0, zero, 1; break
    let words = [0x2402_0001_u32, 0x0000_000d];
    std::fs::write(folder.join("bad.bin"), words.map(u32::to_be_bytes).concat()).unwrap();
    let text = "
        topology = { name = 'pair' }
        [[nodes]]
        name = 'n0'
        send = { source = 'udp:size=1000,rate=1G', to = 'n1' }
        [[nodes]]
        name = 'n1'
        nic = { preset = 'tigon2', set = { 'host.clear_end' = 0x8000 } }
        firmware = { program = 'bad.bin', load = '0x4000' }
    ";
    let results = [1, 2].map(|threads| {
        let wanted = Wanted { threads, ..Wanted::default() };
        let summary = run(text, &folder, &wanted, 100).summary();
        (show(&summary), summary["digest"].clone(), summary["time"].clone())
    });
    assert!(
        results[0].0.starts_with(
            "trouble: node `n1`: the card stopped: cpu_a.core stopped at 0x00004004 (pc 0x00004004): a break instruction, 0x0\n"
        ),
        "{}",
        results[0].0
    );
    assert!(!results[0].0.contains("\n0 in"), "{}", results[0].0);
    assert_eq!(results[0], results[1]);
}

/// In a ring whose switches pause each other, no packet moves in the end, but pause frames are repeated forever.
#[test]
fn pauses_that_repeat_do_not_hide_a_deadlock() {
    let folder = support::folder_with_program("network_deadlock");
    let nodes: String = (0..5)
        .map(|i| {
            let to = (i + 2) % 5;
            format!(
                "[[nodes]]\nname = 'n{i}'\nsend = {{ source = 'udp:size=1500,count=3000,rate=100G', to = 'n{to}' }}\n"
            )
        })
        .collect();
    let text = format!(
        "stall_limit = '1 ms'\nmay_deadlock = true\ntopology = {{ name = 'torus', dimensions = [5] }}\n\
         switch = {{ pfc = {{ xoff_bytes = 20000, xon_bytes = 10000, headroom_bytes = 60000 }} }}\n{nodes}"
    );
    let summary = run(&text, &folder, &Wanted::default(), 100).summary();
    assert_eq!(summary["ended"]["reason"], "stalled", "{}", summary["ended"]);
    let unfinished = summary["packets"]["unfinished"].as_u64().unwrap();
    assert!(unfinished > 0, "{}", summary["packets"]);
}
