//! The parts of a packet's time, from its trail.

use crate::milestones::Parts;
use kernel::Cycle;
use panic::protocol::{Mark, NodeId, PacketStep, Trail};

kernel::words! {
    /// Parts of a packet's time from its first bytes in to its first bytes out, in the order of time.
    pub enum Part {
        /// From its first bytes until its descriptor went into the interconnect: line and RMT pipeline.
        Ingress = "ingress",
        /// In the interconnect.
        Interconnect = "interconnect",
        /// In the scheduler.
        Queueing = "queueing",
        /// From the refusal by a unit until another unit took it.
        Detours = "detours",
        /// In a unit, before its engine began and after it was done.
        UnitWait = "unit_wait",
        /// In engines, from when they began to when they were done.
        Service = "service",
    }
}

/// Number of parts.
pub const N_PARTS: usize = Part::ALL.len();

/// A visit of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// Cycles of the visit, by part. A visit begins on the way to the unit and ends when the packet leaves the unit.
    pub parts: [Cycle; N_PARTS],
    /// The unit that took the packet; `None` if no unit did.
    pub unit: Option<NodeId>,
    /// The time at which it entered the scheduler for this service, if it did.
    pub queued: Option<Cycle>,
    /// When it left the scheduler for the last time.
    pub scheduled: Option<Cycle>,
    /// When the unit took it.
    pub taken: Option<Cycle>,
    /// When the engine began with it.
    pub begun: Option<Cycle>,
    /// When the engine was done with it.
    pub finished: Option<Cycle>,
    /// When it left the unit.
    pub done: Option<Cycle>,
    /// Number of refusals by units.
    pub detours: u32,
}

impl Visit {
    /// Returns true if the previous unit pushed it there, without the scheduler.
    pub fn is_pushed(&self) -> bool {
        self.taken.is_some() && self.queued.is_none()
    }
}

/// A packet's way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// When its first bytes came.
    pub arrived: Cycle,
    /// When its descriptor went into the interconnect.
    pub entered: Option<Cycle>,
    /// When its first bytes left the interconnect.
    pub leaving: Option<Cycle>,
    /// When its last bytes left.
    pub left: Option<Cycle>,
    /// Services, in order; the last visit may be incomplete.
    pub visits: Vec<Visit>,
    /// All its cycles.
    pub parts: [Cycle; N_PARTS],
}

impl Way {
    /// Reads a trail.
    pub fn of(trail: &Trail) -> Way {
        let mut way = Way::default();
        let mut parts = Parts::from(trail.marks().first().map_or(0, |mark| mark.at));
        // The visit in progress.
        let mut visit: Option<Visit> = None;
        let mut is_detoured = false;
        let mut last: Option<PacketStep> = None;
        for &mark in trail.marks() {
            let part = part_before(last, is_detoured, mark.step);
            let cycles = match part {
                Some(part) => parts.end(part as usize, Some(mark.at)),
                None => parts.pass(Some(mark.at)),
            };
            match mark.step {
                PacketStep::Arrived => way.arrived = mark.at,
                PacketStep::Entered => way.entered = Some(mark.at),
                PacketStep::Leaving => way.leaving = Some(mark.at),
                PacketStep::Left => way.left = Some(mark.at),
                PacketStep::Unserved => {}
                _ => {
                    let visit = visit.get_or_insert_default();
                    visit.parts[part.expect("a step of a visit ends a part") as usize] += cycles;
                    visit.mark(mark);
                }
            }
            match mark.step {
                PacketStep::Refused => is_detoured = true,
                PacketStep::Taken => is_detoured = false,
                PacketStep::Done => way.visits.extend(visit.take()),
                _ => {}
            }
            last = Some(mark.step);
        }
        way.visits.extend(visit);
        way.parts = parts.cycles;
        way
    }

    /// From its first bytes in to its first bytes out.
    pub fn latency(&self) -> Option<Cycle> {
        Some(self.leaving? - self.arrived)
    }
}

/// The part that a step ends; none if its time is not counted.
pub(super) fn part_before(last: Option<PacketStep>, is_detoured: bool, step: PacketStep) -> Option<Part> {
    match (last, step) {
        (_, PacketStep::Left) => None,
        _ if is_detoured => Some(Part::Detours),
        (_, PacketStep::Arrived | PacketStep::Unserved) => None,
        (_, PacketStep::Entered) => Some(Part::Ingress),
        (_, PacketStep::Scheduled) => Some(Part::Queueing),
        (Some(PacketStep::Taken), PacketStep::Begun | PacketStep::Finished)
        | (Some(PacketStep::Finished), PacketStep::Done) => Some(Part::UnitWait),
        (_, PacketStep::Begun | PacketStep::Finished | PacketStep::Done) => Some(Part::Service),
        (_, PacketStep::Queued | PacketStep::Taken | PacketStep::Refused | PacketStep::Leaving) => {
            Some(Part::Interconnect)
        }
    }
}

