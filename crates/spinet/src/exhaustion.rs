//! Ends a process that gets no memory with a message and an exit code, where Rust would abort.
//!
//! [`Allocator`] asks the system. If the system refuses, it removes the partial files that [`watch`] names, writes an
//! error to stderr, and ends the process. Python's own allocations raise `MemoryError` instead, which needs no help.
//!
//! Libraries in C and C++ end the process in their own ways: by `abort`, by `exit`, or by an access through a null
//! pointer. [`guard`] catches these exits, and handles them in the same way if memory is short. Other crashes are not
//! changed.

use memmap2::MmapOptions;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::fs::File;
use std::hint::black_box;
use std::io::{IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Exit code for invalid input, and for a machine that is too small for a run.
pub const EXIT_CODE: c_int = 2;

/// Bytes of memory that are reserved for the clean-up. `assumed:` enough to list and remove a folder.
const RESERVE: usize = 1 << 20;

/// Pause between two attempts to lock the list, and maximum number of attempts.
const PAUSE: Duration = Duration::from_millis(1);
const ATTEMPTS: u32 = 100;

unsafe extern "C" {
    /// Ends the process without the C library's clean-up, which would wait for other threads.
    safe fn _exit(code: c_int) -> !;
    /// Ends the process by a signal after this many seconds.
    safe fn alarm(seconds: c_uint) -> c_uint;
    /// Installs a handler of a signal and returns the previous handler.
    safe fn signal(number: c_int, handler: usize) -> usize;
    /// Installs a function that `exit` calls.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// The signals of a crash: SIGABRT, SIGBUS, SIGSEGV. They have these numbers on Linux for x86-64 and ARM.
const CRASHES: [c_int; 3] = [6, 7, 11];
/// SIG_DFL: the signal ends the process.
const DEFAULT: usize = 0;
/// Memory is short if the system refuses this number of bytes. `assumed:` more than libraries ask for at once.
const SHORT: usize = 64 << 20;
/// Maximum time for the clean-up after a crash, in seconds. The clean-up may wait forever for a lock that the crashed
/// code of the C library held.
const PATIENCE_S: c_uint = 5;

/// Not guarded.
const FREE: c_int = -1;
/// The command runs, with guards.
const RUNS: c_int = -2;

/// [`FREE`], [`RUNS`], or the exit code of the command that has ended.
static COMMAND: AtomicI32 = AtomicI32::new(FREE);

/// Begins a command. If memory is short, a crash or an `exit` of a library then ends the process like a refused
/// allocation. A signal that already has a handler keeps it.
pub fn guard() {
    if COMMAND.swap(RUNS, Ordering::AcqRel) != FREE {
        return;
    }
    for number in CRASHES {
        let before = signal(number, crashed as extern "C" fn(c_int) as usize);
        if before != DEFAULT {
            signal(number, before);
        }
    }
    atexit(left);
}

/// The command has ended with this exit code. If memory is short, a crash while libraries clean up does not change it.
pub fn unguard(code: c_int) {
    if COMMAND.load(Ordering::Acquire) != FREE {
        COMMAND.store(code.max(0), Ordering::Release);
    }
}

/// Handles a crash.
extern "C" fn crashed(number: c_int) {
    alarm(PATIENCE_S);
    if is_short() {
        match COMMAND.load(Ordering::Acquire) {
            RUNS => end(None),
            code => _exit(code),
        }
    }
    alarm(0);
    // The instruction is repeated, or `abort` continues, and the process ends as without a handler.
    signal(number, DEFAULT);
}

/// Handles `exit`. Only a library calls it before the command has ended.
extern "C" fn left() {
    if COMMAND.load(Ordering::Acquire) == RUNS && is_short() {
        end(None);
    }
}

/// Returns true if memory is short. It asks the system directly, because a crash may have left the allocator in any
/// state.
fn is_short() -> bool {
    MmapOptions::new().len(SHORT).map_anon().is_err()
}

/// Files and folders to remove, the process that named them, and the reserve.
struct Watched {
    paths: Vec<PathBuf>,
    process: u32,
    reserve: Vec<u8>,
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched { paths: Vec::new(), process: 0, reserve: Vec::new() });

/// Removes this file or folder if the process ends for lack of memory.
pub fn watch(path: PathBuf) {
    let Ok(mut watched) = WATCHED.lock() else { return };
    let process = std::process::id();
    if watched.process != process {
        watched.paths.clear(); // After a fork, these paths belong to the parent process.
        watched.process = process;
    }
    if watched.reserve.is_empty() {
        watched.reserve = vec![1; RESERVE];
    }
    watched.paths.push(path);
}

/// Keeps this file or folder from now on, because it is complete or gone.
pub fn unwatch(path: &Path) {
    let Ok(mut watched) = WATCHED.lock() else { return };
    watched.paths.retain(|known| known != path);
}

/// Returns true if the system would give this process `bytes` more bytes.
pub fn is_granted(bytes: usize) -> bool {
    let Ok(layout) = Layout::array::<u8>(bytes) else { return false };
    if bytes == 0 {
        return true;
    }
    // SAFETY: the layout is not empty.
    let pointer = unsafe { System.alloc(layout) };
    // The optimizer may remove memory that is not used.
    if black_box(pointer).is_null() {
        return false;
    }
    // SAFETY: it was allocated above with this layout.
    unsafe { System.dealloc(pointer, layout) };
    true
}

/// The system's allocator, except that a refused allocation ends the process. This costs a comparison per allocation.
pub struct Allocator;

// SAFETY: every call goes to the system's allocator unchanged, and no null pointer is returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

#[inline]
fn granted(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        end(Some(bytes));
    }
    pointer
}

thread_local! {
    /// True while this thread ends the process.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// True once a thread ends the process.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Removes partial files, reports the refused allocation if its size is known, and ends the process.
#[cold]
#[inline(never)]
fn end(bytes: Option<usize>) -> ! {
    // If the clean-up also gets no memory, the next run into the same folder removes the remaining files.
    if !ENDS.replace(true) {
        while IS_ENDING.swap(true, Ordering::AcqRel) {
            std::thread::sleep(PAUSE); // Another thread is ending the process.
        }
        if let Some(mut watched) = lock() {
            remove(&mut watched);
        }
    }
    report(bytes);
    _exit(EXIT_CODE);
}

/// Locks the list. Returns `None` if this thread holds the lock, because an allocation failed while it changed the
/// list.
fn lock() -> Option<MutexGuard<'static, Watched>> {
    for _ in 0..ATTEMPTS {
        match WATCHED.try_lock() {
            Ok(watched) => return Some(watched),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    None
}

fn remove(watched: &mut Watched) {
    watched.reserve = Vec::new();
    if watched.process != std::process::id() {
        return;
    }
    for path in &watched.paths {
        // There is no place left to report a failure.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

/// Writes the error without allocating.
fn report(bytes: Option<usize>) {
    // SAFETY: descriptor 2 stays open, because the file is never dropped.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    // A progress bar hides the cursor.
    let begin = if stderr.is_terminal() { "\r\x1b[K\x1b[?25h" } else { "" };
    let _ = write!(rest, "{begin}error: this machine has not enough memory for the run");
    if let Some(bytes) = bytes {
        let _ = write!(rest, ": the system refuses {bytes} bytes more");
    }
    let _ = rest.write_all(b"\nhint: take fewer packets, omit tables, or raise the limit of memory (ulimit -v)\n");
    let unused = rest.len();
    let n_bytes = text.len() - unused;
    let _ = stderr.write_all(&text[..n_bytes]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    #[global_allocator]
    static ALLOCATOR: Allocator = Allocator;

    const CHILD: &str = "SPINET_TEST_OF_EXHAUSTION";
    /// More bytes than any address space has.
    const BYTES: usize = 1 << 60;

    /// Runs a test of this module again, in a process of its own, which finds `text` in its environment.
    fn child(test: &str, text: &str) -> Output {
        let mut command = Command::new(std::env::current_exe().expect("the path of this test"));
        command.args(["--exact", &format!("exhaustion::tests::{test}"), "--nocapture"]).env(CHILD, text);
        command.output().expect("a child")
    }

    #[test]
    fn a_refused_allocation_ends_the_process_with_an_error_and_without_partial_files() {
        if let Some(folder) = std::env::var_os(CHILD) {
            let folder = PathBuf::from(folder);
            for name in ["partial", "file", "kept"] {
                watch(folder.join(name));
            }
            unwatch(&folder.join("kept"));
            drop(black_box(Vec::<u8>::with_capacity(BYTES)));
        }
        let folder = std::env::temp_dir().join(format!("spinet-exhaustion-{}", std::process::id()));
        for name in ["partial/host", "kept"] {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        for name in ["partial/host/0", "file"] {
            std::fs::write(folder.join(name), "half").expect("a file");
        }
        let test = "a_refused_allocation_ends_the_process_with_an_error_and_without_partial_files";
        let output = child(test, folder.to_str().expect("UTF-8"));
        let left = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let left: Vec<_> = left.collect();
        std::fs::remove_dir_all(&folder).expect("removed");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(EXIT_CODE), "{stderr}");
        let begin =
            "error: this machine has not enough memory for the run: the system refuses 1152921504606846976 bytes";
        assert!(stderr.starts_with(begin), "{stderr}");
        assert_eq!(left, ["kept"]);
    }

    #[test]
    fn threads_that_are_refused_memory_together_report_one_error() {
        if std::env::var_os(CHILD).is_some() {
            let threads: Vec<_> =
                (0..8).map(|_| std::thread::spawn(|| drop(black_box(Vec::<u8>::with_capacity(BYTES))))).collect();
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        let output = child("threads_that_are_refused_memory_together_report_one_error", "");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.matches("error:").count()), (Some(EXIT_CODE), 1), "{stderr}");
    }

    #[test]
    fn asking_whether_memory_is_granted_ends_nothing() {
        assert!(is_granted(0) && is_granted(1000));
        assert!(!is_granted(BYTES) && !is_granted(usize::MAX));
    }
}
