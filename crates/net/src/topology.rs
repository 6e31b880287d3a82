//! Topologies by name: which devices and switches there are, and which of them have a link.

use crate::span::Ratio;
use diagnostics::param::{ParamError, must, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of devices of a topology.
pub const MAX_DEVICES: u64 = 1 << 16;
/// Maximum number of ports of a switch.
pub const MAX_PORTS: u32 = 1024;

/// A topology.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table with the name of a topology, such as { name = \"star\", nodes = 4 }")]
pub enum Topology {
    /// Two devices and a link.
    Pair {},
    /// Devices around one switch.
    Star {
        /// Number of devices.
        nodes: u32,
    },
    /// A fat tree: switches in levels, with several paths upwards.
    FatTree {
        /// Levels of switches; 2 is leaf and spine, 3 has pods.
        levels: u32,
        /// Ports of a switch; even.
        radix: u32,
        /// Downward links per upward link of the switches at the bottom, such as `3/1`; `1/1` if not given.
        #[serde(default = "equal")]
        oversubscription: Ratio,
        /// Number of devices, if not all places are taken. They fill the switches in order.
        #[serde(default)]
        nodes: Option<u32>,
    },
    /// Groups of switches. Each switch has a link to all others of its group, and each group to all other groups.
    Dragonfly {
        /// Devices at each switch (p).
        nodes_per_switch: u32,
        /// Switches in a group (a).
        switches_per_group: u32,
        /// Links of each switch to other groups (h).
        global_links: u32,
        /// Number of groups; if not given, as many as have a link to all others: a h + 1.
        #[serde(default)]
        groups: Option<u32>,
    },
    /// Switches in a grid whose rows are rings.
    Torus {
        /// Switches in each dimension.
        dimensions: Vec<u32>,
        /// Devices at each switch.
        #[serde(default = "one")]
        nodes_per_switch: u32,
    },
}

fn equal() -> Ratio {
    Ratio::new(1, 1)
}

fn one() -> u32 {
    1
}

/// An end of a link: a device or a switch, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// A device.
    Device(u32),
    /// A switch.
    Switch(u32),
}

/// Devices, switches and links.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Number of devices.
    pub n_devices: u32,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// The links.
    pub links: Vec<(End, End)>,
}

impl Topology {
    /// Checks the numbers, and lists devices, switches and links.
    pub fn shape(&self) -> Result<Shape, ParamError> {
        match *self {
            Topology::Pair {} => {
                let links = vec![(End::Device(0), End::Device(1))];
                Ok(Shape { n_devices: 2, switches: Vec::new(), links })
            }
            Topology::Star { nodes } => {
                within("nodes", nodes, 2, MAX_PORTS)?;
                let links = (0..nodes).map(|node| (End::Device(node), End::Switch(0))).collect();
                Ok(Shape { n_devices: nodes, switches: vec!["sw0".into()], links })
            }
            Topology::FatTree { levels, radix, oversubscription, nodes } => {
                fat_tree(levels, radix, oversubscription, nodes)
            }
            Topology::Dragonfly { nodes_per_switch: p, switches_per_group: a, global_links: h, groups } => {
                dragonfly(p, a, h, groups)
            }
            Topology::Torus { ref dimensions, nodes_per_switch } => torus(dimensions, nodes_per_switch),
        }
    }
}

fn check_devices(n: u64) -> Result<u32, ParamError> {
    within("number of nodes", n, 2, MAX_DEVICES)?;
    Ok(n as u32)
}