impl Visit {
    fn mark(&mut self, mark: Mark) {
        let at = Some(mark.at);
        match mark.step {
            PacketStep::Queued => _ = self.queued.get_or_insert(mark.at),
            PacketStep::Scheduled => self.scheduled = at,
            PacketStep::Refused => self.detours += 1,
            PacketStep::Taken => (self.taken, self.unit) = (at, Some(mark.node)),
            PacketStep::Begun => self.begun = at,
            PacketStep::Finished => self.finished = at,
            PacketStep::Done => self.done = at,
            PacketStep::Arrived
            | PacketStep::Unserved
            | PacketStep::Entered
            | PacketStep::Leaving
            | PacketStep::Left => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Marks such as `arrived@0 queued@9:0`: step, cycle, node.
    fn check(marks: &str, want: Expect) {
        let mut trail = Trail::default();
        for word in marks.split_whitespace() {
            let (step, rest) = word.split_once('@').expect("a mark has a cycle");
            let (at, node) = rest.split_once(':').unwrap_or((rest, "2"));
            let step = match step {
                "arrived" => PacketStep::Arrived,
                "entered" => PacketStep::Entered,
                "queued" => PacketStep::Queued,
                "scheduled" => PacketStep::Scheduled,
                "taken" => PacketStep::Taken,
                "refused" => PacketStep::Refused,
                "begun" => PacketStep::Begun,
                "finished" => PacketStep::Finished,
                "done" => PacketStep::Done,
                "leaving" => PacketStep::Leaving,
                "left" => PacketStep::Left,
                _ => panic!("no step is called {step}"),
            };
            trail.mark(at.parse().expect("a cycle"), step, NodeId(node.parse().expect("a node")));
        }
        let way = Way::of(&trail);
        let mut text = format!("{:?} {:?}\n", way.latency(), way.parts);
        for visit in &way.visits {
            let Visit { parts, unit, detours, .. } = visit;
            let unit = unit.map_or(-1, |node| i32::from(node.0));
            text += &format!("unit {unit}, pushed {}, detours {detours}: {parts:?}\n", visit.is_pushed());
        }
        if let Some(latency) = way.latency() {
            assert_eq!(latency, way.parts.iter().sum::<Cycle>(), "parts add up");
        }
        want.assert_eq(&text);
    }

    #[test]
    fn parts_add_up_and_belong_to_visits() {
        check(
            "arrived@10 entered@12 queued@20:0 scheduled@55:0 taken@66:4 begun@70:4 done@90:4 taken@101:6 begun@101:6 \
             done@130:6 leaving@141:1 left@150:1",
            expect![[r#"
                Some(131) [2, 41, 35, 0, 4, 49]
                unit 4, pushed false, detours 0: [0, 19, 35, 0, 4, 20]
                unit 6, pushed true, detours 0: [0, 11, 0, 0, 0, 29]
            "#]],
        );
    }

    #[test]
    fn in_a_unit_waiting_is_no_service() {
        check(
            "arrived@10 entered@12 queued@20:0 scheduled@55:0 taken@66:4 begun@80:4 finished@90:4 done@97:4 leaving@108:1",
            expect![[r#"
                Some(98) [2, 30, 35, 0, 21, 10]
                unit 4, pushed false, detours 0: [0, 19, 35, 0, 21, 10]
            "#]],
        );
    }

    #[test]
    fn a_detour_is_all_that_came_of_a_refusal() {
        check(
            "arrived@0 entered@1 queued@10:0 scheduled@40:0 taken@50:4 begun@50:4 done@60:4 refused@70:6 queued@80:0 \
             scheduled@95:0 taken@105:7 begun@106:7 done@120:7 leaving@130:1 left@131:1",
            expect![[r#"
                Some(130) [1, 39, 30, 35, 1, 24]
                unit 4, pushed false, detours 0: [0, 19, 30, 0, 0, 10]
                unit 7, pushed false, detours 1: [0, 10, 0, 35, 1, 14]
            "#]],
        );
    }

    #[test]
    fn what_broke_off_is_told_as_far_as_it_came() {
        check(
            "arrived@3",
            expect![[r#"
            None [0, 0, 0, 0, 0, 0]
        "#]],
        );
        check(
            "arrived@3 entered@4 queued@9:0",
            expect![[r#"
            None [1, 5, 0, 0, 0, 0]
            unit -1, pushed false, detours 0: [0, 5, 0, 0, 0, 0]
        "#]],
        );
    }
}
