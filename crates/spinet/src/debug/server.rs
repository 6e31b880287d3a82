//! The server: one connection of gdb, and the run between its commands.

use super::target::{CardTarget, thread};
use super::watcher::{Knows, Reason, Stop};
use super::{CoreKind, Work};
use crate::run::{HORIZON, Progress, Run, RunError};
use blocks::mips::Cause;
use gdbstub::common::Signal;
use gdbstub::conn::Connection;
use gdbstub::stub::state_machine::GdbStubStateMachine;
use gdbstub::stub::{DisconnectReason, GdbStub, MultiThreadStopReason};
use kernel::Time;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Why a run cannot be debugged.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum DebugError {
    #[error("port {port} of this machine: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("no core of this card runs a program, so there is nothing to debug")]
    NoCores,
}

/// Pause between two checks for a connection.
const LOOK: Duration = Duration::from_millis(2);
/// Edges that are simulated between two checks of the connection and of the host's clock.
const EDGES: u32 = 256;
/// Length of a simulation step if the card has no next event.
const QUIET: Time = Time::from_ns(1_000_000);

/// The connection. It does not block, except to wait for gdb.
struct GdbStream {
    stream: TcpStream,
    out: Vec<u8>,
}

impl GdbStream {
    fn new(stream: TcpStream) -> io::Result<GdbStream> {
        stream.set_nodelay(true)?;
        Ok(GdbStream { stream, out: Vec::new() })
    }

    /// Reads bytes from gdb; none if gdb sends none within `wait`. Returns an error if gdb is gone.
    fn read(&mut self, wait: Option<Duration>) -> io::Result<Vec<u8>> {
        self.stream.set_nonblocking(wait.is_none())?;
        self.stream.set_read_timeout(wait)?;
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => Ok(buffer[..n].to_vec()),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(Vec::new()),
                _ => Err(error),
            },
        }
    }
}

impl Connection for GdbStream {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.out.push(byte);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        Write::write_all(&mut self.stream, &self.out)?;
        self.out.clear();
        Ok(())
    }
}

type Machine = GdbStubStateMachine<'static, CardTarget, GdbStream>;

/// State of the server.
enum State {
    /// It waits for gdb.
    Listening(TcpListener),
    /// gdb is connected.
    Connected(Box<Machine>),
    /// gdb has detached, or is gone; the run continues by itself.
    Detached,
    /// gdb has ended the run.
    Killed,
}

/// A run under a debugger.
pub struct Debugged {
    target: CardTarget,
    state: State,
    address: SocketAddr,
}

impl Deref for Debugged {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.target.run
    }
}

impl DerefMut for Debugged {
    fn deref_mut(&mut self) -> &mut Run {
        &mut self.target.run
    }
}

impl Debugged {
    /// Listens for gdb at a TCP port of this machine; 0 chooses a free one. The run starts when gdb lets it.
    pub fn new(run: Run, port: u16) -> Result<Debugged, DebugError> {
        let fault = |source| DebugError::Listen { port, source };
        let target = CardTarget::new(run).ok_or(DebugError::NoCores)?;
        let listener = TcpListener::bind(("127.0.0.1", port)).map_err(fault)?;
        listener.set_nonblocking(true).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        Ok(Debugged { target, state: State::Listening(listener), address })
    }

    /// The address at which gdb can connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Instruction set of the cores.
    pub fn kind(&self) -> CoreKind {
        self.target.kind
    }

    /// Returns true if gdb has ended the run.
    pub fn is_killed(&self) -> bool {
        matches!(self.state, State::Killed)
    }

