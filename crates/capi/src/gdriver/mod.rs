//! PsPIN's generic driver: the C functions of `gdriver.h`.
//!
//! Source: PsPIN a49fec8, `examples/generic_driver`, and for [`older`] its versions before contexts.
//!
//! Differs: traces pass the packet's size to a fill callback; PsPIN passes 0. A trace whose packets are all done ends
//! with success; PsPIN's always fails. An image for the only context may use all of handler memory; PsPIN's may not.
//! Bytes that no callback fills are 0.

mod driver;
mod older;
mod options;
mod trace;

use crate::Error;
use crate::conf::PspinConf;
use crate::ffi::{bytes, path, print, put, text};
use crate::guard::{ERROR, SUCCESS, call, print_error, status};
use crate::{image, library};
use driver::{Driver, Fill, HANDLER_MEMORY, Match, NewContext};
use options::Action;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `GDRIVER_MATCHING_CTX_MAXSIZE`
const MATCHING_CTX_BYTES: usize = 256;
/// Folder where the build rules of PsPIN's examples put memory images.
const IMAGES: &str = "build/slm_files/";

/// The versions of the generic driver's interface. A program uses one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interface {
    /// Until October 2022: `gdriver_init` names the handlers.
    OneContext,
    /// For some weeks after that: contexts without matching.
    PlainContexts,
    /// The current interface.
    Contexts,
}

impl Interface {
    /// Maximum number of contexts.
    fn contexts(self) -> usize {
        match self {
            Interface::OneContext => 1,
            Interface::PlainContexts | Interface::Contexts => 2,
        }
    }

    /// Status that `gdriver_fini` returns: older interfaces return 1 if all packets are done.
    fn ended(self, well: bool) -> c_int {
        match (self, well) {
            (Interface::Contexts, true) => SUCCESS,
            (Interface::Contexts, false) => ERROR,
            (Interface::OneContext | Interface::PlainContexts, well) => c_int::from(well),
        }
    }
}

/// The driver of the process.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);
/// Number of packets whose feedback arrived.
static PROCESSED: AtomicU64 = AtomicU64::new(0);

fn lock() -> MutexGuard<'static, Option<Driver>> {
    // A panic ends the process, so a poisoned lock is never seen.
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the driver out for a job that calls the C program.
fn lend<T>(job: impl FnOnce(&mut Driver) -> Result<T, Error>) -> Result<T, Error> {
    let mut driver = lock().take().ok_or(Error::NoDriver)?;
    let done = job(&mut driver);
    *lock() = Some(driver);
    done
}

extern "C-unwind" fn count_feedback(_user: u64, _nic_arrival: u64, _her: u64, _feedback: u64) {
    PROCESSED.fetch_add(1, Ordering::Relaxed);
}

extern "C-unwind" fn on_write_done(user: *mut c_void) {
    // The text of C's %p.
    let user = if user.is_null() { "(nil)".into() } else { format!("{user:p}") };
    print(&format!("Write to NIC memory completed (user_ptr: {user})\n"));
    older::image_is_written();
}

/// Reads the command line, then creates the simulation and a driver without contexts. If the command line asks for
/// help or the version, prints the text and ends the process.
///
/// # Safety
/// `argv` is NULL or points to `argc` C strings.
unsafe fn init(form: Interface, argc: c_int, argv: *const *const c_char, matching: Option<Match>) -> Result<(), Error> {
    // SAFETY: the caller guarantees it.
    let argument = |i: usize| unsafe { text(*argv.add(i)) }.map(|text| text.to_string_lossy().into_owned());
    let n = if argv.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
    let arguments: Vec<String> = (1..n).map_while(argument).collect();
    let options = match options::parse(&arguments).map_err(Error::Options)? {
        Action::Run(options) => options,
        Action::Print(text) => {
            print(text);
            std::process::exit(0);
        }
    };
    // Without images, the first context names the program.
    let images = Some(Path::new(IMAGES)).filter(|path| image::is_there(path));
    crate::ffi::init(&PspinConf::default(), images)?;
    library::change_edge(|edge| {
        edge.callbacks.pcie_mst_write = Some(on_write_done);
        edge.callbacks.pkt_feedback = Some(count_feedback);
    })?;
    PROCESSED.store(0, Ordering::Relaxed);
    *lock() = Some(Driver::new(form, options, matching));
    Ok(())
}

