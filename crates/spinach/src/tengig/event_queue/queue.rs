//! State of an event queue: source pointers, queued events, filled slots.

use crate::tengig::map;
use kernel::trace::Counter;
use std::collections::VecDeque;

/// Event types that come from pointers and the timer, in the order of the firmware's types; the other types come only from
/// firmware.
pub const SOURCES: usize = 6;
/// Number of event types.
const TYPES: usize = 8;
/// Index of the timer among the sources.
pub const TIMER: usize = 5;

/// Elements `start` up to but not including `end`, of type `kind`.
#[derive(Clone, Copy, Default, Debug)]
struct Event {
    kind: u32,
    start: u32,
    end: u32,
}

/// Posts DMA slots in ring order although they are filled in any order.
#[derive(Clone, Debug)]
struct Posting {
    is_ready: [bool; map::DMA_ENTRIES as usize],
    posted: u32,
}

/// Gives each processor that asks the next event; sources and queue take turns.
pub struct Queue {
    /// Capacity for events queued by processors.
    room: usize,
    /// Pointer value up to which events have been made.
    seen: [u32; SOURCES],
    /// Maximum number of elements per event, by type; 0 for no limit.
    most: [u32; TYPES],
    queue: VecDeque<Event>,
    /// For each processor: its latest event, and the one that it is about to queue.
    given: Vec<Event>,
    coming: Vec<Event>,
    /// Where the next search starts.
    turn: usize,
    postings: [Posting; 2],
    pub handed: Counter,
    pub queued: Counter,
    pub lost: Counter,
}

impl Queue {
    pub fn new(room: usize, cpus: usize) -> Queue {
        let posting = Posting { is_ready: [false; map::DMA_ENTRIES as usize], posted: 0 };
        Queue {
            room,
            seen: [0; SOURCES],
            most: [0; TYPES],
            queue: VecDeque::new(),
            given: vec![Event::default(); cpus],
            coming: vec![Event::default(); cpus],
            turn: 0,
            postings: [posting.clone(), posting],
            handed: Counter::default(),
            queued: Counter::default(),
            lost: Counter::default(),
        }
    }

    /// The next event for `cpu`: its type plus 1, or 0. `newest` holds the pointer values and the timer; `tick` is the timer's
    /// period.
    pub fn next(&mut self, cpu: usize, newest: [u32; SOURCES], tick: u32) -> u32 {
        for i in 0..=SOURCES {
            let source = (self.turn + i) % (SOURCES + 1);
            let event = match source {
                SOURCES => self.queue.pop_front(),
                TIMER => self.tick(newest[TIMER], tick),
                _ => self.advance(source, newest[source]),
            };
            if let Some(event) = event {
                self.turn = source + 1;
                self.given[cpu] = event;
                self.handed.add(1);
                return event.kind + 1;
            }
        }
        0
    }

    fn advance(&mut self, source: usize, newest: u32) -> Option<Event> {
        let start = self.seen[source];
        let n = newest.wrapping_sub(start);
        // A limited pointer may be behind `seen` for a while.
        if n == 0 || n > 1 << 31 {
            return None;
        }
        let end = start.wrapping_add(n.min(self.limit(source)));
        self.seen[source] = end;
        Some(Event { kind: source as u32, start, end })
    }

    fn tick(&mut self, now: u32, tick: u32) -> Option<Event> {
        let start = self.seen[TIMER];
        if tick == 0 || now.wrapping_sub(start) > 1 << 31 {
            return None;
        }
        self.seen[TIMER] = now.wrapping_add(tick);
        Some(Event { kind: TIMER as u32, start, end: now.wrapping_add(1) })
    }

    fn limit(&self, kind: usize) -> u32 {
        if self.most[kind] == 0 { u32::MAX } else { self.most[kind] }
    }

    /// A read by `cpu` of a register other than the event itself.
    pub fn read(&self, cpu: usize, offset: u32) -> u32 {
        match offset {
            map::EVENT_START => self.given[cpu].start,
            map::EVENT_END => self.given[cpu].end,
            _ => 0,
        }
    }

