//! Payloads of generated packets.

use super::TrafficSpec;
use super::generator::{MAX_FILE_LEN, TrafficError};
use super::read::{TrafficProblem, refused};
use super::ycsb::{Requests, Ycsb};
use crate::random::Random;
use std::fmt;
use std::io::Read;
use std::str::FromStr;

/// Payload of packets. [`crate::traffic`] describes the text form.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Payload {
    /// Zeros.
    Zero,
    /// Random bytes.
    Random,
    /// 32-bit big-endian words that count from 0 within each message.
    Counter,
    /// The bytes of a file, from its beginning in each message, repeated.
    File(String),
    /// Uniform integers below a bound of 1 to 2^32.
    Ints {
        /// The bound.
        below: u64,
    },
    /// Position of the packet's data within its message, followed by random bytes.
    Segment,
    /// A request of a YCSB workload.
    Ycsb(Ycsb),
}

const ALLOWED: &str =
    "`zero`, `random`, `counter`, `file:PATH`, `ints`, `ints:1024`, `segment` or a workload such as `ycsb:a:0.99:1000`";

/// Zero bytes before numbers. Headers are 2 more than a multiple of 4 bytes, because Ethernet's header has 14.
const PAD: usize = 2;
/// Length of a number, in bytes.
const WORD: usize = 4;

impl Payload {
    /// Number of padding bytes before the payload's data.
    pub(super) fn pad(&self) -> usize {
        if self.min_len() == 0 { 0 } else { PAD }
    }

    /// Minimum payload length, in bytes.
    pub(super) fn min_len(&self) -> usize {
        match self {
            Self::Zero | Self::Random | Self::Counter | Self::File(_) => 0,
            Self::Ints { .. } | Self::Segment => PAD + WORD,
            Self::Ycsb(_) => PAD + 3 * WORD,
        }
    }
}

/// Progress within a message before a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessageProgress {
    /// Packets sent.
    pub packets: u64,
    /// Payload bytes sent.
    pub bytes: u64,
}

impl MessageProgress {
    /// The progress after a packet with this many payload bytes.
    pub fn after(self, payload_len: usize) -> Self {
        MessageProgress { packets: self.packets + 1, bytes: self.bytes + payload_len as u64 }
    }
}

/// Generates payloads, packet by packet.
pub(super) enum Filler {
    Zero,
    Random(Random),
    Counter,
    File(Vec<u8>),
    Ints(Random, u64),
    Segment(Random),
    Ycsb(Box<Requests>),
}

impl Filler {
    /// A filler for the packets of `spec`, which is valid.
    pub fn new(spec: &TrafficSpec) -> Result<Self, TrafficError> {
        let random = Random::new(spec.seed, 2);
        Ok(match &spec.payload {
            Payload::Zero => Self::Zero,
            Payload::Random => Self::Random(random),
            Payload::Counter => Self::Counter,
            Payload::File(path) => Self::File(read_file(path)?),
            Payload::Ints { below } => Self::Ints(random, *below),
            Payload::Segment => Self::Segment(random),
            Payload::Ycsb(ycsb) => Self::Ycsb(Box::new(Requests::new(ycsb, spec.count, random))),
        })
    }

    /// Writes the whole payload of the packet at `progress`.
    pub fn fill(&mut self, progress: MessageProgress, out: &mut [u8]) {
        match self {
            Self::Zero => out.fill(0),
            Self::Random(random) => random.fill(out),
            Self::Counter => {
                for (offset, byte) in (progress.bytes..).zip(out) {
                    *byte = ((offset / 4) as u32).to_be_bytes()[(offset % 4) as usize];
                }
            }
            Self::File(file) => {
                let mut from = (progress.bytes % file.len() as u64) as usize;
                let mut done = 0;
                while done < out.len() {
                    let n = (file.len() - from).min(out.len() - done);
                    out[done..done + n].copy_from_slice(&file[from..from + n]);
                    done += n;
                    from = 0;
                }
            }
            Self::Ints(random, below) => {
                out.fill(0);
                for word in out[PAD..].chunks_exact_mut(WORD) {
                    word.copy_from_slice(&(random.below(*below) as u32).to_le_bytes());
                }
            }
            Self::Segment(random) => {
                let headers = progress.packets * (PAD + WORD) as u64;
                out[..PAD].fill(0);
                out[PAD..PAD + WORD].copy_from_slice(&((progress.bytes - headers) as u32).to_le_bytes());
                random.fill(&mut out[PAD + WORD..]);
            }
            Self::Ycsb(requests) => {
                let request = requests.next();
                out.fill(0);
                let words = [request.operation as u32, request.key, request.value];
                for (word, number) in out[PAD..].chunks_exact_mut(WORD).zip(words) {
                    word.copy_from_slice(&number.to_le_bytes());
                }
            }
        }
    }
}

fn read_file(path: &str) -> Result<Vec<u8>, TrafficError> {
    let failed = |source| TrafficError::File { file: path.into(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE_LEN + 1).read_to_end(&mut bytes).map_err(failed)?;
    let found = bytes.len() as u64;
    if found == 0 || found > MAX_FILE_LEN {
        return Err(TrafficError::FileLen { file: path.into(), found });
    }
    Ok(bytes)
}

impl FromStr for Payload {
    type Err = TrafficProblem;

    fn from_str(text: &str) -> Result<Self, TrafficProblem> {
        let refuse = || refused("payload", text, ALLOWED);
        match text.split_once(':') {
            None => match text {
                "zero" => Ok(Self::Zero),
                "random" => Ok(Self::Random),
                "counter" => Ok(Self::Counter),
                "ints" => Ok(Self::Ints { below: 1 << 32 }),
                "segment" => Ok(Self::Segment),
                _ => Err(refuse()),
            },
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("ints", below)) => match below.parse() {
                Ok(below) if (1..=1 << 32).contains(&below) => Ok(Self::Ints { below }),
                _ => Err(refused("payload", text, "`ints:N` with N from 1 to 4294967296")),
            },
            Some(("ycsb", workload)) => workload.parse().map(Self::Ycsb),
            Some(_) => Err(refuse()),
        }
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Random => f.write_str("random"),
            Self::Counter => f.write_str("counter"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Ints { below } => write!(f, "ints:{below}"),
            Self::Segment => f.write_str("segment"),
            Self::Ycsb(ycsb) => write!(f, "ycsb:{ycsb}"),
        }
    }
}

impl TryFrom<String> for Payload {
    type Error = TrafficProblem;
    fn try_from(text: String) -> Result<Self, TrafficProblem> {
        text.parse()
    }
}

impl From<Payload> for String {
    fn from(payload: Payload) -> Self {
        payload.to_string()
    }
}
