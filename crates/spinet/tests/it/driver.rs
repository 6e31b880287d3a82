//! The driver: what tenants get, what they are refused, and what becomes of packets while rules come and go.

use crate::support;
use expect_test::{Expect, expect};
use kernel::Mode;
use kernel::Time;
use pspin::host_events::HostEvent;
use spinet::driver::{ContextSpec, Driver, DriverError, Kind, Remaining, RuleSpec, TenantId};
use spinet::elf::Elf;
use spinet::experiment::DeliverySpec;
use spinet::nics;
use spinet::packets::Fate;
use std::collections::VecDeque;
use std::fmt::{Display, Write};
use std::path::Path;
use std::rc::Rc;

/// A card whose runtime is the boot code of the tests' program.
fn card() -> Driver {
    card_with(&[])
}

/// The same with parameters that differ.
fn card_with(set: &[nics::Setting]) -> Driver {
    let params = nics::load("pspin-rtl", set, Path::new(".")).unwrap();
    Driver::boot(&params, Rc::new(Elf::parse("runtime.elf".into(), support::runtime()).unwrap()), 1).unwrap()
}

/// Handlers for a tenant, linked at `addr`.
fn handlers(addr: u32) -> Rc<Elf> {
    Rc::new(Elf::parse("tenant.elf".into(), support::handlers_at(addr)).unwrap())
}

/// A transcript: what was asked, and the answer.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn note<T: Display>(&mut self, what: &str, answer: Result<T, DriverError>) -> Option<T> {
        match &answer {
            Ok(value) => writeln!(self.0, "{what}: {value}").unwrap(),
            Err(error) => writeln!(self.0, "{what}: error: {error}").unwrap(),
        }
        answer.ok()
    }

    fn done(&mut self, what: &str, answer: Result<(), DriverError>) {
        self.note(what, answer.map(|()| "done"));
    }
}

