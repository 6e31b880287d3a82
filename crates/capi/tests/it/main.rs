//! C programs against the library, as a user builds and runs them.

mod drivers;
mod generic;
mod layout;
mod misuse;
/// Programs that need no compiler.
#[path = "../../../spinet/tests/it/support/mod.rs"]
mod programs;
mod refused;
mod support;
mod tenants;
mod watching;
