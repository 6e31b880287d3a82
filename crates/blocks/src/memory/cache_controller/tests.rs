use super::*;
use crate::policy::Replacement;
use crate::testing::{scripted_requester, scripted_responder};
use expect_test::{Expect, expect};

/// Two sets of two lines of four bytes. `>` is the cached memory, which takes two cycles; `#` is the data memory.
/// `snooped` lists cycles and addresses of bytes that others write.
fn check(allocates: (bool, bool), script: &str, snooped: &[(Cycle, u64)], want: Expect) {
    let params = CacheControllerParams {
        line_bytes: 4,
        sets: 2,
        ways: 2,
        replacement: Replacement::Lru,
        allocates_on_read: allocates.0,
        allocates_on_write: allocates.1,
    };
    want.assert_eq(&testkit::bench(200, |bench| {
        let seen = |addr| Seen(AccessSpan { addr, bytes: 1, is_write: true });
        let snooped = snooped.iter().map(|&(at, addr)| (at, seen(addr))).collect();
        let ports = CacheControllerPorts {
            requester: scripted_requester(bench, "core", script, 0),
            cache: scripted_responder(bench, "#", 0),
            memory: scripted_responder(bench, ">", 1),
            snooped: Some(bench.input("snooped", 2, snooped)),
        };
        bench.add("cache", CacheController::new(params.clone(), ports, RandomStream::new(1, "cache")));
        bench.log_counters();
    }));
}

#[test]
fn a_miss_fetches_the_line_and_a_hit_stays_inside() {
    check(
        (true, false),
        "1 r 42+2; 20 r 41+1; 30 r 44+4",
        &[],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 4243
        21   # r 1+1
        23   core 1 01
        31   > r 44+4
        34   # w 8=44454647
        34   core 2 44454647
        cache.read_hits 1
        cache.read_misses 2
        cache.lines_brought 2
    "#]],
    );
}

#[test]
fn without_read_allocation_as_in_the_thesis_reads_fetch_no_line() {
    check(
        (false, true),
        "1 r 42+2; 20 w 43=aa; 40 r 40+1",
        &[],
        expect![[r#"
        2    > r 42+2
        5    core 0 4243
        21   > w 43=aa
        24   > r 40+4
        24   core 1 done
        27   # w 0=40414243
        41   # r 0+1
        43   core 2 00
        cache.read_hits 1
        cache.read_misses 1
        cache.write_misses 1
        cache.lines_brought 1
    "#]],
    );
}

#[test]
fn writes_go_through_to_memory() {
    check(
        (true, false),
        "1 r 40+4; 20 w 41=aabb; 40 w 50=cc",
        &[],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 40414243
        21   # w 1=aabb
        21   > w 41=aabb
        24   core 1 done
        41   > w 50=cc
        44   core 2 done
        cache.read_misses 1
        cache.write_hits 1
        cache.write_misses 1
        cache.lines_brought 1
    "#]],
    );
}

#[test]
fn the_least_recently_used_line_is_evicted() {
    // Lines 10, 12 and 14 share set 0.
    check(
        (true, false),
        "1 r 40+1; 20 r 48+1; 40 r 41+1; 60 r 50+1; 80 r 42+1; 100 r 48+1",
        &[],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 40
        21   > r 48+4
        24   # w 4=48494a4b
        24   core 1 48
        41   # r 1+1
        43   core 2 01
        61   > r 50+4
        64   # w 4=50515253
        64   core 3 50
        81   # r 2+1
        83   core 4 02
        101  > r 48+4
        104  # w 4=48494a4b
        104  core 5 48
        cache.read_hits 2
        cache.read_misses 4
        cache.lines_brought 4
    "#]],
    );
}

#[test]
fn a_snooped_write_invalidates_a_line_even_during_its_fill() {
    check(
        (true, false),
        "1 r 40+1; 20 r 40+1; 40 r 40+1",
        &[(15, 0x43), (17, 0x44)],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 40
        21   > r 40+4
        24   # w 0=40414243
        24   core 1 40
        41   # r 0+1
        43   core 2 00
        cache.read_hits 1
        cache.read_misses 2
        cache.lines_brought 2
        cache.lines_invalidated 1
    "#]],
    );
    check(
        (true, false),
        "1 r 40+1; 20 r 40+1; 40 r 40+1",
        &[(4, 0x40)],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 40
        21   > r 40+4
        24   # w 0=40414243
        24   core 1 40
        41   # r 0+1
        43   core 2 00
        cache.read_hits 1
        cache.read_misses 2
        cache.lines_brought 2
    "#]],
    );
}

#[test]
fn a_reference_across_lines_is_not_cached() {
    check(
        (true, false),
        "1 r 40+4; 20 r 42+4; 40 w 43=aabb; 60 r 40+4",
        &[],
        expect![[r#"
        2    > r 40+4
        5    # w 0=40414243
        5    core 0 40414243
        21   > r 42+4
        24   core 1 42434445
        41   > w 43=aabb
        44   core 2 done
        61   > r 40+4
        64   # w 0=40414243
        64   core 3 40414243
        cache.read_misses 2
        cache.lines_brought 2
        cache.lines_invalidated 1
    "#]],
    );
}