/// An extended generalised fat tree (Öhring et al., IPPS 1995): a vertex of level `l` has `down[l]` children and `up[l]` parents.
/// Its label has one digit for each level. Up to level `l`, the digit is the number of the parent that was taken; above, it is
/// the number of the child.
fn fat_tree(levels: u32, radix: u32, over: Ratio, nodes: Option<u32>) -> Result<Shape, ParamError> {
    within("levels", levels, 1, 4)?;
    within("radix", radix, 2, MAX_PORTS)?;
    must("radix", radix, radix.is_multiple_of(2), || "even".into())?;
    let half = radix / 2;
    // A bottom switch has `over` ports down for each port up.
    let parts = over.top.saturating_add(over.bottom);
    let scaled = over.top.saturating_mul(u64::from(radix));
    let fits = levels == 1 || (scaled.is_multiple_of(parts) && scaled / parts > 0 && scaled / parts < u64::from(radix));
    must("oversubscription", format!("{}/{}", over.top, over.bottom), fits, || {
        format!("a ratio that divides {radix} ports into whole numbers of ports up and down")
    })?;
    let bottom = if levels == 1 { radix } else { (scaled / parts) as u32 };
    // Children and parents by level; level 0 are the devices.
    let children: Vec<u32> = (1..=levels)
        .map(|level| {
            if level == levels {
                radix
            } else if level == 1 {
                bottom
            } else {
                half
            }
        })
        .collect();
    let parents: Vec<u32> = (0..levels)
        .map(|level| {
            if level == 0 {
                1
            } else if level == 1 {
                radix - bottom
            } else {
                half
            }
        })
        .collect();
    let places: u64 = children.iter().map(|&n| u64::from(n)).product();
    let n_devices = check_devices(nodes.map_or(places, u64::from))?;
    must("nodes", n_devices, u64::from(n_devices) <= places, || format!("at most {places}, the places of the tree"))?;
    // Radix of each digit for a vertex of a level.
    let digits = |level: usize| -> Vec<u32> {
        (0..levels as usize).map(|i| if i < level { parents[i] } else { children[i] }).collect()
    };
    let count = |level: usize| digits(level).iter().map(|&n| u64::from(n)).product::<u64>();
    let mut shape = Shape { n_devices, ..Shape::default() };
    let mut first = vec![0; levels as usize + 2];
    for level in 1..=levels as usize {
        first[level + 1] = first[level] + count(level) as u32;
        let name = |i| match (levels, level) {
            (2, 1) => format!("leaf{i}"),
            (2, 2) => format!("spine{i}"),
            _ => format!("l{level}.{i}"),
        };
        shape.switches.extend((0..count(level)).map(name));
    }
    for level in 0..levels as usize {
        let (own, above) = (digits(level), digits(level + 1));
        for vertex in 0..count(level) as u32 {
            if level == 0 && vertex >= n_devices {
                break;
            }
            let mut label = to_digits(vertex, &own);
            for parent in 0..parents[level] {
                label[level] = parent;
                let up = End::Switch(first[level + 1] + from_digits(&label, &above));
                let down = if level == 0 { End::Device(vertex) } else { End::Switch(first[level] + vertex) };
                shape.links.push((down, up));
            }
        }
    }
    Ok(shape)
}

/// Digits of a number, the first one least significant, each with its own radix.
fn to_digits(mut number: u32, radixes: &[u32]) -> Vec<u32> {
    let digit = |&radix: &u32| {
        let digit = number % radix;
        number /= radix;
        digit
    };
    radixes.iter().map(digit).collect()
}

fn from_digits(digits: &[u32], radixes: &[u32]) -> u32 {
    digits.iter().zip(radixes).rev().fold(0, |number, (&digit, &radix)| number * radix + digit)
}

/// A dragonfly (Kim et al., ISCA 2008). Global link `j` of a group leads to the group `j` + 1 further on.
fn dragonfly(p: u32, a: u32, h: u32, groups: Option<u32>) -> Result<Shape, ParamError> {
    within("nodes_per_switch", p, 1, MAX_PORTS)?;
    within("switches_per_group", a, 1, MAX_PORTS)?;
    within("global_links", h, 1, MAX_PORTS)?;
    let ports = p + a - 1 + h;
    must("nodes_per_switch", ports, ports <= MAX_PORTS, || format!("at most {MAX_PORTS} ports of a switch in all"))?;
    let most = a * h + 1;
    let g = groups.unwrap_or(most);
    must("groups", g, (2..=most).contains(&g), || format!("2 to {most} (switches_per_group * global_links + 1)"))?;
    let n_devices = check_devices(u64::from(p) * u64::from(a) * u64::from(g))?;
    let mut shape = Shape { n_devices, ..Shape::default() };
    for group in 0..g {
        shape.switches.extend((0..a).map(|switch| format!("g{group}.{switch}")));
    }
    shape.links.extend((0..n_devices).map(|device| (End::Device(device), End::Switch(device / p))));
    for group in 0..g {
        for one in 0..a {
            shape
                .links
                .extend((one + 1..a).map(|other| (End::Switch(group * a + one), End::Switch(group * a + other))));
        }
    }
    for group in 0..g {
        for j in 0..g - 1 {
            let (peer, back) = ((group + j + 1) % g, g - j - 2);
            if group < peer {
                shape.links.push((End::Switch(group * a + j / h), End::Switch(peer * a + back / h)));
            }
        }
    }
    Ok(shape)
}