/// Reads the command line and creates the simulation.
///
/// # Safety
/// `argv` points to `argc` C strings, `ectx_num` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_init(
    argc: c_int,
    argv: *const *const c_char,
    matching_cb: Option<Match>,
    ectx_num: *mut c_int,
) -> c_int {
    status("gdriver_init", || {
        // SAFETY: the caller guarantees it, here and below.
        unsafe { put("ectx_num", ectx_num, -1) }?;
        unsafe { init(Interface::Contexts, argc, argv, matching_cb) }?;
        unsafe { put("ectx_num", ectx_num, Interface::Contexts.contexts() as c_int) }
    })
}

/// Adds a context.
///
/// # Safety
/// The strings are NULL or C strings, `l2_img` is NULL or points to `l2_img_size` bytes, `matching_ctx` is NULL or a C
/// string of at most `matching_ctx_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_add_ectx(
    hfile: *const c_char,
    hh: *const c_char,
    ph: *const c_char,
    th: *const c_char,
    fill_cb: Option<Fill>,
    l2_img: *const c_void,
    l2_img_size: usize,
    matching_ctx: *const c_void,
    matching_ctx_size: usize,
) -> c_int {
    status("gdriver_add_ectx", || {
        if matching_ctx_size > MATCHING_CTX_BYTES {
            let (found, allowed) = (matching_ctx_size.to_string(), format!("at most {MATCHING_CTX_BYTES}"));
            return Err(Error::Argument { what: "matching_ctx_size", found, allowed });
        }
        // SAFETY: the caller guarantees it, here and below.
        let name = |name| unsafe { text(name) }.map(|name: &CStr| name.to_string_lossy());
        let names = [name(hh), name(ph), name(th)];
        let image = match l2_img.is_null() {
            true => Vec::new(),
            // Checked before the image is copied. The driver checks the rest.
            false if l2_img_size > HANDLER_MEMORY.1 as usize => {
                let allowed = format!("at most {}", HANDLER_MEMORY.1);
                return Err(Error::Argument { what: "l2_img_size", found: l2_img_size.to_string(), allowed });
            }
            false => unsafe { bytes("l2_img", l2_img.cast(), l2_img_size) }?,
        };
        let matching = unsafe { text(matching_ctx.cast()) }.map_or(&[][..], CStr::to_bytes);
        if matching.len() >= MATCHING_CTX_BYTES {
            let (found, allowed) =
                (format!("of {} bytes", matching.len()), format!("at most {}", MATCHING_CTX_BYTES - 1));
            return Err(Error::Argument { what: "matching_ctx", found, allowed });
        }
        let new = NewContext {
            file: unsafe { text(hfile) }.map(path),
            handlers: [0, 1, 2].map(|stage: usize| names[stage].as_deref()),
            fill: fill_cb,
            image,
            matching,
        };
        lend(|driver| driver.add_context(new))
    })
}

/// Gives the NIC its packets and runs until all are done.
#[unsafe(no_mangle)]
pub extern "C" fn gdriver_run() -> c_int {
    status("gdriver_run", || {
        let done = lend(Driver::begin).and_then(|()| library::run());
        lend(|driver| {
            driver.has_failed |= done.is_err();
            Ok(())
        })?;
        done
    })
}

/// Prints statistics and ends the simulation.
#[unsafe(no_mangle)]
pub extern "C" fn gdriver_fini() -> c_int {
    let Some(driver) = lock().take() else {
        return status("gdriver_fini", || Err(Error::NoDriver));
    };
    match call("gdriver_fini", library::fini) {
        Ok(statistics) => print(&statistics),
        Err(_) => {
            let form = driver.form;
            // The call comes from a callback, so the run continues.
            if library::is_there() {
                *lock() = Some(driver);
            }
            return form.ended(false);
        }
    }
    let processed = PROCESSED.load(Ordering::Relaxed);
    let all_done = driver.packets == processed;
    // A failed run has printed its error already.
    if !all_done && !driver.has_failed {
        let text = format!("{} packets were sent, the feedback of {processed} was counted", driver.packets);
        print_error("gdriver_fini", text);
    }
    driver.form.ended(all_done && !driver.has_failed)
}
