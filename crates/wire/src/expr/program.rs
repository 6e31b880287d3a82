//! Expressions as decision lists: each node tests a condition and names the next node.

use super::ast::{Expr, Op};
use super::field::{Field, Load};
use crate::layers::{Layer, Layers};

/// Nodes in reverse: a node refers only to earlier nodes, so every evaluation ends.
#[derive(Clone, Debug)]
pub(super) struct Program {
    nodes: Vec<Node>,
    entry: u32,
}

#[derive(Clone, Debug)]
struct Node {
    test: Test,
    yes: u32,
    no: u32,
}

/// Every comparison becomes a test for ranges, whose bounds are inclusive.
#[derive(Clone, Debug)]
enum Test {
    Present(Layer),
    Within {
        load: Load,
        low: u128,
        high: u128,
    },
    /// The packet has the field with another value.
    Differs {
        load: Load,
        from: u128,
    },
    /// Sorted ranges that are neither adjacent nor overlapping.
    OneOf {
        load: Load,
        ranges: Box<[(u128, u128)]>,
    },
}

const ACCEPT: u32 = u32::MAX;
const REJECT: u32 = u32::MAX - 1;

impl Program {
    pub(super) fn of(expr: &Expr) -> Self {
        let mut program = Self { nodes: Vec::new(), entry: REJECT };
        program.entry = program.add(expr, ACCEPT, REJECT);
        program
    }

    /// Adds nodes for `expr` that lead to `yes` or `no`. Returns the first node to evaluate.
    fn add(&mut self, expr: &Expr, yes: u32, no: u32) -> u32 {
        match expr {
            Expr::Constant(true) => yes,
            Expr::Constant(false) => no,
            Expr::Not(inner) => self.add(inner, no, yes),
            Expr::All(members) => members.iter().rev().fold(yes, |next, member| self.add(member, next, no)),
            Expr::Any(members) => members.iter().rev().fold(no, |next, member| self.add(member, yes, next)),
            Expr::Present(layer) => self.node(Test::Present(*layer), yes, no),
            Expr::Flag(field) => self.node(Test::Within { load: field.load, low: 1, high: 1 }, yes, no),
            Expr::Compare { field, op, value } => self.node(compare(field, *op, value.bits), yes, no),
            Expr::In { field, items } => {
                let ranges = merged(items.iter().map(|item| item.bounds(field.kind)).collect());
                let test = match ranges[..] {
                    [(low, high)] => Test::Within { load: field.load, low, high },
                    _ => Test::OneOf { load: field.load, ranges: ranges.into() },
                };
                self.node(test, yes, no)
            }
        }
    }

    fn node(&mut self, test: Test, yes: u32, no: u32) -> u32 {
        self.nodes.push(Node { test, yes, no });
        self.nodes.len() as u32 - 1
    }

    pub(super) fn run(&self, packet: &[u8], layers: &Layers, external: &[Option<u128>]) -> bool {
        let mut at = self.entry;
        while let Some(node) = self.nodes.get(at as usize) {
            at = if node.test.holds(packet, layers, external) { node.yes } else { node.no };
        }
        at == ACCEPT
    }
}

impl Test {
    fn holds(&self, packet: &[u8], layers: &Layers, external: &[Option<u128>]) -> bool {
        match self {
            Self::Present(layer) => layers.has(*layer),
            Self::Within { load, low, high } => {
                load.value(packet, layers, external).is_some_and(|v| *low <= v && v <= *high)
            }
            Self::Differs { load, from } => load.value(packet, layers, external).is_some_and(|v| v != *from),
            Self::OneOf { load, ranges } => load.value(packet, layers, external).is_some_and(|v| {
                let after = ranges.partition_point(|(low, _)| *low <= v);
                after > 0 && v <= ranges[after - 1].1
            }),
        }
    }
}

/// The parser has rejected comparisons that are always false, so every bound is within the field's range.
fn compare(field: &Field, op: Op, value: u128) -> Test {
    let (load, max) = (field.load, field.kind.max());
    let (low, high) = match op {
        Op::Ne => return Test::Differs { load, from: value },
        Op::Eq => (value, value),
        Op::Lt => (0, value - 1),
        Op::Le => (0, value),
        Op::Gt => (value + 1, max),
        Op::Ge => (value, max),
    };
    Test::Within { load, low, high }
}

/// The same values as sorted ranges that are neither adjacent nor overlapping.
fn merged(mut ranges: Vec<(u128, u128)>) -> Vec<(u128, u128)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}