fn torus(dimensions: &[u32], nodes_per_switch: u32) -> Result<Shape, ParamError> {
    let found = format!("{dimensions:?}");
    must("dimensions", &found, (1..=6).contains(&dimensions.len()), || "1 to 6 numbers".into())?;
    must("dimensions", &found, dimensions.iter().all(|n| (1..=65_536).contains(n)), || "1 to 65536 each".into())?;
    within("nodes_per_switch", nodes_per_switch, 1, MAX_PORTS - 12)?;
    let n_switches = dimensions.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
    let n_devices = check_devices(n_switches.saturating_mul(u64::from(nodes_per_switch)))?;
    let mut shape = Shape { n_devices, ..Shape::default() };
    shape.links.extend((0..n_devices).map(|device| (End::Device(device), End::Switch(device / nodes_per_switch))));
    for switch in 0..n_switches as u32 {
        let place = to_digits(switch, dimensions);
        let text: Vec<String> = place.iter().map(u32::to_string).collect();
        shape.switches.push(format!("t{}", text.join(".")));
        for (dimension, &size) in dimensions.iter().enumerate() {
            // A ring of two has one link, a ring of one has none.
            if size < 2 || (size == 2 && place[dimension] == 1) {
                continue;
            }
            let mut next = place.clone();
            next[dimension] = (place[dimension] + 1) % size;
            shape.links.push((End::Switch(switch), End::Switch(from_digits(&next, dimensions))));
        }
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::collections::BTreeMap;

    /// Devices, switches, links, and the most and fewest links of a switch.
    fn check(topology: Topology, want: Expect) -> Shape {
        let shape = topology.shape().unwrap();
        let mut degrees: BTreeMap<End, u32> = BTreeMap::new();
        for &(one, other) in &shape.links {
            assert_ne!(one, other);
            *degrees.entry(one).or_default() += 1;
            *degrees.entry(other).or_default() += 1;
        }
        let switches = (0..shape.switches.len() as u32).map(|i| degrees.get(&End::Switch(i)).copied().unwrap_or(0));
        let (least, most) = (switches.clone().min().unwrap_or(0), switches.max().unwrap_or(0));
        assert!((0..shape.n_devices).all(|i| degrees[&End::Device(i)] == 1));
        let n_switches = shape.switches.len();
        want.assert_eq(&format!(
            "{} devices, {n_switches} switches, {} links, {least} to {most} ports",
            shape.n_devices,
            shape.links.len()
        ));
        shape
    }

    fn fat(levels: u32, radix: u32, over: (u64, u64), nodes: Option<u32>) -> Topology {
        Topology::FatTree { levels, radix, oversubscription: Ratio::new(over.0, over.1), nodes }
    }

    #[test]
    fn fat_trees_have_their_published_sizes() {
        // k-ary fat tree with three levels (Al-Fares et al., SIGCOMM 2008): k^3/4 hosts, 5/4 k^2 switches.
        check(fat(3, 4, (1, 1), None), expect!["16 devices, 20 switches, 48 links, 4 to 4 ports"]);
        check(fat(3, 8, (1, 1), None), expect!["128 devices, 80 switches, 384 links, 8 to 8 ports"]);
        check(fat(2, 8, (1, 1), None), expect!["32 devices, 12 switches, 64 links, 8 to 8 ports"]);
        check(fat(2, 8, (3, 1), None), expect!["48 devices, 10 switches, 64 links, 8 to 8 ports"]);
        check(fat(1, 8, (1, 1), None), expect!["8 devices, 1 switches, 8 links, 8 to 8 ports"]);
        check(fat(2, 8, (1, 1), Some(10)), expect!["10 devices, 12 switches, 42 links, 4 to 8 ports"]);
        check(fat(3, 2, (1, 1), None), expect!["2 devices, 5 switches, 6 links, 2 to 2 ports"]);
    }

    #[test]
    fn leaves_of_a_fat_tree_have_links_to_all_spines() {
        let shape = fat(2, 4, (1, 1), None).shape().unwrap();
        let show = |end| match end {
            End::Device(i) => format!("n{i}"),
            End::Switch(i) => shape.switches[i as usize].clone(),
        };
        let links: Vec<String> =
            shape.links.iter().map(|&(one, other)| format!("{}-{}", show(one), show(other))).collect();
        expect!["n0-leaf0 n1-leaf0 n2-leaf1 n3-leaf1 n4-leaf2 n5-leaf2 n6-leaf3 n7-leaf3 leaf0-spine0 leaf0-spine1 leaf1-spine0 leaf1-spine1 leaf2-spine0 leaf2-spine1 leaf3-spine0 leaf3-spine1"]
            .assert_eq(&links.join(" "));
    }

    #[test]
    fn dragonflies_and_tori() {
        let dragonfly = |p, a, h, groups| Topology::Dragonfly {
            nodes_per_switch: p,
            switches_per_group: a,
            global_links: h,
            groups,
        };
        // Kim et al., figure 5: p = h = 2, a = 4, N = 72.
        let shape = check(dragonfly(2, 4, 2, None), expect!["72 devices, 36 switches, 162 links, 7 to 7 ports"]);
        let group = |end: &End| if let End::Switch(i) = end { i / 4 } else { 99 };
        let mut pairs: Vec<(u32, u32)> = shape
            .links
            .iter()
            .map(|(one, other)| (group(one), group(other)))
            .filter(|(a, b)| a != b && *a < 99)
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 9 * 8 / 2, "each pair of groups has a link");
        check(dragonfly(1, 4, 2, Some(3)), expect!["12 devices, 12 switches, 33 links, 4 to 6 ports"]);
        check(
            Topology::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 },
            expect!["16 devices, 16 switches, 48 links, 5 to 5 ports"],
        );
        check(
            Topology::Torus { dimensions: vec![3, 2, 1], nodes_per_switch: 2 },
            expect!["12 devices, 6 switches, 21 links, 5 to 5 ports"],
        );
        check(Topology::Star { nodes: 5 }, expect!["5 devices, 1 switches, 5 links, 5 to 5 ports"]);
        check(Topology::Pair {}, expect!["2 devices, 0 switches, 1 links, 0 to 0 ports"]);
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let refused = |topology: Topology| topology.shape().unwrap_err().to_string();
        let texts = [
            refused(Topology::Star { nodes: 1 }),
            refused(fat(2, 7, (1, 1), None)),
            refused(fat(2, 8, (2, 1), None)),
            refused(fat(2, 8, (1, 1), Some(33))),
            refused(fat(4, 128, (1, 1), None)),
            refused(fat(9, 8, (1, 1), None)),
            refused(Topology::Dragonfly {
                nodes_per_switch: 2,
                switches_per_group: 4,
                global_links: 2,
                groups: Some(10),
            }),
            refused(Topology::Torus { dimensions: vec![4, 0], nodes_per_switch: 1 }),
            refused(Topology::Torus { dimensions: vec![65_536, 65_536, 65_536, 65_536, 65_536], nodes_per_switch: 1 }),
        ];
        expect![[r#"
            nodes is 1, must be 2 to 1024
            radix is 7, must be even
            oversubscription is 2/1, must be a ratio that divides 8 ports into whole numbers of ports up and down
            nodes is 33, must be at most 32, the places of the tree
            number of nodes is 33554432, must be 2 to 65536
            levels is 9, must be 1 to 4
            groups is 10, must be 2 to 9 (switches_per_group * global_links + 1)
            dimensions is [4, 0], must be 1 to 65536 each
            number of nodes is 18446744073709551615, must be 2 to 65536"#]]
        .assert_eq(&texts.join("\n"));
    }
}
