//! Host programs: costs, computations, reads of a peer's memory, frames.

use crate::rig::{RATE, direction, link, plan};
use kernel::Time;
use net::NodeId;
use net::host::{BuildProgram, Costs, Entry, Event, Host, MessageId, Payload, Program, Region};
use net::network::{Network, Options};
use net::node::{BuildNode, Node};
use net::plain::PlainNic;
use net::plain::params::{PlainParams, Transport};
use net::plan::NodePlan;
use net::span::Span;
use std::sync::Arc;

/// Byte time at 100 Gbit/s, in ps.
const BYTE: u64 = 80;
/// Delay of the link, in ps.
const DELAY: u64 = 500_000;
/// Preamble, Ethernet, IPv4, UDP, BTH, RETH, ICRC, FCS.
const WRITE: u64 = 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4;
/// The same with an AETH instead of the RETH.
const RESPONSE: u64 = WRITE - 12;

type Act = Box<dyn FnMut(Option<Event>, &mut Host) + Send>;

/// A program that is a closure. It records all events with their times.
struct Script {
    act: Act,
    events: Vec<(Time, Event)>,
}

impl Program for Script {
    fn start(&mut self, host: &mut Host) {
        (self.act)(None, host);
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        self.events.push((host.now(), event.clone()));
        (self.act)(Some(event), host);
    }
}

fn node(name: &str, params: PlainParams, act: impl FnMut(Option<Event>, &mut Host) + Send + 'static) -> NodePlan {
    let build: BuildNode = Box::new(move |place| {
        let program = Script { act: Box::new(act), events: Vec::new() };
        Ok(Box::new(PlainNic::new(params, place, Box::new(program))?) as Box<dyn Node>)
    });
    NodePlan { name: name.into(), n_ports: 1, build }
}

/// Runs two nodes, and returns the events of each.
fn run(nodes: [NodePlan; 2]) -> [Vec<(Time, Event)>; 2] {
    let plan = plan(nodes.into(), vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]);
    let mut network = Network::build(plan, Options { threads: 1, ..Options::default() }).unwrap();
    assert_eq!(network.run_until(Time::from_ns(1_000_000)).unwrap().next, None);
    [0, 1].map(|node| {
        let act = |node: &mut dyn Node| {
            let nic = node.as_any().downcast_mut::<PlainNic>().unwrap();
            std::mem::take(&mut nic.program_as::<Script>().unwrap().events)
        };
        network.with_node(NodeId(node), act).unwrap()
    })
}

fn span(text: &str) -> Option<Span> {
    Some(Span::parse(text).unwrap())
}

fn with_costs() -> PlainParams {
    let costs = Costs { o: span("100 ns"), g: span("300 ns"), G: None, O: span("1 ns") };
    PlainParams { costs, ..PlainParams::default() }
}

#[test]
fn messages_take_processor_time() {
    let sender = node("a", with_costs(), |event, host| {
        if event.is_none() {
            host.put(NodeId(1), 1, Payload::Zeros(64));
            host.put(NodeId(1), 2, Payload::Zeros(64));
            host.compute(0, Time::from_ns(50), 7);
        }
    });
    let receiver = node("b", with_costs(), |event, host| {
        if event.is_none() {
            host.append(Entry::ALL);
        }
    });
    let [sent, received] = run([sender, receiver]);
    // The processor takes o + 63 O = 163 ns for a message; the second one waits for the gap of 300 ns. The NIC has a message after o.
    let line = (WRITE + 64) * BYTE;
    let at = |events: &[(Time, Event)]| events.iter().map(|(at, _)| at.ps()).collect::<Vec<_>>();
    assert_eq!(at(&sent), [100_000 + line, 400_000 + line, 300_000 + 163_000 + 50_000]);
    assert!(matches!(sent[2].1, Event::Timer(7)));
    // The second message arrives 300 ns after the first, so nothing waits at the receiver.
    let arrives = |i: u64| 100_000 + i * 300_000 + line + DELAY;
    assert_eq!(at(&received), [arrives(0) + 163_000, arrives(1) + 163_000]);
}

#[test]
fn a_busy_processor_delays_messages() {
    let sender = node("a", PlainParams::default(), |event, host| {
        if event.is_none() {
            host.put(NodeId(1), 1, Payload::Zeros(64));
            host.put(NodeId(1), 2, Payload::Zeros(64));
        }
    });
    let receiver = node("b", PlainParams::default(), |event, host| {
        if event.is_none() {
            host.append(Entry { cpu: None, ..Entry::one(None, 2) });
            host.append(Entry::ALL);
            host.compute(0, Time::from_ns(5_000), 0);
        }
    });
    let [_, received] = run([sender, receiver]);
    // The second message matches an entry without a processor.
    let second = DELAY + (WRITE + 64) * BYTE + (12 + WRITE + 64) * BYTE;
    let times: Vec<u64> = received.iter().map(|(at, _)| at.ps()).collect();
    assert_eq!(times, [second, 5_000_000, 5_000_000]);
}