    /// Serves gdb and simulates for about `budget` of host time, or to the end.
    pub fn advance(&mut self, budget: Duration) -> Result<Progress, RunError> {
        let end = Instant::now() + budget;
        let mut is_done = false;
        while !is_done && Instant::now() < end {
            (self.state, is_done) = match std::mem::replace(&mut self.state, State::Killed) {
                State::Listening(listener) => (accept(listener, &mut self.target), false),
                State::Connected(machine) => serve(*machine, &mut self.target, end)?,
                State::Detached => {
                    let progress = self.target.run.advance(end.saturating_duration_since(Instant::now()))?;
                    (State::Detached, progress.is_done)
                }
                State::Killed => (State::Killed, true),
            };
        }
        if self.target.run.card.ended().is_some() {
            self.target.run.card.close()?;
        }
        // gdb must be notified of the end before the run counts as done.
        let is_done = self.target.run.card.ended().is_some() && !matches!(self.state, State::Connected(_));
        Ok(Progress { is_done, ..self.target.run.card.progress() })
    }
}

/// Accepts gdb, if it connects.
fn accept(listener: TcpListener, target: &mut CardTarget) -> State {
    match listener.accept().and_then(|(stream, _)| GdbStream::new(stream)) {
        Ok(line) => match GdbStub::new(line).run_state_machine(target) {
            Ok(machine) => State::Connected(Box::new(machine)),
            Err(_) => State::Listening(listener),
        },
        Err(_) => {
            std::thread::park_timeout(LOOK);
            State::Listening(listener)
        }
    }
}

/// Serves gdb once: handles a part of its input, or simulates a part of the run. Returns the new state, and true if the
/// run is over.
fn serve(machine: Machine, target: &mut CardTarget, end: Instant) -> Result<(State, bool), RunError> {
    let machine = match machine {
        GdbStubStateMachine::Idle(mut idle) => {
            let wait = end.saturating_duration_since(Instant::now()).max(LOOK);
            match idle.borrow_conn().read(Some(wait)) {
                Ok(bytes) => feed(idle.into(), target, &bytes),
                Err(_) => None,
            }
        }
        GdbStubStateMachine::Running(mut running) => match running.borrow_conn().read(None) {
            Ok(bytes) if bytes.is_empty() => match go(target, end)? {
                Some(reason) => running.report_stop(target, reason).ok(),
                None => Some(running.into()),
            },
            Ok(bytes) => feed(running.into(), target, &bytes),
            Err(_) => None,
        },
        GdbStubStateMachine::CtrlCInterrupt(interrupted) => {
            let core = target.watcher.borrow().alone().unwrap_or(target.current);
            let reason = MultiThreadStopReason::SignalWithThread { tid: thread(core), signal: Signal::SIGINT };
            interrupted.interrupt_handled(target, Some(reason)).ok()
        }
        GdbStubStateMachine::Disconnected(gone) => {
            target.watcher.borrow_mut().end();
            target.packets.clear();
            return Ok(match gone.get_reason() {
                DisconnectReason::Kill => (State::Killed, true),
                _ => (State::Detached, false),
            });
        }
    };
    let Some(machine) = machine else {
        // The connection broke.
        target.watcher.borrow_mut().end();
        target.packets.clear();
        return Ok((State::Detached, false));
    };
    Ok((State::Connected(Box::new(machine)), false))
}

/// Passes bytes to gdb's protocol. `None` if the connection is broken.
fn feed(mut machine: Machine, target: &mut CardTarget, bytes: &[u8]) -> Option<Machine> {
    for &byte in bytes {
        machine = match machine {
            GdbStubStateMachine::Idle(idle) => idle.incoming_data(target, byte).ok()?,
            GdbStubStateMachine::Running(running) => running.incoming_data(target, byte).ok()?,
            other => return Some(other),
        };
    }
    Some(machine)
}

/// Simulates up to [`EDGES`] edges. Ends earlier if the run stops or ends, or at the host time `end`.
fn go(target: &mut CardTarget, end: Instant) -> Result<Option<MultiThreadStopReason<u32>>, RunError> {
    for _ in 0..EDGES {
        let stop = target.watcher.borrow_mut().advance(target.run.card.now(), target);
        if let Some(stop) = stop.or_else(|| target.changed()) {
            return Ok(Some(target.stops(stop)));
        }
        if target.run.card.ended().is_some() {
            let step_end = target.watcher.borrow_mut().give_up_step();
            if let Some(stop) = step_end {
                return Ok(Some(target.stops(stop)));
            }
            target.run.card.close()?;
            return Ok(Some(MultiThreadStopReason::Exited(0)));
        }
        target.edge()?;
        if Instant::now() >= end {
            break;
        }
    }
    Ok(None)
}

