//! The tenant driver from C: two tenants, delivery options, and refused calls.

use super::programs;
use super::support::{Bench, HANDLERS};
use expect_test::{Expect, expect};
use std::collections::BTreeMap;

#[test]
fn two_tenants_share_a_card_and_wrong_calls_are_refused() {
    let bench = Bench::new();
    bench.write("runtime.elf", programs::runtime());
    bench.write("a.elf", programs::handlers_at(0x1d00_1000));
    bench.write("b.elf", programs::handlers_at(0x1d00_2000));
    bench.write("sdk.elf", HANDLERS);
    bench.compile("tenants");
    let ran = bench.run("tenants", &["runtime.elf", "a.elf", "b.elf", "sdk.elf"], &[]);
    let sections: [Expect; 5] = [
        expect![[r#"
            spinet_boot("pspn", argv[1], 1, &card)
              -12: nic is `pspn`, must be `pspin`, `fpspin`, `pspin-paper`, `pspin-rtl`, `panic`, `panic-rtl`, `panic-asic`, `pipeline`, `manycore`, `rmt`, `tengig`, `tengig-events`, `tigon2`, `tigon2-cached` or the path of a preset (*.toml); did you mean `pspin`?
            spinet_boot("pspin", "nowhere.elf", 1, &card)
              -11: nowhere.elf: No such file or directory (os error 2)
            spinet_boot("pspin", argv[1], 1, NULL)
              -1: machine is NULL, must point to room for the result
            4 clusters of 8, 256 queues, copies 16384, watchdog 1000000, reliable 1, in order 1, isolated 1, reports 1
            program memory: 32576 of 32768 free at 0x1d0000c0; handler memory 4194304; scratchpads 965632
        "#]],
        expect![[r#"
            two tenants
            spinet_load(card, b, argv[2], &echo)
              -9: a.elf: in program memory it takes 0x1d001000 to 0x1d001333, of which 0x1d001000 is taken; link it at 0x1d001340, where 27840 bytes are free
            counter at 0x1c000000, inbox at 0x1000000000000000
            a, context 1: message 0 done
            a, context 2: message 5 done
            b, context 3: message 1 done
            b, context 3: message 2 done
            sent 60 bytes, number 0xa4
            sent 60 bytes, number 0xa5
            sent 60 bytes, number 0xa6
            sent 60 bytes, number 0xa3
            sent 60 bytes, number 0xa7
            spinet_take(card, a, read, &count, sizeof(count))
              -6: ticket 16 is in progress; run the simulation, or call spinet_wait
            spinet_take(card, a, read, &count, 1)
              -1: size is 1, must be 4, the size of the read
            spinet_take(card, b, read, &count, sizeof(count))
              -4: ticket 16 is not of tenant 2; a tenant uses what it was given itself
            spinet_take(card, a, read, &count, sizeof(count))
              -3: ticket 16 is gone: it was freed, removed or closed before, and cannot be used or freed again
            counted in the card: 103
            written to the host: 102
        "#]],
        expect![[r#"
            refused calls
            spinet_install(card, a, answers, "udp.src_port == 3", NULL, 1, &again)
              -10: rule 2 sends the same packets to context 2 already; remove it first, or leave it
            spinet_install(card, a, answers, "udp.prot == 7", NULL, 1, &again)
              -1: match: unknown name `udp.prot`, udp has `src_port`, `dst_port`, `len`, `checksum`, `payload_len`
              udp.prot == 7
              ^^^^^^^^
            spinet_install(card, b, counts, NULL, NULL, 0, &again)
              -4: context 1 is not of tenant 2; a tenant uses what it was given itself
            spinet_allocate(card, a, SPINET_HANDLER_MEMORY, 1u << 30, &more)
              -7: handler memory: 1073741824 bytes are requested, the largest free part has 4194240
            spinet_allocate(card, a, SPINET_HANDLER_MEMORY, 64, NULL)
              -1: memory is NULL, must point to room for the result
            spinet_allocate(card, a, 4, 64, &more)
              -1: kind is 4, must be SPINET_HANDLER_MEMORY (1), SPINET_PROGRAM_MEMORY (2) or SPINET_SCRATCHPAD (3)
            spinet_free(card, a, counter)
              -5: memory 1 is used by context 1, which must be destroyed first
            spinet_free(card, b, counter)
              -4: memory 1 is not of tenant 2; a tenant uses what it was given itself
            spinet_free(card, a, 77)
              -2: there is no memory 77; handles are what the driver handed out
            spinet_write(card, a, counter, 62, "far", 3, NULL)
              -8: memory 1 has 64 bytes, 3 at 62 reach beyond it
            spinet_write(card, a, counter, 0, "", 0, NULL)
              -1: size is 0, must be 1 or more
            spinet_write(card, a, pad, 0, "L1", 2, NULL)
              -1: memory is memory 2, a scratchpad, must be handler memory or program memory: only handlers can access a scratchpad
            spinet_host_read(card, a, inbox, 4095, &count, 4)
              -8: host memory 1 has 4096 bytes, 4 at 4095 reach beyond it
            spinet_destroy(card, a, counts)
              -5: context 1 is used by rule 1, which must be removed first
            spinet_close(card, a)
              -5: tenant 1 is used by rule 1, which must be removed first
            spinet_build(card, b, &spec, &others)
              -11: b.elf: handler is `ecko`, must be one of the program's: a function `ecko_hh`, `ecko_ph` or `ecko_th`; did you mean `echo`?
            spinet_add_packets(card, &nothing, 1)
              -1: packet 0 has 0 bytes, must have 1 to 16384, which is what the card can copy to L1
            spinet_add_packets(card, &long_one, 1)
              -1: packets[0].size is 16385, must be 1 to 16384, the number of bytes that the card can copy to L1
            spinet_add_packets(card, pair, 2)
              -1: packet 1 arrives after 1 ps, must not arrive before the one before, 2 ps
            spinet_run_until(card, UINT64_MAX)
              -1: ps is 18446744073709551615, must be at most 18000000000000000, which is 5 hours
            spinet_remove(card, a, to_counts, 2)
              -1: remaining is 2, must be SPINET_END (0) or SPINET_KILL (1)
            spinet_now(card, &ps)
              -13: the machine was booted on another thread; use it on that thread
            spinet_shutdown(card)
              -13: the machine was booted on another thread; use it on that thread
        "#]],
        expect![[r#"
            cleanup
            spinet_remove(card, a, to_counts, SPINET_END)
              -3: rule 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            spinet_destroy(card, a, counts)
              -5: context 1 is used by a message that rule 1 began, which must end, or be killed first
            a, context 1: message 3 done
            spinet_free(card, a, counter)
              -3: memory 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            spinet_write(card, a, counter, 0, &count, sizeof(count), NULL)
              -3: memory 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            spinet_take_events(card, a, events, 8, &n)
              -3: tenant 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
            b, context 3: message 4 done
            b, context 3: message 6 done
            spinet_now(NULL, &host_place)
              -1: machine is NULL, must point to a machine from spinet_boot
            60000000 ps
        "#]],
        expect![[r#"
            another card
            record: error 0
            c, context 1: stage 1 of message 0, cause 24, handler 0x1d002200, HPU 0.0
            c, context 1: message 0 done
            record: error 1, cause 24, handler 0x1d002200, pc 0x1d002200, stage 1, HPU 0
            exit code 0
        "#]],
    ];
    let text = ran.text();
    let found: Vec<&str> = text.split("-- ").collect();
    assert_eq!(found.len(), sections.len(), "{text}");
    sections.iter().zip(found).for_each(|(section, found)| section.assert_eq(found));
}

type Counts = BTreeMap<String, u32>;

/// A line of `tests/c/traffic.c`: how often each fate, drop reason and event occurred, and the number of marked packets.
struct Report {
    name: String,
    fates: Counts,
    drops: Counts,
    events: Counts,
    marked: u32,
}

/// Runs a test of `tests/c/traffic.c`.
fn traffic(test: &str) -> String {
    let bench = Bench::new();
    bench.write("runtime.elf", programs::runtime());
    bench.write("handlers.elf", programs::handlers_at(0x1d00_1000));
    bench.compile("traffic");
    bench.run("traffic", &[test, "runtime.elf", "handlers.elf"], &[]).text()
}

fn reports(text: &str) -> Vec<Report> {
    text.lines().filter_map(report).collect()
}

/// Parses a line such as `drop: 66 dropped 134 sent; 66 full; 134 done; 0 marked`.
fn report(line: &str) -> Option<Report> {
    let (name, rest) = line.split_once(": ")?;
    let parts: Vec<&str> = rest.split(';').collect();
    let [fates, drops, events, marked] = parts[..] else { return None };
    let marked = marked.trim().strip_suffix(" marked")?.parse().ok()?;
    Some(Report { name: name.into(), fates: counts(fates), drops: counts(drops), events: counts(events), marked })
}

/// Parses `66 dropped 160 to host`: a number, then the words up to the next number.
fn counts(text: &str) -> Counts {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for word in text.split_whitespace() {
        match (word.parse(), counts.last_mut()) {
            (Ok(n), _) => counts.push((String::new(), n)),
            (Err(_), Some((key, _))) => *key = format!("{key} {word}").trim().into(),
            (Err(_), None) => panic!("`{text}` does not begin with a number"),
        }
    }
    counts.into_iter().collect()
}

fn of(counts: &[(&str, u32)]) -> Counts {
    counts.iter().filter(|(_, n)| *n > 0).map(|&(key, n)| (key.to_owned(), n)).collect()
}

#[test]
fn a_full_packet_memory_stalls_drops_marks_or_kills() {
    let text = traffic("full");
    let [stall, drop, mark, kill, ecn] = &reports(&text)[..] else { panic!("{text}") };
    for whole in [stall, ecn] {
        assert_eq!((&whole.fates, &whole.events), (&of(&[("sent", 200)]), &of(&[("done", 200)])), "{}", whole.name);
    }
    // Only the last traffic is ECN-capable. The first packets find the memory less than half full.
    assert_eq!([stall, drop, mark, kill].map(|report| report.marked), [0; 4]);
    assert!((1..200).contains(&ecn.marked), "{}", ecn.marked);
    for dropping in [drop, mark] {
        let (dropped, sent) = (dropping.fates["dropped"], dropping.fates["sent"]);
        assert_eq!(dropped + sent, 200, "{}", dropping.name);
        assert_eq!((&dropping.drops, &dropping.events), (&of(&[("full", dropped)]), &of(&[("done", sent)])));
    }
    // 20 messages of 10 packets.
    let (dropped, sent) = (kill.fates["dropped"], kill.fates["sent"]);
    assert_eq!((dropped + sent, &kill.drops), (200, &of(&[("killed", dropped)])));
    assert_eq!(kill.events.values().sum::<u32>(), 20, "{:?}", kill.events);
    assert!(kill.events["killed"] >= dropped.div_ceil(10), "{:?}", kill.events);
}

#[test]
fn early_packets_wait_for_their_header_or_are_dropped() {
    let text = traffic("early");
    let [buffer, drop] = &reports(&text)[..] else { panic!("{text}") };
    assert_eq!(text.matches("reliable 1, in order 0\n").count(), 2, "{text}");
    assert_eq!((&buffer.fates, &buffer.drops), (&of(&[("to host", 160)]), &of(&[])));
    let dropped = drop.fates["dropped"];
    assert_eq!(
        (&drop.fates, &drop.drops),
        (&of(&[("dropped", dropped), ("to host", 160 - dropped)]), &of(&[("before header", dropped)]))
    );
    // One message for each flow.
    assert_eq!((&buffer.events, &drop.events), (&of(&[("done", 8)]), &of(&[("done", 8)])));
}

#[test]
fn a_message_with_lost_packets_times_out_and_runs_repeat() {
    let text = traffic("lost");
    let [first, second] = &reports(&text)[..] else { panic!("{text}") };
    assert_eq!((&first.fates, &first.events), (&second.fates, &second.events));
    // Of 50 packets, one in ten is lost and one in fifty arrives twice.
    assert!((40..50).contains(&first.fates["consumed"]), "{:?}", first.fates);
    assert_eq!(first.events, of(&[("timeout", 1)]));
    assert_eq!(text.matches("  -1: room is 8, must be 65 or more\n").count(), 2, "{text}");
    assert!(text.ends_with("twice the same\nexit code 0\n"), "{text}");
}

/// Two sources replay a capture of three packets of 100 bytes, one every 10 us. The capture holds 60 bytes of each; the
/// last of these is 1, 2 or 3. One source pads packets to 100 bytes. The other keeps 60 bytes, doubles the speed, and
/// ends after two packets.
#[test]
fn captures_are_padded_or_kept_short_and_finished_packets_are_recorded() {
    let text = traffic("capture");
    let is_idle = text.lines().next().expect("a line");
    assert_eq!(is_idle, "idle 0, idle 1");
    let sent: Vec<&str> = text.lines().filter(|line| line.starts_with("sent")).collect();
    let mut padded: Vec<&str> = sent.iter().copied().filter(|line| line.contains(" 100 bytes")).collect();
    padded.sort();
    assert_eq!(padded, [1, 2, 3].map(|number| format!("sent 100 bytes, number {number}")));
    let short: Vec<&str> = sent.iter().copied().filter(|line| line.contains(" 60 bytes")).collect();
    assert_eq!(short, ["sent 60 bytes, number 1", "sent 60 bytes, number 2"]);
    assert_eq!(sent.len(), 5);
    // One record of three lines for each packet.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("packet") || line.starts_with("  ")).collect();
    assert_eq!(lines.len(), 15, "{text}");
    let number = |line: &str, before: &str| {
        let rest = line.split_once(before).unwrap_or_else(|| panic!("`{before}` in {line}")).1;
        rest.split(|c: char| !c.is_ascii_digit()).next().expect("digits").parse::<u64>().expect("a number")
    };
    let first = number(lines[0], "arrived at ");
    let arrivals: Vec<(u64, u64)> =
        lines.iter().step_by(3).map(|line| (number(line, "last 1): "), number(line, "arrived at ") - first)).collect();
    assert_eq!(arrivals, [(100, 0), (60, 0), (60, 5_000_000), (100, 10_000_000), (100, 20_000_000)]);
    for (message, record) in lines.chunks(3).enumerate() {
        let (bytes, cluster) = (arrivals[message].0, message % 4);
        assert!(record[0].contains(&format!(", message {message} (id {message}, last 1)")), "{}", record[0]);
        assert!(record[0].ends_with(" ps, then times in order"), "{}", record[0]);
        let sent = format!("  context 1, 1 sent with {bytes} bytes, 0 writes, 0 faults, fate 4, reason 0xffffffff");
        assert_eq!(record[1], sent);
        // A message runs on the cluster of its number modulo 4, on the first of the cores, which are all idle.
        let ran = format!("  header 0, completion 0; payload 1 on cluster {cluster}, core 0: ");
        assert!(record[2].starts_with(&ran) && record[2].ends_with(" instructions, cause 0xffffffff"), "{}", record[2]);
        assert_eq!(
            number(record[2], "core 0: "),
            number(lines[2], "core 0: "),
            "all packets run the same instructions"
        );
    }
}

#[test]
fn wrong_delivery_and_traffic_are_refused() {
    expect![[r#"
        spinet_boot_with("pspin", wrong, 1, runtime, 1, &card)
          -12: presets/pspin.toml with n_clusters: n_clusters is 0, must be 1 to 16
        spinet_boot_with("pspin", unknown, 1, runtime, 1, &card)
          -12: set: there is no `n_cluster` in the preset; did you mean `n_clusters`?
        spinet_boot_with("pspin", none, 1, runtime, 1, &card)
          -1: settings is NULL, must point to a text
        spinet_boot_with("pspin", NULL, 1, runtime, 1, &card)
          -1: settings is NULL, must point to the settings
        spinet_build(scene.card, scene.tenant, &scene.spec, &context)
          -1: when_full is 4, must be SPINET_FULL_STALL (0), SPINET_FULL_DROP (1), SPINET_FULL_MARK_ECN (2), SPINET_FULL_KILL (3) or SPINET_DEFAULT
        spinet_build(scene.card, scene.tenant, &scene.spec, &context)
          -1: early_payload is 2, must be SPINET_EARLY_BUFFER (0), SPINET_EARLY_DROP (1) or SPINET_DEFAULT
        spinet_build(scene.card, scene.tenant, &scene.spec, &context)
          -1: delivery.early_packets is 0, must be 1 to 65536
        spinet_build(scene.card, scene.tenant, &scene.spec, &context)
          -1: delivery.timeout_cycles is 18000000000001, must be 0 to 18000000000000
        spinet_add_traffic(scene.card, NULL)
          -1: traffic is NULL, must point to a traffic description
        spinet_add_traffic(scene.card, &traffic)
          -1: source is NULL, must point to a text
        spinet_add_traffic(scene.card, &traffic)
          -1: source: nowhere.pcap: No such file or directory (os error 2)
        spinet_add_traffic(scene.card, &traffic)
          -1: source: unknown key `sice`, must be one of size, count, rate, arrivals, flows, senders, messages, payload, seed, src, dst, src_port, dst_port, src_mac, dst_mac, ecn; did you mean `size`?
          udp:sice=64
              ^^^^
        spinet_add_traffic(scene.card, &traffic)
          -1: traffic: pacing is `soon`, must be `times`, `times:FACTOR` such as `times:0.5`, `line:RATE` with its unit such as `line:400G`, or `asap`
        spinet_add_traffic(scene.card, &traffic)
          -1: snapped is 9, must be SPINET_SNAPPED_PAD (0) or SPINET_SNAPPED_KEEP (1)
        spinet_network(scene.card, "loss=2", 1)
          -1: faults: fault `loss=2`, must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`, each at most once, with a chance from 0 to 1 such as `0.01` or `1/100` and a distance from 1 to 4096
        spinet_take_done(scene.card, &done, 1, &n)
          -1: done: packets are not kept; call spinet_keep_done first
        over 0, over 1
        spinet_is_over(scene.card, scene.tenant, 99, &over)
          -2: there is no ticket 99; handles are what the driver handed out
        exit code 0
    "#]]
    .assert_eq(&traffic("refused"));
}

#[test]
fn weights_priorities_and_limits_hold() {
    let bench = Bench::new();
    bench.write("runtime.elf", programs::runtime());
    bench.write("a.elf", programs::handlers_at(0x1d00_1000));
    bench.write("b.elf", programs::handlers_at(0x1d00_2000));
    bench.compile("shares");
    expect![[r#"
        equal: 9 of the first 16, 96 in all
        weight 3: 12 of the first 16, 96 in all
        priority 1: 15 of the first 16, 96 in all
        second: 969 ns
        second: 1000 ns
        second: 1000 ns
        first: 8000 ns
        first: 8000 ns
        first: 8000 ns
        spinet_tenant_spec(NULL)
          -1: spec is NULL, must point to room for the result
        spinet_open_with(card, "t", NULL, NULL, &tenant)
          -1: spec is NULL, must point to a tenant specification
        spinet_open_with(card, "t", NULL, &spec, NULL)
          -1: tenant is NULL, must point to room for the result
        spinet_open_with(card, "t", NULL, &spec, &tenant)
          -1: weight is 0, must be 1 to 1000
        spinet_open_with(card, "t", NULL, &spec, &tenant)
          -1: priority is 8, must be 0 to 7
        spinet_open_with(card, "t", NULL, &spec, &tenant)
          -1: host_rate is `10`, must be bits a second from 1M to 10T, such as `10G`
        spinet_open_with(card, "t", NULL, &spec, &tenant)
          -1: cluster_rate is invalid utf-8 sequence of 1 bytes from index 0, must be UTF-8
        spinet_open_with(plain, "t", NULL, &spec, &tenant)
          -1: cluster_rate has no effect while the card's sharing.io_schedule and sharing.cluster_dma_schedule are in_order; set one of them to round_robin or weighted_fair
        exit code 0
    "#]].assert_eq(&bench.run("shares", &["runtime.elf", "a.elf", "b.elf"], &[]).text());
}
