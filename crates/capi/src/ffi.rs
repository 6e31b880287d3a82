//! The C functions of `pspinsim.h` and `spin.h`, and conversions between C and Rust.

use crate::Error;
use crate::callbacks::{PcieMst, PcieSlv, PktFeedback, PktOut, UserPtr};
use crate::conf::PspinConf;
use crate::edge::{Access, Packet, SpinEc};
use crate::guard::{SUCCESS, call, status};
use crate::{library, packet_trace, program, watch};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
}

/// Prints through C's buffer, so that lines of the library and of the program keep their order.
pub fn print(text: &str) {
    // A handler's output may contain zero bytes, which end a C string.
    let text = CString::new(text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced");
    // SAFETY: both are C texts, and the format takes one text.
    unsafe { printf(c"%s".as_ptr(), text.as_ptr()) };
}

/// A C string, or `None` for NULL.
///
/// # Safety
/// `text` is NULL or a C string that lives as long as the result.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller guarantees it; NULL is checked first.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// The path in a C string.
pub fn path(text: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(text.to_bytes()))
}

/// Copies bytes of the C program.
///
/// # Safety
/// Unless `size` is 0, `data` is NULL or points to `size` bytes.
pub unsafe fn bytes(what: &'static str, data: *const u8, size: usize) -> Result<Vec<u8>, Error> {
    match (size, data.is_null()) {
        (0, _) => Ok(Vec::new()),
        (_, true) => Err(Error::Null { what, wanted: "the bytes" }),
        // SAFETY: the caller guarantees it.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(data, size) }.to_vec()),
    }
}

/// Writes a result through a pointer of the C program.
///
/// # Safety
/// `place` is NULL or writable.
pub unsafe fn put<T>(what: &'static str, place: *mut T, value: T) -> Result<(), Error> {
    if place.is_null() {
        return Err(Error::Null { what, wanted: "room for the result" });
    }
    // SAFETY: the caller guarantees it; packed structs in C may be unaligned.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Message identities have 10 bits in the hardware (`C_MSGID_WIDTH`).
pub fn msgid(id: u32) -> u16 {
    (id & 0x3FF) as u16
}

/// The string that `get_slm_path` returns.
static SLM_PATH: Mutex<Option<CString>> = Mutex::new(None);

/// Creates the simulation. Without a program, `load` adds one later.
pub fn init(conf: &PspinConf, program: Option<&Path>) -> Result<(), Error> {
    library::init(conf, program)?;
    let shown = program.map(|program| {
        let mut shown = program.as_os_str().as_bytes().to_vec();
        if program.is_dir() && !shown.ends_with(b"/") {
            shown.push(b'/');
        }
        shown
    });
    *SLM_PATH.lock().unwrap_or_else(PoisonError::into_inner) = shown.and_then(|shown| CString::new(shown).ok());
    // PsPIN's library prints this line here.
    print(if watch::wants_waves() { "trace on!\n" } else { "trace off!\n" });
    Ok(())
}

/// Fills in the defaults.
///
/// # Safety
/// `conf` is NULL or points to a `pspin_conf_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_default_conf(conf: *mut PspinConf) -> c_int {
    // SAFETY: the caller guarantees it.
    status("pspinsim_default_conf", || unsafe { put("conf", conf, PspinConf::default()) })
}

/// Creates the simulation.
///
/// # Safety
/// `conf` is NULL or points to a `pspin_conf_t` whose path is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_init(_argc: c_int, _argv: *mut *mut c_char, conf: *const PspinConf) -> c_int {
    status("pspinsim_init", || {
        // SAFETY: the caller guarantees it.
        let conf = if conf.is_null() { PspinConf::default() } else { unsafe { conf.read_unaligned() } };
        // SAFETY: the caller guarantees it.
        let named = unsafe { text(conf.slm_files_path) };
        init(&conf, Some(&program::locate(named.map(path))?))
    })
}

/// Runs until all packets are done.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_run() -> c_int {
    status("pspinsim_run", library::run)
}

/// Runs one cycle.
///
/// # Safety
/// `done_flag` is NULL or points to a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_run_tick(done_flag: *mut u8) -> c_int {
    status("pspinsim_run_tick", || {
        // SAFETY: the caller guarantees it, here and below.
        unsafe { put("done_flag", done_flag, 0) }?;
        let is_done = library::tick()?;
        unsafe { put("done_flag", done_flag, u8::from(is_done)) }
    })
}

/// Picoseconds of simulated time since reset; 0 without a simulation.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_time() -> u64 {
    call("pspinsim_time", library::now_ps).unwrap_or(0)
}

/// Prints statistics and ends the simulation.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_fini() -> c_int {
    status("pspinsim_fini", || library::fini().map(|statistics| print(&statistics)))
}

/// Adds the packets in two files.
///
/// # Safety
/// Both arguments are NULL or C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_packet_trace_read(pkt_file: *const c_char, data_file: *const c_char) -> c_int {
    status("pspinsim_packet_trace_read", || {
        let name = |what, name: *const c_char| {
            // SAFETY: the caller guarantees it.
            let name = unsafe { text(name) }.ok_or(Error::Null { what, wanted: "the name of a file" })?;
            Ok::<_, Error>(path(name).display().to_string())
        };
        let files = (name("pkt_file_path", pkt_file)?, name("data_file_path", data_file)?);
        library::add(packet_trace::read(&files.0, &files.1)?)
    })
}

