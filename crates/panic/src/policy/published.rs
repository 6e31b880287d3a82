//! The published policies, one row each.

use super::of_packets::{Fifo, LeastSlack, StrictPriority};
use super::{Bucket, FairShare, LeakyBucket, Numbers, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each row: description, Rust name and file name, per-class parameters if any, and the constructor for `n` classes or
/// branches.
macro_rules! policies {
    ($($(#[doc = $about:literal])+ $kind:ident = $name:literal
        $({ $(#[doc = $meaning:literal])+ $numbers:ident: Vec<$number:ty> })? => |$n:pat_param| $policy:expr;)+) => {
        /// A policy with its parameters: `{ kind = "strict-priority" }`, or `{ kind = "weighted-fair", weights = [2, 1] }`.
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum PolicyParams {
            $($(#[doc = $about])+ #[serde(rename = $name)] $kind $({ $(#[doc = $meaning])+ $numbers: Vec<$number> })?,)+
        }

        impl PolicyParams {
            /// All policies by name, without parameters.
            pub const ALL: &[(&str, PolicyParams)] =
                &[$(($name, PolicyParams::$kind $({ $numbers: Vec::new() })?)),+];

            /// Name in files.
            pub fn name(&self) -> &'static str {
                match self { $(PolicyParams::$kind { .. } => $name,)+ }
            }

            /// Starts the policy for `n_served` classes or branches.
            pub fn start(&self, n_served: usize) -> Box<dyn Policy> {
                match self { $(PolicyParams::$kind $({ $numbers })? => { let $n = n_served; Box::new($policy) })+ }
            }

            /// The per-class parameters and their key, if it has any.
            pub fn numbers(&self) -> Option<(&'static str, &dyn Numbers)> {
                match self { $(PolicyParams::$kind $({ $numbers })? => policies!(@some $($numbers)?),)+ }
            }

            /// As `numbers`, mutable.
            pub fn numbers_mut(&mut self) -> Option<(&'static str, &mut dyn Numbers)> {
                match self { $(PolicyParams::$kind $({ $numbers })? => policies!(@some $($numbers)?),)+ }
            }
        }
    };
    (@some) => { None };
    (@some $numbers:ident) => { Some((stringify!($numbers), $numbers)) };
}

policies! {
    /// Order of arrival.
    Fifo = "fifo" => |_| Fifo;
    /// The lowest priority value first.
    StrictPriority = "strict-priority" => |_| StrictPriority;
    /// The least remaining slack first.
    LeastSlack = "least-slack" => |_| LeastSlack;
    /// Classes take turns, packet by packet.
    RoundRobin = "round-robin" => |n| FairShare::of_packets(n);
    /// Classes share bytes in proportion to their weights.
    WeightedFair = "weighted-fair" {
        /// One weight, 1 to 65536, for each branch or class of the level, in order.
        weights: Vec<u32>
    } => |_| FairShare::of_bytes(weights);
    /// Limits the rate of each class; allowed at the outermost level only.
    LeakyBucket = "leaky-bucket" {
        /// One bucket for each class.
        buckets: Vec<Bucket>
    } => |_| LeakyBucket::new(buckets);
}
