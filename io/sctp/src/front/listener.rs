//! Socket at which a front waits for the program that speaks NGAP.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::channel::Channel;
use super::frame::Frame;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4;

/// Socket of a front.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    path: PathBuf,
}

impl Listener {
    /// Listens at `path`, which whoever runs this program alone may use. A socket that nobody listens at any more is
    /// removed before.
    ///
    /// # Errors
    /// The path cannot be used, or another program listens there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        if path.exists() {
            if rustix::net::connect(socket()?, &address).is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
        }
        let socket = socket()?;
        rustix::net::bind(&socket, &address)?;
        rustix::fs::chmod(path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        rustix::net::listen(&socket, BACKLOG)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        let path = path.to_owned();
        Ok(Self { socket, path })
    }

    /// The next program that has connected; one of another user is told that it is not served.
    pub fn accept(&self) -> Option<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = rustix::net::accept_with(&self.socket, flags).ok()?;
            let its = rustix::net::sockopt::socket_peercred(&socket).map(|peer| peer.uid);
            let mut channel = Channel::new(socket);
            if its == Ok(rustix::process::geteuid()) {
                return Some(channel);
            }
            let why = "it runs as another user".to_owned();
            channel.send(&Frame::Refused { why });
        }
    }
}

/// A socket for frames.
pub(super) fn socket() -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(rustix::net::socket_with(
        AddressFamily::UNIX,
        kind,
        flags,
        None,
    )?)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Nobody finds a front there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}