/// Adds a packet.
///
/// # Safety
/// `ec` is NULL or points to a `spin_ec_t`, `pkt_data` is NULL or points to `pkt_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pspinsim_packet_add(
    ec: *const SpinEc,
    id: u32,
    pkt_data: *const u8,
    pkt_len: usize,
    pkt_l1_len: usize,
    eom: u8,
    wait_cycles: u32,
    user_ptr: u64,
) -> c_int {
    status("pspinsim_packet_add", || {
        if ec.is_null() {
            return Err(Error::Null { what: "ec", wanted: "an execution context" });
        }
        // Checked before the data is copied.
        library::check_packet(pkt_len, pkt_l1_len)?;
        // SAFETY: the caller guarantees it, here and below.
        let ec = unsafe { ec.read_unaligned() };
        let bytes = unsafe { bytes("pkt_data", pkt_data, pkt_len) }?;
        let l1_size = u32::try_from(pkt_l1_len).expect("the size was checked against the ring");
        library::add(vec![Packet { ec, msgid: msgid(id), eom: eom != 0, bytes, l1_size, wait_cycles, user: user_ptr }])
    })
}

/// Ends the packet stream.
#[unsafe(no_mangle)]
pub extern "C" fn pspinsim_packet_eos() -> c_int {
    status("pspinsim_packet_eos", library::end_of_stream)
}

/// Functions that set a callback: name, type, field.
macro_rules! setters {
    ($($name:ident($kind:ty) $place:ident;)*) => {$(
        /// Sets a callback; NULL removes it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(cb: Option<$kind>) -> c_int {
            status(stringify!($name), || library::change_edge(|edge| edge.callbacks.$place = cb))
        }
    )*};
}

setters! {
    pspinsim_cb_set_pkt_out(PktOut) pkt_out;
    pspinsim_cb_set_pkt_feedback(PktFeedback) pkt_feedback;
    pspinsim_cb_set_pcie_slv_write(PcieSlv) pcie_slv_write;
    pspinsim_cb_set_pcie_slv_read(PcieSlv) pcie_slv_read;
    pspinsim_cb_set_pcie_mst_write_completion(PcieMst) pcie_mst_write;
    pspinsim_cb_set_pcie_mst_read_completion(PcieMst) pcie_mst_read;
}

/// Path of the memory images; NULL before the first simulation. It lives until the next one begins.
#[unsafe(no_mangle)]
pub extern "C" fn get_slm_path() -> *const c_char {
    let shown = SLM_PATH.lock().unwrap_or_else(PoisonError::into_inner);
    shown.as_ref().map_or(std::ptr::null(), |shown| shown.as_ptr())
}

/// Writes to the NIC's memories.
///
/// # Safety
/// `data` is NULL or points to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_nicmem_write(
    addr: u32,
    data: *const c_void,
    size: usize,
    user_ptr: *mut c_void,
) -> c_int {
    status("spin_nicmem_write", || {
        library::access(addr, size, || {
            // SAFETY: the caller guarantees it.
            let bytes = unsafe { bytes("data", data.cast(), size) }?;
            Ok(Access::Write(bytes, UserPtr::new(user_ptr)))
        })
    })
}

/// Reads from the NIC's memories.
///
/// # Safety
/// `data` is NULL or points to `size` bytes, which live until the read is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_nicmem_read(addr: u32, data: *mut c_void, size: usize, user_ptr: *mut c_void) -> c_int {
    status("spin_nicmem_read", || {
        if data.is_null() {
            return Err(Error::Null { what: "data", wanted: "room for the bytes" });
        }
        library::access(addr, size, || {
            let size = u32::try_from(size).expect("the size was checked against the memory");
            Ok(Access::Read(size, UserPtr::new(data), UserPtr::new(user_ptr)))
        })
    })
}

/// Finds a handler.
///
/// # Safety
/// Both strings are NULL or C strings, both results are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spin_find_handler_by_name(
    binfile: *const c_char,
    handler_name: *const c_char,
    handler_addr: *mut u32,
    handler_size: *mut usize,
) -> c_int {
    let found = call("spin_find_handler_by_name", || {
        // SAFETY: the caller guarantees it, here and below.
        let file = unsafe { text(binfile) }.ok_or(Error::Null { what: "binfile", wanted: "the name of a file" })?;
        let name = unsafe { text(handler_name) }.ok_or(Error::Null { what: "handler_name", wanted: "a name" })?;
        program::find(path(file), &name.to_string_lossy())
    });
    match found {
        Err(code) => code,
        Ok(None) => SUCCESS,
        Ok(Some(addr)) => status("spin_find_handler_by_name", || {
            // SAFETY: the caller guarantees it.
            unsafe { put("handler_addr", handler_addr, addr) }?;
            unsafe { put("handler_size", handler_size, program::HANDLER_BYTES) }
        }),
    }
}
