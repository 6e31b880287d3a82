//! Keeps errors from crossing the language boundary.

use crate::Error;
use std::ffi::c_int;
use std::fmt::Display;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `SPIN_SUCCESS` and `GDRIVER_OK`.
pub const SUCCESS: c_int = 0;
/// `SPIN_ERR` and `GDRIVER_ERR`.
pub const ERROR: c_int = 1;
/// Exit code of an internal error: `EX_SOFTWARE` of sysexits.h.
const INTERNAL_ERROR: i32 = 70;

/// Runs the body of a C function. A panic is an internal error and ends the process, because the state may be
/// inconsistent.
pub fn no_panic<T>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        // The panic message is on stderr already.
        print_line("error: this is a bug in spinet\nhint: please report it with the program that caused it");
        std::process::exit(INTERNAL_ERROR);
    })
}

/// Runs the body of the C function `name` and prints its error on stderr. A wrong option or `SPINET_NIC` ends the
/// process, because drivers ignore the result of `gdriver_init`.
pub fn call<T>(name: &str, body: impl FnOnce() -> Result<T, Error>) -> Result<T, c_int> {
    no_panic(body).map_err(|error| {
        let ends = error.is_users_error();
        print_error(name, error);
        if ends {
            std::process::exit(ERROR);
        }
        ERROR
    })
}

/// The same for a function whose only result is its status.
pub fn status(name: &str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    call(name, body).map_or_else(|code| code, |()| SUCCESS)
}

/// Prints the error of the C function `name` on stderr.
pub fn print_error(name: &str, error: impl Display) {
    print_line(&format!("error: {name}: {error}"));
}

/// Prints a line on stderr. Ignores write errors, because stderr may be full or closed.
fn print_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a warning on stderr.
pub fn warn(name: &str, text: impl Display) {
    print_line(&format!("warning: {name}: {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs in its own process, because the error ends it.
    #[test]
    fn an_internal_error_ends_the_process() {
        const CHILD: &str = "SPINET_TEST_OF_AN_INTERNAL_ERROR";
        if std::env::var_os(CHILD).is_some() {
            status("spin_bug", || panic!("two and two is five"));
        }
        let test = "guard::tests::an_internal_error_ends_the_process";
        let mut child = Command::new(std::env::current_exe().expect("the path of this test"));
        let output = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().expect("a child");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(INTERNAL_ERROR), "{stderr}");
        assert!(stderr.contains("two and two is five") && stderr.contains("please report it"), "{stderr}");
    }

    #[test]
    fn an_error_of_the_program_is_a_return_value() {
        assert_eq!(status("spin_error", || Err(Error::NoSimulation)), ERROR);
        assert_eq!(status("spin_fine", || Ok(())), SUCCESS);
    }
}
