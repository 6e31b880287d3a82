//! C programs that use the library, built and run like a user's.

mod drivers;
mod generic;
mod layout;
mod misuse;
/// Programs that are built without a compiler.
#[path = "../../../spinet/tests/it/support/mod.rs"]
mod programs;
mod refused;
mod support;
mod tenants;
mod watching;
