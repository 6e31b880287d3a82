//! Writes schedules, as text and in the binary form.

use super::binary::{BASE, COOKIE, HEADER, NODE};
use super::builder::signed;
use super::{Dependent, Kind, Op, Schedule};
use std::io::{self, Write};

/// Writes the text form. The label of operation *n* of a rank is `l` followed by the number *n* + 1.
pub fn text(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "num_ranks {}", schedule.n_ranks())?;
    for rank in 0..schedule.n_ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        let lines = dependencies(schedule, rank);
        let mut lines = lines.iter().peekable();
        for (number, op) in schedule.rank(rank).iter().enumerate() {
            write!(out, "l{}: ", number + 1)?;
            operation(op, out)?;
            while let Some((_, of, dependent)) = lines.next_if(|line| line.0 as usize == number) {
                let word = if dependent.on_start { "irequires" } else { "requires" };
                writeln!(out, "l{} {word} l{}", dependent.op + 1, of + 1)?;
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn operation(op: &Op, out: &mut impl Write) -> io::Result<()> {
    let Op { size, peer, tag, kind, cpu, nic, .. } = *op;
    match kind {
        Kind::Calc => write!(out, "calc {size}")?,
        Kind::Send => write!(out, "send {size}b to {peer} tag {}", signed(tag))?,
        Kind::Recv => write!(out, "recv {size}b from {} tag {}", signed(peer), signed(tag))?,
    }
    for (name, value) in [("cpu", cpu), ("nic", nic)] {
        if value != 0 {
            write!(out, " {name} {value}")?;
        }
    }
    writeln!(out)
}

/// The dependencies of a rank in the order of their lines: the operation after which the line is written, the operation
/// that is waited for, and the operation that waits.
///
/// The line of a dependency follows both of its operations. Dependents of one operation keep their order, so a reader
/// releases them in the same order.
fn dependencies(schedule: &Schedule, rank: u32) -> Vec<(u32, u32, Dependent)> {
    let mut lines = Vec::new();
    for (of, op) in schedule.range(rank).enumerate() {
        let of = of as u32;
        let mut behind = [of; 2];
        for dependent in schedule.dependents(op) {
            let behind = &mut behind[usize::from(dependent.on_start)];
            *behind = (*behind).max(dependent.op);
            lines.push((*behind, of, dependent));
        }
    }
    lines.sort_by_key(|line| line.0);
    lines
}

/// Writes the binary form.
pub fn binary(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    let open = schedule.open_dependencies();
    out.write_all(&COOKIE.to_le_bytes())?;
    out.write_all(&schedule.n_ranks().to_le_bytes())?;
    out.write_all(&[schedule.highest_cpu(), schedule.highest_nic()])?;
    let mut position = (HEADER - BASE + 16 * schedule.n_ranks() as usize) as u64;
    for rank in 0..schedule.n_ranks() {
        let range = schedule.range(rank);
        let n_roots = open[range.clone()].iter().filter(|&&open| open == 0).count();
        let n_dependents: usize = range.clone().map(|op| schedule.dependents(op).count()).sum();
        let end = position + (8 + 4 * n_roots + NODE * range.len() + 4 * n_dependents) as u64;
        out.write_all(&position.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        position = end;
    }
    for rank in 0..schedule.n_ranks() {
        let range = schedule.range(rank);
        let roots: Vec<u32> =
            open[range.clone()].iter().enumerate().filter(|(_, open)| **open == 0).map(|(op, _)| op as u32).collect();
        out.write_all(&(range.len() as u32).to_le_bytes())?;
        out.write_all(&(roots.len() as u32).to_le_bytes())?;
        roots.iter().try_for_each(|root| out.write_all(&root.to_le_bytes()))?;
        let mut first = 0_u32;
        for op in range.clone() {
            let Op { size, peer, tag, kind, cpu, nic, .. } = schedule.ops()[op];
            out.write_all(&open[op].to_le_bytes())?;
            out.write_all(&[kind as u8])?;
            out.write_all(&peer.to_le_bytes())?;
            out.write_all(&size.to_le_bytes())?;
            out.write_all(&tag.to_le_bytes())?;
            out.write_all(&[cpu, nic])?;
            for on_start in [false, true] {
                let count = schedule.dependents(op).filter(|dependent| dependent.on_start == on_start).count() as u32;
                out.write_all(&count.to_le_bytes())?;
                out.write_all(&first.to_le_bytes())?;
                first += count;
            }
        }
        for dependent in range.flat_map(|op| schedule.dependents(op)) {
            out.write_all(&dependent.op.to_le_bytes())?;
        }
    }
    Ok(())
}
