//! The core of arbiters, muxes, demuxes and crossbars: forwards references and returns answers.

use super::{AddressWindow, ReturnPaths, Word};
use crate::bus::{BusError, Reply, Requester, Responder};
use crate::netlist::{Memory, Site};
use crate::policy::{AccessSpan, Arbitration, Arbitrator, Contest, WaitTimes};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Time};

/// How a switch chooses the output of a reference.
pub enum Route {
    /// The output of the first window that contains the address. A last output without a window takes all other
    /// addresses.
    Address(Vec<AddressWindow>),
    /// The only output; takes references of the selected requester only.
    FromSelected(Rx<Word>),
    /// The selected output, for references of any requester.
    ToSelected(Rx<Word>),
}

/// Fixed properties of a [`Switch`].
pub struct SwitchWiring {
    /// Ports of the requesters, with their names.
    pub requesters: Vec<(String, Responder)>,
    /// Ports of the memories, with their names.
    pub outputs: Vec<(String, Requester)>,
    /// How the output is chosen.
    pub route: Route,
    /// Maximum references in flight at each output.
    pub outstanding: u32,
    /// Maximum references of a burst.
    pub burst_references: u32,
}

/// Forwards references from several requesters to several outputs, and returns the answers.
///
/// Timing:  0 cycles of its own; each channel adds its latency of at least 1. At each edge an output takes one
///           reference and returns one answer, and a requester sends one reference and gets one answer.
/// Order:   a requester's references take effect and are answered in order. A reference to another output waits until
/// all earlier ones are answered.
/// Errors:  a reference outside all windows, or beyond the end of one, gets a bus error.
pub struct Switch {
    lanes: Vec<SwitchLane>,
    outputs: Vec<Output>,
    route: Route,
    /// Index of the selected requester or output.
    selected: usize,
    waits: WaitTimes,
    burst_references: u32,
    unknown_selects: Counter,
}

/// A requester and its references in flight.
struct SwitchLane {
    name: String,
    port: Responder,
    /// The output of its references in flight, and their number.
    output: usize,
    under_way: u32,
    references: Counter,
    wait_cycles: Counter,
}

/// An output and the references in flight there.
struct Output {
    name: String,
    port: Requester,
    arbitrator: Arbitrator,
    /// Requester of each expected answer, and how long its reference waited for the grant.
    returns: ReturnPaths<(u32, Time)>,
    /// Requesters that ask for this output at this edge.
    waiting: u64,
    /// The last grant: requester, reference, and length of its burst so far.
    last: Option<(u32, AccessSpan, u32)>,
    references: Counter,
}

impl Switch {
    /// A switch with these ports; `policy` is called once for each output.
    pub fn new(wiring: SwitchWiring, mut policy: impl FnMut() -> Arbitrator) -> Switch {
        let lane = |(name, port)| SwitchLane {
            name,
            port,
            output: 0,
            under_way: 0,
            references: Counter::default(),
            wait_cycles: Counter::default(),
        };
        let output = |(name, port)| Output {
            name,
            port,
            arbitrator: policy(),
            returns: ReturnPaths::new(wiring.outstanding),
            waiting: 0,
            last: None,
            references: Counter::default(),
        };
        assert!((1..=64).contains(&wiring.requesters.len()), "a switch has 1 to 64 requesters");
        Switch {
            waits: WaitTimes::new(wiring.requesters.len()),
            lanes: wiring.requesters.into_iter().map(lane).collect(),
            outputs: wiring.outputs.into_iter().map(output).collect(),
            route: wiring.route,
            selected: 0,
            burst_references: wiring.burst_references,
            unknown_selects: Counter::default(),
        }
    }

    /// Updates the selection.
    fn update_selection(&mut self) {
        let (select, n) = match &self.route {
            Route::Address(_) => return,
            Route::FromSelected(select) => (select, self.lanes.len()),
            Route::ToSelected(select) => (select, self.outputs.len()),
        };
        while let Some(Word(which)) = select.take() {
            match usize::try_from(which) {
                Ok(which) if which < n => self.selected = which,
                _ => self.unknown_selects.add(1),
            }
        }
    }

    /// Returns at most one answer from each output and to each requester. Gives the set of requesters answered, and
    /// true if more answers can be returned at the next edge.
    fn return_answers(&mut self) -> (u64, bool) {
        let (mut answered, mut has_more) = (0u64, false);
        for output in &mut self.outputs {
            let Some(&(requester, waited)) = output.returns.next() else { continue };
            if !output.port.replies.has_item() {
                continue;
            }
            let lane = &mut self.lanes[requester as usize];
            if answered >> requester & 1 == 1 {
                has_more = true;
            } else if lane.port.replies.has_room() {
                let reply = output.port.replies.take().expect("an answer is there");
                lane.port.replies.send(reply.having_waited(waited));
                lane.under_way -= 1;
                output.returns.pop();
                answered |= 1 << requester;
                has_more |= output.port.replies.has_item();
            }
        }
        (answered, has_more)
    }

