//! An SCTP endpoint and the socket that carries it, with the host's clock.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crate::allow::AllowList;
use crate::carrier::Carrier;
use crate::endpoint::{Counters, Endpoint};
use crate::front::{FrontNews, Remote};
use crate::kernel::KernelEndpoint;
use crate::limits;
use crate::transport::{Association, Event, Peer, Sctp, SendError};
use sluice_host::{clock, poll};

/// Datagrams, or messages, that are taken before what they caused is sent.
const BURST: usize = 64;

/// SCTP implementation.
#[derive(Debug)]
pub enum Stack {
    /// usrsctp's, and what carries it.
    Userspace(Box<Carried>),
    /// The kernel's.
    Kernel(Box<KernelEndpoint>),
    /// A front's.
    Remote(Box<Remote>),
}

/// An endpoint of usrsctp and its socket.
#[derive(Debug)]
pub struct Carried {
    endpoint: Endpoint,
    carrier: Carrier,
    room: Box<[u8]>,
}

impl Carried {
    fn take(&mut self) -> io::Result<()> {
        for _ in 0..BURST {
            let Some((from, datagram)) = self.carrier.receive(&mut self.room)? else {
                break;
            };
            self.endpoint.input(from, datagram);
        }
        Ok(())
    }

    fn flush(&mut self) {
        for (to, datagram) in self.endpoint.take_datagrams() {
            let _ = self.carrier.send(to, &datagram);
        }
    }
}

impl Stack {
    /// Peers that may speak to us from now on; associations of others are the caller's to abort.
    pub fn allow(&mut self, allowed: AllowList) {
        match self {
            Self::Userspace(carried) => carried.endpoint.allow(allowed),
            Self::Kernel(endpoint) => endpoint.allow(allowed),
            Self::Remote(endpoint) => endpoint.allow(allowed),
        }
    }

    fn any(&self) -> &dyn Sctp {
        match self {
            Self::Userspace(carried) => &carried.endpoint,
            Self::Kernel(endpoint) => endpoint.as_ref(),
            Self::Remote(endpoint) => endpoint.as_ref(),
        }
    }

    fn any_mut(&mut self) -> &mut dyn Sctp {
        match self {
            Self::Userspace(carried) => &mut carried.endpoint,
            Self::Kernel(endpoint) => endpoint.as_mut(),
            Self::Remote(endpoint) => endpoint.as_mut(),
        }
    }
}

impl Sctp for Stack {
    fn input(&mut self, from: Peer, datagram: &[u8]) {
        self.any_mut().input(from, datagram);
    }

    fn time(&mut self, now_ms: u64) {
        self.any_mut().time(now_ms);
    }

    fn next_ms(&self) -> u64 {
        self.any().next_ms()
    }

    fn connect(&mut self, to: Peer, port: u16) -> Option<Association> {
        self.any_mut().connect(to, port)
    }

    fn send(
        &mut self,
        association: Association,
        stream: u16,
        ppid: u32,
        octets: &[u8],
    ) -> Result<(), SendError> {
        self.any_mut().send(association, stream, ppid, octets)
    }

    fn shutdown(&mut self, association: Association) {
        self.any_mut().shutdown(association);
    }

    fn abort(&mut self, association: Association) {
        self.any_mut().abort(association);
    }

    fn take_datagrams(&mut self) -> Vec<(Peer, Vec<u8>)> {
        self.any_mut().take_datagrams()
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.any_mut().take_events()
    }
}

/// An endpoint and its socket.
#[derive(Debug)]
pub struct Node {
    /// The endpoint; what is told to it leaves with the next [`Node::turn`] or [`Node::flush`].
    pub sctp: Stack,
}

impl Node {
    /// Of its parts.
    pub fn new(endpoint: Endpoint, carrier: Carrier) -> Self {
        let room = vec![0; limits::DATAGRAM_BYTES].into_boxed_slice();
        let carried = Carried {
            endpoint,
            carrier,
            room,
        };
        let sctp = Stack::Userspace(Box::new(carried));
        Self { sctp }
    }

    /// Of the kernel's SCTP.
    pub fn of_kernel(endpoint: KernelEndpoint) -> Self {
        let sctp = Stack::Kernel(Box::new(endpoint));
        Self { sctp }
    }

    /// Of a front's SCTP.
    pub fn of_front(endpoint: Remote) -> Self {
        let sctp = Stack::Remote(Box::new(endpoint));
        Self { sctp }
    }

    /// Sleeps until there is something, at most `patience` and not beyond SCTP's next deadline; then
    /// takes what came, and sends. What has happened is returned.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn turn(&mut self, patience: Duration) -> io::Result<Vec<Event>> {
        poll::wait_readable(&*self, patience.min(self.patience()))?;
        self.take()
    }

    /// How long SCTP can wait.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.sctp.next_ms())
    }

    /// The same as [`Node::turn`] without sleeping.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn take(&mut self) -> io::Result<Vec<Event>> {
        match &mut self.sctp {
            Stack::Kernel(endpoint) => endpoint.take(BURST)?,
            Stack::Userspace(carried) => carried.take()?,
            Stack::Remote(endpoint) => endpoint.take(BURST),
        }
        self.sctp.time(clock::monotonic_ns() / 1_000_000);
        self.flush();
        Ok(self.sctp.take_events())
    }

    /// Sends what waits. What cannot be sent is lost, as on any network: SCTP sends it again, and
    /// notices when a peer cannot be reached.
    pub fn flush(&mut self) {
        if let Stack::Userspace(carried) = &mut self.sctp {
            carried.flush();
        }
    }

    /// Addresses that tried to speak and may not, since this was asked last; none with the kernel's SCTP, whose
    /// packet filter tells nobody.
    pub fn take_strangers(&mut self) -> Vec<IpAddr> {
        match &mut self.sctp {
            Stack::Userspace(carried) => carried.endpoint.take_strangers(),
            Stack::Kernel(_) => Vec::new(),
            Stack::Remote(endpoint) => endpoint.take_strangers(),
        }
    }

    /// News of the front, since this was asked last; none of SCTP of this program.
    pub fn take_front_news(&mut self) -> Vec<FrontNews> {
        match &mut self.sctp {
            Stack::Remote(endpoint) => endpoint.take_news(),
            Stack::Userspace(_) | Stack::Kernel(_) => Vec::new(),
        }
    }

    /// Counters of the endpoint.
    pub fn counters(&self) -> Counters {
        match &self.sctp {
            Stack::Userspace(carried) => carried.endpoint.counters(),
            Stack::Kernel(endpoint) => endpoint.counters(),
            Stack::Remote(endpoint) => endpoint.counters(),
        }
    }

    /// Aborts all associations, tells the peers and closes; a front keeps them for the program that comes next.
    pub fn close(self) {
        match self.sctp {
            Stack::Kernel(endpoint) => endpoint.close(),
            Stack::Remote(_) => {}
            Stack::Userspace(carried) => {
                let Carried {
                    endpoint, carrier, ..
                } = *carried;
                for (to, datagram) in endpoint.close() {
                    let _ = carrier.send(to, &datagram);
                }
            }
        }
    }
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.sctp {
            Stack::Kernel(endpoint) => endpoint.as_fd(),
            Stack::Remote(endpoint) => endpoint.as_fd(),
            Stack::Userspace(carried) => carried.carrier.as_fd(),
        }
    }
}
