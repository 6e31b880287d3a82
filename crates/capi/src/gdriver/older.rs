//! The older interfaces of the generic driver: before contexts, and with the first contexts. `gdriver.h` selects these
//! C functions by the number of arguments.
//!
//! Source: spcl/pspin before October 2022, `examples/generic_driver`. Differs: the command line is the current one,
//! including traces; a fill callback that returns more bytes than the packet has is refused.

use super::driver::{Fill, NewContext};
use super::{Interface, init, lend, lock};
use crate::callbacks::UserPtr;
use crate::ffi::{path, text};
use crate::guard::{print_error, status};
use crate::library;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Reads the command line, then creates the simulation and its only context.
///
/// # Safety
/// `argv` is NULL or points to `argc` C strings; the others are NULL or C strings.
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
        // SAFETY: the caller guarantees it, here and below.
        unsafe { init(Interface::OneContext, argc, argv, None) }?;
        let names = [hh, ph, th].map(|name| unsafe { text(name) }.map(|name: &CStr| name.to_string_lossy()));
        let file = unsafe { text(hfile) }.map(path);
        let handlers = [0, 1, 2].map(|stage: usize| names[stage].as_deref());
        let new = NewContext { file, handlers, fill: None, image: Vec::new(), matching: &[] };
        let added = lend(|driver| driver.add_context(new));
        if added.is_err() {
            *lock() = None;
            library::discard();
        }
        added
    })
}

/// Reads the command line and creates the simulation, for contexts without matching.
///
/// # Safety
/// `argv` is NULL or points to `argc` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gdriver_init_plain(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: the caller guarantees it.
    status("gdriver_init", || unsafe { init(Interface::PlainContexts, argc, argv, None) })
}

/// Sets the fill callback; with NULL the driver fills packets.
#[unsafe(no_mangle)]
pub extern "C" fn gdriver_set_packet_fill_callback(pkt_fill_fun: Option<Fill>) -> c_int {
    status("gdriver_set_packet_fill_callback", || {
        lend(|driver| {
            driver.set_fill(pkt_fill_fun);
            Ok(())
        })
    })
}

/// Sets the image that the run writes to handler memory before it creates packets.
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

/// A write to the NIC's memories is complete.
pub fn image_is_written() {
    // Without a driver, the write was the program's own.
    if lock().is_none() {
        return;
    }
    let done = lend(super::Driver::image_is_written);
    if let Err(error) = done {
        print_error("gdriver_run", error.to_string());
        if let Some(driver) = lock().as_mut() {
            driver.has_failed = true;
        }
    }
}
