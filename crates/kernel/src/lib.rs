//! The simulation kernel.