impl CardTarget {
    /// Notes a stop. Returns its reason for gdb.
    fn stops(&mut self, stop: Stop) -> MultiThreadStopReason<u32> {
        self.stop = Some(stop);
        self.current = stop.core;
        reason(self.kind, stop)
    }

    /// Simulates the next edge.
    fn edge(&mut self) -> Result<(), RunError> {
        let now = self.run.card.now();
        let next = self.run.card.next_event().unwrap_or(now + QUIET);
        self.run.card.run_until(next.max(now + Time::from_fs(1)).min(HORIZON))?;
        self.cores_mut().look();
        Ok(())
    }
}

impl Knows for CardTarget {
    fn is_fault(&self, cause: u32) -> bool {
        self.cores().fault(cause).is_some()
    }

    fn is_packet(&self, core: usize, pc: u32) -> bool {
        let is_awaited = |work: &Work| work.entry == Some(pc) && self.packets.iter().any(|packet| packet.holds(work));
        !self.packets.is_empty() && self.cores().work(core).is_some_and(|work| is_awaited(&work))
    }
}

/// A stop in gdb's terms.
fn reason(kind: CoreKind, stop: Stop) -> MultiThreadStopReason<u32> {
    let tid = thread(stop.core);
    match stop.reason {
        Reason::Breakpoint(_) => MultiThreadStopReason::SwBreak(tid),
        Reason::Watch(kind, addr) => MultiThreadStopReason::Watch { tid, kind, addr },
        Reason::Step | Reason::Packet => MultiThreadStopReason::SignalWithThread { tid, signal: Signal::SIGTRAP },
        Reason::Fault(cause, _) => MultiThreadStopReason::SignalWithThread { tid, signal: signal(kind, cause) },
    }
}

/// The signal for a fault, whose name gdb shows.
fn signal(kind: CoreKind, cause: u32) -> Signal {
    use isa::riscv::cause;
    match kind {
        CoreKind::RiscV => match cause {
            cause::ILLEGAL_INSTRUCTION => Signal::SIGILL,
            cause::BREAKPOINT => Signal::SIGTRAP,
            cause::INSTRUCTION_MISALIGNED | cause::LOAD_MISALIGNED | cause::STORE_MISALIGNED => Signal::SIGBUS,
            cause::INSTRUCTION_FAULT | cause::LOAD_FAULT | cause::STORE_FAULT => Signal::SIGSEGV,
            _ => Signal::SIGXCPU, // a watchdog
        },
        CoreKind::Mips => match Cause::ALL.get(cause as usize) {
            Some(Cause::Reserved) => Signal::SIGILL,
            Some(Cause::Overflow) => Signal::SIGFPE,
            Some(Cause::Trap | Cause::Breakpoint) => Signal::SIGTRAP,
            Some(Cause::Syscall) => Signal::SIGSYS,
            Some(Cause::MisalignedFetch | Cause::MisalignedLoad | Cause::MisalignedStore) => Signal::SIGBUS,
            _ => Signal::SIGSEGV,
        },
    }
}

/// A run, with or without a debugger.
pub enum Session {
    /// Without.
    Plain(Run),
    /// With.
    Debugged(Box<Debugged>),
}

impl Session {
    /// Simulates for about `budget` of host time, or to the end. A debugger may hold the run.
    pub fn advance(&mut self, budget: Duration) -> Result<Progress, RunError> {
        match self {
            Session::Plain(run) => run.advance(budget),
            Session::Debugged(debugged) => debugged.advance(budget),
        }
    }
}

impl Deref for Session {
    type Target = Run;

    fn deref(&self) -> &Run {
        match self {
            Session::Plain(run) => run,
            Session::Debugged(debugged) => debugged,
        }
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Run {
        match self {
            Session::Plain(run) => run,
            Session::Debugged(debugged) => debugged,
        }
    }
}
