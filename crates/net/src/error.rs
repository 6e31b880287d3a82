//! Errors of a network.

use kernel::Time;
use std::sync::Arc;

/// Why a network cannot be built, or cannot go on. After an error of a run, all later calls return the same one.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum NetError {
    #[error("network: {key} is {found}, must be {allowed}")]
    Plan { key: String, found: String, allowed: String },
    #[error("node `{name}`: {failure}")]
    Build { name: String, failure: Arc<dyn std::error::Error + Send + Sync> },
    #[error("node `{name}` failed before {at}: {failure}")]
    Node { name: String, at: Time, failure: Arc<dyn std::error::Error + Send + Sync> },
    #[error("node `{name}` panicked: {message}")]
    Panic { name: String, message: String },
    #[error("this machine starts no more threads: {message}")]
    NoThread { message: String },
    #[error("a thread of the network panicked: {message}")]
    Thread { message: String },
    #[error("rank {rank} ended the run: {message}")]
    Rank { rank: u32, message: String },
    #[error("exchange between ranks: {failure}")]
    Exchange { failure: Arc<dyn std::error::Error + Send + Sync> },
    #[error("rows of the network: {failure}")]
    Observer { failure: Arc<dyn std::error::Error + Send + Sync> },
    #[error("node {number} does not live in this process (it has {n_here} of {n_nodes} nodes)")]
    Elsewhere { number: u32, n_here: usize, n_nodes: usize },
}
