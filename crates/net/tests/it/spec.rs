//! Networks as users write them.

use crate::rig::{Script, packet};
use expect_test::{Expect, expect};
use kernel::Time;
use net::device::Attached;
use net::network::{Network, Options};
use net::node::{BuildNode, Node, NodeFailure};
use net::spec::{NetworkSpec, SwitchChoice};
use net::{NodeId, PortId};
use std::fmt::Write as _;

fn read(text: &str) -> NetworkSpec {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The links of a network, or the error.
fn check(text: &str, want: Expect) {
    let shown = match toml::from_str::<NetworkSpec>(text) {
        Err(error) => error.message().lines().next().unwrap_or_default().to_owned(),
        Ok(spec) => match spec.design(&["plain", "pspin"], |_| false) {
            Err(error) => error.to_string(),
            Ok(design) => {
                let name = |(node, port): (NodeId, PortId)| format!("{}:{port}", design.nodes[node.0 as usize].name);
                let mut text = String::new();
                for link in &design.links {
                    let [there, back] = link.directions.map(|way| way.rate.in_bps().unwrap_or(0) / 1_000_000_000);
                    let delay = link.directions[0].delay;
                    writeln!(
                        text,
                        "{}: {} - {}, {there}/{back}G, {delay}",
                        link.name,
                        name(link.ends[0]),
                        name(link.ends[1])
                    )
                    .unwrap();
                }
                text
            }
        },
    };
    want.assert_eq(&shown);
}

#[test]
fn an_edge_list() {
    let text = r#"
        nodes = [{ name = "a" }, { name = "b", device = { kind = "pspin" } }, { name = "c" }]
        switches = [{ name = "s" }, { name = "t", params = "spectrum-2" }]
        link = { delay = "100 ns", rate = "25G" }
        [[links]]
        from = "a"
        to = "s"
        [[links]]
        from = "b"
        to = "s:0"
        with = { rate = "none", rate_back = "100G", length_m = 10 }
        [[links]]
        from = "s"
        to = "t"
        [[links]]
        from = "s"
        to = "t"
        [[links]]
        from = "c"
        to = "t"
        name = "third"
    "#;
    check(
        text,
        expect![[r#"
            a-s: a:0 - s:1, 25/25G, 100 ns
            b-s: b:0 - s:0, 0/100G, 49 ns
            s-t: s:2 - t:0, 25/25G, 100 ns
            s-t#2: s:3 - t:1, 25/25G, 100 ns
            third: c:0 - t:2, 25/25G, 100 ns
        "#]],
    );
}

#[test]
fn a_topology_with_changed_entries() {
    let text = r#"
        topology = { name = "star", nodes = 3 }
        nodes = [{ name = "n1", ip = "192.168.0.1", mac = "02:00:00:00:00:09" }]
        switches = [{ name = "sw0", params = { forwarding = "cut_through", latency = "90 ns" } }]
        links = [{ from = "n2", to = "sw0", with = { faults = "loss=0.01" } }]
    "#;
    check(
        text,
        expect![[r#"
            n0-sw0: n0:0 - sw0:0, 100/100G, 500 ns
            n1-sw0: n1:0 - sw0:1, 100/100G, 500 ns
            n2-sw0: n2:0 - sw0:2, 100/100G, 500 ns
        "#]],
    );
    let design = read(text).design(&["plain"], |_| false).unwrap();
    assert_eq!(design.directory.node_of_ip([192, 168, 0, 1].into()), Some(NodeId(1)));
    assert_eq!(design.links[2].directions.map(|way| way.faults.to_string()), ["loss=1/100", "loss=1/100"]);
    assert_eq!(design.links[0].directions[0].faults.to_string(), "");
}

#[test]
fn errors_name_the_place_and_the_near_miss() {
    let star = "topology = { name = \"star\", nodes = 3 }\n";
    let two = "nodes = [{ name = \"a\" }, { name = \"b\" }]\nswitches = [{ name = \"sw\" }]\n";
    let with = |base: &str, more: &str| base.to_owned() + more;
    check(
        &with(star, "sed = 3"),
        expect![
            "unknown field `sed`, expected one of `seed`, `topology`, `device`, `link`, `switch`, `nodes`, `switches`, `links`, `may_deadlock`"
        ],
    );
    check(
        "topology = { name = \"strar\", nodes = 3 }",
        expect!["unknown variant `strar`, expected one of `pair`, `star`, `fat-tree`, `dragonfly`, `torus`"],
    );
    check("topology = { name = \"pair\", levels = 3 }", expect!["unknown field `levels`, there are no fields"]);
    check(
        &with(star, "link = { rate = \"0G\" }"),
        expect!["`0G` is not a rate above 0; write for example `100G` or `800 bit/s`, or `none` for no limit"],
    );
    check(
        &with(star, "link = { delay = \"0 ns\" }"),
        expect!["`0 ns` is out of range, must be above 0 and at most 18446 s (5.1 hours)"],
    );
    check(
        &with(star, "device = { kind = \"pspn\" }"),
        expect!["device.kind is `pspn`, must be one of `plain`, `pspin`; did you mean `pspin`?"],
    );
    check(
        &with(star, "nodes = [{ name = \"n7\" }]"),
        expect!["nodes[0].name is `n7`, must be a node of the topology: `n0`, `n1`, `n2`; did you mean `n0`?"],
    );
    check(
        &with(star, "switch = \"spectrum2\""),
        expect![
            "switch is `spectrum2`, must be a table of parameters, or one of `default`, `spectrum-2`, `rosetta`; did you mean `spectrum-2`?"
        ],
    );
    check(
        &with(star, "switch = { buffer_bytes = 100 }"),
        expect!["switch.buffer_bytes is 100, must be 9018 to 1099511627776"],
    );
    check(
        &with(star, "switch = { latncy = \"1 ns\" }"),
        expect![
            "unknown field `latncy`, expected one of `forwarding`, `latency`, `buffering`, `buffer_bytes`, `queue_bytes`, `alpha`, `schedule`, `choice`, `ecn`, `pfc`"
        ],
    );
    check(
        &with(star, "link = { faults = \"lost=1\" }"),
        expect![
            "link.faults is `lost=1`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to 4096"
        ],
    );
    check(
        &with(star, "link = { delay = \"1 us\", length_m = 3 }"),
        expect!["link.length_m is given with `delay`, must be given alone"],
    );
    check(two, expect!["links is a list without node `a`, must be one in which each node has a link"]);
    check(
        &with(two, "links = [{ from = \"a\", to = \"sx\" }]"),
        expect!["links[0].to is `sx`, must be a node or switch: `a`, `b`, `sw`; did you mean `sw`?"],
    );
    check(
        &with(two, "links = [{ from = \"a\", to = \"sw:4096\" }]"),
        expect!["links[0].to is `sw:4096`, must be a name and a port from 0 to 1023"],
    );
    check(
        &with(two, "links = [{ from = \"a\", to = \"a\" }]"),
        expect!["links[0] is a link from `a` to itself, must be two nodes"],
    );
    check(
        &with(two, "links = [{ from = \"a\", to = \"sw:1\" }, { from = \"b\", to = \"sw:1\" }]"),
        expect!["links[1].to is port 1 of `sw`, must be a port without a link; links[0] has it"],
    );
    let apart = "switches = [{ name = \"s\" }, { name = \"t\" }]\nnodes = [{ name = \"a\" }, { name = \"b\" }]\nlinks = [{ from = \"a\", to = \"s\" }, { from = \"b\", to = \"t\" }]";
    check(
        apart,
        expect![
            "links is no path from `b` to `a`, must be links and switches that join all nodes (nodes that are not switches pass nothing on)"
        ],
    );
    check(
        "nodes = [{ name = \"a\" }, { name = \"a\" }]",
        expect!["name is `a`, must be different from all other nodes and switches"],
    );
    check(
        &with(star, "nodes = [{ name = \"n1\", ip = \"10.0.0.1\" }]"),
        expect![
            "nodes[0].ip or mac is 10.0.0.1 and 02:00:0a:00:00:02, must be addresses that no other node has; `n0` has one of them"
        ],
    );
    let pfc = "switch = { pfc = { xoff_bytes = 20000, xon_bytes = 10000, headroom_bytes = 50000 } }\n";
    check(
        &format!("topology = {{ name = \"torus\", dimensions = [4] }}\n{pfc}"),
        expect![
            "switch is priority flow control on routes that wait in a circle: t0 -> t1 -> t2 -> t3, must be routes without circles, or no `pfc`, or `may_deadlock = true`"
        ],
    );
    check(
        &format!("topology = {{ name = \"torus\", dimensions = [3] }}\n{pfc}link = {{ rate = \"10G\" }}"),
        expect![[r#"
            n0-t0: n0:0 - t0:0, 10/10G, 500 ns
            n1-t1: n1:0 - t1:0, 10/10G, 500 ns
            n2-t2: n2:0 - t2:0, 10/10G, 500 ns
            t0-t1: t0:1 - t1:1, 10/10G, 500 ns
            t1-t2: t1:2 - t2:1, 10/10G, 500 ns
            t2-t0: t2:2 - t0:2, 10/10G, 500 ns
        "#]],
    );
}

/// Each device of a topology sends a frame to each other one, and all arrive.
fn all_to_all(text: &str) {
    let spec = read(text);
    let design = spec.design(&["plain"], |_| false).unwrap();
    let n = design.n_devices;
    let plan = design.plan(|node, _, _| {
        let node = node.0;
        let build: BuildNode = Box::new(move |place| {
            let frames = (0..n)
                .filter(|&to| to != node)
                .map(|to| (Time::from_ns(u64::from(to) * 10), packet(node, to, 200, to)));
            Ok(Box::new(Attached::new(Script::sending(frames), place)) as Box<dyn Node>)
        });
        Ok::<_, NodeFailure>(build)
    });
    let mut network = Network::build(plan.unwrap(), Options { threads: 2, ..Options::default() }).unwrap();
    let progress = network.run_until(Time::from_ns(1_000_000)).unwrap();
    let ledger = network.ledger().unwrap();
    assert!(ledger.is_balanced() && progress.next.is_none());
    assert_eq!((ledger.delivered.frames, ledger.all_dropped().frames), (u64::from(n * (n - 1)), 0), "{text}");
}

#[test]
fn all_nodes_of_each_topology_reach_each_other() {
    all_to_all("topology = { name = \"pair\" }");
    all_to_all("topology = { name = \"star\", nodes = 9 }");
    all_to_all("topology = { name = \"fat-tree\", levels = 2, radix = 8, oversubscription = \"3/1\" }");
    all_to_all(
        "topology = { name = \"fat-tree\", levels = 3, radix = 4 }\nswitch = { pfc = { xoff_bytes = 20000, xon_bytes = 10000, headroom_bytes = 50000 } }",
    );
    all_to_all("topology = { name = \"fat-tree\", levels = 4, radix = 4 }\nswitch = { choice = \"adaptive\" }");
    all_to_all(
        "topology = { name = \"dragonfly\", nodes_per_switch = 1, switches_per_group = 3, global_links = 2 }\nswitch = \"rosetta\"",
    );
    all_to_all("topology = { name = \"torus\", dimensions = [3, 3, 2] }");
}

#[test]
fn a_card_in_a_switch_gets_the_packets_that_match() {
    let text = r#"
        topology = { name = "star", nodes = 4 }
        switches = [{ name = "sw0", compute = { match = "ipv4.len == 86", card = "n3" } }]
        links = [{ from = "n3", to = "sw0", with = { delay = "20 ns", rate = "400G" } }]
    "#;
    let design = read(text).design(&["plain"], |_| false).unwrap();
    let plan = design.plan(|node, _, _| {
        let build: BuildNode = Box::new(move |place| {
            let script = match node.0 {
                0 => Script::sending([100, 200, 100].map(|len| (Time::ZERO, packet(0, 1, len, 0)))),
                // The card answers the sender: its own packets also match, but still go to their destination.
                3 => Script { echoes: true, ..Script::default() },
                _ => Script::default(),
            };
            Ok(Box::new(Attached::new(script, place)) as Box<dyn Node>)
        });
        Ok::<_, NodeFailure>(build)
    });
    let mut network = Network::build(plan.unwrap(), Options { threads: 2, ..Options::default() }).unwrap();
    network.run_until(Time::from_ns(100_000)).unwrap();
    let n: Vec<usize> = (0..4).map(|node| crate::rig::arrived(&mut network, node).len()).collect();
    assert_eq!(n, [2, 1, 0, 2]);
    let star = "topology = { name = \"star\", nodes = 3 }\n";
    let with = |more: &str| format!("{star}switches = [{{ name = \"sw0\", compute = {more} }}]");
    check(
        &with("{ match = \"udp\", card = \"n9\" }"),
        expect![
            "switches[0].compute.card is `n9`, must be a node with a link to the switch: `n0`, `n1`, `n2`; did you mean `n0`?"
        ],
    );
    check(
        &with("{ match = \"udp.prt == 3\", card = \"n1\" }"),
        expect![[r#"
        switches[0].compute.match is `udp.prt == 3`, must be an expression (unknown name `udp.prt`, udp has `src_port`, `dst_port`, `len`, `checksum`, `payload_len`
          udp.prt == 3
          ^^^^^^^)"#]],
    );
}

#[test]
fn a_spec_comes_back_from_its_text() {
    let spec = read(
        "seed = 5\ntopology = { name = \"fat-tree\", levels = 3, radix = 4 }\nswitch = { alpha = \"1/8\", latency = \"1.5 us\" }\nlink = { rate = \"400G\" }",
    );
    let text = toml::to_string(&spec).unwrap();
    assert_eq!(read(&text), spec, "{text}");
}

#[test]
fn ratios_are_texts_or_numbers() {
    let alpha = |value: &str| {
        let text = format!("topology = {{ name = 'star', nodes = 2 }}\nswitch = {{ alpha = {value} }}");
        let spec = toml::from_str::<NetworkSpec>(&text).map_err(|error| error.message().to_owned())?;
        Ok::<_, String>(match spec.switch {
            SwitchChoice::Params(params) => params.alpha.map(|alpha| alpha.times(1000)),
            SwitchChoice::Preset(_) => None,
        })
    };
    for (value, want) in [("'1/8'", 125), ("'0.125'", 125), ("0.125", 125), ("2", 2000), ("1e-2", 10)] {
        assert_eq!(alpha(value), Ok(Some(want)), "{value}");
    }
    for value in ["0", "-1", "0.0", "-0.5", "nan", "inf", "'x'", "'0/1'"] {
        let error = alpha(value).unwrap_err();
        assert!(error.contains("is not a ratio above 0"), "{value}: {error}");
    }
}
