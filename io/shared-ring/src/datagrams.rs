//! Datagrams between two programs of one machine: a ring each way in place of two UDP sockets.
//!
//! As on a network, a datagram is whole, comes in order or not at all, and has the address of who sent it. One program
//! listens at a Unix socket, others join there; all are of one user.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use sluice_host::poll::{Poller, Waker};

use crate::handshake::{Heard, Joined, Joining, LONGEST};
use crate::ring::Ring;

/// Programs that may join, or be about to.
const MOST: usize = 64;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;
/// Pause between two looks whether others are there: none costs a call of the kernel in each turn of a busy loop.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Pause between two looks for a listener.
const RETRY: Duration = Duration::from_millis(200);
/// The same after another one was found.
const OTHER_RETRY: Duration = Duration::from_secs(5);

/// End of rings to a peer.
pub struct RingEnd {
    peer: SocketAddr,
    ring: Ring<LONGEST>,
    /// Readable when the peer is gone.
    socket: OwnedFd,
    doorbell: Waker,
    is_broken: bool,
    room: Box<[u8]>,
}

impl RingEnd {
    fn new(joined: Joined) -> Self {
        Self {
            peer: joined.peer,
            ring: joined.ring,
            socket: joined.socket,
            doorbell: joined.doorbell,
            is_broken: false,
            room: vec![0; LONGEST].into(),
        }
    }

    /// The address of the other end.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Puts a datagram on the ring; the other end hears of it after [`flush`](Self::flush). False if there is no room, or
    /// it is longer than any of a ring: then another way is to be taken.
    pub fn send(&mut self, octets: &[u8]) -> bool {
        if octets.len() > LONGEST || self.is_broken {
            return false;
        }
        let sent = self.ring.send(octets);
        self.is_broken |= sent.is_err();
        sent == Ok(true)
    }

    /// Wakes the other end if there is something new for it.
    pub fn flush(&mut self) {
        self.ring.flush();
    }

    /// The next datagram of the other end.
    pub fn take(&mut self) -> Option<&[u8]> {
        let mut length = self.receive();
        if length.is_none() {
            // First this, then one more look: what comes between them wakes us again.
            self.doorbell.clear();
            length = self.receive();
        }
        self.room.get(..length?)
    }

    fn receive(&mut self) -> Option<usize> {
        if self.is_broken {
            return None;
        }
        let received = self.ring.receive(&mut self.room);
        self.is_broken |= received.is_err();
        received.ok().flatten()
    }

    /// Whether the other end is gone, or breaks the rules.
    fn is_over(&self) -> bool {
        let nothing = &mut [0u8; 1];
        let received = rustix::net::recv(&self.socket, &mut nothing[..], RecvFlags::DONTWAIT);
        let is_there = matches!(
            received,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)
        );
        self.is_broken || !is_there
    }

    fn watch(&self, poller: &Poller) -> io::Result<()> {
        poller.add(&self.doorbell, 1)
    }
}

impl std::fmt::Debug for RingEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingEnd").field("peer", &self.peer).finish()
    }
}

fn socket() -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    Ok(rustix::net::socket_with(
        AddressFamily::UNIX,
        kind,
        flags,
        None,
    )?)
}

/// Listener for programs that want rings: readable when there may be something to take.
pub struct RingListener {
    socket: OwnedFd,
    path: PathBuf,
    own: SocketAddr,
    poller: Poller,
    joining: Vec<Joining>,
    ends: Vec<RingEnd>,
    next_look: Instant,
}

impl RingListener {
    /// Listens at `path`, which whoever runs this program alone may use, for peers that hear that we are at `own`. A
    /// socket that nobody listens at any more is removed before.
    ///
    /// # Errors
    /// The path cannot be used, or another program listens there.
    pub fn open(path: &Path, own: SocketAddr) -> io::Result<Self> {
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
        let poller = Poller::new()?;
        poller.add(&socket, 0)?;
        Ok(Self {
            socket,
            path: path.to_owned(),
            own,
            poller,
            joining: Vec::new(),
            ends: Vec::new(),
            next_look: Instant::now(),
        })
    }

