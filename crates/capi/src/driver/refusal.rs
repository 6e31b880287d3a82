//! Errors of `spinet_driver.h`: a code for the program, a text for people.

use crate::Error;
use spinet::driver::DriverError;
use spinet::elf::ElfError;
use spinet::handlers::HandlerError;
use spinet::handlers::record::RecordError;
use spinet::nics::NicError;
use spinet::streams::FeedError;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Display;

/// `SPINET_OK`
pub const OK: c_int = 0;
/// `SPINET_E_ARGUMENT`
const ARGUMENT: c_int = -1;
/// `SPINET_E_UNKNOWN`
const UNKNOWN: c_int = -2;
/// `SPINET_E_GONE`
const GONE: c_int = -3;
/// `SPINET_E_FOREIGN`
const FOREIGN: c_int = -4;
/// `SPINET_E_IN_USE`
const IN_USE: c_int = -5;
/// `SPINET_E_BUSY`
const BUSY: c_int = -6;
/// `SPINET_E_EXHAUSTED`
const EXHAUSTED: c_int = -7;
/// `SPINET_E_BEYOND`
const BEYOND: c_int = -8;
/// `SPINET_E_TAKEN`
const TAKEN: c_int = -9;
/// `SPINET_E_INSTALLED`
const INSTALLED: c_int = -10;
/// `SPINET_E_PROGRAM`
const PROGRAM: c_int = -11;
/// `SPINET_E_CARD`
const CARD: c_int = -12;
/// `SPINET_E_THREAD`
const THREAD: c_int = -13;

thread_local! {
    /// The text of `spinet_last_error`.
    static LAST: RefCell<CString> = RefCell::default();
}

/// An error of a function.
#[derive(Debug)]
pub struct Refusal {
    code: c_int,
    text: String,
}

impl Refusal {
    fn new(code: c_int, text: impl Display) -> Self {
        Refusal { code, text: text.to_string() }
    }

    /// The error for a pointer that must not be NULL.
    pub fn null(what: &'static str, wanted: &'static str) -> Self {
        Error::Null { what, wanted }.into()
    }

    /// The error for an invalid argument.
    pub fn argument(what: impl Display, found: impl Display, allowed: impl Display) -> Self {
        Refusal::new(ARGUMENT, format_args!("{what} is {found}, must be {allowed}"))
    }

    /// The same with a complete description of the problem.
    pub fn invalid_argument(what: &'static str, problem: impl Display) -> Self {
        Refusal::new(ARGUMENT, format_args!("{what}: {problem}"))
    }

    /// The error for a machine of another thread.
    pub fn thread() -> Self {
        Refusal::new(THREAD, "the machine was booted on another thread; use it on that thread")
    }

    /// The error for an access that is not complete.
    pub fn in_progress(ticket: u64) -> Self {
        Refusal::new(BUSY, format_args!("ticket {ticket} is in progress; run the simulation, or call spinet_wait"))
    }
}

impl From<DriverError> for Refusal {
    fn from(error: DriverError) -> Self {
        let code = match &error {
            DriverError::Unknown { .. } => UNKNOWN,
            DriverError::Gone { .. } => GONE,
            DriverError::Foreign { .. } => FOREIGN,
            DriverError::InUse { .. } => IN_USE,
            DriverError::Busy { .. } => BUSY,
            DriverError::Exhausted { .. } => EXHAUSTED,
            DriverError::Value { .. }
            | DriverError::Io { .. }
            | DriverError::Match(_)
            | DriverError::Message(_)
            | DriverError::RuleSet(_)
            | DriverError::Engine(_)
            | DriverError::Param(_)
            | DriverError::Packet { .. } => ARGUMENT,
            DriverError::Beyond { .. } => BEYOND,
            DriverError::Taken { .. } => TAKEN,
            DriverError::Elf(_) | DriverError::Program(_) => PROGRAM,
            DriverError::Installed { .. } => INSTALLED,
            DriverError::Unanswered { .. } => CARD,
        };
        Refusal::new(code, error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::new(ARGUMENT, error)
    }
}

impl From<ElfError> for Refusal {
    fn from(error: ElfError) -> Self {
        Refusal::new(PROGRAM, error)
    }
}

impl From<NicError> for Refusal {
    fn from(error: NicError) -> Self {
        Refusal::new(CARD, error)
    }
}

impl From<HandlerError> for Refusal {
    fn from(error: HandlerError) -> Self {
        match error {
            HandlerError::Driver(error) => error.into(),
            HandlerError::Elf(error) => error.into(),
            HandlerError::Program(error) => Refusal::new(PROGRAM, error),
            other => Refusal::new(CARD, other),
        }
    }
}

impl From<FeedError> for Refusal {
    fn from(error: FeedError) -> Self {
        Refusal::new(ARGUMENT, error)
    }
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        Refusal::new(CARD, error)
    }
}

/// Stores the text of an error for this thread. Returns its code.
pub fn remember(refusal: Refusal) -> c_int {
    let text = CString::new(refusal.text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced");
    // While a thread ends, its storage may be gone already, for example in C++ destructors of static objects. The code
    // remains.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
    refusal.code
}

/// The text of the last error on this thread. It lives until the next error.
#[unsafe(no_mangle)]
pub extern "C" fn spinet_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
