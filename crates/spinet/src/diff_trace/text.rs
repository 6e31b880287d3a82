//! A report for people.

use super::report::{Difference, Instruction, Report, TimeDifference, Total, ValueDifference};
use crate::summary::grouped;
use std::fmt::{self, Display, Formatter};

/// Maximum number of rows of a table in the report.
const ROWS: usize = 10;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (side, names) in [("A", &self.only_a), ("B", &self.only_b)] {
            for name in names {
                writeln!(f, "only in {side}: {name}")?;
            }
        }
        if self.files.len() > 1 {
            overview(self, f)?;
            // Details are shown for the first differing file only.
            return match self.files.iter().find(|file| !file.equal) {
                Some(first) => write!(f, "\n{first}"),
                None => Ok(()),
            };
        }
        self.files.iter().try_for_each(|file| write!(f, "{file}"))
    }
}

fn overview(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let mut rows = vec![["", "instructions", "values", "times", "cycles of A", "B - A"].map(String::from)];
    for file in &report.files {
        let name = file.a.file.rsplit('/').next().unwrap_or_default();
        let (values, times) = (file.values.differences, file.time.differences);
        let net = signed(file.time.b_minus_a);
        rows.push([name.into(), grouped(file.compared), grouped(values), grouped(times), grouped(file.a.cycles), net]);
    }
    let (files, n) = (&report.files, report.files.iter().filter(|file| !file.equal).count());
    writeln!(f, "{} of {} traces differ", n, files.len())?;
    writeln!(f)?;
    table(&rows, f)
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let (instructions, cycles) = (plural(side.instructions, "instruction"), plural(side.cycles, "cycle"));
            writeln!(f, "{name}  {}: {instructions}, {cycles}", side.file)?;
        }
        if self.equal {
            return writeln!(f, "\nThe same: {} instructions, their values and times", grouped(self.compared));
        }
        self.values(f)?;
        self.times(f)
    }
}

impl Difference {
    fn values(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = self.values.first.first() else {
            return writeln!(f, "\nValues: the same in all {} instructions", grouped(self.compared));
        };
        writeln!(f, "\nValues: first {}", what(first))?;
        for (name, instruction) in [("A", &first.a), ("B", &first.b)] {
            match instruction {
                Some(instruction) => line(name, instruction, f)?,
                None => writeln!(f, "  {name}  at its end")?,
            }
        }
        let kinds: Vec<_> =
            self.values.by_kind.iter().map(|(kind, n)| format!("{} {}", grouped(*n), kind.text())).collect();
        let more = if self.values.differences > 1 { format!(": {}", kinds.join(", ")) } else { String::new() };
        let differences = plural(self.values.differences, "difference");
        writeln!(f, "  {differences} in {}{more}", plural(self.compared, "instruction"))?;
        if self.apart.times > 0 {
            let [a, b] = self.apart.instructions.map(grouped);
            let times = plural(self.apart.times, "time");
            writeln!(f, "  the runs diverged {times}: {a} instructions only in A, {b} only in B")?;
        }
        if let Some([a, b]) = self.rest.map(|rest| rest.map(grouped)) {
            writeln!(f, "  they never meet again: {a} instructions of A and {b} of B are not compared")?;
        }
        Ok(())
    }

    fn times(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = &self.time.first else {
            if self.compared < 2 {
                return Ok(());
            }
            return writeln!(f, "\nTime: the same in all {} instructions", grouped(self.compared));
        };
        let TimeDifference { cause, cycles: [a, b], .. } = first;
        let (pc, a, cause) = (first.a[0].pc, plural(*a, "cycle"), cause.text());
        writeln!(f, "\nTime: first from {pc:08x} to the next: {a} in A, {b} in B: {cause}")?;
        for (name, instructions) in [("A", &first.a), ("B", &first.b)] {
            instructions.iter().try_for_each(|instruction| line(name, instruction, f))?;
        }
        let net = signed(self.time.b_minus_a);
        writeln!(f, "  {}; B - A is {net} cycles in all", plural(self.time.differences, "difference"))?;
        let total = |total: &Total| {
            [grouped(total.times), signed(total.b_slower as i64), signed(-(total.b_faster as i64)), signed(total.net())]
        };
        let head = |first: &[&str]| {
            first.iter().chain(&["times", "B slower", "B faster", "B - A"]).map(|&s| s.to_owned()).collect::<Vec<_>>()
        };
        let row = |first: Vec<String>, sums: &Total| first.into_iter().chain(total(sums)).collect::<Vec<_>>();
        let mut rows = vec![head(&["cause"])];
        rows.extend(self.time.by_cause.iter().map(|by| row(vec![by.cause.text().into()], &by.total)));
        writeln!(f)?;
        table(&rows, f)?;
        if !self.time.by_function.is_empty() {
            let mut rows = vec![head(&["function"])];
            rows.extend(self.time.by_function.iter().take(ROWS).map(|by| row(vec![by.function.clone()], &by.total)));
            writeln!(f)?;
            table(&rows, f)?;
        }
        let mut rows = vec![head(&["address", "cause"])];
        let place = |pc: u32, place: &Option<String>| match place {
            Some(place) => format!("{pc:08x} {place}"),
            None => format!("{pc:08x}"),
        };
        let places = self.time.by_place.iter().take(ROWS);
        rows.extend(places.map(|by| row(vec![place(by.pc, &by.place), by.cause.text().into()], &by.total)));
        writeln!(f)?;
        table(&rows, f)
    }
}

fn what(difference: &ValueDifference) -> String {
    let shown = |value: Option<u32>| value.map_or("nothing".into(), |value| format!("{value:08x}"));
    let values = match (difference.value_a, difference.value_b) {
        (None, None) => String::new(),
        (a, b) => format!(": {} in A, {} in B", shown(a), shown(b)),
    };
    let register = difference.register.map_or(String::new(), |register| format!(" {register}"));
    format!("difference, {}{register}{values}", difference.kind.text())
}

fn line(name: &str, instruction: &Instruction, f: &mut Formatter<'_>) -> fmt::Result {
    let Instruction { line, cycle, pc, place, text } = instruction;
    let place = place.as_ref().map_or(String::new(), |place| format!(" {place}"));
    writeln!(f, "  {name}  line {line:<6} cycle {cycle:<8} {pc:08x}{place}  {text}")
}

/// Columns side by side: texts are left-aligned, numbers are right-aligned.
fn table<R: AsRef<[String]>>(rows: &[R], f: &mut Formatter<'_>) -> fmt::Result {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |i: usize| rows.iter().map(|row| row.as_ref()[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    let is_number =
        |i: usize| rows[1..].iter().all(|row| row.as_ref()[i].starts_with(|c: char| "+-0123456789".contains(c)));
    let is_right: Vec<_> = (0..columns).map(|i| i > 0 && is_number(i)).collect();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths).zip(&is_right);
        let cells = cells
            .map(|((cell, width), right)| if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") });
        let text = cells.collect::<Vec<_>>().join("  ");
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}

fn signed(n: i64) -> String {
    let sign = match n {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", grouped(n.unsigned_abs()))
}

fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}
