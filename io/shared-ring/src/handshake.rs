//! Handshake of two programs that want rings: each sends its address, its arena and its doorbell over a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use sluice_host::poll::Waker;

use crate::ring::{Half, Ring, SLOTS, words};

/// Octets of a datagram; longer ones do not go over rings.
pub(crate) const LONGEST: usize = 2_048;
/// Octets of a first word, or more.
const ROOM: usize = 256;

/// A program that has connected and not said who it is, with what it gets of us.
pub(crate) struct Joining {
    pub socket: OwnedFd,
    half: Half<LONGEST>,
    pub doorbell: Waker,
}

/// Rings to a peer: its address, the socket by whose end it is gone, and the doorbell that wakes us.
pub(crate) struct Joined {
    pub peer: SocketAddr,
    pub ring: Ring<LONGEST>,
    pub socket: OwnedFd,
    pub doorbell: Waker,
}

/// Outcome of a look at what the peer has said.
pub(crate) enum Heard {
    /// Nothing yet.
    Nothing(Joining),
    /// Rings are there.
    Joined(Joined),
    /// The peer is gone, is no peer of ours, or sends what cannot be used.
    Unfit,
}

/// Version and layout, which both sides have to have.
fn version() -> String {
    format!("sluice-datagrams/1 {SLOTS} {}", words(LONGEST))
}

impl Joining {
    /// Of a socket (SOCK_SEQPACKET) whose other end hears that we are at `own`.
    ///
    /// # Errors
    /// The kernel has no memory or no more descriptors, or the peer is gone.
    pub fn new(socket: OwnedFd, own: SocketAddr) -> io::Result<Self> {
        let (half, doorbell) = (Half::new()?, Waker::new()?);
        let text = format!("{} {own}", version());
        send(&socket, text.as_bytes(), &[half.arena(), doorbell.as_fd()])?;
        Ok(Self {
            socket,
            half,
            doorbell,
        })
    }

    /// Looks what the peer has said.
    pub fn hear(self) -> Heard {
        let mut room = [0; ROOM];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut into = [IoSliceMut::new(&mut room)];
        let received = rustix::net::recvmsg(&self.socket, &mut into, &mut ancillary, flags);
        let received = match received {
            Ok(received) => received.bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing(self),
            Err(_) => return Heard::Unfit,
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        let peer = address(room.get(..received).unwrap_or_default());
        let joined = peer.and_then(|peer| self.join(peer, descriptors));
        joined.map_or(Heard::Unfit, Heard::Joined)
    }

    fn join(self, peer: SocketAddr, descriptors: Vec<OwnedFd>) -> Option<Joined> {
        let [arena, doorbell] = <[OwnedFd; 2]>::try_from(descriptors).ok()?;
        let ring = self.half.join(arena, doorbell).ok()?;
        // Whoever sends always wakes us: there is no moment at which we tell that we sleep.
        ring.sleep(true);
        Some(Joined {
            peer,
            ring,
            socket: self.socket,
            doorbell: self.doorbell,
        })
    }
}

/// Address of a peer that speaks as we do.
fn address(octets: &[u8]) -> Option<SocketAddr> {
    let text = str::from_utf8(octets).ok()?;
    text.strip_prefix(&version())?.trim_start().parse().ok()
}

fn send(socket: impl AsFd, octets: &[u8], with: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(with)) {
        return Err(io::Error::other("no room for descriptors"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(octets)], &mut ancillary, flags)?;
    Ok(())
}
