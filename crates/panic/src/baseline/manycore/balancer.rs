//! The load balancer: distributes packets over cores.

use super::super::queue::Intake;
use super::Balance;
use crate::protocol::{Flit, Leg, NodeId};
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};
use std::collections::VecDeque;

/// A queue for each core, in one drop-tail buffer; a core gets its next packet when it has room for one.
///
/// Ports:    `in[i]`, `out`, one flit a cycle each; `done[i]` from core i, when a packet has left it.
/// Timing:   adds 0 cycles; a packet is forwarded while it arrives.
/// Fairness: round robin among the cores that have room and a waiting packet.
/// Source:   2.2.2.
pub(super) struct Balancer {
    balance: Balance,
    /// Maximum number of packets of a core.
    packets: u32,
    nodes: Vec<NodeId>,
    intake: Intake,
    output: Tx<Flit>,
    done_rx: Vec<Rx<()>>,
    cores: Vec<Waiting>,
    /// The core considered first for the next arriving packet, and for the next packet sent.
    turns: [usize; 2],
    /// Core and place of the packet being sent.
    sending: Option<usize>,
}

#[derive(Default)]
struct Waiting {
    /// Places of its waiting packets, in order.
    queue: VecDeque<usize>,
    /// Number of packets at the core.
    held: u32,
}

impl Balancer {
    /// A balancer in front of idle cores.
    pub fn new(
        balance: Balance,
        packets: u32,
        nodes: Vec<NodeId>,
        intake: Intake,
        output: Tx<Flit>,
        done_rx: Vec<Rx<()>>,
    ) -> Balancer {
        let cores = nodes.iter().map(|_| Waiting::default()).collect();
        Balancer { balance, packets, nodes, intake, output, done_rx, cores, turns: [0; 2], sending: None }
    }

    fn receive(&mut self, now: Cycle) -> bool {
        let Balancer { balance, intake, cores, turns: [turn, _], .. } = self;
        let n = cores.len();
        intake.receive(now, |place, message| {
            let core = match balance {
                Balance::Flow => message.descriptor.flow as usize % n,
                Balance::RoundRobin => *turn,
                Balance::Fewest => {
                    let load = |core: &usize| cores[*core].queue.len() + cores[*core].held as usize;
                    (*turn..n).chain(0..*turn).min_by_key(load).expect("there must be a core")
                }
            };
            *turn = (core + 1) % n;
            cores[core].queue.push_back(place);
        })
    }

    fn send(&mut self, now: Cycle) -> bool {
        if self.sending.is_none() {
            let n = self.cores.len();
            let can_send = |&core: &usize| {
                let Waiting { queue, held } = &self.cores[core];
                *held < self.packets && !queue.is_empty()
            };
            self.sending = (self.turns[1]..n).chain(0..self.turns[1]).find(can_send);
        }
        let Some(core) = self.sending else { return false };
        let Waiting { queue, held } = &mut self.cores[core];
        let place = *queue.front().expect("a packet must be waiting");
        if !self.intake.has_flit(now, place) || !self.output.has_room() {
            return false;
        }
        let mut flit = self.intake.read(now, place);
        match &mut flit {
            Flit::Head(message) => {
                *held += 1;
                message.descriptor.home = self.nodes[core];
                (message.to, message.leg) = (self.nodes[core], Leg::Paid);
            }
            Flit::Body => {}
            Flit::Tail => {
                queue.pop_front();
                self.sending = None;
                self.turns[1] = (core + 1) % self.nodes.len();
            }
        }
        self.output.send(flit);
        true
    }
}

impl Component for Balancer {
    fn tick(&mut self, now: Cycle) -> Activity {
        for (done_rx, core) in self.done_rx.iter().zip(&mut self.cores) {
            while done_rx.take().is_some() {
                core.held -= 1;
            }
        }
        let has_received = self.receive(now);
        let has_sent = self.send(now);
        if has_received || has_sent { Activity::Busy } else { Activity::Idle }
    }

    fn ports(&self, ports: &mut Ports) {
        self.intake.ports(ports);
        ports.output("out", &self.output);
        ports.inputs("done", &self.done_rx);
    }

    fn counters(&self, counters: &mut CounterList) {
        self.intake.counters(counters);
    }
}
