//! Parameters of switches.

use crate::span::{Ratio, Span};
use diagnostics::param::{ParamError, must, within};
use kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a frame may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// A frame may leave one latency after its last bit came in.
    #[default]
    StoreAndForward,
    /// A frame may leave one latency after its first bit came in, but not so early that the output would run out of
    /// bits.
    CutThrough,
}

/// Where frames wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffering {
    /// In one buffer of all ports. An output sends the frames of a class in the order in which they came.
    #[default]
    Shared,
    /// In a buffer for each input, with a virtual queue for each output. An output takes the inputs in turn.
    Input,
}

/// Order of classes at an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// A higher class goes first.
    #[default]
    Strict,
    /// Classes with frames take turns, a frame each.
    RoundRobin,
}

/// Choice between several shortest paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// By the hash of the flow, so that frames of a flow stay in order.
    #[default]
    Ecmp,
    /// The output with the fewest bytes; of several, the one that ECMP would take next. Frames of a flow may overtake each other.
    Adaptive,
}

/// Marking of congestion, as random early detection does it: never up to `k_min_bytes` in the output queue, always from `k_max_bytes` on,
/// and in between with a probability that rises to `p_max`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnParams {
    /// Greatest queue without marks, in bytes.
    pub k_min_bytes: u64,
    /// Least queue in which each frame is marked, in bytes.
    pub k_max_bytes: u64,
    /// Probability just below `k_max_bytes`.
    #[serde(default = "certain")]
    pub p_max: Ratio,
}

fn certain() -> Ratio {
    Ratio::new(1, 1)
}

/// Priority flow control of lossless classes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcParams {
    /// Lossless classes.
    #[serde(default = "all_classes")]
    pub classes: Vec<u8>,
    /// Bytes of an input and class that are taken into the buffer. A frame beyond them goes to the headroom and pauses the sender.
    pub xoff_bytes: u64,
    /// The pause ends when the input and class have at most this number of bytes, headroom included.
    pub xon_bytes: u64,
    /// Bytes of each input and class beyond `xoff_bytes`. They are not a part of `buffer_bytes`, and are free first when frames leave.
    pub headroom_bytes: u64,
}

fn all_classes() -> Vec<u8> {
    (0..8).collect()
}

/// Parameters of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchParams {
    /// When a frame may leave.
    pub forwarding: Forwarding,
    /// From the frame's last bit in (store and forward) or first bit in (cut-through) to the start of its transmission, if the output is
    /// free.
    pub latency: Span,
    /// Where frames wait.
    pub buffering: Buffering,
    /// Size of the shared buffer, or of each input's buffer.
    pub buffer_bytes: u64,
    /// Limit of an output's queue of one class; lossless classes have none.
    pub queue_bytes: Option<u64>,
    /// Dynamic threshold: a queue takes frames while it has less than this ratio of the free buffer. Lossless classes have none.
    pub alpha: Option<Ratio>,
    /// Order of classes.
    pub schedule: Schedule,
    /// Choice between paths.
    pub choice: Choice,
    /// Marking of congestion.
    pub ecn: Option<EcnParams>,
    /// Priority flow control.
    pub pfc: Option<PfcParams>,
}

impl Default for SwitchParams {
    fn default() -> Self {
        SwitchParams {
            forwarding: Forwarding::StoreAndForward,
            latency: Span::from_fs(300_000_000), // assumed: 300 ns, as Spectrum-2 below
            buffering: Buffering::Shared,
            buffer_bytes: 16 << 20, // assumed: 16 MiB, the size of Spectrum and Tomahawk
            queue_bytes: None,
            alpha: None,
            schedule: Schedule::Strict,
            choice: Choice::Ecmp,
            ecn: None,
            pfc: None,
        }
    }
}

impl SwitchParams {
    /// Names of the presets.
    pub const PRESETS: [&str; 3] = ["default", "spectrum-2", "rosetta"];

    /// A published part by name.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::default()),
            "spectrum-2" => Some(SwitchParams {
                forwarding: Forwarding::CutThrough, // source: Linley Newsletter, 31 July 2017, on Spectrum-2
                latency: Span::from_fs(300_000_000), // source: same article, 300 ns
                buffer_bytes: 42_000_000,           // assumed: 42 MB, as resellers state for the SN3700
                ..Self::default()
            }),
            "rosetta" => Some(SwitchParams {
                forwarding: Forwarding::CutThrough, // assumed: the latency below does not grow with the frame
                latency: Span::from_fs(350_000_000), // source: De Sensi et al., SC 2020, arXiv:2008.08886: 350 ns on average
                buffering: Buffering::Input,         // source: same paper: a tile buffers at its inputs
                choice: Choice::Adaptive,            // source: same paper: adaptive routing
                ..Self::default()
            }),
            _ => None,
        }
    }

    /// Checks all values. `longest` is the longest frame that comes in.
    pub fn check(&self, longest: u64) -> Result<(), ParamError> {
        within("buffer_bytes", self.buffer_bytes, longest, 1 << 40)?;
        if let Some(bytes) = self.queue_bytes {
            within("queue_bytes", bytes, longest, 1 << 40)?;
        }
        if let Some(ecn) = &self.ecn {
            must("ecn.k_max_bytes", ecn.k_max_bytes, ecn.k_max_bytes > ecn.k_min_bytes, || {
                format!("above k_min_bytes, {}", ecn.k_min_bytes)
            })?;
            must(
                "ecn.p_max",
                format!("{}/{}", ecn.p_max.top, ecn.p_max.bottom),
                ecn.p_max.top <= ecn.p_max.bottom,
                || "at most 1".into(),
            )?;
        }
        if let Some(pfc) = &self.pfc {
            let classes = &pfc.classes;
            must("pfc.classes", format!("{classes:?}"), classes.iter().all(|&class| class < 8), || {
                "0 to 7 each".into()
            })?;
            must("pfc.classes", "empty", !classes.is_empty(), || "at least one class".into())?;
            must("pfc.xon_bytes", pfc.xon_bytes, pfc.xon_bytes <= pfc.xoff_bytes, || {
                format!("at most xoff_bytes, {}", pfc.xoff_bytes)
            })?;
            must("pfc.headroom_bytes", pfc.headroom_bytes, pfc.headroom_bytes >= longest, || {
                format!("at least {longest}, the longest frame")
            })?;
        }
        Ok(())
    }

    /// The latency.
    pub fn latency(&self) -> Time {
        self.latency.time()
    }

    /// Returns true if frames of this class are never dropped for want of room.
    pub fn is_lossless(&self, class: u8) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| pfc.classes.contains(&class))
    }
}