#[test]
fn a_get_reads_the_memory_of_a_peer() {
    for transport in [Transport::Lossless, Transport::GoBackN] {
        let params = PlainParams { transport, ..PlainParams::default() };
        let reader = node("a", params.clone(), |event, host| {
            if event.is_none() {
                host.get(NodeId(1), 5, 6);
            }
        });
        let owner = node("b", params, |event, host| match event {
            None => host.wait(Time::from_ns(3_000), 0),
            Some(Event::Timer(_)) => {
                host.write(0x1000, &[1, 2, 3, 4]);
                let memory = Some(Region { addr: 0x1000, bytes: 4 });
                host.append(Entry { memory, ..Entry::one(Some(NodeId(0)), 5) });
            }
            _ => {}
        });
        let [read, served] = run([reader, owner]);
        // The read waits for the entry. Its answer has 6 bytes and 2 of padding.
        let response = 3_000_000 + (RESPONSE + 8) * BYTE;
        let Event::Reply(reply) = &read[0].1 else { panic!("{read:?}") };
        assert_eq!((reply.id, reply.from, reply.tag, reply.len), (MessageId(0), NodeId(1), 5, 6));
        assert_eq!(reply.bytes.as_deref(), Some(&[1, 2, 3, 4, 0, 0][..]), "bytes beyond the memory are 0");
        if transport == Transport::Lossless {
            assert_eq!((read.len(), read[0].0.ps()), (1, response + DELAY));
            let Event::Served(done) = served[1].1 else { panic!("{served:?}") };
            assert_eq!((served[1].0.ps(), done.to, done.len), (response, NodeId(0), 6));
        }
    }
}

#[test]
fn a_put_writes_the_memory_of_its_entry() {
    let sender = node("a", PlainParams::default(), |event, host| {
        if event.is_none() {
            host.put(NodeId(1), 0, Payload::Bytes(Arc::new([9, 8, 7, 6, 5])));
        }
    });
    let receiver = node("b", PlainParams::default(), |event, host| match event {
        None => {
            host.watch(0x2000, 16);
            let memory = Some(Region { addr: 0x2000, bytes: 3 });
            host.append(Entry { memory, ..Entry::ALL });
        }
        Some(Event::Received(received)) => {
            let mut data = [1; 5];
            host.read(0x2000, &mut data);
            assert_eq!((data, received.len, received.bytes), ([9, 8, 7, 0, 0], 5, None));
        }
        _ => {}
    });
    let [_, received] = run([sender, receiver]);
    assert_eq!(received[0].1, Event::Written { addr: 0x2000, bytes: 3 });
    assert!(matches!(received[1].1, Event::Received(_)));
}

#[test]
fn frames_of_programs_pass_as_they_are() {
    let mut frame = vec![0; 100];
    frame[..6].copy_from_slice(&[2, 0, 10, 0, 0, 2]); // The address of node 1.
    let sent = frame.clone();
    let sender = node("a", PlainParams::default(), move |event, host| {
        if event.is_none() {
            host.send(sent.clone());
        }
    });
    let receiver = node("b", PlainParams::default(), |event, host| {
        if event.is_none() {
            host.take_frames();
        }
    });
    let [_, received] = run([sender, receiver]);
    assert_eq!(received, [(Time::from_ps((8 + 100 + 4) * BYTE + DELAY), Event::Frame(frame.into()))]);
}

#[test]
fn entries_can_be_removed() {
    let sender = node("a", PlainParams::default(), |event, host| {
        if event.is_none() {
            host.put(NodeId(1), 0, Payload::Zeros(1));
        }
    });
    let receiver = node("b", PlainParams::default(), |event, host| {
        if event.is_none() {
            let id = host.append(Entry::ALL);
            host.remove(id);
        }
    });
    assert!(run([sender, receiver])[1].is_empty());
}

#[test]
fn failures_of_programs_end_the_run_with_the_node() {
    let nodes = vec![
        node("a", PlainParams::default(), |_, host| host.wait(Time::from_ns(10), 0)),
        node("b", PlainParams::default(), |event, host| match event {
            None => host.wait(Time::from_ns(20), 0),
            Some(_) => host.fail("the script has an error"),
        }),
    ];
    let plan = plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]);
    let mut network = Network::build(plan, Options { threads: 2, ..Options::default() }).unwrap();
    let error = network.run_until(Time::from_ns(1_000)).unwrap_err().to_string();
    assert!(error.starts_with("node `b` failed before ") && error.ends_with(": the script has an error"), "{error}");
}

#[test]
fn messages_to_nodes_that_do_not_exist_are_errors() {
    let nodes = vec![
        node("a", PlainParams::default(), |_, host| {
            host.put(NodeId(2), 0, Payload::Zeros(1));
        }),
        node("b", PlainParams::default(), |_, _| {}),
    ];
    let plan = plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]);
    let error = Network::build(plan, Options::default()).err().unwrap().to_string();
    assert_eq!(error, "node `a`: the host sends a message to node 2, which does not exist (allowed: 0 to 1)");
}

#[test]
fn builders_make_a_program_for_each_node() {
    struct Named(String);
    impl Program for Named {
        fn start(&mut self, _: &mut Host) {}
        fn event(&mut self, _: Event, _: &mut Host) {}
        fn waits_for(&self) -> Option<String> {
            Some(self.0.clone())
        }
    }
    let build = BuildProgram::new(|place| Ok(Box::new(Named(place.name.clone()))));
    let nodes = ["a", "b"].map(|name| {
        let build = build.clone();
        let build: BuildNode = Box::new(move |place| {
            Ok(Box::new(PlainNic::new(PlainParams::default(), place, build.build(place)?)?) as Box<dyn Node>)
        });
        NodePlan { name: name.into(), n_ports: 1, build }
    });
    let plan = plan(nodes.into(), vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, ""))]);
    let mut network = Network::build(plan, Options::default()).unwrap();
    let name = |node: &mut dyn Node| node.as_any().downcast_mut::<PlainNic>().unwrap().endpoint().waits_for();
    assert_eq!(network.with_node(NodeId(1), name).unwrap().as_deref(), Some("b"));
}
