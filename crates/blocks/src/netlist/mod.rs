//! Cards as data: module instances, their parameters, and connections between ports.
//!
//! A [`Module`] is a kind of part: a parameter type that declares ports and builds a component. The [`Catalog`] holds
//! all kinds by name. A [`Netlist`] is a card as written in its files; [`Netlist::design`] resolves and checks all
//! names; [`Card::build`] turns a [`Design`] into a running system.

mod build;
mod changes;
mod clock;
mod connect;
mod design;
mod elaborate;
mod endpoint;
mod expression;
mod load;
mod module;
mod node;
mod problem;
mod protocol;
#[cfg(test)]
mod tests;
mod text;
mod unused;

pub use build::Card;
pub use clock::ClockFreq;
pub use design::{Connection, Design, DesignPart, Group};
pub use load::Finder;
pub use module::{Built, Catalog, Environment, Kind, Module, ParameterProblem, PortSide, PortSpec, Site};
pub use problem::{FilePlace, NetlistErrors, Problem};
pub use protocol::{Memory, OneWay, Protocol, Wire};
pub use text::Netlist;
