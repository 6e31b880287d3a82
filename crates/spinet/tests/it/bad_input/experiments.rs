//! Experiments as texts, their NICs and their traffic.

use super::{check, check_as};
use expect_test::expect;
use proptest::prelude::*;
use spinet::experiment::{self, Experiment};
use spinet::toml_text::{self, Format};

#[test]
fn texts_that_are_no_experiment() {
    check(
        "program = ",
        expect![[r#"
        t.toml: line 1: string values must be quoted, expected literal string
          program = 
                    ^"#]],
    );
    check(
        "program = 'nic.elf'\ntrafic = 'udp'\n",
        expect![[r#"
            t.toml: line 2: unknown key `trafic`, expected one of `nic`, `traffic`, `send`, `faults`, `seed`, `limit`, `stall_limit`, `program`, `weight`, `io`, `tenant`, `context`, `at`; did you mean `traffic`?
              trafic = 'udp'
              ^^^^^^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\n",
        expect![[r#"
        t.toml: line 1: missing field `context`
          program = 'nic.elf'
          ^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\ncontext = []",
        expect!["t.toml: line 3: context: there are 0, must be 1 to 64"],
    );
    check(
        "program = 7\ntraffic = 'udp'\n[[context]]",
        expect![[r#"
            t.toml: line 1: found the number 7, must be a text such as `echo.c`, a table, or a list of them
              program = 7
                        ^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\nseed = -1\n[[context]]",
        expect![[r#"
            t.toml: line 3: found the number -1, must be a whole number of at least 0
              seed = -1
                     ^^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\nlimit = '5 parsecs'\n[[context]]",
        expect![[r#"
        t.toml: line 3: `5 parsecs` is not a time; write for example `10 ms` (units: ps, ns, us, ms, s)
          limit = '5 parsecs'
                  ^^^^^^^^^^^"#]],
    );
    check_as(
        r#"{"program": "nic.elf", "traffic": "udp", "contexts": []}"#,
        Format::Json,
        expect![
            "t.toml: unknown key `contexts`, expected one of `nic`, `traffic`, `send`, `faults`, `seed`, `limit`, `stall_limit`, `program`, `weight`, `io`, `tenant`, `context`, `at`; did you mean `context`?"
        ],
    );
    for faults in ["faults = 'loss=2'", "[faults]\nloss = 0.01\nlate = 3", "faults = 3"] {
        let want = match faults.len() {
            17 => expect![[r#"
                t.toml: line 3: fault `loss=2`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to 4096
                  faults = 'loss=2'
                           ^^^^^^^^"#]],
            10 => expect![[r#"
                t.toml: line 3: found the number 3, must be a text such as `loss=0.01` or a table with `loss`, `duplicate` and `reorder`
                  faults = 3
                           ^"#]],
            _ => expect![[r#"
                t.toml: line 5: unknown key `late` in `faults`, expected one of `loss`, `duplicate`, `reorder`
                  late = 3
                  ^^^^"#]],
        };
        check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n{faults}\n[[context]]"), want);
    }
    check_as(r#"{"program": "nic.elf""#, Format::Json, expect!["t.toml: EOF while parsing an object"]);
}

#[test]
fn all_unknown_keys_are_reported_at_once() {
    check(
        "program = 'nic.elf'\ntrafic = 'udp'\nchain = ['all: aes']\nfirmware = 'tigon2'\n[[context]]\nmatches = 'udp'\n\
         [[context]]\nhandler_memory = { sise = 4 }\n[[tenant]]\nname = 'a'\npriority = 2\n",
        expect![[r#"
            t.toml: line 2: unknown key `trafic`, expected one of `nic`, `traffic`, `send`, `faults`, `seed`, `limit`, `stall_limit`, `program`, `weight`, `io`, `tenant`, `context`, `at`; did you mean `traffic`?
              trafic = 'udp'
              ^^^^^^
            t.toml: line 3: `chain` is for a card that runs chains of offloads (such as panic), this card runs handlers
              chain = ['all: aes']
              ^^^^^
            t.toml: line 4: `firmware` is for a card that is wired from modules and runs firmware (such as tigon2), this card runs handlers
              firmware = 'tigon2'
              ^^^^^^^^
            t.toml: line 6: unknown key `matches` in `context`, expected one of `name`, `tenant`, `match`, `message`, `rule_set`, `priority`, `installed`, `handler`, `header`, `payload`, `completion`, `handler_memory`, `host_memory`, `scratchpad_bytes`, `copy_bytes`, `watchdog_cycles`, `delivery`; did you mean `match`?
              matches = 'udp'
              ^^^^^^^
            t.toml: line 8: unknown key `sise` in `context.handler_memory`, expected one of `addr`, `size`, `data`; did you mean `size`?
              handler_memory = { sise = 4 }
                                 ^^^^
            t.toml: line 11: `priority` in `tenant` is for a card that runs chains of offloads (such as panic), this card runs handlers
              priority = 2
              ^^^^^^^^"#]],
    );
    check(
        "program = 'nic.elf'\ntraffic = [{ source = 'udp', port = 1 }]\n[[context]]",
        expect!["t.toml: line 2: traffic.port: port is 1, must be 0, the only port"],
    );
    check(
        "program = 'nic.elf'\ntraffic = ['udp', { source = 'tcp', pacing = 'soon' }]\n[[context]]",
        expect![
            "t.toml: line 2: traffic[1].pacing: pacing is `soon`, must be `times`, `times:FACTOR` such as `times:0.5`, `line:RATE` with its unit such as `line:400G`, or `asap`"
        ],
    );
    check(
        "program = 'nic.elf'\ntraffic = 'udp'\nsend = '2=udp'\n[[context]]",
        expect![
            "t.toml: line 3: send: this card's host sends no packets: its outbound engine takes commands of handlers only; hosts of cards such as panic and tigon2 send"
        ],
    );
    check(
        "program = 'nic.elf'\ntraffic = '2=udp'\n[[context]]",
        expect!["t.toml: line 2: traffic.queue: `queue` is a key of `send`; packets from the network have a `port`"],
    );
    check(
        "program = 'nic.elf'\n[[context]]",
        expect![
            "t.toml: traffic: there are no packets: name a capture or a generator such as `udp:size=64,count=1000`"
        ],
    );
}

#[test]
fn nics() {
    check(
        "program = 'nic.elf'\nnic = 'psin'\ntraffic = 'udp'\n[[context]]",
        expect![
            "t.toml: line 2: nic: nic is `psin`, must be `pspin`, `fpspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-rtl`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2`, `tigon2-cached` or the path of a preset (*.toml); did you mean `pspin`?"
        ],
    );
    check(
        "program = 'nic.elf'\nnic = 'x.toml'\ntraffic = 'udp'\n[[context]]",
        expect!["t.toml: line 2: nic: x.toml: No such file or directory (os error 2)"],
    );
    let set = |set: &str| format!("program = 'nic.elf'\ntraffic = 'udp'\nnic = {{ set = {set} }}\n[[context]]");
    check(
        &set("{ n_cluster = 2 }"),
        expect!["t.toml: line 3: nic.set: set: there is no `n_cluster` in the preset; did you mean `n_clusters`?"],
    );
    check(
        &set("{ n_cores = 2 }"),
        expect!["t.toml: line 3: nic.set: set: there is no `n_cores` in the preset; did you mean `cluster.n_cores`?"],
    );
    check(
        &set("['cluster.n_cores=many']"),
        expect![[r#"t.toml: line 3: nic.set: set: cluster.n_cores is "many", must be of type integer, such as 8"#]],
    );
    check(
        &set("['n_clusters=4.5']"),
        expect!["t.toml: line 3: nic.set: set: n_clusters is 4.5, must be a whole number from 0 to 4294967295"],
    );
    check(
        &set("['clock_mhz=312.50000001']"),
        expect![
            "t.toml: line 3: nic.set: set: clock_mhz is 312.50000001, must be a number of MHz with at most six decimals"
        ],
    );
    check(
        &set("['clock_mhz=0.5']"),
        expect!["t.toml: line 3: nic.set: presets/pspin.toml with clock_mhz: clock_mhz is 0.5, must be 1 to 100000"],
    );
    check(
        &set("['clock_mhz=fast']"),
        expect![[r#"t.toml: line 3: nic.set: set: clock_mhz is "fast", must be of type integer, such as 1000"#]],
    );
    check(
        &set("['n_clusters']"),
        expect![[r#"
        t.toml: line 3: set: `n_clusters`, must be path=value such as cluster.n_cores=4
          nic = { set = ['n_clusters'] }
                        ^^^^^^^^^^^^^^"#]],
    );
    check(
        &set("{ cluster = { n_cores = 17 } }"),
        expect![
            "t.toml: line 3: nic.set: presets/pspin.toml with cluster.n_cores: cluster.n_cores is 17, must be 1 to 16"
        ],
    );
    // The error names the bound of another parameter, because that may be the one that the user set.
    check(
        &set("['cluster.task_fifo=1']"),
        expect![
            "t.toml: line 3: nic.set: presets/pspin.toml with cluster.task_fifo: scheduler.max_tasks_per_cluster is 20, must be 1 to 1, as many as cluster.task_fifo holds"
        ],
    );
    check(
        &set("['pcie.link.max_payload_bytes=4096']"),
        expect![
            "t.toml: line 3: nic.set: presets/pspin.toml with pcie.link.max_payload_bytes: pcie.buffer_beats is 32, must be 65 to 65536, more than link.max_payload_bytes / 64"
        ],
    );
    check(
        &set("['n_clusters=18446744073709551616']"),
        expect![
            "t.toml: line 3: nic.set: set: n_clusters is 18446744073709551616, must be a whole number from -2^63 to 2^63 - 1"
        ],
    );
    check(
        &set("{ n_clusters = 18446744073709551616 }"),
        expect![[r#"
        t.toml: line 3: found the number 18446744073709551616, must be a whole number from -2^63 to 2^63 - 1
          nic = { set = { n_clusters = 18446744073709551616 } }
                                       ^^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &set("{ n_clusters = 9223372036854775808 }"),
        expect![[r#"
        t.toml: line 3: found the number 9223372036854775808, must be a whole number below 2^63
          nic = { set = { n_clusters = 9223372036854775808 } }
                                       ^^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        &set("{ 'cluster.scratchpad_offset' = 82945 }"),
        expect![
            "t.toml: line 3: nic.set: presets/pspin.toml with cluster.scratchpad_offset: cluster.scratchpad_offset is 82945, must be a multiple of 64"
        ],
    );
    check(
        &set("{ n_clusters = -1 }"),
        expect!["t.toml: line 3: nic.set: set: n_clusters is -1, must be a whole number from 0 to 4294967295"],
    );
}

#[test]
fn traffic() {
    let traffic = |traffic: &str| format!("program = 'nic.elf'\ntraffic = {traffic}\n[[context]]\nhandler = 'echo'");
    check(
        &traffic("'missing.pcap'"),
        expect!["t.toml: line 2: traffic: missing.pcap: No such file or directory (os error 2)"],
    );
    check(
        &traffic("'empty.pcap'"),
        expect!["t.toml: line 2: traffic: empty.pcap: the file is empty, must be a pcap or pcapng capture"],
    );
    check(
        &traffic("'nic.elf'"),
        expect!["t.toml: line 2: traffic: nic.elf: offset 0: found 7f 45 4c 46, must be a pcap or pcapng capture"],
    );
    check(
        &traffic("'udp:size=1'"),
        expect![[r#"
        t.toml: line 2: traffic: size is 1, must be 60 to 65535 bytes
          udp:size=1
                   ^"#]],
    );
    check(
        &traffic("'udp:payload=file:none.bin'"),
        expect!["t.toml: line 2: traffic: none.bin: No such file or directory (os error 2)"],
    );
    check(
        &traffic("{ source = 'udp', pacing = 'fast' }"),
        expect![
            "t.toml: line 2: traffic.pacing: pacing is `fast`, must be `times`, `times:FACTOR` such as `times:0.5`, `line:RATE` with its unit such as `line:400G`, or `asap`"
        ],
    );
    check(
        &traffic("{ source = 'udp', pace = 'fast' }"),
        expect![[r#"
            t.toml: line 2: unknown key `pace` in `traffic`, expected one of `source`, `port`, `queue`, `pacing`, `start`, `count`, `snapped`, `gap_cycles`
              traffic = { source = 'udp', pace = 'fast' }
                                          ^^^^"#]],
    );
    check(
        &traffic("{ source = 'udp', snapped = 'keeps' }"),
        expect![[r#"
        t.toml: line 2: unknown variant `keeps`, expected `pad` or `keep`; did you mean `keep`?
          traffic = { source = 'udp', snapped = 'keeps' }
                                                ^^^^^^^"#]],
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), "\\PC|[\\[\\]{}=\"'\n#.,0-9]"), 1..6),
    ) {
        let mut text = "program = ['a.c']\nseed = 3\nlimit = '1 ms'\n[nic]\nset = { 'cluster.n_cores' = 4 }\n\
            [traffic]\nsource = 'udp:size=64'\npacing = 'times:0.5'\n[[context]]\nmatch = 'udp'\nmessage = 'each'\n".to_owned();
        for (at, with) in edits {
            let (at, _) = text.char_indices().nth(at.index(text.chars().count())).unwrap();
            text.replace_range(at..=text[at..].chars().next().map_or(at, |c| at + c.len_utf8() - 1), &with);
        }
        match experiment::read::<Experiment>(&text, "t.toml", Format::Toml) {
            Ok(experiment) => {
                let json = serde_json::to_string(&experiment).unwrap();
                let again: Experiment = experiment::read(&json, "t.json", Format::Json).unwrap();
                prop_assert_eq!(again, experiment);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        let _ = toml_text::span_of(&text, &["context", "0", "match"]);
    }
}

#[test]
fn a_card_whose_file_is_too_long() {
    check(
        "nic = 'long.toml'\nprogram = 'nic.elf'\ntraffic = 'udp'\n[[context]]\n",
        expect!["t.toml: line 1: nic: long.toml: the file has more than 1048576 bytes, the most that is read"],
    );
}
