//! SIGINT, SIGTERM and SIGHUP, or another thread's wish, as a flag and a pollable descriptor.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

use crate::{HostError, poll};

/// Takes over SIGINT, SIGTERM, and SIGHUP (the terminal is gone) while it lives.
#[derive(Debug)]
pub struct Shutdown {
    requested: Arc<AtomicBool>,
    /// Readable from the first signal on, until [`Shutdown::again`].
    pipe: UnixStream,
    writer: UnixStream,
    ids: Vec<SigId>,
}

/// Asks for the end as a signal does; clones ask for the same one.
#[derive(Clone, Debug)]
pub struct EndRequest {
    requested: Arc<AtomicBool>,
    writer: Arc<UnixStream>,
}

impl EndRequest {
    /// Asks for it.
    pub fn send(&self) {
        // The flag first, as below.
        self.requested.store(true, Ordering::Relaxed);
        // A pipe that is full wakes as well.
        let _ = (&*self.writer).write(&[0]);
    }
}

impl Shutdown {
    /// From here on these signals no longer end the process. `nohup` has SIGHUP ignored, and it
    /// stays so.
    pub fn install() -> Result<Self, HostError> {
        Self::register().map_err(HostError::os("take over SIGINT, SIGTERM and SIGHUP"))
    }

    /// No signal asks for the end, but whoever has the [`EndRequest`].
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn by_request() -> Result<Self, HostError> {
        Self::unregistered().map_err(HostError::os("make a pipe"))
    }

    /// For other threads to ask for the end.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn end_request(&self) -> Result<EndRequest, HostError> {
        let writer = self.writer.try_clone();
        let writer = writer.and_then(|writer| writer.set_nonblocking(true).map(|()| writer));
        Ok(EndRequest {
            requested: Arc::clone(&self.requested),
            writer: Arc::new(writer.map_err(HostError::os("duplicate a pipe"))?),
        })
    }

    fn unregistered() -> io::Result<Self> {
        let (pipe, writer) = UnixStream::pair()?;
        Ok(Self {
            requested: Arc::default(),
            pipe,
            writer,
            ids: Vec::new(),
        })
    }

    fn register() -> io::Result<Self> {
        let mut this = Self::unregistered()?;
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            // The flag first: whoever is woken by the pipe must find it set.
            this.ids.push(signal_hook::flag::register(
                signal,
                Arc::clone(&this.requested),
            )?);
            this.ids
                .push(pipe::register(signal, this.writer.try_clone()?)?);
        }
        Ok(this)
    }

    /// Whether a signal has come.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// From now on another signal counts, not the one that has come.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn again(&self) -> io::Result<()> {
        // Writers of the pipe are signal handlers, which do not wait either.
        self.pipe.set_nonblocking(true)?;
        self.requested.store(false, Ordering::Relaxed);
        loop {
            match (&self.pipe).read(&mut [0; 64]) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }

    /// The flag itself, for threads that look at it in passing. Setting it asks for the end
    /// too, but wakes nobody.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Sleeps until a signal comes or `timeout` is over; says whether one has come.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        poll::wait_readable(&self.pipe, timeout)?;
        Ok(self.is_requested())
    }
}

impl AsFd for Shutdown {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Drop for Shutdown {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}

/// Whether this process ignores the signal (proc(5): a mask, signal 1 is its lowest bit).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_sets_the_flag_and_wakes_the_poll() {
        let shutdown = Shutdown::install().expect("install");
        assert!(!shutdown.wait(Duration::ZERO).expect("poll"));
        signal_hook::low_level::raise(SIGTERM).expect("raise");
        assert!(shutdown.wait(Duration::from_secs(5)).expect("poll"));
        assert!(shutdown.is_requested());
        shutdown.again().expect("drained");
        assert!(!shutdown.wait(Duration::ZERO).expect("poll"));
        signal_hook::low_level::raise(SIGTERM).expect("raise");
        assert!(shutdown.wait(Duration::from_secs(5)).expect("poll"));
        drop(shutdown);
        let shutdown = Shutdown::install().expect("install");
        signal_hook::low_level::raise(SIGHUP).expect("raise");
        assert!(shutdown.is_requested());
    }

    #[test]
    fn another_thread_asks_for_the_end_as_a_signal_does() {
        let shutdown = Shutdown::by_request().expect("a pipe");
        let request = shutdown.end_request().expect("its other end");
        assert!(!shutdown.wait(Duration::ZERO).expect("poll"));
        std::thread::spawn(move || request.send());
        assert!(shutdown.wait(Duration::from_secs(60)).expect("poll"));
        assert!(shutdown.is_requested());
        shutdown.again().expect("drained");
        assert!(!shutdown.wait(Duration::ZERO).expect("poll"));
    }

    #[test]
    fn an_ignored_signal_is_told_from_others() {
        // Rust's runtime ignores SIGPIPE.
        assert!(is_ignored(signal_hook::consts::SIGPIPE));
        assert!(!is_ignored(SIGTERM));
    }
}
