//! The text form: accepted texts, and errors.

use crate::drawn::{self, binary_of, read, text_of};
use expect_test::{Expect, expect};
use kernel::RandomStream;
use net::goal::{ANY, Dependent, Kind, binary, text};

#[test]
fn all_parts_of_a_statement_are_read() {
    let schedule = read(
        "// a comment\nnum_ranks 2\n/* over\n two lines */ rank 0 {\nl1: calc 100 cpu 3\nsend 8b to 1\n\
         l3 : recv 18446744073709551615 b from -1 tag -1 cpu 2 nic 1 // behind an operation\nl3 irequires l1\n\
         l1x: send 0b to 0 tag 7 nic 255\r\nl1x requires l3\n}\n\n rank 1 { \n recv 8b from 0\n } \n",
    );
    assert_eq!((schedule.n_ranks(), schedule.ops().len(), schedule.n_dependencies()), (2, 5, 2));
    let ops = schedule.rank(0);
    assert_eq!((ops[0].kind, ops[0].size, ops[0].cpu), (Kind::Calc, 100, 3));
    assert_eq!((ops[2].peer, ops[2].tag, ops[2].size, ops[2].cpu, ops[2].nic), (ANY, ANY, u64::MAX, 2, 1));
    assert_eq!((ops[3].tag, ops[3].nic, ops[3].line), (7, 255, 9));
    assert_eq!(schedule.dependents(0).collect::<Vec<_>>(), [Dependent { op: 2, on_start: true }]);
    assert_eq!(schedule.dependents(2).collect::<Vec<_>>(), [Dependent { op: 3, on_start: false }]);
    assert_eq!(schedule.rank(1)[0].line, 14);
}

#[test]
fn a_schedule_is_the_same_after_text_and_binary() {
    for seed in 0..400 {
        let drawn = drawn::schedule(seed, drawn::WILD);
        let text = text_of(&drawn);
        let again = read(&text);
        assert_eq!(again, drawn, "seed {seed}:\n{text}");
        let bytes = binary_of(&again);
        let from_binary = binary::read(&bytes, "a.bin").unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(from_binary, drawn, "seed {seed}");
        assert_eq!(text_of(&from_binary), text, "seed {seed}");
    }
}

/// Dependents keep the order of the file, because operations that become free together start in this order.
#[test]
fn the_order_of_dependents_survives() {
    let schedule = read("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\nc requires a\nb requires a\n}\n");
    let order = |schedule: &net::goal::Schedule| schedule.dependents(0).map(|d| d.op).collect::<Vec<_>>();
    assert_eq!(order(&schedule), [2, 1]);
    assert_eq!(order(&read(&text_of(&schedule))), [2, 1]);
}

#[test]
fn changed_texts_give_errors_or_schedules() {
    let pieces =
        ["rank", "}", "{", "-1", "l1", "l2", " requires ", "99999999999999999999", "\n", "/*", "*/", "b", "é", "\0"];
    for seed in 0..3000 {
        let mut random = RandomStream::new(seed, "changed text");
        let mut text = text_of(&drawn::schedule(seed, drawn::WILD)).into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len() as u64 + 1) as usize;
            match random.below(3) {
                0 => text.truncate(at),
                1 => drop(text.splice(at..at, pieces[random.below(pieces.len() as u64) as usize].bytes())),
                _ => text.extend_from_within(at..),
            }
        }
        if let Ok(schedule) = text::read(&text[..], "a.goal") {
            assert_eq!(read(&text_of(&schedule)), schedule, "seed {seed}");
        }
    }
}

fn check(text: &str, want: Expect) {
    want.assert_eq(&text::read(text.as_bytes(), "a.goal").unwrap_err().to_string());
}

fn check_rank(lines: &str, want: Expect) {
    check(&format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n}}\n"), want);
}

