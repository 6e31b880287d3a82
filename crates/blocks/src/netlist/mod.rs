//! Cards as data: instances of modules, their parameters, and connections from port to port.
//!
//! A [`Module`] is a kind of part: a parameter type that knows its ports and builds a component. The [`Catalog`] holds the
//! kinds by name. A [`Netlist`] is a card as its TOML file says it; [`Card::build`] makes it a running system.

mod build;
mod module;
mod protocol;
mod text;

pub use build::{Card, NetlistError};
pub use module::{Built, Catalog, Environment, Kind, Module, PortSpec, Side, Site};
pub use protocol::{Memory, OneWay, Protocol, Wire};
pub use text::{ClockFreq, Connection, Instance, Netlist};
