//! Watch of a core by a program that has none of its functions, and ends with it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};

/// Time between two looks for a core.
const RETRY: Duration = Duration::from_millis(50);

/// Connection to the manager of a core: readable when the core is gone.
#[derive(Debug)]
pub struct CoreWatch(OwnedFd);

impl CoreWatch {
    /// Of the core whose manager listens at `path`, at most `patience` from now on.
    ///
    /// # Errors
    /// No core listens there.
    pub fn connect(path: &Path, patience: Duration) -> io::Result<Self> {
        let until = Instant::now() + patience;
        let address = SocketAddrUnix::new(path)?;
        loop {
            let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
            let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
            match rustix::net::connect(&socket, &address) {
                Ok(()) => return Ok(Self(socket)),
                Err(error) if Instant::now() >= until => return Err(error.into()),
                Err(_) => std::thread::sleep(RETRY),
            }
        }
    }

    /// Whether the core is gone, or does not want this program.
    pub fn is_over(&self) -> bool {
        let nothing = &mut [0u8; 1];
        let received = rustix::net::recv(&self.0, &mut nothing[..], RecvFlags::DONTWAIT);
        !matches!(received, Err(Errno::AGAIN | Errno::INTR))
    }
}

impl AsFd for CoreWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
