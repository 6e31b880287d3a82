//! Runs a GOAL schedule as packets, on plain NICs around one switch: `goal_packets PATTERN RANKS BYTES`, for example
//! `goal_packets alltoall 64 64`. Prints the number of messages; measure the time, or count instructions, from outside.

use kernel::Time;
use net::goal::patterns::{self, Pattern};
use net::loggops::{Model, Params, Rank};
use net::network::{Network, Options};
use net::node::{BuildNode, Node};
use net::plain::PlainNic;
use net::plain::params::PlainParams;
use net::spec::NetworkSpec;
use net::topology::Topology;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, ranks, bytes] = &words[..] else { return Err("usage: goal_packets PATTERN RANKS BYTES".into()) };
    let (ranks, bytes) = (ranks.parse()?, bytes.parse()?);
    let options = patterns::Options { ranks, bytes, ..patterns::Options::default() };
    let schedule = Arc::new(Pattern::named(pattern)?.make(&options)?);
    let params = Params::parse("o=100,g=0")?;
    let spec = NetworkSpec { topology: Some(Topology::Star { nodes: ranks }), ..NetworkSpec::default() };
    let plan = spec.design(&["plain"], |_| false)?.plan(|id, _, _| {
        let schedule = schedule.clone();
        let build: BuildNode = Box::new(move |place| {
            let rank = Rank::new(schedule, params, Model::Loggopsim2010, id.0)?;
            Ok(Box::new(PlainNic::new(PlainParams::default(), place, Box::new(rank))?) as Box<dyn Node>)
        });
        Ok::<_, Infallible>(build)
    })?;
    let mut network = Network::build(plan, Options { threads: 1, ..Options::default() })?;
    let progress = network.run_until(Time::from_ns(10_000_000_000))?;
    assert_eq!(progress.next, None, "the schedule ends");
    println!("{} messages", network.ledger()?.delivered.frames);
    Ok(())
}
