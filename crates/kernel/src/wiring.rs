//! Errors of a wiring.

/// The reason why a wiring cannot work.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum WiringError {
    #[error("channel `{channel}`: `{port}` writes to it, but nothing reads from it")]
    Unread { channel: String, port: String },
    #[error("channel `{channel}`: `{port}` reads from it, but nothing writes to it")]
    Unwritten { channel: String, port: String },
    #[error("channel `{channel}` is not attached to any component")]
    Loose { channel: String },
    #[error("channel `{channel}`: `{port}` and `{other}` are attached to the same end")]
    Twice { channel: String, port: String, other: String },
    #[error("channel `{channel}` has capacity {capacity} and latency {latency}; both must be at least 1")]
    Size { channel: String, capacity: usize, latency: u64 },
    #[error("two components have the path `{path}`")]
    Path { path: String },
}
