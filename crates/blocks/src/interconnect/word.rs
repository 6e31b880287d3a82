//! Plain data between modules of glue and of processors.

use crate::netlist::Wire;

/// A number on a one-way connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Word(pub u64);

impl Wire for Word {
    const NAME: &'static str = "words";
}
