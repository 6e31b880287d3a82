//! The one simulation of the process, and its operations.

use crate::Error;
use crate::conf::PspinConf;
use crate::edge::{Access, Edge, Packet};
use crate::image;
use crate::simulation::Simulation;
use kernel::Clock;
use pspin::{PspinError, PspinParams, map};
use spinet::run::{Run, Simulated};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Environment variable that selects the machine: a preset, or a preset's path.
const NIC_VARIABLE: &str = "SPINET_NIC";
/// The default machine: the published RTL.
const NIC: &str = "pspin-rtl";

/// A simulation that one thread at a time may use.
struct Owned(Run<Simulation>);

// SAFETY: the reference counts of a simulation are shared only within it, and a thread that takes it out of the library
// has all of it. The library's lock ensures that one thread uses it at a time.
unsafe impl Send for Owned {}

enum Phase {
    /// The program is not known yet.
    Empty,
    Ready(Box<Owned>),
    /// The running function holds the simulation.
    Running,
}

struct Library {
    params: PspinParams,
    phase: Phase,
    /// Initial contents of program memory.
    program: Vec<u8>,
    edge: Edge,
}

static LIBRARY: Mutex<Option<Library>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Library>> {
    // A panic ends the process, so a poisoned lock is never seen.
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accesses the edge on behalf of the NIC; there is a simulation.
pub fn edge<T>(look: impl FnOnce(&mut Edge) -> T) -> T {
    look(&mut lock().as_mut().expect("the NIC belongs to a simulation").edge)
}

/// Accesses the library on behalf of the C program; there may be no simulation.
fn with<T>(look: impl FnOnce(&mut Library) -> Result<T, Error>) -> Result<T, Error> {
    look(lock().as_mut().ok_or(Error::NoSimulation)?)
}

/// Creates the simulation of the process. Without a program, [`load`] must be called before it runs.
pub fn init(conf: &PspinConf, program: Option<&Path>) -> Result<(), Error> {
    let mut library = lock();
    if library.is_some() {
        return Err(Error::Exists);
    }
    let nic = std::env::var(NIC_VARIABLE).unwrap_or_else(|_| NIC.into());
    let mut params = spinet::nics::load(&nic, &[], Path::new(""))?;
    conf.apply(&mut params)?;
    let mut made = Library { params, phase: Phase::Empty, program: Vec::new(), edge: Edge::default() };
    program.map_or(Ok(()), |program| made.load(program))?;
    *library = Some(made);
    Ok(())
}

/// Loads the program if there is none. Returns true if the simulation's program equals this one.
pub fn load(program: &Path) -> Result<bool, Error> {
    with(|library| {
        if let Phase::Empty = library.phase {
            library.load(program)?;
            return Ok(true);
        }
        Ok(without_end(image::read(program, &library.params)?.program) == library.program)
    })
}

/// Program memory up to the last byte that is not 0, because images have whole words and some tools pad.
fn without_end(mut program: Vec<u8>) -> Vec<u8> {
    program.truncate(program.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    program
}

/// Runs until all packets are done.
pub fn run() -> Result<(), Error> {
    lend(|run| {
        run.card.resume();
        run.advance(Duration::MAX)?;
        run.card.check()
    })
}

/// Runs one cycle. Returns true if all packets are done.
pub fn tick() -> Result<bool, Error> {
    lend(|run| {
        run.card.resume();
        run.card.run_until(run.card.next_cycle())?;
        Ok(run.card.is_done())
    })
}

/// Ends the simulation. Returns its statistics.
pub fn fini() -> Result<String, Error> {
    let statistics = lend(|run| {
        run.card.close()?;
        Ok(run.card.statistics())
    });
    if !matches!(statistics, Err(Error::Running)) {
        *lock() = None;
    }
    statistics
}

/// Returns true if there is a simulation.
pub fn is_there() -> bool {
    lock().is_some()
}

/// Discards a simulation that has not run yet.
pub fn discard() {
    *lock() = None;
}

/// Picoseconds of simulated time since reset.
pub fn now_ps() -> Result<u64, Error> {
    with(|library| {
        let clock = Clock::new(library.params.clock_mhz.freq().map_err(PspinError::from)?);
        Ok(clock.edge(library.edge.now).ps())
    })
}

/// Lends the simulation to `job`. The library stays usable from callbacks.
fn lend<T>(job: impl FnOnce(&mut Run<Simulation>) -> Result<T, Error>) -> Result<T, Error> {
    let mut owned = with(|library| match std::mem::replace(&mut library.phase, Phase::Running) {
        Phase::Ready(owned) => Ok(owned),
        Phase::Running => Err(Error::Running),
        Phase::Empty => {
            library.phase = Phase::Empty;
            Err(Error::Empty)
        }
    })?;
    let done = job(&mut owned.0);
    with(|library| {
        library.phase = Phase::Ready(owned);
        done
    })
}

/// Adds all packets, or none if one is invalid.
pub fn add(packets: Vec<Packet>) -> Result<(), Error> {
    with(|library| {
        packets.iter().try_for_each(|packet| library.check(packet.bytes.len(), packet.l1_size as usize))?;
        let n_mpqs = library.params.scheduler.n_mpqs;
        packets.into_iter().for_each(|packet| library.edge.add(packet, n_mpqs));
        Ok(())
    })
}

/// Returns an error if the NIC cannot take packets of this size.
pub fn check_packet(bytes: usize, l1_bytes: usize) -> Result<(), Error> {
    with(|library| library.check(bytes, l1_bytes))
}

/// Ends the packet stream.
pub fn end_of_stream() -> Result<(), Error> {
    change_edge(Edge::end)
}

/// Changes the edge on behalf of the C program.
pub fn change_edge(change: impl FnOnce(&mut Edge)) -> Result<(), Error> {
    with(|library| {
        change(&mut library.edge);
        Ok(())
    })
}

/// Queues an access to the NIC's memories, after checking its range.
pub fn access(addr: u32, size: usize, access: impl FnOnce() -> Result<Access, Error>) -> Result<(), Error> {
    with(|library| {
        library.check_range(addr, size as u64)?;
        library.edge.accesses.push_back((addr, access()?));
        Ok(())
    })
}

impl Library {
    fn load(&mut self, program: &Path) -> Result<(), Error> {
        let image = image::read(program, &self.params)?;
        self.phase = Phase::Ready(Box::new(Owned(Run::of(Simulation::new(&self.params, &image)?))));
        self.program = without_end(image.program);
        Ok(())
    }

    /// A packet that the NIC would drop is an error of the program.
    fn check(&self, bytes: usize, l1_bytes: usize) -> Result<(), Error> {
        let cluster = &self.params.cluster;
        let limits = [
            ("pkt_len", bytes, 1, self.params.l2.packet_bytes, "L2 packet memory"),
            (
                "pkt_l1_len",
                l1_bytes,
                0,
                cluster.packet_buffer_bytes / cluster.packet_buffer_rings,
                "a ring of the L1 packet buffer",
            ),
        ];
        for (what, found, least, most, of) in limits {
            if !(least..=most as usize).contains(&found) {
                let allowed = format!("{least} to {most}, the bytes of {of}");
                return Err(Error::Argument { what, found: found.to_string(), allowed });
            }
        }
        Ok(())
    }

    fn check_range(&self, addr: u32, size: u64) -> Result<(), Error> {
        let memories =
            [(map::L2_HANDLER_BASE, self.params.l2.handler_bytes), (map::PROGRAM_BASE, self.params.l2.program_bytes)];
        let (first, end) = (u64::from(addr), u64::from(addr).saturating_add(size));
        let inside = |&(base, bytes): &(u32, u32)| first >= base.into() && end <= u64::from(base) + u64::from(bytes);
        if size > 0 && memories.iter().any(inside) {
            return Ok(());
        }
        let [handler, program] =
            memories.map(|(base, bytes)| format!("{base:#010x} to {:#010x}", u64::from(base) + u64::from(bytes) - 1));
        Err(Error::Access { addr, size, handler, program })
    }
}
