//! Messages that stop, and packets that a network loses.

use super::{Transcript, card, card_of, echo, echoing, handlers, packet};
use expect_test::expect;
use kernel::Time;
use spinet::driver::{ContextSpec, Driver, Remaining, RuleSpec};
use spinet::experiment::DeliverySpec;
use std::fmt::Write;

#[test]
fn a_message_that_was_given_up_leaves_its_queue_and_its_flow_begins_anew() {
    let mut driver = card_of("pspin-rtl", &["scheduler.n_mpqs=4"]);
    driver.keep_packets();
    let a = driver.open("a", None).unwrap();
    let program = driver.load(a, handlers(0x1d00_1000)).unwrap();
    let delivery = DeliverySpec { timeout_cycles: Some(2000), ..DeliverySpec::default() };
    let context = driver.build(a, &ContextSpec { delivery, ..echo(program) }).unwrap();
    let by_port = RuleSpec { message: "by udp.src_port count 2".into(), ..RuleSpec::default() };
    let rule = driver.install(a, context, &by_port).unwrap();
    let mut text = String::new();
    let mut round = |driver: &mut Driver, what: &str, ports: &[u16]| {
        let packet = |(i, &port): (usize, &u16)| packet(Time::from_ns(i as u64 * 100), port);
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
fn messages_that_were_to_end_and_never_do_can_be_killed() {
    let (mut driver, mut t) = (card(), Transcript::default());
    let (a, context) = echoing(&mut driver, "a", 0x1d00_1000);
    let b = driver.open("b", None).unwrap();
    let pairs = RuleSpec { message: "by udp.src_port count 2".into(), ..RuleSpec::default() };
    let rule = driver.install(a, context, &pairs).unwrap();
    driver.add_packets(vec![packet(Time::ZERO, 1)]).unwrap();
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
fn a_network_loses_each_calls_packets_by_themselves() {
    let mut driver = card();
    driver.keep_packets();
    let (a, context) = echoing(&mut driver, "a", 0x1d00_1000);
    driver.install(a, context, &RuleSpec::default()).unwrap();
    driver.run_until(2000);
    assert!(driver.is_idle() && driver.capabilities().reliable);
    driver.set_network("loss=0.5".parse().unwrap(), 1);
    assert!(!driver.capabilities().reliable && driver.capabilities().in_order);
    for _ in 0..100 {
        driver.add_packets(vec![packet(Time::ZERO, 1)]).unwrap();
        assert!(!driver.is_idle());
        driver.run_until(driver.now() + 200);
        assert!(driver.is_idle());
    }
    let sent = driver.take_sent().len();
    assert!((30..70).contains(&sent), "{sent} of 100");
}
