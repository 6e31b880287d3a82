//! Finishing times against LogGOPSim and ATLAHS, to the nanosecond.

use crate::drawn;
use kernel::Time;
use net::goal::patterns::{Options, Pattern};
use net::goal::{Builder, Schedule};
use net::loggops::{Model, Params, run};

/// Lines of a table without comments and without the head.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
}

/// The sizes of messages that LogGOPSim's generator drew.
fn alltoallv(bytes: &str) -> Schedule {
    let sizes = include_str!("../loggops/alltoallv.csv").lines().skip_while(|line| *line != format!("bytes {bytes}"));
    let sizes: Vec<Vec<u64>> =
        sizes.skip(1).take(8).map(|line| line.split(' ').map(|size| size.parse().unwrap()).collect()).collect();
    let mut builder = Builder::new(8);
    for (rank, own) in sizes.iter().enumerate() {
        for step in 1..8 {
            let (to, from) = ((rank + step) % 8, (rank + 8 - step) % 8);
            builder.send(own[to], to as u32).unwrap();
            builder.recv(sizes[from][rank], from as u32).unwrap();
        }
        builder.end_rank().unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn patterns_end_when_they_end_in_loggopsim() {
    let mut n = 0;
    for row in rows(include_str!("../loggops/finish.csv")) {
        let [pattern, ranks, bytes, finish] = row[..] else { panic!("{row:?}") };
        let options = Options { ranks: ranks.parse().unwrap(), bytes: bytes.parse().unwrap(), ..Options::default() };
        let schedule = match (pattern, bytes) {
            ("alltoallv", "4096" | "131072") => alltoallv(bytes),
            _ => Pattern::named(pattern).unwrap().make(&options).unwrap(),
        };
        let outcome = run(&schedule, &Params::default(), Model::Loggopsim2010, false).unwrap();
        assert_eq!(outcome.finish, Time::from_ns(finish.parse().unwrap()), "{row:?}");
        n += 1;
    }
    assert_eq!(n, 46);
}

/// LogGOPSim's README has these times, and its repository a schedule of 32 ranks that ends at 27,500 ns.
#[test]
fn published_times_come_out() {
    let times = |pattern: &str, ranks, bytes| {
        let schedule = Pattern::named(pattern).unwrap().make(&Options { ranks, bytes, ..Options::default() }).unwrap();
        let outcome = run(&schedule, &Params::default(), Model::Loggopsim2010, false).unwrap();
        outcome.hosts.iter().map(|time| time.ns()).collect::<Vec<_>>()
    };
    assert_eq!(times("binomial-reduce", 8, 1024), [34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500]);
    assert_eq!(times("binomial-bcast", 32, 1).into_iter().max(), Some(27_500));
}

#[test]
fn drawn_schedules_end_as_in_loggopsim_and_atlahs() {
    let mut n = [0; 2];
    for row in rows(include_str!("../loggops/drawn.csv")) {
        let [model, seed, params, hosts] = row[..] else { panic!("{row:?}") };
        let (model, params) = (Model::named(model).unwrap(), Params::parse(&params.replace(' ', ",")).unwrap());
        let schedule = drawn::schedule(seed.parse().unwrap(), drawn::UNIQUE);
        let outcome = run(&schedule, &params, model, true).unwrap_or_else(|error| panic!("{row:?}: {error}"));
        let got: Vec<String> = outcome.hosts.iter().map(|time| time.ns().to_string()).collect();
        assert_eq!(got.join(" "), hosts, "{row:?}");
        n[usize::from(model == Model::Atlahs)] += 1;
    }
    assert!(n.iter().all(|&n| n > 80), "{n:?}");
}
