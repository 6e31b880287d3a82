//! Callbacks into the C program.
//!
//! A C++ exception that leaves a callback ends the process. The C calling convention alone leaves this case undefined.

use crate::edge::Edge;
use crate::library;
use kernel::Cycle;
use std::ffi::c_void;

/// `pkt_out_cb_t`
pub type PktOut = unsafe extern "C-unwind" fn(*mut u8, usize);
/// `pkt_feedback_cb_t`
pub type PktFeedback = unsafe extern "C-unwind" fn(u64, u64, u64, u64);
/// `pcie_slv_write_cb_t` and `pcie_slv_read_cb_t`
pub type PcieSlv = unsafe extern "C-unwind" fn(u64, *mut u8, usize);
/// `pcie_mst_write_cb_t` and `pcie_mst_read_cb_t`
pub type PcieMst = unsafe extern "C-unwind" fn(*mut c_void);

/// The callbacks that are set.
#[derive(Clone, Copy, Default, Debug)]
pub struct Callbacks {
    pub pkt_out: Option<PktOut>,
    pub pkt_feedback: Option<PktFeedback>,
    pub pcie_slv_write: Option<PcieSlv>,
    pub pcie_slv_read: Option<PcieSlv>,
    pub pcie_mst_write: Option<PcieMst>,
    pub pcie_mst_read: Option<PcieMst>,
}

/// A pointer of the C program, kept until a callback returns it or a read writes to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UserPtr(usize);

impl UserPtr {
    /// Wraps a pointer.
    pub fn new(pointer: *mut c_void) -> Self {
        UserPtr(pointer.expose_provenance())
    }

    /// The pointer.
    pub fn get(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

/// A scheduled call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Call {
    /// A packet is done: its user pointer, and times in ps.
    Feedback([u64; 4]),
    /// A packet left.
    PktOut(Vec<u8>),
    /// A beat reached host memory.
    HostWrite(u64, Vec<u8>),
    /// A write to the NIC's memories is complete.
    MstWrite(UserPtr),
    /// A read of the NIC's memories is complete: its destination, the bytes, and the user pointer.
    MstRead(UserPtr, Vec<u8>, UserPtr),
}

impl Call {
    /// Order of calls within a cycle: the order of PsPIN's functional models.
    pub fn rank(&self) -> u8 {
        match self {
            Call::Feedback(_) => 0,
            Call::PktOut(_) => 1,
            Call::HostWrite(..) => 2,
            Call::MstWrite(_) => 3,
            Call::MstRead(..) => 4,
        }
    }

    fn make(mut self, set: &Callbacks) {
        match &mut self {
            Call::Feedback([user, nic_arrival, her, feedback]) => {
                if let Some(call) = set.pkt_feedback {
                    // SAFETY: the C program registered this function for this purpose, and its arguments are numbers.
                    unsafe { call(*user, *nic_arrival, *her, *feedback) }
                }
            }
            Call::PktOut(bytes) => {
                if let Some(call) = set.pkt_out {
                    // SAFETY: the pointer refers to `bytes.len()` bytes that nothing else uses during the call.
                    unsafe { call(bytes.as_mut_ptr(), bytes.len()) }
                }
            }
            Call::HostWrite(addr, bytes) => {
                if let Some(call) = set.pcie_slv_write {
                    // SAFETY: as above.
                    unsafe { call(*addr, bytes.as_mut_ptr(), bytes.len()) }
                }
            }
            Call::MstWrite(user) => {
                if let Some(call) = set.pcie_mst_write {
                    // SAFETY: the C program registered this function for this purpose; the pointer is its own.
                    unsafe { call(user.get()) }
                }
            }
            Call::MstRead(data, bytes, user) => {
                // SAFETY: spin_nicmem_read requires memory of that size which lives until this call.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.get().cast::<u8>(), bytes.len()) }
                if let Some(call) = set.pcie_mst_read {
                    // SAFETY: as for writes.
                    unsafe { call(user.get()) }
                }
            }
        }
    }
}

/// Makes all calls that are due up to `cycle`. The C program may call the library from them.
pub fn deliver(cycle: Cycle) {
    while let Some((call, set)) = library::edge(|edge| edge.begin_call(cycle)) {
        call.make(&set);
        library::edge(Edge::end_call);
    }
}

/// Fills `data` with host memory from `addr` on. The bytes return in `cycle`.
///
/// A read always requests the whole 64-byte line.
pub fn read_host(cycle: Cycle, addr: u64, data: &mut [u8]) {
    let set = library::edge(|edge| edge.begin_read(cycle));
    let mut line = [0; LINE];
    let first = (addr % LINE as u64) as usize;
    // On the paper's card, whose reads are packets, one read may span two lines.
    let (first, wanted) = if first + data.len() <= LINE { (first, LINE) } else { (0, data.len()) };
    if let Some(call) = set.pcie_slv_read {
        // SAFETY: the pointer refers to a line, and `wanted` is at most a line.
        unsafe { call(addr - first as u64, line.as_mut_ptr(), wanted) }
    }
    data.copy_from_slice(&line[first..first + data.len()]);
    library::edge(|edge| {
        edge.bytes_requested += wanted as u64;
        edge.end_call();
    });
}

/// Bytes of a line.
const LINE: usize = 64;