#[test]
fn errors_of_files() {
    check(
        "",
        expect![
            "a.goal:1:1: a schedule begins with its number of ranks (found the end of the file; allowed `num_ranks N`)"
        ],
    );
    check(
        "ranks 2\n",
        expect![[r#"
        a.goal:1:1: a schedule begins with its number of ranks (found `ranks`; allowed `num_ranks N`)
          ranks 2
          ^^^^^"#]],
    );
    check(
        "num_ranks 0\n",
        expect![[r#"
        a.goal:1:11: the number of ranks must be a number (found `0`; allowed 1 to 4294967294)
          num_ranks 0
                    ^"#]],
    );
    check(
        "num_ranks 4294967295\n",
        expect![[r#"
        a.goal:1:11: the number of ranks must be a number (found `4294967295`; allowed 1 to 4294967294)
          num_ranks 4294967295
                    ^^^^^^^^^^"#]],
    );
    check(
        "num_ranks 2\nrank 1 {\n}\n",
        expect![[r#"
        a.goal:2:6: the ranks must come in order from 0 (found 1; allowed 0)
          rank 1 {
               ^"#]],
    );
    check(
        "num_ranks 2\nrank 0 {\n}\n",
        expect!["a.goal:4:1: ranks are missing: the file has 1 of 2 (found the end of the file; allowed `rank 1 {`)"],
    );
    check(
        "num_ranks 2\nrank 0 {\ncalc 5\n",
        expect!["a.goal:4:1: the file ends inside rank 0 (found the end of the file; allowed `}` or an operation)"],
    );
    check(
        "num_ranks 2\nrank 0 {\ncalc 5\nrank 1 {\n}\n",
        expect![[r#"
        a.goal:4:1: the rank before has no end (found `rank`; allowed `}` in front of it)
          rank 1 {
          ^^^^"#]],
    );
    check(
        "num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n",
        expect![[r#"
        a.goal:4:1: there is text behind the last rank (found `rank`; allowed nothing behind rank 0)
          rank 1 {
          ^^^^"#]],
    );
    check(
        "num_ranks 1\n/* rank 0 {\n}\n",
        expect!["a.goal:4:1: the comment that begins in line 2, column 1, has no end (allowed: `*/`)"],
    );
}

#[test]
fn errors_of_operations() {
    check_rank(
        "sned 8b to 1",
        expect![[r#"
        a.goal:3:1: unknown operation (found `sned`; allowed `send`, `recv`, `calc`); did you mean `send`?
          sned 8b to 1
          ^^^^"#]],
    );
    check_rank(
        "send 8 to 1",
        expect![[r#"
        a.goal:3:8: `b` must stand behind the number of bytes (found `to`; allowed `b`)
          send 8 to 1
                 ^^"#]],
    );
    check_rank(
        "send 8b from 1",
        expect![[r#"
        a.goal:3:9: `to` must stand in a send (found `from`; allowed `to`)
          send 8b from 1
                  ^^^^"#]],
    );
    check_rank(
        "send 18446744073709551616b to 1",
        expect![[r#"
        a.goal:3:6: the number of bytes must be a number (found `18446744073709551616`; allowed 0 to 18446744073709551615)
          send 18446744073709551616b to 1
               ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check_rank(
        "send 8b to 2",
        expect![[r#"
        a.goal:3:12: the peer is not a rank (found 2; allowed 0 to 1)
          send 8b to 2
                     ^"#]],
    );
    check_rank(
        "send 8b to -1",
        expect![[r#"
        a.goal:3:12: the peer must be a number (found `-1`; allowed 0 to 4294967294)
          send 8b to -1
                     ^^"#]],
    );
    check_rank(
        "recv 8b from 7",
        expect![[r#"
        a.goal:3:14: the peer is not a rank (found 7; allowed 0 to 1, or -1 for any rank)
          recv 8b from 7
                       ^"#]],
    );
    check_rank(
        "recv 8b from 1 cpu 0 tag 1",
        expect![[r#"
        a.goal:3:22: `tag` is twice or too late (allowed: `tag`, `cpu`, `nic`, each once and in this order)
          recv 8b from 1 cpu 0 tag 1
                               ^^^"#]],
    );
    check_rank(
        "recv 8b from 1 tga 1",
        expect![[r#"
        a.goal:3:16: the recv must end here (found `tga`; allowed `tag`, `cpu`, `nic`, or the end of the line); did you mean `tag`?
          recv 8b from 1 tga 1
                         ^^^"#]],
    );
    check_rank(
        "calc 8 nic 1",
        expect![[r#"
        a.goal:3:8: the calc must end here (found `nic`; allowed `cpu`, or the end of the line)
          calc 8 nic 1
                 ^^^"#]],
    );
    check_rank(
        "send 8b to 1 cpu 256",
        expect![[r#"
        a.goal:3:18: the cpu must be a number (found `256`; allowed 0 to 255)
          send 8b to 1 cpu 256
                           ^^^"#]],
    );
    check_rank(
        "l1: wait 8",
        expect![[r#"
        a.goal:3:5: an operation must follow a label (found `wait`; allowed `send`, `recv`, `calc`)
          l1: wait 8
              ^^^^"#]],
    );
    check_rank(
        "5 calc",
        expect![[r#"
        a.goal:3:1: a statement must begin here (found `5`; allowed `send`, `recv`, `calc`, a label, or `}`)
          5 calc
          ^"#]],
    );
    check_rank(
        "l1: é",
        expect![[r#"
        a.goal:3:5: an operation must follow a label (found `é`; allowed `send`, `recv`, `calc`)
          l1: é
              ^"#]],
    );
}

#[test]
fn errors_of_labels_and_dependencies() {
    check_rank(
        "l1: calc 8\nl1: calc 9",
        expect![[r#"
        a.goal:4:1: the label `l1` is already in use, in line 3 (allowed: another label)
          l1: calc 9
          ^^"#]],
    );
    check_rank(
        "first: calc 8\nl2: calc 9\nl2 requires fisrt",
        expect![[r#"
        a.goal:5:13: unknown label (found `fisrt`; allowed a label that is defined above, in the same rank); did you mean `first`?
          l2 requires fisrt
                      ^^^^^"#]],
    );
    check_rank(
        "l1: calc 8\nl2 requires l1\nl2: calc 9",
        expect![[r#"
        a.goal:4:1: unknown label (found `l2`; allowed a label that is defined above, in the same rank); did you mean `l1`?
          l2 requires l1
          ^^"#]],
    );
    check_rank(
        "l1: calc 8\nl1 irequires l1",
        expect![[r#"
        a.goal:4:1: an operation cannot wait for itself
          l1 irequires l1
          ^^^^^^^^^^^^^^^"#]],
    );
    check_rank(
        "l1: calc 8\nl1 require l1",
        expect![[r#"
        a.goal:4:4: a colon or a dependency must follow the label `l1` (found `require`; allowed `:`, `requires`, `irequires`)
          l1 require l1
             ^^^^^^^"#]],
    );
    check_rank(
        "a: calc 8\nb: calc 9\nc: calc 9\nd: calc 1\nb requires c\nc irequires d\nd requires b\na requires b",
        expect![[r#"
            a.goal:11:1: operations of rank 0 wait for each other: `b` (line 4) waits for `c` (line 5) waits for `d` (line 6) waits for `b` (line 4) (allowed: no cycle)
              }
              ^"#]],
    );
}

/// Some editors write a byte order mark in front of UTF-8.
#[test]
fn a_byte_order_mark_is_skipped() {
    let text = "num_ranks 1\nrank 0 {\ncalc 5\n}\n";
    assert_eq!(read(&format!("\u{feff}{text}")), read(text));
}
