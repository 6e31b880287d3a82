//! A tenant's objects: allowed uses, and refused ones.

use super::{Transcript, card, card_of, echo, handlers};
use crate::support;
use expect_test::expect;
use kernel::Time;
use spinet::driver::{ContextSpec, Kind, Remaining, RuleId, RuleSpec, TenantId};
use spinet::elf::Elf;
use spinet::experiment::DeliverySpec;
use std::rc::Rc;

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
    let spec = ContextSpec { handler_memory: Some(memory), ..echo(program) };
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
    t.done("remove what never was", driver.remove(a, RuleId(9), Remaining::End));
    t.done("remove the other", driver.remove(a, RuleId(2), Remaining::End));
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
    let context = driver.build(a, &echo(program)).unwrap();
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
        driver.build(a, &ContextSpec { handler_memory: Some(scratchpad), ..echo(program) }),
    );
    let long = |bytes| driver.add_packets(vec![(Time::ZERO, vec![0; bytes].into())]);
    let [too_long, empty] = [16_385, 0].map(long);
    t.done("a packet that is too long to be copied", too_long);
    t.done("an empty packet", empty);
    let late = [5, 4].map(|ns| (Time::from_ns(ns), vec![0; 60].into()));
    t.done("packets out of order", driver.add_packets(late.into()));
    let delivery = DeliverySpec { early_packets: Some(0), ..DeliverySpec::default() };
    let spec = ContextSpec { delivery, ..echo(program) };
    t.note("no early packet", driver.build(a, &spec));
    t.note("nothing", driver.allocate(a, Kind::Handler, 0));
    t.note("all there is", driver.allocate(b, Kind::Handler, 1 << 22));
    t.note("the rest", driver.allocate(b, Kind::Handler, (1 << 22) - 128));
    t.note("one more byte", driver.allocate(b, Kind::Handler, 1));
    t.note("code where code is", driver.load(b, handlers(0x1d00_1100)));
    t.note("code over the runtime", driver.load(b, handlers(0x1d00_0000)));
    t.note("no such handler", driver.build(a, &ContextSpec { handler: Some("ecko".into()), ..echo(program) }));
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
        write to a scratchpad: error: memory is memory 2, a scratchpad, must be handler memory or program memory: only handlers can access a scratchpad
        a scratchpad as handler memory: error: memory is memory 2, which is scratchpad memory, must be handler memory
        a packet that is too long to be copied: error: packet 0 has 16385 bytes, must have 1 to 16384, which is what the card can copy to L1
        an empty packet: error: packet 0 has 0 bytes, must have 1 to 16384, which is what the card can copy to L1
        packets out of order: error: packet 1 arrives after 4000 ps, must not arrive before the one before, 5000 ps
        no early packet: error: delivery.early_packets is 0, must be 1 to 65536
        nothing: error: bytes is 0, must be 1 or more
        all there is: error: handler memory: 4194304 bytes are requested, the largest free part has 4194176
        the rest: memory 3
        one more byte: error: handler memory: 1 bytes are requested, the largest free part has 0
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
        let mut driver = card_of("pspin-rtl", &[&format!("isolation.watchdog_cycles={most}")]);
        let a = driver.open("a", None).unwrap();
        let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
        for asked in [None, Some(0), Some(1), Some(5000), Some(5001)] {
            let spec = ContextSpec { watchdog_cycles: asked, ..echo(program) };
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
        let mut driver = card_of(nic, &[]);
        let a = driver.open("a", None).unwrap();
        for l1 in [0x1000_0400, 0x1b00_0400] {
            let file = support::elf(0, &[(0x1d00_1000, &[0x8067]), (l1, &[0xbad])], &[("spy_ph", 0x1d00_1000)]);
            let spy = Rc::new(Elf::parse("spy.elf".into(), file).unwrap());
            text.note(&format!("{nic}, {l1:#x}"), driver.load(a, spy));
        }
        let free = driver.capabilities().program_memory;
        driver.load(a, handlers(0x1d00_1000)).unwrap();
        driver.run_until(driver.now() + 2000);
        assert!(driver.capabilities().program_memory.free < free.free, "refused calls have taken nothing");
    }
    expect![[r#"
        pspin, 0x10000400: error: spy.elf: section  is at 0x10000400 to 0x10000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin, 0x1b000400: error: spy.elf: section  is at 0x1b000400 to 0x1b000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin-rtl, 0x10000400: error: spy.elf: section  is at 0x10000400 to 0x10000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
        pspin-rtl, 0x1b000400: error: spy.elf: section  is at 0x1b000400 to 0x1b000403, must be within program memory (0x1d000000 to 0x1d007fff) or handler memory (0x1c000000 to 0x1c3fffff)
    "#]].assert_eq(&text.0);
}
