//! The generic driver as it was before contexts, and with the first of them: C functions that `gdriver.h` calls by the number
//! of arguments.
//!
//! Source: spcl/pspin before October 2022, `examples/generic_driver`. Differs: the command line is today's, traces included;
//! a fill callback that returns more bytes than there are is refused.

use super::driver::{Fill, NewContext};
use super::{Form, init, lend, lock};
use crate::callbacks::UserPtr;
use crate::ffi::{path, text};
use crate::guard::{complain, status};
use crate::library;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Reads the command line and makes the simulation and its only context.
///
/// # Safety
/// `argv` is NULL or points to `argc` C texts; the others are NULL or C texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_init_handlers(
    argc: c_int,
    argv: *const *const c_char,
    hfile: *const c_char,
    hh: *const c_char,
    ph: *const c_char,
    th: *const c_char,
) -> c_int {
    status("gdriver_init", || {
        // SAFETY: the caller's promise, here and below.
        unsafe { init(Form::OneContext, argc, argv, None) }?;
        let names = [hh, ph, th].map(|name| unsafe { text(name) }.map(|name: &CStr| name.to_string_lossy()));
        let file = unsafe { text(hfile) }.map(path);
        let handlers = [0, 1, 2].map(|stage: usize| names[stage].as_deref());
        let new = NewContext { file, handlers, fill: None, image: Vec::new(), matching: &[] };
        let added = lend(|driver| driver.add_context(new));
        if added.is_err() {
            *lock() = None;
            library::forget();
        }
        added
    })
}

/// Reads the command line and makes the simulation, for contexts without matching.
///
/// # Safety
/// `argv` is NULL or points to `argc` C texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_init_plain(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    status("gdriver_init", || unsafe { init(Form::PlainContexts, argc, argv, None) })
}

/// Sets who fills packets; NULL leaves it to the driver.
#[unsafe(no_mangle)]
pub extern "C" fn gdriver_set_packet_fill_callback(pkt_fill_fun: Option<Fill>) -> c_int {
    status("gdriver_set_packet_fill_callback", || {
        lend(|driver| {
            driver.set_fill(pkt_fill_fun);
            Ok(())
        })
    })
}

/// Sets what the run writes to handler memory before it makes packets.
///
/// # Safety
/// `img` is NULL or points to `size` bytes, which live until `gdriver_run` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_set_l2_img(img: *mut c_void, size: usize) -> c_int {
    status("gdriver_set_l2_img", || {
        lend(|driver| {
            driver.image = (!img.is_null() && size > 0).then(|| (UserPtr::new(img), size));
            Ok(())
        })
    })
}

/// A write to the NIC's memories is done.
pub fn image_is_written() {
    // Where the program has written by itself there may be no driver.
    if lock().is_none() {
        return;
    }
    let done = lend(super::Driver::image_is_written);
    if let Err(error) = done {
        complain("gdriver_run", error.to_string());
        if let Some(driver) = lock().as_mut() {
            driver.has_failed = true;
        }
    }
}