    /// Finds the output of each waiting reference, and answers those without an output with an error.
    fn find_outputs(&mut self, now: Cycle, answered: u64) -> bool {
        let (mut waiting, mut has_more) = (0, false);
        self.outputs.iter_mut().for_each(|output| output.waiting = 0);
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            if !lane.port.references.is_due(now) {
                continue;
            }
            let span = AccessSpan::from(&*lane.port.references.peek().expect("a reference is due"));
            let output = match &self.route {
                Route::Address(windows) => output_for(windows, self.outputs.len(), span),
                Route::FromSelected(_) if self.selected != i => continue,
                Route::FromSelected(_) => Ok(0),
                Route::ToSelected(_) => Ok(self.selected),
            };
            match output {
                Ok(output) if lane.under_way == 0 || lane.output == output => {
                    self.outputs[output].waiting |= 1 << i;
                    waiting |= 1 << i;
                }
                _ if lane.under_way > 0 => {} // An answer wakes us.
                _ if answered >> i & 1 == 1 => has_more = true,
                Err(error) if lane.port.replies.has_room() => {
                    let id = lane.port.references.take().expect("a reference is due").id;
                    lane.port.replies.send(Reply::new(id, Err(error)));
                    has_more |= lane.port.references.has_item();
                }
                _ => {} // Room for the reply wakes us.
            }
        }
        self.waits.update(now, waiting);
        has_more
    }

    /// Grants one of the requesters of an output.
    fn grant(&mut self, now: Cycle, which: usize) -> bool {
        let output = &mut self.outputs[which];
        if output.waiting == 0 || !output.returns.has_room() || !output.port.references.has_room() {
            return false; // A reference, an answer or room wakes us.
        }
        let span =
            |who: u32| self.lanes[who as usize].port.references.peek().map(|reference| AccessSpan::from(&*reference));
        let continues = match output.last {
            Some((who, last, length)) if output.waiting >> who & 1 == 1 && length < self.burst_references => {
                u64::from(span(who).is_some_and(|span| span.continues(&last))) << who
            }
            _ => 0,
        };
        let contest = Contest { now, waiting: output.waiting, continues, since: self.waits.since() };
        let winner = output.arbitrator.choose(&contest);
        let length = match output.last {
            Some((_, _, length)) if continues >> winner & 1 == 1 => length + 1,
            _ => 1,
        };
        output.last = span(winner).map(|span| (winner, span, length));
        let has_rivals = self.lanes.len() > 1;
        let lane = &mut self.lanes[winner as usize];
        let wait_cycles = self.waits.granted(now, winner);
        lane.wait_cycles.add(wait_cycles);
        // A single requester never waits for another.
        let waited = if has_rivals { lane.port.span(now - wait_cycles, now) } else { Time::ZERO };
        let mut reference = lane.port.references.take().expect("a granted requester has a reference");
        if let Route::Address(windows) = &self.route
            && let Some(window) = windows.get(which)
        {
            reference.addr = reference.addr - window.base + window.becomes;
        }
        output.port.references.send(reference);
        output.returns.push((winner, waited));
        output.references.add(1);
        lane.references.add(1);
        lane.output = which;
        lane.under_way += 1;
        output.waiting & !(1 << winner) != 0 || lane.port.references.has_item()
    }
}

/// The output for an access.
fn output_for(windows: &[AddressWindow], n_outputs: usize, span: AccessSpan) -> Result<usize, BusError> {
    match windows.iter().position(|window| window.contains(span.addr)) {
        Some(which) => {
            let behind = windows[which].bytes - (span.addr - windows[which].base);
            if u64::from(span.bytes) <= behind { Ok(which) } else { Err(BusError::Nowhere(span.addr + behind)) }
        }
        None if windows.len() < n_outputs => Ok(windows.len()),
        None => Err(BusError::Nowhere(span.addr)),
    }
}

