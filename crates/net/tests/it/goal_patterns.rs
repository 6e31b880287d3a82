//! The messages of patterns.

use crate::drawn::text_of;
use expect_test::expect;
use net::goal::patterns::{Options, Pattern};
use net::goal::{Kind, Schedule};
use std::collections::BTreeMap;

fn make(name: &str, ranks: u32, bytes: u64) -> Schedule {
    Pattern::named(name).unwrap().make(&Options { ranks, bytes, ..Options::default() }).unwrap()
}

/// Each send has a receive of the same size, between the same ranks, for any number of ranks.
#[test]
fn messages_have_receives() {
    for (pattern, name, ..) in Pattern::ALL {
        for ranks in 1..20 {
            for ways in 1..4 {
                let options = Options { ranks, bytes: 1000, segment: 300, ways, seed: 7 };
                let Ok(schedule) = pattern.make(&options) else { continue };
                let mut balance = BTreeMap::new();
                for rank in 0..ranks {
                    for op in schedule.rank(rank) {
                        match op.kind {
                            Kind::Send => *balance.entry((rank, op.peer, op.size)).or_insert(0) += 1,
                            Kind::Recv => *balance.entry((op.peer, rank, op.size)).or_insert(0) -= 1,
                            Kind::Calc => {}
                        }
                    }
                }
                assert!(balance.values().all(|&sum| sum == 0), "{name}, {ranks} ranks: {balance:?}");
            }
        }
    }
}

#[test]
fn a_pattern_as_text() {
    expect![[r#"
        num_ranks 4

        rank 0 {
        l1: send 8b to 1 tag 0
        l2: send 8b to 2 tag 0
        }

        rank 1 {
        l1: recv 8b from 0 tag 0
        l2: send 8b to 3 tag 0
        l2 requires l1
        }

        rank 2 {
        l1: recv 8b from 0 tag 0
        }

        rank 3 {
        l1: recv 8b from 1 tag 0
        }
    "#]]
    .assert_eq(&text_of(&make("binomial-bcast", 4, 8)));
}

#[test]
fn names_and_options_are_checked() {
    let error = |name: &str, options: Options| match Pattern::named(name) {
        Ok(pattern) => pattern.make(&options).unwrap_err(),
        Err(error) => error,
    };
    let of = |ranks, segment, ways| Options { ranks, bytes: 1 << 40, segment, ways, seed: 1 };
    expect![[r#"
        unknown pattern (found `alltoal`; allowed binomial-bcast, binomial-reduce, binary-bcast, dissemination, nway-dissemination, allreduce-ring, allreduce-doubling, alltoall, alltoallv, gather, scatter, double-ring, pipelined-ring, pipelined-ring-dep, linear-barrier, random-bisect); did you mean `alltoall`?
        unknown pattern (found `binomialtreebcat`; allowed binomial-bcast, binomial-reduce, binary-bcast, dissemination, nway-dissemination, allreduce-ring, allreduce-doubling, alltoall, alltoallv, gather, scatter, double-ring, pipelined-ring, pipelined-ring-dep, linear-barrier, random-bisect); did you mean `binomialtreebcast`?
        ranks is 0, must be 1 to 4294967294
        the schedule would have up to 2199023255552 operations, must be at most 134217727; take fewer ranks
        ranks is 6, must be a power of two for recursive doubling
        ranks is 5, must be even for pairs
        segment is 0, must be at least 1
        the schedule would have up to 10995116277760 operations, must be at most 134217727; take fewer ranks
        ways is 65, must be 1 to 64"#]].assert_eq(
        &[
            error("alltoal", of(8, 1, 1)),
            error("binomialtreebcat", of(8, 1, 1)),
            error("alltoall", of(0, 1, 1)),
            error("alltoall", of(1 << 20, 1, 1)),
            error("allreduce-doubling", of(6, 1, 1)),
            error("random-bisect", of(5, 1, 1)),
            error("pipelined-ring", of(5, 0, 1)),
            error("pipelined-ring", of(5, 1, 1)),
            error("nway-dissemination", of(5, 1, 65)),
        ]
        .join("\n"),
    );
}