#[test]
fn what_a_closed_tenant_was_reading_is_forgotten() {
    let (mut driver, mut t) = (card(), Transcript::default());
    let a = driver.open("a", None).unwrap();
    let memory = driver.allocate(a, Kind::Handler, 4096).unwrap();
    let write = driver.write(a, memory, 0, &[7; 64]).unwrap();
    let read = driver.read(a, memory, 0, 64).unwrap();
    let under_way = driver.read(a, memory, 0, 64).unwrap();
    driver.wait(a, read).unwrap();
    driver.close(a).unwrap();
    t.note("take what was read", driver.take(a, read).map(|_| "bytes"));
    t.note("take what was under way", driver.take(a, under_way).map(|_| "bytes"));
    t.note("the write is over", driver.is_done(a, write));
    expect![[r#"
        take what was read: error: ticket 2 is gone: it was freed, removed or closed before, and cannot be used or freed again
        take what was under way: error: ticket 3 is gone: it was freed, removed or closed before, and cannot be used or freed again
        the write is over: true
    "#]]
    .assert_eq(&t.0);
}

#[test]
fn what_is_freed_is_gone_and_what_is_used_stays() {
    let (mut driver, mut t) = (card(), Transcript::default());
    let a = driver.open("a", None).unwrap();
    let memory = driver.allocate(a, Kind::Handler, 4096).unwrap();
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let spec = ContextSpec { handler: Some("echo".into()), handler_memory: Some(memory), ..ContextSpec::new(program) };
    let context = driver.build(a, &spec).unwrap();
    let rule = driver.install(a, context, &RuleSpec::default()).unwrap();
    t.done("free a used memory", driver.free(a, memory));
    t.done("unload a used program", driver.unload(a, program));
    t.done("destroy a context with a rule", driver.destroy(a, context));
    t.done("close a tenant with a rule", driver.close(a));
    t.note("install twice", driver.install(a, context, &RuleSpec::default()));
    t.note(
        "install with another priority",
        driver.install(a, context, &RuleSpec { priority: 1, ..RuleSpec::default() }),
    );
    t.done("remove", driver.remove(a, rule, Remaining::End));
    t.done("remove again", driver.remove(a, rule, Remaining::Kill));
    t.done("remove what never was", driver.remove(a, spinet::driver::RuleId(9), Remaining::End));
    t.done("remove the other", driver.remove(a, spinet::driver::RuleId(2), Remaining::End));
    t.done("destroy", driver.destroy(a, context));
    t.done("destroy again", driver.destroy(a, context));
    t.note("install for a gone context", driver.install(a, context, &RuleSpec::default()));
    t.done("free", driver.free(a, memory));
    t.done("free again", driver.free(a, memory));
    t.note("write after free", driver.write(a, memory, 0, &[1]));
    t.note("build on a freed memory", driver.build(a, &spec));
    t.done("unload", driver.unload(a, program));
    t.done("unload again", driver.unload(a, program));
    t.done("close", driver.close(a));
    t.done("close again", driver.close(a));
    t.note("allocate after the end", driver.allocate(a, Kind::Handler, 1));
    expect![[r#"
        free a used memory: error: memory 1 is used by context 1, which must be destroyed first
        unload a used program: error: program 2 is used by context 1, which must be destroyed first
        destroy a context with a rule: error: context 1 is used by rule 1, which must be removed first
        close a tenant with a rule: error: tenant 1 is used by rule 1, which must be removed first
        install twice: error: rule 1 sends the same packets to context 1 already; remove it first, or leave it
        install with another priority: rule 2
        remove: done
        remove again: error: rule 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        remove what never was: error: there is no rule 9; handles are what the driver handed out
        remove the other: done
        destroy: done
        destroy again: error: context 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        install for a gone context: error: context 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        free: done
        free again: error: memory 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        write after free: error: memory 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        build on a freed memory: error: memory 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        unload: done
        unload again: error: program 2 is gone: it was freed, removed or closed before, and cannot be used or freed again
        close: done
        close again: error: tenant 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        allocate after the end: error: tenant 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
    "#]].assert_eq(&t.0);
}

#[test]
fn a_tenant_has_what_it_was_given_and_no_more() {
    let (mut driver, mut t) = (card(), Transcript::default());
    let [a, b] = ["a", "b"].map(|name| driver.open(name, None).unwrap());
    let memory = driver.allocate(a, Kind::Handler, 100).unwrap();
    let scratchpad = driver.allocate(a, Kind::Scratchpad, 100).unwrap();
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let host = driver.register(a, 5000).unwrap();
    let context = driver.build(a, &ContextSpec { handler: Some("echo".into()), ..ContextSpec::new(program) }).unwrap();
    t.done("free another's memory", driver.free(b, memory));
    t.note("read another's memory", driver.read(b, memory, 0, 1));
    t.done("unregister another's host memory", driver.unregister(b, host));
    t.note("build on another's program", driver.build(b, &ContextSpec::new(program)));
    t.note("install for another's context", driver.install(b, context, &RuleSpec::default()));
    t.done("destroy another's context", driver.destroy(b, context));
    t.note("a forged tenant", driver.allocate(TenantId(3), Kind::Handler, 1));
    t.note("the operator", driver.allocate(TenantId(0), Kind::Handler, 1));
    t.note("write beyond the end", driver.write(a, memory, 99, &[1, 2]));
    t.note("write beyond the largest address", driver.write(a, memory, u32::MAX, &[1, 2]));
    t.note("read beyond the end", driver.read(a, memory, 0, 101));
    t.done("beyond host memory", driver.host_write(a, host, 4999, &[1, 2]));
    t.note("write to a scratchpad", driver.write(a, scratchpad, 0, &[1]));
    t.note(
        "a scratchpad as handler memory",
        driver.build(
            a,
            &ContextSpec {
                handler_memory: Some(scratchpad),
                handler: Some("echo".into()),
                ..ContextSpec::new(program)
            },
        ),
    );
    let long = |bytes| driver.add_packets(vec![(Time::ZERO, vec![0; bytes].into())]);
    let [too_long, empty] = [16_385, 0].map(long);
    t.done("a packet that is too long to be copied", too_long);
    t.done("an empty packet", empty);
    let late = [5, 4].map(|ns| (Time::from_ns(ns), vec![0; 60].into()));
    t.done("packets out of order", driver.add_packets(late.into()));
    let delivery = DeliverySpec { early_packets: Some(0), ..DeliverySpec::default() };
    let spec = ContextSpec { handler: Some("echo".into()), delivery, ..ContextSpec::new(program) };
    t.note("no early packet", driver.build(a, &spec));
    t.note("nothing", driver.allocate(a, Kind::Handler, 0));
    t.note("all there is", driver.allocate(b, Kind::Handler, 1 << 22));
    t.note("the rest", driver.allocate(b, Kind::Handler, (1 << 22) - 128));
    t.note("one more byte", driver.allocate(b, Kind::Handler, 1));
    t.note("code where code is", driver.load(b, handlers(0x1d00_1100)));
    t.note("code over the runtime", driver.load(b, handlers(0x1d00_0000)));
    t.note(
        "no such handler",
        driver.build(a, &ContextSpec { handler: Some("ecko".into()), ..ContextSpec::new(program) }),
    );
    t.note(
        "no such expression",
        driver.install(a, context, &RuleSpec { matches: Some("udp.port == 1".into()), ..RuleSpec::default() }),
    );
    t.note(
        "no such message",
        driver.install(a, context, &RuleSpec { message: "by flow last".into(), ..RuleSpec::default() }),
    );
    expect![[r#"
        free another's memory: error: memory 1 is not of tenant 2; a tenant uses what it was given itself
        read another's memory: error: memory 1 is not of tenant 2; a tenant uses what it was given itself
        unregister another's host memory: error: host memory 1 is not of tenant 2; a tenant uses what it was given itself
        build on another's program: error: program 2 is not of tenant 2; a tenant uses what it was given itself
        install for another's context: error: context 1 is not of tenant 2; a tenant uses what it was given itself
        destroy another's context: error: context 1 is not of tenant 2; a tenant uses what it was given itself
        a forged tenant: error: there is no tenant 3; handles are what the driver handed out
        the operator: error: there is no tenant 0; handles are what the driver handed out
        write beyond the end: error: memory 1 has 100 bytes, 2 at 99 reach beyond it
        write beyond the largest address: error: memory 1 has 100 bytes, 2 at 4294967295 reach beyond it
        read beyond the end: error: memory 1 has 100 bytes, 101 at 0 reach beyond it
        beyond host memory: error: host memory 1 has 5000 bytes, 2 at 4999 reach beyond it
        write to a scratchpad: error: memory is memory 2, a scratchpad, must be handler memory or program memory: a scratchpad is the handlers' alone
        a scratchpad as handler memory: error: memory is memory 2, which is scratchpad memory, must be handler memory
        a packet that is too long to be copied: error: packet 0 has 16385 bytes, must have 1 to 16384, which is what the card can copy to L1
        an empty packet: error: packet 0 has 0 bytes, must have 1 to 16384, which is what the card can copy to L1
        packets out of order: error: packet 1 arrives after 4000 ps, must not arrive before the one before, 5000 ps
        no early packet: error: delivery.early_packets is 0, must be 1 to 65536
        nothing: error: bytes is 0, must be 1 or more
        all there is: error: handler memory: 4194304 bytes are asked for, the largest free part has 4194176
        the rest: memory 3
        one more byte: error: handler memory: 1 bytes are asked for, the largest free part has 0
        code where code is: error: tenant.elf: in program memory it takes 0x1d001100 to 0x1d001433, of which 0x1d001100 is taken; link it at 0x1d001340, where 27840 bytes are free
        code over the runtime: error: tenant.elf: in program memory it takes 0x1d000000 to 0x1d000333, of which 0x1d000080 is taken; link it at 0x1d001340, where 27840 bytes are free
        no such handler: error: tenant.elf: handler is `ecko`, must be one of the program's: a function `ecko_hh`, `ecko_ph` or `ecko_th`; did you mean `echo`?
        no such expression: error: match: unknown name `udp.port`, udp has `src_port`, `dst_port`, `len`, `checksum`, `payload_len`
          udp.port == 1
          ^^^^^^^^
        no such message: error: message is `by flow last`, must be one that says what ends a message: `last` needs traffic that is known before
    "#]].assert_eq(&t.0);
}

#[test]
fn a_tenant_may_shorten_the_watchdog_of_a_card_that_has_one() {
    let mut t = Transcript::default();
    for most in [0, 5000] {
        let set = nics::parse_setting(&format!("isolation.watchdog_cycles={most}")).unwrap();
        let mut driver = card_with(&[set]);
        let a = driver.open("a", None).unwrap();
        let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
        for asked in [None, Some(0), Some(1), Some(5000), Some(5001)] {
            let spec =
                ContextSpec { handler: Some("echo".into()), watchdog_cycles: asked, ..ContextSpec::new(program) };
            let built = driver.build(a, &spec).map(|id| driver.context(a, id).unwrap().protection.watchdog_cycles);
            t.note(&format!("{asked:?} of {most}"), built);
        }
    }
    expect![[r#"
        None of 0: 0
        Some(0) of 0: 0
        Some(1) of 0: 1
        Some(5000) of 0: 5000
        Some(5001) of 0: 5001
        None of 5000: 5000
        Some(0) of 5000: error: watchdog_cycles is 0, must be 1 to 5000, which is the card's isolation.watchdog_cycles
        Some(1) of 5000: 1
        Some(5000) of 5000: 5000
        Some(5001) of 5000: error: watchdog_cycles is 5001, must be 1 to 5000, which is the card's isolation.watchdog_cycles
    "#]]
    .assert_eq(&t.0);
}

#[test]
fn a_program_with_bytes_for_l1_is_refused() {
    let mut text = Transcript::default();
    for nic in ["pspin", "pspin-rtl"] {
        let params = nics::load(nic, &[], Path::new(".")).unwrap();
        let runtime = Rc::new(Elf::parse("runtime.elf".into(), support::runtime()).unwrap());
        let mut driver = Driver::boot(&params, runtime, 1).unwrap();
        let a = driver.open("a", None).unwrap();
        for l1 in [0x1000_0400, 0x1b00_0400] {
            let file = support::elf(0, &[(0x1d00_1000, &[0x8067]), (l1, &[0xbad])], &[("spy_ph", 0x1d00_1000)]);
            let spy = Rc::new(Elf::parse("spy.elf".into(), file).unwrap());
            text.note(&format!("{nic}, {l1:#x}"), driver.load(a, spy));
        }
        let free = driver.capabilities().program_memory;
        driver.load(a, handlers(0x1d00_1000)).unwrap();
        driver.run_until(driver.now() + 2000);
        assert!(driver.capabilities().program_memory.free < free.free, "what was refused has taken nothing");
    }
    expect![[r#"
        pspin, 0x10000400: error: spy.elf: section  is at 0x10000400 to 0x10000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin, 0x1b000400: error: spy.elf: section  is at 0x1b000400 to 0x1b000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin-rtl, 0x10000400: error: spy.elf: section  is at 0x10000400 to 0x10000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin-rtl, 0x1b000400: error: spy.elf: section  is at 0x1b000400 to 0x1b000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
    "#]].assert_eq(&text.0);
}

#[test]
fn a_message_that_was_given_up_leaves_its_queue_and_its_flow_begins_anew() {
    let settings = [nics::parse_setting("scheduler.n_mpqs=4").unwrap()];
    let params = nics::load("pspin-rtl", &settings, Path::new(".")).unwrap();
    let runtime = Elf::parse("runtime.elf".into(), support::runtime()).unwrap();
    let mut driver = Driver::boot(&params, Rc::new(runtime), 1).unwrap();
    driver.keep_packets();
    let a = driver.open("a", None).unwrap();
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let delivery = DeliverySpec { timeout_cycles: Some(2000), ..DeliverySpec::default() };
    let spec = ContextSpec { handler: Some("echo".into()), delivery, ..ContextSpec::new(program) };
    let context = driver.build(a, &spec).unwrap();
    let by_port = RuleSpec { message: "by udp.src_port count 2".into(), ..RuleSpec::default() };
    let rule = driver.install(a, context, &by_port).unwrap();
    let mut text = String::new();
    let mut round = |driver: &mut Driver, what: &str, ports: &[u16]| {
        let packet = |(i, &port): (usize, &u16)| (Time::from_ns(i as u64 * 100), support::udp(port, 7, 60).into());
        driver.add_packets(ports.iter().enumerate().map(packet).collect()).unwrap();
        driver.run_until(driver.now() + 5000);
        let sent = driver.take_sent().len();
        let messages: Vec<u64> = driver.take_packets().iter().map(|(_, row)| row.message).collect();
        let mut events: Vec<&str> = driver.take_events(a).unwrap().iter().map(|event| event.describe().0).collect();
        events.dedup();
        writeln!(text, "{what}: {sent} sent, of messages {messages:?}, {events:?}").unwrap();
    };
    round(&mut driver, "four begin", &[1, 2, 3, 4]);
    round(&mut driver, "four others", &[5, 6, 7, 8]);
    round(&mut driver, "the first again", &[1, 1]);
    round(&mut driver, "four once more", &[1, 2, 3, 4]);
    driver.remove(a, rule, Remaining::End).unwrap();
    driver.destroy(a, context).unwrap();
    expect![[r#"
        four begin: 4 sent, of messages [0, 1, 2, 3], ["message_timeout"]
        four others: 4 sent, of messages [4, 5, 6, 7], ["message_timeout"]
        the first again: 2 sent, of messages [8, 8], ["message_done"]
        four once more: 4 sent, of messages [9, 10, 11, 12], ["message_timeout"]
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_network_loses_each_calls_packets_by_themselves() {
    let mut driver = card();
    driver.keep_packets();
    let a = driver.open("a", None).unwrap();
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let context = driver.build(a, &ContextSpec { handler: Some("echo".into()), ..ContextSpec::new(program) }).unwrap();
    driver.install(a, context, &RuleSpec::default()).unwrap();
    driver.run_until(2000);
    assert!(driver.is_idle() && driver.capabilities().reliable);
    driver.set_network("loss=0.5".parse().unwrap(), 1);
    assert!(!driver.capabilities().reliable && driver.capabilities().in_order);
    for _ in 0..100 {
        driver.add_packets(vec![(Time::ZERO, support::udp(1, 7, 60).into())]).unwrap();
        assert!(!driver.is_idle());
        driver.run_until(driver.now() + 200);
        assert!(driver.is_idle());
    }
    let sent = driver.take_sent().len();
    assert!((30..70).contains(&sent), "{sent} of 100");
}

/// What the driver does in a scene, and when.
#[derive(Clone, Copy)]
enum Act {
    /// Tenant 0 or 1 installs a rule: match, message, priority.
    Install(usize, &'static str, &'static str, i32),
    /// It removes its oldest rule.
    Remove(usize, Remaining),
}

/// Forty packets to port 7, one each 50 cycles from cycle 3000 on, by turns from four source ports, and two tenants that send
/// back what they get. For each packet who got it, `.` for nobody and `x` where it was dropped; then what both hear of
/// messages that did not just end.
fn scene(mode: Mode, slice: u64, acts: &[(u64, Act)]) -> String {
    let mut driver = card();
    driver.set_mode(mode);
    driver.keep_packets();
    driver.run_until(2000);
    // The first arrives in cycle 3000.
    let packet = |i: u64| (Time::from_ns(999 + i * 50), support::udp(1000 + i as u16 % 4, 7, 60 + i as usize).into());
    driver.add_packets((0..40).map(packet).collect()).unwrap();
    let tenants = ["a", "b"].map(|name| driver.open(name, None).unwrap());
    let contexts = [0x1d00_1000, 0x1d00_2000].map(handlers).into_iter().zip(tenants).map(|(elf, tenant)| {
        let program = driver.load(tenant, elf).unwrap();
        driver.build(tenant, &ContextSpec { handler: Some("echo".into()), ..ContextSpec::new(program) }).unwrap()
    });
    let contexts: Vec<_> = contexts.collect();
    let mut rules = [VecDeque::new(), VecDeque::new()];
    let run = |driver: &mut Driver, end: u64| {
        while driver.now() < end {
            driver.run_until((driver.now() + slice).min(end));
        }
    };
    for &(at, act) in acts {
        run(&mut driver, at);
        match act {
            Act::Install(who, matches, message, priority) => {
                let spec = RuleSpec { matches: Some(matches.into()), message: message.into(), priority };
                rules[who].push_back(driver.install(tenants[who], contexts[who], &spec).unwrap());
            }
            Act::Remove(who, remaining) => {
                driver.remove(tenants[who], rules[who].pop_front().unwrap(), remaining).unwrap();
            }
        }
    }
    run(&mut driver, 10_000);
    let mut fates = ['.'; 40];
    let mut text = String::new();
    for (who, name) in [(0, 'a'), (1, 'b')] {
        for event in driver.take_events(tenants[who]).unwrap() {
            assert_eq!(event.context, contexts[who]);
            match event.what {
                HostEvent::MessageDone { .. } => {}
                other => writeln!(text, "{name} at {}: {other:?}", event.at).unwrap(),
            }
        }
    }
    for (context, row) in driver.take_packets() {
        let name = if context == contexts[0] { 'a' } else { 'b' };
        fates[row.frame as usize] = if row.fate() == Fate::Sent { name } else { 'x' };
    }
    let sent = driver.take_sent().len();
    format!("{}\n{sent} sent back\n{text}", fates.iter().collect::<String>())
}

/// The scene in every mode and in slices of several lengths, which make no difference.
fn check(acts: &[(u64, Act)], want: Expect) {
    let normal = scene(Mode::Normal, 10_000, acts);
    for (mode, slice) in [(Mode::Normal, 1), (Mode::Shuffled(5), 333), (Mode::Sleepless, 7)] {
        assert_eq!(scene(mode, slice, acts), normal, "{mode:?} in slices of {slice}");
    }
    want.assert_eq(&normal);
}

use Act::{Install, Remove};

#[test]
fn a_rule_holds_from_the_cycle_after_it_is_installed_to_the_one_in_which_it_is_removed() {
    // Packets come in cycles 3000 + 50 i, and are matched in the cycle in which they come.
    let all = "udp.dst_port == 7";
    check(
        &[(3199, Install(0, all, "each", 0)), (3399, Remove(0, Remaining::End))],
        expect![[r#"
        ....aaaa................................
        4 sent back
    "#]],
    );
    check(
        &[(3200, Install(0, all, "each", 0)), (3400, Remove(0, Remaining::Kill))],
        expect![[r#"
        .....aaaa...............................
        4 sent back
    "#]],
    );
}

#[test]
fn rules_of_others_come_and_go_unnoticed() {
    let acts = [
        (2500, Install(0, "udp.src_port == 1000", "each", 0)),
        (3500, Install(1, "udp", "each", 0)),
        (4000, Remove(1, Remaining::End)),
        (4200, Install(1, "udp", "each", 5)),
        (4500, Remove(1, Remaining::Kill)),
    ];
    check(
        &acts,
        expect![[r#"
        a...a...a..babbbabbba...abbbbbb.a...a...
        22 sent back
    "#]],
    );
}

#[test]
fn messages_that_were_to_end_and_never_do_can_be_killed() {
    let (mut driver, mut t) = (card(), Transcript::default());
    let [a, b] = ["a", "b"].map(|name| driver.open(name, None).unwrap());
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let spec = ContextSpec { handler: Some("echo".into()), ..ContextSpec::new(program) };
    let context = driver.build(a, &spec).unwrap();
    let pairs = RuleSpec { message: "by udp.src_port count 2".into(), ..RuleSpec::default() };
    let rule = driver.install(a, context, &pairs).unwrap();
    driver.add_packets(vec![(Time::from_ns(0), support::udp(1, 7, 60).into())]).unwrap();
    driver.run_until(driver.now() + 5000);
    t.done("remove, to end", driver.remove(a, rule, Remaining::End));
    t.done("destroy", driver.destroy(a, context));
    t.done("remove again, to end", driver.remove(a, rule, Remaining::End));
    t.done("kill another's", driver.remove(b, rule, Remaining::Kill));
    t.done("kill", driver.remove(a, rule, Remaining::Kill));
    driver.run_until(driver.now() + 100);
    t.done("kill again", driver.remove(a, rule, Remaining::Kill));
    t.done("destroy", driver.destroy(a, context));
    t.done("close", driver.close(a));
    expect![[r#"
        remove, to end: done
        destroy: error: context 1 is used by a message that rule 1 began, which must end, or be killed first
        remove again, to end: error: rule 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        kill another's: error: rule 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        kill: done
        kill again: error: rule 1 is gone: it was freed, removed or closed before, and cannot be used or freed again
        destroy: done
        close: done
    "#]]
    .assert_eq(&t.0);
}

#[test]
fn messages_that_have_begun_end_or_are_killed() {
    let message = "by udp.src_port count 6";
    check(
        &[(2500, Install(0, "udp", message, 0)), (3480, Remove(0, Remaining::End))],
        expect![[r#"
        aaaaaaaaaaaaaaaaaaaaaaaa................
        24 sent back
    "#]],
    );
    check(
        &[(2500, Install(0, "udp", message, 0)), (3480, Remove(0, Remaining::Kill))],
        expect![[r#"
        aaaaaaaaaa..............................
        10 sent back
        a at 3483: MessageKilled { msgid: 0, dropped: 0 }
        a at 3484: MessageKilled { msgid: 1, dropped: 0 }
        a at 3485: MessageKilled { msgid: 2, dropped: 0 }
        a at 3486: MessageKilled { msgid: 3, dropped: 0 }
    "#]],
    );
    let acts = [
        (2500, Install(0, "udp", message, 0)),
        (3480, Remove(0, Remaining::End)),
        (3481, Install(1, "udp", message, 0)),
        (4480, Remove(1, Remaining::Kill)),
    ];
    check(
        &acts,
        expect![[r#"
        aaaaaaaaaaaaaaaaaaaaaaaabbbbbb..........
        30 sent back
        b at 4483: MessageKilled { msgid: 4, dropped: 0 }
        b at 4484: MessageKilled { msgid: 5, dropped: 0 }
        b at 4485: MessageKilled { msgid: 6, dropped: 0 }
        b at 4486: MessageKilled { msgid: 7, dropped: 0 }
    "#]],
    );
}
