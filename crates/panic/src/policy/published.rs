//! The published policies as data: a row each.

use super::of_packets::{Fifo, LeastSlack, StrictPriority};
use super::{Bucket, FairShare, LeakyBucket, Numbers, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of each policy what it does, its name here and in files, its numbers, if it has some, and how it starts between so many.
macro_rules! policies {
    ($($(#[doc = $about:literal])+ $kind:ident = $name:literal
        $({ $(#[doc = $meaning:literal])+ $numbers:ident: Vec<$number:ty> })? => |$n:pat_param| $policy:expr;)+) => {
        /// Which policy, and its numbers: `{ kind = "strict-priority" }`, or `{ kind = "weighted-fair", weights = [2, 1] }`.
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum PolicyParams {
            $($(#[doc = $about])+ #[serde(rename = $name)] $kind $({ $(#[doc = $meaning])+ $numbers: Vec<$number> })?,)+
        }

        impl PolicyParams {
            /// All, by their names, before they have any numbers.
            pub const ALL: &[(&str, PolicyParams)] =
                &[$(($name, PolicyParams::$kind $({ $numbers: Vec::new() })?)),+];

            /// What files call it.
            pub fn name(&self) -> &'static str {
                match self { $(PolicyParams::$kind { .. } => $name,)+ }
            }

            /// The policy at work between so many.
            pub fn start(&self, n_served: usize) -> Box<dyn Policy> {
                match self { $(PolicyParams::$kind $({ $numbers })? => { let $n = n_served; Box::new($policy) })+ }
            }

            /// Its numbers and their key, if it has some.
            pub fn numbers(&self) -> Option<(&'static str, &dyn Numbers)> {
                match self { $(PolicyParams::$kind $({ $numbers })? => policies!(@some $($numbers)?),)+ }
            }

            /// The same, to change them.
            pub fn numbers_mut(&mut self) -> Option<(&'static str, &mut dyn Numbers)> {
                match self { $(PolicyParams::$kind $({ $numbers })? => policies!(@some $($numbers)?),)+ }
            }
        }
    };
    (@some) => { None };
    (@some $numbers:ident) => { Some((stringify!($numbers), $numbers)) };
}

policies! {
    /// In order of arrival.
    Fifo = "fifo" => |_| Fifo;
    /// By the priority of the packet.
    StrictPriority = "strict-priority" => |_| StrictPriority;
    /// By what is left of the packet's slack.
    LeastSlack = "least-slack" => |_| LeastSlack;
    /// Classes take turns, packet by packet.
    RoundRobin = "round-robin" => |n| FairShare::of_packets(n);
    /// Classes share bytes in proportion to their weights.
    WeightedFair = "weighted-fair" {
        /// A weight, 1 to 65536, for each that the level decides between, in their order: branches, or classes.
        weights: Vec<u32>
    } => |_| FairShare::of_bytes(weights);
    /// Each class is held to a rate; at the outermost level only.
    LeakyBucket = "leaky-bucket" {
        /// The bucket of each class.
        buckets: Vec<Bucket>
    } => |_| LeakyBucket::new(buckets);
}