    /// A write by `cpu`. Returns the ring and its new producer if slots are posted.
    pub fn write(&mut self, cpu: usize, offset: u32, value: u32) -> Option<(usize, u32)> {
        match offset {
            map::PUSH_START => self.coming[cpu].start = value,
            map::PUSH_END => self.coming[cpu].end = value,
            map::PUSH => self.push(Event { kind: value % TYPES as u32, ..self.coming[cpu] }),
            map::READ_READY => return self.postings[0].ready(value).map(|producer| (0, producer)),
            map::WRITE_READY => return self.postings[1].ready(value).map(|producer| (1, producer)),
            _ => {
                if let Some(kind) = offset.checked_sub(map::EVENT_MOST).filter(|place| *place < 4 * TYPES as u32) {
                    self.most[(kind / 4) as usize] = value;
                }
            }
        }
        None
    }

    /// Queues an event, split by its type's maximum.
    fn push(&mut self, event: Event) {
        let Event { kind, mut start, end } = event;
        while start != end {
            if self.queue.len() >= self.room {
                self.lost.add(1);
                return;
            }
            let here = start.wrapping_add(end.wrapping_sub(start).min(self.limit(kind as usize)));
            self.queue.push_back(Event { kind, start, end: here });
            self.queued.add(1);
            start = here;
        }
    }
}

impl Posting {
    /// Slot number `slot` is filled; returns the new producer if it moves.
    fn ready(&mut self, slot: u32) -> Option<u32> {
        let place = |slot: u32| (slot % map::DMA_ENTRIES) as usize;
        let before = self.posted;
        self.is_ready[place(slot)] = true;
        while std::mem::take(&mut self.is_ready[place(self.posted)]) {
            self.posted = self.posted.wrapping_add(1);
        }
        (self.posted != before).then_some(self.posted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// The events that one processor gets until there are none.
    fn check(queue: &mut Queue, newest: [u32; SOURCES], tick: u32, want: Expect) {
        let mut got = String::new();
        loop {
            let kind = queue.next(0, newest, tick);
            if kind == 0 {
                break;
            }
            let (start, end) = (queue.read(0, map::EVENT_START), queue.read(0, map::EVENT_END));
            got += &format!("{}: {start}..{end}\n", kind - 1);
        }
        want.assert_eq(&got);
    }

    fn push(queue: &mut Queue, kind: u32, start: u32, end: u32) {
        for (offset, value) in [(map::PUSH_START, start), (map::PUSH_END, end), (map::PUSH, kind)] {
            assert_eq!(queue.write(0, offset, value), None);
        }
    }

    #[test]
    fn sources_and_queue_take_turns_and_long_events_are_split() {
        let mut queue = Queue::new(8, 1);
        queue.write(0, map::EVENT_MOST + 4 * 2, 4);
        queue.write(0, map::EVENT_MOST + 4 * 6, 2);
        push(&mut queue, 6, 10, 15);
        check(
            &mut queue,
            [3, 0, 9, 0, 0, 0],
            0,
            expect![[r#"
            0: 0..3
            2: 0..4
            6: 10..12
            2: 4..8
            6: 12..14
            2: 8..9
            6: 14..15
        "#]],
        );
        check(
            &mut queue,
            [3, 0, 10, 1, 0, 0],
            0,
            expect![[r#"
            2: 9..10
            3: 0..1
        "#]],
        );
    }

    #[test]
    fn the_timer_ticks_and_a_limit_may_lag() {
        let mut queue = Queue::new(8, 1);
        check(
            &mut queue,
            [0, 0, 0, 0, 7, 49],
            50,
            expect![[r#"
            4: 0..7
            5: 0..50
        "#]],
        );
        check(&mut queue, [0, 0, 0, 0, 5, 98], 50, expect![]);
        check(
            &mut queue,
            [0, 0, 0, 0, 8, 99],
            50,
            expect![[r#"
            4: 7..8
            5: 99..100
        "#]],
        );
    }

    #[test]
    fn a_full_queue_loses_and_counts_events() {
        let mut queue = Queue::new(2, 1);
        queue.write(0, map::EVENT_MOST + 4 * 7, 1);
        push(&mut queue, 7, 0, 5);
        check(
            &mut queue,
            [0; SOURCES],
            0,
            expect![[r#"
            7: 0..1
            7: 1..2
        "#]],
        );
        assert_eq!(queue.lost.total(), 1);
    }

    #[test]
    fn slots_are_posted_in_order() {
        let mut queue = Queue::new(2, 1);
        let posted: Vec<_> = [1, 2, 0, 4, 3].map(|slot| queue.write(0, map::READ_READY, slot)).to_vec();
        assert_eq!(posted, [None, None, Some((0, 3)), None, Some((0, 5))]);
        assert_eq!(queue.write(0, map::WRITE_READY, 0), Some((1, 1)));
    }
}
