//! What keeps mistakes on their side of the language boundary.

use crate::Error;
use std::ffi::c_int;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `SPIN_SUCCESS` and `GDRIVER_OK`.
pub const SUCCESS: c_int = 0;
/// `SPIN_ERR` and `GDRIVER_ERR`.
pub const ERROR: c_int = 1;
/// Exit code of a mistake of ours: `EX_SOFTWARE` of sysexits.h.
const OUR_BUG: i32 = 70;

/// Runs the body of the C function `name`. A panic is our bug and ends the process, since nothing behind it can be relied on.
pub fn call<T>(name: &str, body: impl FnOnce() -> Result<T, Error>) -> Result<T, c_int> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            complain(name, error);
            Err(ERROR)
        }
        Err(_) => {
            // Where and why is on stderr already.
            eprintln!("error: this is a mistake in spinet");
            eprintln!("hint: please report it with the program that caused it");
            std::process::exit(OUR_BUG);
        }
    }
}

/// The same for a function that returns nothing but whether it worked.
pub fn status(name: &str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    call(name, body).map_or_else(|code| code, |()| SUCCESS)
}

/// Says on stderr why the C function `name` fails.
pub fn complain(name: &str, error: impl Display) {
    eprintln!("error: {name}: {error}");
}
