//! Cost of a NIC in silicon: area and power of its parts, scaled from the published synthesis.
//!
//! Source of every number: Di Girolamo et al., ISCA 2021, IV-A and Table III: GlobalFoundries 22 nm FDSOI, 1 GHz, worst
//! case activity (every cell toggles each cycle, memories half reads and half writes). Each part has a rule that scales
//! its numbers to other configurations. The rules of memories and cores are proportional to their size or number; the
//! other rules are assumed.

use crate::PspinParams;

/// A part of the NIC. The cost of a part with sub-parts is their sum.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Part {
    /// Depth in the tree of parts; the NIC has depth 0.
    pub depth: u32,
    /// Name in Table III, if it has one.
    pub name: &'static str,
    /// Number of these parts in the parent part.
    pub count: u32,
    /// Area of all of these, in mm², in 22 nm.
    pub area_mm2: f64,
    /// Power of all of these, in W, at the NIC's clock.
    pub power_w: f64,
    /// The rule by which both scale.
    pub rule: &'static str,
}

// The published configuration, which the coefficients below belong to.
const CLUSTERS: f64 = 4.0;
const CORES: f64 = 8.0;
const L1_BYTES: f64 = 1024.0 * 1024.0;
const L1_PORTS_AND_BANKS: (f64, f64) = (6.0, 64.0); // besides the cores: DMA, NIC-host, four of two narrow AXI ports
const ICACHE_BYTES: f64 = 4096.0;
const L2_BYTES: f64 = 2.0 * 4.0 * 1024.0 * 1024.0 + 32.0 * 1024.0;
const DESCRIPTORS: f64 = 256.0 + 128.0;
const CLOCK_MHZ: f64 = 1000.0;

/// Area in mm² and power in W.
type Cost = (f64, f64);

const NIC: Cost = (18.47, 6.08);
const L2: Cost = (9.48, 1.10);
const INTERCONNECT: Cost = (0.57, 0.71);
const ALL_CLUSTERS: Cost = (7.95, 3.77);
const L1: Cost = (1.65, 0.52);
const ALL_CORES: Cost = (0.08, 0.14);
const ICACHE: Cost = (0.08, 0.14);
const CLUSTER_INTERCONNECT: Cost = (0.06, 0.11);

/// Share of power that grows with the clock. Source: IV-A, 99.8 % of power is dynamic.
const DYNAMIC: f64 = 0.998;

/// The parts of a NIC, each before its own parts.
pub fn parts(params: &PspinParams) -> Vec<Part> {
    let cluster = &params.cluster;
    let (n, cores) = (f64::from(params.n_clusters), f64::from(cluster.n_cores));
    let clock = params.clock_mhz.as_f64() / CLOCK_MHZ;
    let l2_bytes =
        f64::from(params.l2.handler_bytes) + f64::from(params.l2.packet_bytes) + f64::from(params.l2.program_bytes);
    let (ports, banks) = L1_PORTS_AND_BANKS;
    let crossbar = (cores + ports) * f64::from(cluster.l1_banks) / ((CORES + ports) * banks);
    let descriptors = f64::from(params.scheduler.n_mpqs) + f64::from(params.scheduler.shared_cells);
    // The rest: the table's totals without the parts that it names.
    let scheduler = minus(NIC, &[L2, INTERCONNECT, ALL_CLUSTERS]);
    let rest = minus(times(ALL_CLUSTERS, 1.0 / CLUSTERS), &[L1, ALL_CORES, ICACHE, CLUSTER_INTERCONNECT]);

    let part = |depth, name, count, (area, power): Cost, rule| Part {
        depth,
        name,
        count,
        area_mm2: area,
        power_w: power * (DYNAMIC * clock + 1.0 - DYNAMIC),
        rule,
    };
    let l1 = times(L1, n * f64::from(cluster.l1_bytes) / L1_BYTES);
    let all_cores = times(ALL_CORES, n * cores / CORES);
    let icache = times(ICACHE, n * f64::from(cluster.icache.bytes) / ICACHE_BYTES);
    let inside = [
        part(2, "L1", 1, l1, "bytes"),
        part(2, "core", cluster.n_cores, all_cores, "cores"),
        part(2, "instruction cache", 1, icache, "bytes"),
        part(2, "interconnect", 1, times(CLUSTER_INTERCONNECT, n * crossbar), "assumed: ports times banks"),
        part(2, "scheduler, DMA, drivers", 1, times(rest, n * cores / CORES), "assumed: cores"),
    ];
    let outside = [
        part(1, "L2 memories", 1, times(L2, l2_bytes / L2_BYTES), "bytes"),
        part(1, "interconnect", 1, times(INTERCONNECT, n / CLUSTERS), "assumed: clusters"),
        part(1, "packet scheduler", 1, times(scheduler, descriptors / DESCRIPTORS), "assumed: packet descriptors"),
    ];
    let clusters = sum(1, "cluster", params.n_clusters, &inside);
    let below = [&outside[..], &[clusters]].concat();
    let mut all = vec![sum(0, "PsPIN", 1, &below)];
    all.extend(below);
    all.extend(inside);
    all
}

fn sum(depth: u32, name: &'static str, count: u32, parts: &[Part]) -> Part {
    let area_mm2 = parts.iter().map(|part| part.area_mm2).sum();
    let power_w = parts.iter().map(|part| part.power_w).sum();
    Part { depth, name, count, area_mm2, power_w, rule: "sum" }
}

fn times((area, power): Cost, factor: f64) -> Cost {
    (area * factor, power * factor)
}

fn minus(whole: Cost, parts: &[Cost]) -> Cost {
    parts.iter().fold(whole, |left, part| (left.0 - part.0, left.1 - part.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(change: impl Fn(&mut PspinParams), want: Expect) {
        let mut params = crate::testing::paper_params();
        change(&mut params);
        let line = |part: &Part| {
            let Part { depth, name, count, area_mm2, power_w, .. } = part;
            format!("{:indent$}{name} ({count}) {area_mm2:.2} {power_w:.2}\n", "", indent = *depth as usize * 2)
        };
        want.assert_eq(&parts(&params).iter().map(line).collect::<String>());
    }

    #[test]
    fn the_published_shape_costs_what_was_published() {
        check(
            |_| (),
            expect![[r#"
            PsPIN (1) 18.47 6.08
              L2 memories (1) 9.48 1.10
              interconnect (1) 0.57 0.71
              packet scheduler (1) 0.47 0.50
              cluster (4) 7.95 3.77
                L1 (1) 6.60 2.08
                core (8) 0.32 0.56
                instruction cache (1) 0.32 0.56
                interconnect (1) 0.24 0.44
                scheduler, DMA, drivers (1) 0.47 0.13
        "#]],
        );
    }

    #[test]
    fn twice_the_clusters_cost_twice_the_clusters() {
        check(
            |params| {
                params.n_clusters = 8;
                params.clock_mhz = 500.into();
            },
            expect![[r#"
                PsPIN (1) 26.99 5.29
                  L2 memories (1) 9.48 0.55
                  interconnect (1) 1.14 0.71
                  packet scheduler (1) 0.47 0.25
                  cluster (8) 15.90 3.78
                    L1 (1) 13.20 2.08
                    core (8) 0.64 0.56
                    instruction cache (1) 0.64 0.56
                    interconnect (1) 0.48 0.44
                    scheduler, DMA, drivers (1) 0.94 0.13
            "#]],
        );
    }
}
