//! Several processes, here as threads that exchange bytes: one network, one digest, and an error that reaches all.

use crate::drawn_networks::{draw, plan};
use crate::rig::{self, RATE, Script, device, direction, link, packet};
use kernel::Time;
use net::NodeReport;
use net::error::NetError;
use net::exchange::Exchange;
use net::network::{Network, Options, digest_of};
use net::plan::Plan;
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Bytes to and from each other rank.
struct Mesh {
    rank: u32,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
    cut: Option<usize>,
}

impl Mesh {
    fn of(n: usize) -> Vec<Mesh> {
        let mut meshes: Vec<Mesh> =
            (0..n).map(|rank| Mesh { rank: rank as u32, to: Vec::new(), from: Vec::new(), cut: None }).collect();
        for from in 0..n {
            for to in 0..n {
                let (sender, receiver) = channel();
                meshes[from].to.push(sender);
                meshes[to].from.push(Mutex::new(receiver));
            }
        }
        meshes
    }
}

impl Exchange for Mesh {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn n_ranks(&self) -> u32 {
        self.to.len() as u32
    }

    fn exchange(&self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        for (to, bytes) in self.to.iter().zip(outgoing) {
            let len = self.cut.map_or(bytes.len(), |cut| bytes.len().min(cut));
            to.send(bytes[..len].to_vec())?;
        }
        self.from.iter().map(|from| Ok(from.lock().unwrap().recv()?)).collect()
    }
}

/// Runs a network on `n` ranks, each with `threads` threads.
fn ranks(
    n: usize,
    threads: usize,
    plan: impl Fn() -> Plan + Sync,
    cut: Option<usize>,
) -> Vec<Result<Vec<NodeReport>, NetError>> {
    let run = |mut mesh: Mesh| {
        mesh.cut = cut;
        let options = Options { threads, exchange: Some(Arc::new(mesh)), ..Options::default() };
        let mut network = Network::build(plan(), options)?;
        for slice in 1..=3 {
            network.run_until(Time::from_ns(slice * 10_000_000))?;
        }
        network.report()
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = Mesh::of(n).into_iter().map(|mesh| scope.spawn(|| run(mesh))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

#[test]
fn the_digest_does_not_depend_on_the_number_of_processes() {
    for seed in [3, 11, 12, 15] {
        let drawn = draw(seed);
        let mut alone = Network::build(plan(&drawn).0, Options { threads: 1, ..Options::default() }).unwrap();
        alone.run_until(Time::from_ns(30_000_000)).unwrap();
        let digest = alone.digest().unwrap();
        for (n, threads) in [(2, 1), (2, 2), (4, 1)] {
            if alone.report().unwrap().len() < n {
                continue;
            }
            let mut all: Vec<NodeReport> =
                ranks(n, threads, || plan(&drawn).0, None).into_iter().flat_map(Result::unwrap).collect();
            all.sort_by_key(|report| report.node);
            assert_eq!(digest_of(&all), digest, "seed {seed}, {n} ranks of {threads} threads");
        }
    }
}

/// Four devices in two pairs, whose links join ranks 0 and 1.
fn crossing(panic_at: Option<Time>) -> Plan {
    let frames = |from: u32| (0..50).map(move |i| (Time::from_ns(u64::from(i) * 100), packet(from, from ^ 2, 200, i)));
    let nodes = (0..4)
        .map(|i| {
            device(&format!("n{i}"), move || Script {
                panic_at: panic_at.filter(|_| i == 3),
                ..Script::sending(frames(i))
            })
        })
        .collect();
    let links =
        vec![link("a", (0, 0), (2, 0), direction(RATE, 500, "")), link("b", (1, 0), (3, 0), direction(RATE, 500, ""))];
    rig::plan(nodes, links)
}

#[test]
fn a_rank_that_fails_ends_the_run_on_all() {
    let results = ranks(2, 1, || crossing(Some(Time::from_ns(2_000))), None);
    let errors: Vec<String> = results.into_iter().map(|result| result.err().unwrap().to_string()).collect();
    assert_eq!(errors[1], "node `n3` panicked: a bug in the card");
    assert!(errors[0].starts_with("rank 1 ended the run: "), "{errors:?}");
}

#[test]
fn a_message_that_is_cut_off_is_an_error() {
    for result in ranks(2, 1, || crossing(None), Some(9)) {
        let error = result.err().unwrap().to_string();
        assert!(error.contains("is cut off or is not one of spinet (9 bytes)"), "{error}");
    }
}
