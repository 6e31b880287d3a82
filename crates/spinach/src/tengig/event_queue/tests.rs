use super::*;
use crate::tengig::testing::port;
use expect_test::{Expect, expect};
use kernel::Freq;
use testkit::Bench;

/// Two processors at 1 GHz, the registers behind the queue (`>`), and the cycles of the source values.
fn check(cpus: [&str; 2], sources: &[(Cycle, EventSource)], want: Expect) {
    want.assert_eq(&testkit::bench(5000, |bench| {
        let onward = [">a", ">b"].map(|name| registers(bench, name)).into();
        let ports = EventQueuePorts {
            cpus: [("a", cpus[0]), ("b", cpus[1])].map(|(name, text)| port(bench, name, text)).into(),
            onward,
            sources: bench.input("sources", 4, sources.to_vec()),
            posted: bench.output("posted", 1, |_| true, |posted| format!("{posted:?}")),
        };
        let clock = Clock::new(Freq::mhz(1000).expect("1 GHz is a frequency"));
        bench.add("queue", EventQueue::new(EventQueueParams { cpus: 2, events: 4 }, ports, clock));
        bench.log_counters();
    }));
}

/// Registers that answer with the address, in the cycle in which they see an access.
fn registers(bench: &mut Bench, name: &str) -> Requester {
    let (references, requests) = bench.channel(&format!("{name}?"), 2, 1);
    let (answers, replies) = bench.channel(&format!("{name}!"), 2, 1);
    let port = Responder { references: requests, replies: answers };
    bench.add(name, Registers { port });
    Requester { references, replies }
}

struct Registers {
    port: Responder,
}

impl Component for Registers {
    fn tick(&mut self, _now: Cycle) -> Activity {
        if !self.port.references.has_item() || !self.port.replies.has_room() {
            return Activity::Idle;
        }
        let reference = self.port.references.take().expect("an access must be there");
        let data = Data::from_slice(&(reference.addr as u32).to_be_bytes());
        let result = Ok(if matches!(reference.access, Access::Read(_)) { data } else { Data::new() });
        self.port.replies.send(Reply::new(reference.id, result));
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("port", ports);
    }
}

#[test]
fn an_event_is_readable_one_cycle_after_its_source_moved() {
    check(
        ["9 200; 10 200; 11 204; 12 208; 13 200", "1 200"],
        &[(10, EventSource::Pointer(2, 5))],
        expect![[r#"
        2    b 0 0
        10   a 0 0
        11   a 1 3
        12   a 2 0
        13   a 3 5
        14   a 4 0
        queue.handed 1
    "#]],
    );
}

#[test]
fn processors_that_ask_at_once_get_different_events() {
    check(
        ["10 200; 11 204; 12 208", "10 200; 11 204; 12 208"],
        &[(1, EventSource::Pointer(0, 3)), (1, EventSource::Pointer(3, 1))],
        expect![[r#"
            11   a 0 1
            11   b 0 4
            12   a 1 0
            12   b 1 0
            13   a 2 3
            13   b 2 1
            queue.handed 2
        "#]],
    );
}

#[test]
fn a_queued_event_is_available_from_the_next_edge_and_excess_events_are_lost() {
    check(
        ["1 23c=1; 2 20c=a; 3 210=10; 4 214=7", "4 200; 5 200; 6 204; 7 208; 8 200; 9 200; 10 200; 11 200"],
        &[],
        expect![[r#"
            2    a 0 done
            3    a 1 done
            4    a 2 done
            5    a 3 done
            5    b 0 8
            6    b 1 8
            7    b 2 b
            8    b 3 c
            9    b 4 8
            10   b 5 8
            11   b 6 0
            12   b 7 0
            queue.handed 4
            queue.queued 4
            queue.lost 1
        "#]],
    );
}

#[test]
fn accesses_to_other_registers_are_forwarded_and_answers_keep_their_order() {
    check(
        ["1 40; 2 44=1; 3 200; 4 240; 5 1ff", "1 200; 2 203; 3 8"],
        &[],
        expect![[r#"
        2    b 0 0
        3    b 1 a reference to 4 bytes at 0x203 is not possible
        4    a 0 40
        5    a 1 done
        6    a 2 0
        6    b 2 8
        9    a 3 240
        10   a 4 1ff
    "#]],
    );
}

#[test]
fn slots_are_posted_in_order_as_room_allows() {
    check(
        ["1 218=1; 2 218=0; 3 218=2; 4 21c=0; 5 218=3", ""],
        &[],
        expect![[r#"
        2    a 0 done
        3    a 1 done
        3    posted PostedSlots { ring: 0, producer: 2 }
        4    a 2 done
        5    a 3 done
        5    posted PostedSlots { ring: 0, producer: 3 }
        6    a 4 done
        7    posted PostedSlots { ring: 0, producer: 4 }
        9    posted PostedSlots { ring: 1, producer: 1 }
    "#]],
    );
}

#[test]
fn the_timer_ticks_without_processor_accesses() {
    check(
        ["5 200; 999 200; 1000 200; 1001 204; 1002 208; 1003 200; 3000 200; 3001 200", ""],
        &[(1, EventSource::TickEvery(2))],
        expect![[r#"
            6    a 0 6
            1000 a 1 0
            1001 a 2 0
            1002 a 3 0
            1003 a 4 1
            1004 a 5 0
            3001 a 6 6
            3002 a 7 0
            queue.handed 2
        "#]],
    );
}
