//! Keeps a value on a thread of its own, because a NIC cannot change threads but its user may call from any.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A job for the object that lives on the thread.
type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// The reason why the worker does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerGone {
    /// The caller closed it.
    #[error("it was closed before, and cannot be used any more")]
    Closed,
    /// The system refused its thread, as under a limit of memory or of processes.
    #[error("this machine starts no more threads: {what}")]
    NoThread {
        /// The system's reason.
        what: String,
    },
    /// The thread panicked, which is a bug in spinet.
    #[error("internal error: {what}; please report it")]
    Panicked {
        /// The message of the panic.
        what: String,
    },
}

/// The reason why a worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError<E> {
    /// The error of the run.
    #[error("{0}")]
    Run(Box<E>),
    /// The thread did not start, or it panicked.
    #[error(transparent)]
    Gone(#[from] WorkerGone),
}

/// A run, or a driver, on a thread of its own, which ends when this is dropped.
pub struct Worker<T> {
    jobs: Mutex<Option<Sender<Job<T>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Stack of the thread, in bytes.
const STACK_BYTES: usize = 16 << 20;

impl<T: 'static> Worker<T> {
    /// Builds the object on a new thread.
    pub fn start<E: Send + 'static>(
        build: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<Self, StartError<E>> {
        let (jobs, inbox) = channel::<Job<T>>();
        let (reply, replies) = channel();
        let body = move || match build() {
            Ok(thing) => {
                // If the caller has ended, nothing receives this. Then the inbox is closed, too.
                let _ = reply.send(Ok(()));
                serve(thing, &inbox);
            }
            Err(error) => drop(reply.send(Err(error))),
        };
        let thread = std::thread::Builder::new().name("spinet".into()).stack_size(STACK_BYTES).spawn(body);
        let thread = thread.map_err(|error| WorkerGone::NoThread { what: error.to_string() })?;
        let worker = Worker { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) };
        match replies.recv() {
            Ok(Ok(())) => Ok(worker),
            Ok(Err(error)) => Err(StartError::Run(Box::new(error))),
            Err(_) => Err(worker.gone().into()),
        }
    }

    /// Runs a function on the object and waits for the result.
    pub fn call<R: Send + 'static>(&self, what: impl FnOnce(&mut T) -> R + Send + 'static) -> Result<R, WorkerGone> {
        let (reply, replies) = channel();
        let job: Job<T> = Box::new(move |thing| drop(reply.send(what(thing))));
        let sent = match &*lock(&self.jobs) {
            Some(jobs) => jobs.send(job).is_ok(),
            None => false,
        };
        match sent.then(|| replies.recv()) {
            Some(Ok(value)) => Ok(value),
            _ => Err(self.gone()),
        }
    }

    /// Returns an error if it was closed, or if an earlier call found that its thread had panicked.
    pub fn check(&self) -> Result<(), WorkerGone> {
        let is_open = lock(&self.jobs).is_some();
        if is_open { Ok(()) } else { Err(self.gone()) }
    }

    /// The reason why the worker does not answer.
    fn gone(&self) -> WorkerGone {
        lock(&self.jobs).take();
        let Some(Err(panic)) = lock(&self.thread).take().map(JoinHandle::join) else { return WorkerGone::Closed };
        let what = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => (*text).to_owned(),
            _ => "the run panicked".into(),
        };
        WorkerGone::Panicked { what }
    }
}

impl<T> Worker<T> {
    /// Ends the thread; later calls fail.
    pub fn stop(&self) {
        lock(&self.jobs).take();
        if let Some(thread) = lock(&self.thread).take() {
            // Callers that met the panic have reported it.
            let _ = thread.join();
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve<T>(mut thing: T, inbox: &Receiver<Job<T>>) {
    while let Ok(job) = inbox.recv() {
        job(&mut thing);
    }
}

/// A lock is held only to read or take its value, so a panic cannot leave a half-changed value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
