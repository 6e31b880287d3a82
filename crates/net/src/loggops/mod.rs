//! Hosts that follow the LogGOPS model: overhead, gap and latency of each message.
