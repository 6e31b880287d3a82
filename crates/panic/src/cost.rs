//! FPGA cost of a NIC: percent of the prototype's look-up tables and block memory, scaled from the published numbers.
//!
//! Source of every number: Lin et al., OSDI 2020, Table 4 and 7.5: Xilinx VU3P-2, 394 thousand LUTs, 3 MB of block memory. Each
//! part states the rule that scales it to other shapes.

/// The sizes on which the cost depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Ports of the crossbar.
    pub ports: u32,
    /// Width of the crossbar.
    pub flit_bytes: u32,
    /// Entries of all logical PIFOs together.
    pub pifo_entries: u32,
    /// Size of the packet buffer.
    pub buffer_bytes: u64,
}

/// A part of the NIC with its cost. The cost of a part with sub-parts is their sum.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct PartCost {
    /// Depth in the tree of parts; the NIC has depth 0.
    pub depth: u32,
    /// Name in Table 4.
    pub name: &'static str,
    /// Percent of the look-up tables.
    pub luts_percent: f64,
    /// Percent of the block memory.
    pub bram_percent: f64,
    /// How the cost scales.
    pub rule: &'static str,
}

/// Percent of LUTs and of block memory.
type Cost = (f64, f64);

// Each pair holds the cost at the first and at the second size.
const CROSSBAR: [(f64, f64); 2] = [(8.0, 5.5), (16.0, 13.64)]; // ports, LUTs
const CROSSBAR_BYTES: f64 = 64.0;
const PIFO: [(f64, f64); 2] = [(256.0, 4.9), (512.0, 9.42)]; // entries, LUTs
const SCHEDULER: [(f64, f64); 2] = [(256.0, 5.18), (512.0, 9.95)]; // entries, LUTs, with everything around the PIFO
const PIFO_BRAM: f64 = 0.01;
const SCHEDULER_BRAM: f64 = 0.07;
const BUFFER_BYTES: f64 = 256.0 * 1024.0;
const BUFFER: Cost = (0.16, 8.94);
const RMT: Cost = (0.27, 0.0);

/// Lists the parts of a NIC; each part comes before its sub-parts.
pub fn parts(shape: &Shape) -> Vec<PartCost> {
    let (ports, entries) = (f64::from(shape.ports), f64::from(shape.pifo_entries));
    let width = f64::from(shape.flit_bytes) / CROSSBAR_BYTES;
    let buffer = shape.buffer_bytes as f64 / BUFFER_BYTES;
    let pifo = line(PIFO, entries);
    let around = line(SCHEDULER, entries) - pifo;
    let part = |depth, name, (luts_percent, bram_percent): Cost, rule| PartCost {
        depth,
        name,
        luts_percent,
        bram_percent,
        rule,
    };
    let inside = [
        part(2, "PIFO", (pifo, PIFO_BRAM), "entries, linear through both points; uses no block memory"),
        part(2, "credits, cells, ports", (around, SCHEDULER_BRAM - PIFO_BRAM), "entries, linear through both points"),
    ];
    let outside = [
        part(
            1,
            "crossbar",
            (parabola(CROSSBAR, ports) * width, 0.0),
            "ports and ports squared; assumed: linear in width",
        ),
        sum(1, "scheduler", &inside),
        part(1, "packet buffer", (BUFFER.0 * buffer, BUFFER.1 * buffer), "assumed: linear in bytes"),
        part(1, "RMT", RMT, "one stage"),
    ];
    let [crossbar, scheduler, buffer, rmt] = outside.clone();
    let [pifo, around] = inside;
    vec![sum(0, "PANIC", &outside), crossbar, scheduler, pifo, around, buffer, rmt]
}

fn sum(depth: u32, name: &'static str, parts: &[PartCost]) -> PartCost {
    let luts_percent = parts.iter().map(|part| part.luts_percent).sum();
    let bram_percent = parts.iter().map(|part| part.bram_percent).sum();
    PartCost { depth, name, luts_percent, bram_percent, rule: "sum" }
}

/// The line a + b x through both points.
fn line([(x0, y0), (x1, y1)]: [(f64, f64); 2], x: f64) -> f64 {
    y0 + (y1 - y0) / (x1 - x0) * (x - x0)
}

/// The parabola a x + b x² through both points: linear in inputs and outputs, quadratic in the wires and multiplexers between
/// them.
fn parabola([(x0, y0), (x1, y1)]: [(f64, f64); 2], x: f64) -> f64 {
    let b = (y1 / x1 - y0 / x0) / (x1 - x0);
    (y0 / x0 - b * x0) * x + b * x * x
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const PUBLISHED: Shape = Shape { ports: 8, flit_bytes: 64, pifo_entries: 256, buffer_bytes: 256 << 10 };

    fn check(shape: Shape, want: Expect) {
        let line = |part: &PartCost| {
            let PartCost { depth, name, luts_percent, bram_percent, .. } = part;
            format!("{:indent$}{name} {luts_percent:.2} {bram_percent:.2}\n", "", indent = *depth as usize * 2)
        };
        want.assert_eq(&parts(&shape).iter().map(line).collect::<String>());
    }

    #[test]
    fn the_published_shapes_cost_what_was_published() {
        check(
            PUBLISHED,
            expect![[r#"
                PANIC 11.11 9.01
                  crossbar 5.50 0.00
                  scheduler 5.18 0.07
                    PIFO 4.90 0.01
                    credits, cells, ports 0.28 0.06
                  packet buffer 0.16 8.94
                  RMT 0.27 0.00
            "#]],
        );
        check(
            Shape { ports: 16, pifo_entries: 512, ..PUBLISHED },
            expect![[r#"
                PANIC 24.02 9.01
                  crossbar 13.64 0.00
                  scheduler 9.95 0.07
                    PIFO 9.42 0.01
                    credits, cells, ports 0.53 0.06
                  packet buffer 0.16 8.94
                  RMT 0.27 0.00
            "#]],
        );
    }
}