    /// Programs join, and those that are gone are forgotten.
    pub fn turn(&mut self) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK_EVERY;
        self.ends.retain(|end| !end.is_over());
        while let Ok(socket) = rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC) {
            let its = rustix::net::sockopt::socket_peercred(&socket).map(|peer| peer.uid);
            let is_ours = its == Ok(rustix::process::geteuid());
            if is_ours && self.joining.len() + self.ends.len() < MOST {
                let joining = Joining::new(socket, self.own);
                let watched = joining.and_then(|one| {
                    self.poller.add(&one.socket, 0)?;
                    Ok(one)
                });
                self.joining.extend(watched.ok());
            }
        }
        for one in std::mem::take(&mut self.joining) {
            match one.hear() {
                Heard::Nothing(one) => self.joining.push(one),
                Heard::Joined(joined) => {
                    let end = RingEnd::new(joined);
                    if end.watch(&self.poller).is_ok() {
                        // One of before is that of a program that has begun anew.
                        self.ends.retain(|one| one.peer != end.peer);
                        self.ends.push(end);
                    }
                }
                Heard::Unfit => {}
            }
        }
    }

    /// Rings to the programs that have joined.
    pub fn ends(&mut self) -> &mut [RingEnd] {
        &mut self.ends
    }
}

impl AsFd for RingListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for RingListener {
    fn drop(&mut self) {
        // Nobody finds a listener there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl std::fmt::Debug for RingListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingListener")
            .field("ends", &self.ends)
            .finish()
    }
}

/// News of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayNews {
    /// Rings are there.
    Up,
    /// The listener is gone.
    Gone,
    /// The listener is another one, of this address.
    OtherPeer(SocketAddr),
}

/// State of a way to a listener.
enum State {
    /// Looked for at this time again.
    Away(Instant),
    Joining(Joining),
    Up(RingEnd),
}

/// Way to a listener, which may come and go: readable when there may be something to take.
pub struct RingWay {
    path: PathBuf,
    own: SocketAddr,
    peer: SocketAddr,
    poller: Poller,
    state: State,
    next_look: Instant,
    news: Vec<WayNews>,
}

impl RingWay {
    /// To the listener at `path`, which may come later, has the address `peer` and hears that we are at `own`.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn new(path: &Path, own: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            own,
            peer,
            poller: Poller::new()?,
            state: State::Away(Instant::now()),
            next_look: Instant::now(),
            news: Vec::new(),
        })
    }

    /// The listener's socket, our address and its address.
    pub fn leads(&self) -> (&Path, SocketAddr, SocketAddr) {
        (&self.path, self.own, self.peer)
    }

    /// News since this was asked last.
    pub fn take_news(&mut self) -> Vec<WayNews> {
        std::mem::take(&mut self.news)
    }

    /// Joins the listener, and notices when it is gone.
    pub fn turn(&mut self) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK_EVERY;
        self.state = match std::mem::replace(&mut self.state, State::Away(now + RETRY)) {
            State::Away(due) if due <= now => {
                self.join().map_or(State::Away(now + RETRY), State::Joining)
            }
            State::Joining(joining) => match joining.hear() {
                Heard::Nothing(joining) => State::Joining(joining),
                Heard::Joined(joined) => self.is_joined(joined, now),
                Heard::Unfit => State::Away(now + RETRY),
            },
            State::Up(end) if end.is_over() => {
                self.news.push(WayNews::Gone);
                State::Away(now + RETRY)
            }
            other => other,
        };
    }

    fn is_joined(&mut self, joined: Joined, now: Instant) -> State {
        if joined.peer != self.peer {
            self.news.push(WayNews::OtherPeer(joined.peer));
            return State::Away(now + OTHER_RETRY);
        }
        let end = RingEnd::new(joined);
        if end.watch(&self.poller).is_err() {
            return State::Away(now + RETRY);
        }
        self.news.push(WayNews::Up);
        State::Up(end)
    }

    fn join(&self) -> io::Result<Joining> {
        let socket = socket()?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(&self.path)?)?;
        let joining = Joining::new(socket, self.own)?;
        self.poller.add(&joining.socket, 0)?;
        Ok(joining)
    }

    /// Rings to the listener, while there are some.
    pub fn end(&mut self) -> Option<&mut RingEnd> {
        match &mut self.state {
            State::Up(end) => Some(end),
            State::Away(_) | State::Joining(_) => None,
        }
    }
}

