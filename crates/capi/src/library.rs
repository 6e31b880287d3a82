//! The one simulation of the process, and what C programs do with it.

use crate::Error;
use crate::conf::PspinConf;
use crate::edge::{Access, Edge, Packet};
use crate::image;
use crate::simulation::{Simulation, State};
use kernel::Clock;
use pspin::{PspinError, PspinParams, map};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names the machine: a preset, or the path of one.
const NIC_VARIABLE: &str = "SPINET_NIC";
/// The machine of those who do not choose: the RTL as published.
const NIC: &str = "pspin-rtl";

/// A simulation that one thread at a time may have.
struct Owned(Simulation);

// SAFETY: all that a simulation shares with reference counts, it shares with itself, and whoever takes it out of the
// library has all of it. So it can be used by one thread after another, which the library's lock sees to.
unsafe impl Send for Owned {}

enum Phase {
    /// Its program is not known yet.
    Empty,
    Ready(Box<Owned>),
    /// Whoever runs it has it.
    Running,
}

struct Library {
    params: PspinParams,
    phase: Phase,
    /// What program memory held at first.
    program: Vec<u8>,
    edge: Edge,
}

static LIBRARY: Mutex<Option<Library>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Library>> {
    // A panic ends the process, so nobody sees what it left behind.
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the edge, for the NIC; there is a simulation.
pub fn edge<T>(look: impl FnOnce(&mut Edge) -> T) -> T {
    look(&mut lock().as_mut().expect("the NIC belongs to a simulation").edge)
}

/// Looks at the library, for the C program; there may be no simulation.
fn with<T>(look: impl FnOnce(&mut Library) -> Result<T, Error>) -> Result<T, Error> {
    look(lock().as_mut().ok_or(Error::NoSimulation)?)
}

/// Makes the simulation of the process. Without a program, [`load`] must come before it runs.
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

/// Gives the simulation its program if it has none. Returns whether its program is this one.
pub fn load(program: &Path) -> Result<bool, Error> {
    with(|library| {
        if let Phase::Empty = library.phase {
            library.load(program)?;
            return Ok(true);
        }
        Ok(without_end(image::read(program, &library.params)?.program) == library.program)
    })
}

/// Bytes of program memory up to the last that is not 0: images hold whole words, and some tools pad.
fn without_end(mut program: Vec<u8>) -> Vec<u8> {
    program.truncate(program.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    program
}

/// Runs until all packets are done.
pub fn run() -> Result<(), Error> {
    lend(Simulation::run)
}

/// Runs for a cycle. Returns whether all packets are done.
pub fn tick() -> Result<bool, Error> {
    lend(|simulation| Ok(simulation.tick()? == State::Done))
}

/// Ends the simulation. Returns its statistics.
pub fn fini() -> Result<String, Error> {
    let statistics = lend(|simulation| {
        simulation.finish_watch()?;
        Ok(simulation.statistics())
    });
    if !matches!(statistics, Err(Error::Running)) {
        *lock() = None;
    }
    statistics
}

/// Whether there is a simulation.
pub fn is_there() -> bool {
    lock().is_some()
}

/// Ends a simulation that has not begun to run.
pub fn forget() {
    *lock() = None;
}

/// Picoseconds of simulated time since reset.
pub fn now_ps() -> Result<u64, Error> {
    with(|library| {
        let clock = Clock::new(library.params.clock_mhz.freq().map_err(PspinError::from)?);
        Ok(clock.edge(library.edge.now).ps())
    })
}

/// Lends the simulation, while the library stays open for callbacks.
fn lend<T>(job: impl FnOnce(&mut Simulation) -> Result<T, Error>) -> Result<T, Error> {
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

/// Adds packets: all of them, or none.
pub fn add(packets: Vec<Packet>) -> Result<(), Error> {
    with(|library| {
        packets.iter().try_for_each(|packet| library.check(packet.bytes.len(), packet.l1_size as usize))?;
        let n_mpqs = library.params.scheduler.n_mpqs;
        packets.into_iter().for_each(|packet| library.edge.add(packet, n_mpqs));
        Ok(())
    })
}

/// Whether the NIC takes packets of so many bytes.
pub fn check_packet(bytes: usize, l1_bytes: usize) -> Result<(), Error> {
    with(|library| library.check(bytes, l1_bytes))
}

/// There will be no more packets.
pub fn end_of_stream() -> Result<(), Error> {
    change_edge(Edge::end)
}

/// Changes the edge for the C program.
pub fn change_edge(change: impl FnOnce(&mut Edge)) -> Result<(), Error> {
    with(|library| {
        change(&mut library.edge);
        Ok(())
    })
}

/// Asks for an access to the NIC's memories, which is made once it is known to be to one of them.
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
        self.phase = Phase::Ready(Box::new(Owned(Simulation::new(&self.params, &image)?)));
        self.program = without_end(image.program);
        Ok(())
    }

    /// What the NIC would drop is an error of the program.
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
