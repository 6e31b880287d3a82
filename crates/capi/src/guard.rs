//! What keeps mistakes on their side of the language boundary.

use crate::Error;
use std::ffi::c_int;
use std::fmt::Display;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `SPIN_SUCCESS` and `GDRIVER_OK`.
pub const SUCCESS: c_int = 0;
/// `SPIN_ERR` and `GDRIVER_ERR`.
pub const ERROR: c_int = 1;
/// Exit code of a mistake of ours: `EX_SOFTWARE` of sysexits.h.
const OUR_BUG: i32 = 70;

/// Runs the body of a C function. A panic is our bug and ends the process, since nothing behind it can be relied on.
pub fn no_panic<T>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        // Where and why is on stderr already.
        say("error: this is a mistake in spinet\nhint: please report it with the program that caused it");
        std::process::exit(OUR_BUG);
    })
}

/// Runs the body of the C function `name`, and says on stderr why it fails. A mistake of the person who started the program ends
/// the process, since drivers do not look at what `gdriver_init` returns.
pub fn call<T>(name: &str, body: impl FnOnce() -> Result<T, Error>) -> Result<T, c_int> {
    no_panic(body).map_err(|error| {
        let ends = error.is_of_the_command_line();
        complain(name, error);
        if ends {
            std::process::exit(ERROR);
        }
        ERROR
    })
}

/// The same for a function that returns nothing but whether it worked.
pub fn status(name: &str, body: impl FnOnce() -> Result<(), Error>) -> c_int {
    call(name, body).map_or_else(|code| code, |()| SUCCESS)
}

/// Says on stderr why the C function `name` fails.
pub fn complain(name: &str, error: impl Display) {
    say(&format!("error: {name}: {error}"));
}

/// A line on stderr, if somebody takes it: where it goes may be full or closed, which is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Says on stderr what is probably not meant.
pub fn warn(name: &str, text: impl Display) {
    say(&format!("warning: {name}: {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// In a process of its own, which it ends.
    #[test]
    fn a_mistake_of_ours_ends_the_process() {
        const CHILD: &str = "SPINET_TEST_OF_A_MISTAKE";
        if std::env::var_os(CHILD).is_some() {
            status("spin_mistake", || panic!("two and two is five"));
        }
        let test = "guard::tests::a_mistake_of_ours_ends_the_process";
        let mut child = Command::new(std::env::current_exe().expect("the path of this test"));
        let said = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().expect("a child");
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(OUR_BUG), "{stderr}");
        assert!(stderr.contains("two and two is five") && stderr.contains("please report it"), "{stderr}");
    }

    #[test]
    fn what_the_program_did_wrong_is_a_return_value() {
        assert_eq!(status("spin_error", || Err(Error::NoSimulation)), ERROR);
        assert_eq!(status("spin_fine", || Ok(())), SUCCESS);
    }
}