impl AsFd for RingWay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl std::fmt::Debug for RingWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingWay").field("path", &self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_host::poll::wait_readable;

    const LONG: Duration = Duration::from_secs(60);

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, last], 8805))
    }

    fn joined(listener: &mut RingListener, way: &mut RingWay) {
        let end = Instant::now() + LONG;
        while way.end().is_none() || listener.ends().is_empty() {
            assert!(Instant::now() < end, "they do not join");
            way.turn();
            listener.turn();
        }
    }

    #[test]
    fn datagrams_come_whole_in_order_and_wake_who_waits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rings");
        let mut listener = RingListener::open(&path, address(1)).expect("a listener");
        let mut way = RingWay::new(&path, address(2), address(1)).expect("a way");
        joined(&mut listener, &mut way);
        let end = way.end().expect("up");
        assert_eq!(end.peer(), address(1));
        assert_eq!(listener.ends()[0].peer(), address(2));
        assert!(!wait_readable(&listener, Duration::ZERO).expect("poll"));
        for length in [1, 64, LONGEST] {
            assert!(end.send(&vec![length as u8; length]));
        }
        assert!(!end.send(&[0; LONGEST + 1]), "longer than any of a ring");
        end.flush();
        assert!(wait_readable(&listener, LONG).expect("poll"));
        let its = &mut listener.ends()[0];
        for length in [1, 64, LONGEST] {
            assert_eq!(its.take(), Some(&*vec![length as u8; length]));
        }
        assert_eq!(its.take(), None);
        assert!(its.send(b"answer"));
        its.flush();
        assert!(wait_readable(&way, LONG).expect("poll"));
        assert_eq!(way.end().and_then(RingEnd::take), Some(&b"answer"[..]));
        // Nothing more: who is woken has taken all.
        assert_eq!(way.end().and_then(RingEnd::take), None);
        assert!(!wait_readable(&way, Duration::ZERO).expect("poll"));
        assert!(!wait_readable(&listener, Duration::ZERO).expect("poll"));
    }

    #[test]
    fn each_side_may_come_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rings");
        let mut way = RingWay::new(&path, address(2), address(1)).expect("a way");
        way.turn();
        assert!(way.end().is_none(), "nobody listens");
        for _ in 0..3 {
            let mut listener = RingListener::open(&path, address(1)).expect("a listener");
            joined(&mut listener, &mut way);
            drop(listener);
            assert!(wait_readable(&way, LONG).expect("poll"));
            std::thread::sleep(LOOK_EVERY);
            way.turn();
            assert!(way.end().is_none(), "the listener is gone");
        }
        let mut listener = RingListener::open(&path, address(1)).expect("a listener");
        for _ in 0..3 {
            let mut way = RingWay::new(&path, address(2), address(1)).expect("a way");
            joined(&mut listener, &mut way);
            drop(way);
            assert!(wait_readable(&listener, LONG).expect("poll"));
            std::thread::sleep(LOOK_EVERY);
            listener.turn();
            assert!(listener.ends().is_empty(), "the peer is gone");
        }
        assert!(RingListener::open(&path, address(1)).is_err(), "it listens");
    }

    #[test]
    fn a_listener_of_another_address_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rings");
        let mut listener = RingListener::open(&path, address(1)).expect("a listener");
        let mut way = RingWay::new(&path, address(2), address(3)).expect("a way");
        let end = Instant::now() + LONG;
        let mut news = Vec::new();
        while news.is_empty() {
            assert!(Instant::now() < end, "nothing is told");
            way.turn();
            listener.turn();
            news = way.take_news();
        }
        assert_eq!(news, [WayNews::OtherPeer(address(1))]);
        assert!(way.end().is_none());
    }

    #[test]
    fn who_sends_something_else_is_not_joined() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rings");
        let mut listener = RingListener::open(&path, address(1)).expect("a listener");
        let stranger = socket().expect("a socket");
        rustix::net::connect(&stranger, &SocketAddrUnix::new(&path).expect("a path"))
            .expect("connected");
        listener.turn();
        assert_eq!(listener.joining.len(), 1);
        let flags = rustix::net::SendFlags::empty();
        rustix::net::send(&stranger, b"sluice-datagrams/0 1 1 127.0.0.3:8805", flags)
            .expect("sent");
        std::thread::sleep(LOOK_EVERY);
        listener.turn();
        assert!(listener.joining.is_empty() && listener.ends().is_empty());
    }
}