impl Component for Switch {
    fn tick(&mut self, now: Cycle) -> Activity {
        self.update_selection();
        let (answered, mut has_more) = self.return_answers();
        has_more |= self.find_outputs(now, answered);
        for which in 0..self.outputs.len() {
            has_more |= self.grant(now, which);
        }
        if has_more { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.lanes.iter().for_each(|lane| lane.port.port(&lane.name, ports));
        self.outputs.iter().for_each(|output| output.port.port(&output.name, ports));
        if let Route::FromSelected(select) | Route::ToSelected(select) = &self.route {
            ports.input("select", select);
        }
    }

    fn counters(&self, counters: &mut CounterList) {
        for lane in &self.lanes {
            counters.add(&format!("{}.references", lane.name), lane.references.total());
            counters.add(&format!("{}.wait_cycles", lane.name), lane.wait_cycles.total());
        }
        for output in &self.outputs {
            counters.add(&format!("{}.references", output.name), output.references.total());
        }
        if !matches!(self.route, Route::Address(_)) {
            counters.add("unknown_selects", self.unknown_selects.total());
        }
    }
}

/// The ports `requesters[i]`.
pub fn responders(site: &mut Site, n: usize) -> Vec<(String, Responder)> {
    (0..n).map(|i| format!("requesters[{i}]")).map(|name| (name.clone(), site.to::<Memory>(&name))).collect()
}

/// The ports `outputs[i]`.
pub(super) fn requesters(site: &mut Site, n: usize) -> Vec<(String, Requester)> {
    (0..n).map(|i| format!("outputs[{i}]")).map(|name| (name.clone(), site.from::<Memory>(&name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::testing::{scripted_requester, scripted_responder};
    use expect_test::{Expect, expect};

    /// Two memories of 256 bytes that answer at once: `>` at 0x100, and `>>` at 0x200, which sees addresses from 0.
    fn check(requesters: &[&str], want: Expect) {
        want.assert_eq(&testkit::bench(200, |bench| {
            let asks =
                |(text, name): (&&str, char)| (name.to_string(), scripted_requester(bench, &name.to_string(), text, 0));
            let requesters = requesters.iter().zip('a'..).map(asks).collect();
            let outputs = [">", ">>"].map(|name| (name.to_owned(), scripted_responder(bench, name, 0))).into();
            let window = |base, becomes| AddressWindow { base, bytes: 256, becomes };
            let route = Route::Address(vec![window(0x100, 0x100), window(0x200, 0)]);
            let wiring = SwitchWiring { requesters, outputs, route, outstanding: 2, burst_references: 4 };
            bench.add("it", Switch::new(wiring, || Policy::RoundRobin {}.start()));
        }));
    }

    #[test]
    fn a_switch_adds_no_cycle_of_its_own() {
        check(
            &["1 r 100+4; 2 r 104+4; 3 r 108+4; 4 r 10c+4; 5 r 110+4"],
            expect![[r#"
            2    > r 100+4
            3    > r 104+4
            4    > r 108+4
            4    a 0 00010203
            5    > r 10c+4
            5    a 1 04050607
            6    > r 110+4
            6    a 2 08090a0b
            7    a 3 0c0d0e0f
            8    a 4 10111213
        "#]],
        );
    }

    #[test]
    fn each_output_takes_one_reference_per_cycle() {
        check(
            &["1 r 100+1; 1 r 101+1", "1 r 110+1; 1 r 111+1", "1 r 220+1; 1 r 221+1"],
            expect![[r#"
                2    > r 100+1
                2    >> r 20+1
                3    > r 110+1
                3    >> r 21+1
                4    > r 101+1
                4    a 0 00
                4    c 0 20
                5    > r 111+1
                5    b 0 10, waited 1 ns
                5    c 1 21
                6    a 1 01, waited 1 ns
                7    b 1 11, waited 1 ns
            "#]],
        );
    }

    #[test]
    fn a_requesters_references_keep_their_order_across_outputs() {
        check(
            &["1 w 100=01; 1 w 200=02; 1 w 101=03; 1 w 102=04"],
            expect![[r#"
            2    > w 100=01
            4    >> w 0=02
            4    a 0 done
            6    > w 101=03
            6    a 1 done
            7    > w 102=04
            8    a 2 done
            9    a 3 done
        "#]],
        );
    }

    #[test]
    fn an_address_outside_all_windows_is_an_error() {
        check(
            &["1 r 100+1; 1 r 0+1; 1 r 1ff+2; 1 r 300+1; 1 r ffffffffffffffff+8"],
            expect![[r#"
            2    > r 100+1
            4    a 0 00
            5    a 1 nothing answers at 0x0
            6    a 2 nothing answers at 0x200
            7    a 3 nothing answers at 0x300
            8    a 4 nothing answers at 0xffffffffffffffff
        "#]],
        );
    }
}
