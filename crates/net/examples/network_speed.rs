//! Measures the engine: `cargo run --release -p net --example network_speed`.

use kernel::Time;
use net::NodeId;
use net::host::Entry;
use net::host::{Event, Host, Payload, Program};
use net::network::{Network, Options};
use net::node::{BuildNode, Node};
use net::plain::PlainNic;
use net::plain::params::PlainParams;
use net::span::Ratio;
use net::spec::NetworkSpec;
use net::topology::Topology;
use std::convert::Infallible;
use std::error::Error;
use std::time::Instant;

/// Sends messages of one length to a peer, each when the previous one has left. Without a peer, waits for messages.
struct Stream {
    to: Option<NodeId>,
    len: u32,
    left: u32,
    /// True if it sends one message back for each message that arrives.
    echoes: bool,
}

impl Program for Stream {
    fn start(&mut self, host: &mut Host) {
        host.append(Entry::ALL);
        self.next(host);
    }

    fn event(&mut self, event: Event, host: &mut Host) {
        match event {
            Event::Received(received) if self.echoes => drop(host.put(received.from, 0, Payload::Zeros(received.len))),
            Event::Sent(_) if !self.echoes => self.next(host),
            _ => {}
        }
    }
}

impl Stream {
    fn next(&mut self, host: &mut Host) {
        if let Some(to) = self.to.filter(|_| self.left > 0) {
            self.left -= 1;
            host.put(to, 0, Payload::Zeros(self.len));
        }
    }
}

fn network(
    topology: Topology,
    threads: usize,
    program: impl Fn(u32, u32) -> Stream,
) -> Result<Network, Box<dyn Error>> {
    let spec = NetworkSpec { topology: Some(topology), ..NetworkSpec::default() };
    let design = spec.design(&["plain"], |_| false)?;
    let n = design.n_devices;
    let plan = design.plan(|node, _, _| {
        let stream = program(node.0, n);
        let build: BuildNode = Box::new(move |place| {
            Ok(Box::new(PlainNic::new(PlainParams::default(), place, Box::new(stream))?) as Box<dyn Node>)
        });
        Ok::<_, Infallible>(build)
    })?;
    Ok(Network::build(plan, Options { threads, ..Options::default() })?)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Two devices of a star play ping-pong; the others are idle.
    for nodes in [2, 1024] {
        for threads in [1, 2] {
            let begun = Instant::now();
            let mut net = network(Topology::Star { nodes }, threads, |node, _| Stream {
                to: (node == 0).then_some(NodeId(nodes - 1)),
                len: 64,
                left: 1,
                echoes: true,
            })?;
            let built = begun.elapsed();
            let begun = Instant::now();
            let progress = net.run_until(Time::from_ns(if threads == 1 { 100_000_000 } else { 5_000_000 }))?;
            let took = begun.elapsed();
            let frames = net.ledger()?.delivered.frames;
            let per_second = |count: u64| count as f64 / took.as_secs_f64();
            println!(
                "ping-pong, {nodes} nodes, {threads} threads: built in {built:.2?}; {frames} frames in {took:.2?}: {:.0} frames/s, {:.0} windows/s",
                per_second(frames),
                per_second(progress.windows)
            );
        }
    }
    // All devices of a fat tree send 4 MiB to a device of another pod.
    let tree = Topology::FatTree { levels: 3, radix: 8, oversubscription: Ratio::new(1, 1), nodes: None };
    for (len, left) in [(1 << 16, 64), (64, 4096)] {
        let mut alone = 0.0;
        for threads in [1, 2] {
            let mut net = network(tree.clone(), threads, |node, n| Stream {
                to: Some(NodeId((node + n / 2) % n)),
                len,
                left,
                echoes: false,
            })?;
            let begun = Instant::now();
            let progress = net.run_until(Time::from_ns(1_000_000_000))?;
            let took = begun.elapsed().as_secs_f64();
            let report = net.report()?;
            let hops: u64 =
                report.iter().flat_map(|node| node.lines.iter().flatten()).map(|(counts, _)| counts.sent.frames).sum();
            let frames = net.ledger()?.delivered.frames;
            if threads == 1 {
                alone = took;
            }
            println!(
                "fat tree, 128 nodes, messages of {len} B, {threads} threads: {frames} frames ({hops} hops) in {took:.2} s: {:.0} frames/s, {:.0} hops/s, {:.0} messages/s, {} windows, {:.2} times one thread",
                frames as f64 / took,
                hops as f64 / took,
                f64::from(left * 128) / took,
                progress.windows,
                alone / took
            );
        }
    }
    Ok(())
}
