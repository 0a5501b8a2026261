//! N4 on kernel sockets, on a ring to a core in the same process and on rings to SMFs of the same machine, and the environment of the control core.

use super::devices::Buffers;
use super::lines::{self, Kind, Peer};
use arrayvec::ArrayVec;
use sluice_control::core::{Env, Time};
use sluice_host::datagram_ring::RingEnd;
use sluice_host::netns::Ns;
use sluice_host::poll::{Poller, Ready};
use sluice_host::udp::{DATAGRAM_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_host::{HostError, clock};
use sluice_n4::{Instant, Outbox};
use sluice_shared_ring::{RingEnd as SharedEnd, RingListener};
use sluice_wire::pfcp::value::NtpTime;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Datagrams handled or given at once, and taken: of the latter each may be several in one.
const BATCH: usize = 32;
/// How long a full socket is waited for before a datagram is given up: PFCP sends it again.
const PATIENCE: Duration = Duration::from_millis(2);

/// Peers whose listener is remembered; more than that are strangers, and all are learned anew.
const PEERS_MAX: usize = 65_536;

/// Seconds from the era of NTP (1900) to that of Unix.
const NTP_TO_UNIX_S: u64 = 2_208_988_800;

/// The time now.
pub fn time() -> Time {
    Time {
        now: Instant(clock::monotonic_ns()),
        wall: wall_clock(),
    }
}

/// The calendar's time as PFCP counts it.
pub fn wall_clock() -> NtpTime {
    NtpTime((clock::wall().as_secs() + NTP_TO_UNIX_S) as u32)
}

/// A socket with what waits to be sent by it.
struct Listener {
    socket: UdpSocket,
    out: SendBatch,
}

/// All N4 sockets, and the pool for frames of the control core's making.
pub struct N4<B> {
    outside: Outside<B>,
    batch: RecvBatch,
    poller: Poller,
    ready: Ready,
}

/// Where the control core's datagrams and frames come from and go to.
pub struct Outside<B> {
    listeners: Vec<Listener>,
    /// By which listener each peer was heard last: what is for it leaves there, so that it comes from
    /// the address that the peer wrote to. Empty while there is one listener only.
    heard: HashMap<IpAddr, usize>,
    /// To a core of this process.
    ring: Option<RingEnd>,
    /// To SMFs of other processes.
    shared: Option<RingListener>,
    buffers: B,
    failed: u64,
}

/// Listens on one address.
///
/// # Errors
/// The system refuses.
pub fn listen(address: SocketAddrV4) -> Result<UdpSocket, HostError> {
    let socket = UdpSocket::bind(&Ns::current()?, address)?;
    if let Err(e) = socket.receive_together() {
        tracing::debug!("N4 {address}: every datagram is received by itself: {e}");
    }
    Ok(socket)
}

impl<B: Buffers> N4<B> {
    /// Serves all sockets, and the ring.
    pub fn new(
        sockets: Vec<UdpSocket>,
        (ring, shared): (Option<RingEnd>, Option<RingListener>),
        buffers: B,
    ) -> Result<Self, HostError> {
        let listener = |socket| Listener {
            socket,
            // Responses find their requests by sequence number, whatever their order.
            out: SendBatch::new(BATCH, DATAGRAM_MAX).in_any_order(),
        };
        let listeners: Vec<_> = sockets.into_iter().map(listener).collect();
        let poller = Poller::new().map_err(os("make a poller"))?;
        for (token, listener) in listeners.iter().enumerate() {
            poller
                .add(&listener.socket, token as u64)
                .map_err(os("watch an N4 socket"))?;
        }
        if let Some(ring) = &ring {
            let token = listeners.len() as u64;
            poller
                .add(ring, token)
                .map_err(os("watch the ring to the core"))?;
        }
        if let Some(shared) = &shared {
            let token = listeners.len() as u64 + 1;
            poller
                .add(shared, token)
                .map_err(os("watch rings to SMFs"))?;
        }
        Ok(Self {
            ready: Ready::with_capacity(listeners.len() + 3),
            outside: Outside {
                listeners,
                heard: HashMap::new(),
                ring,
                shared,
                buffers,
                failed: 0,
            },
            batch: RecvBatch::new(BATCH, DATAGRAM_MAX),
            poller,
        })
    }

    /// Takes what has arrived; `handle` gets what came together. Returns how many datagrams there
    /// were.
    pub fn receive(
        &mut self,
        mut handle: impl FnMut(&[(SocketAddr, &[u8])], &mut Outside<B>),
    ) -> usize {
        let mut taken = self.receive_from_ring(&mut handle) + self.receive_from_shared(&mut handle);
        for at in 0..self.outside.listeners.len() {
            match self.outside.listeners[at].socket.recv(&mut self.batch) {
                Ok(n) => taken += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => continue,
                Err(e) => {
                    // An ICMP error of an earlier datagram; the peer's silence tells the same.
                    if lines::permits(Peer::Local, Kind::N4Socket) {
                        tracing::debug!("N4 socket: {e}");
                    }
                    continue;
                }
            }
            let mut whole = self.batch.iter().filter(|d| !d.truncated);
            loop {
                let mut datagrams = ArrayVec::<_, BATCH>::new();
                for datagram in whole.by_ref().take(BATCH) {
                    self.outside.hear(datagram.from.ip(), at);
                    datagrams.push((datagram.from, datagram.bytes));
                }
                if datagrams.is_empty() {
                    break;
                }
                handle(&datagrams, &mut self.outside);
                self.outside.flush();
            }
        }
        taken
    }

    /// A batch at the most, as of each socket.
    fn receive_from_ring(
        &mut self,
        handle: &mut impl FnMut(&[(SocketAddr, &[u8])], &mut Outside<B>),
    ) -> usize {
        let Some(ring) = &mut self.outside.ring else {
            return 0;
        };
        let from = ring.peer();
        let came: ArrayVec<_, BATCH> = std::iter::from_fn(|| ring.take()).take(BATCH).collect();
        if !came.is_empty() {
            let datagrams: ArrayVec<_, BATCH> =
                came.iter().map(|octets| (from, &**octets)).collect();
            handle(&datagrams, &mut self.outside);
            self.outside.flush();
        }
        came.len()
    }

    /// A batch at the most of each SMF.
    fn receive_from_shared(
        &mut self,
        handle: &mut impl FnMut(&[(SocketAddr, &[u8])], &mut Outside<B>),
    ) -> usize {
        let Some(shared) = &mut self.outside.shared else {
            return 0;
        };
        shared.turn();
        // No SMF keeps the others waiting.
        let mut came: Vec<(SocketAddr, Box<[u8]>)> = Vec::new();
        for end in shared.ends() {
            let from = end.peer();
            for _ in 0..BATCH {
                let Some(octets) = end.take() else { break };
                came.push((from, octets.into()));
            }
        }
        for came in came.chunks(BATCH) {
            let datagrams: ArrayVec<_, BATCH> = came
                .iter()
                .map(|(from, octets)| (*from, &**octets))
                .collect();
            handle(&datagrams, &mut self.outside);
            self.outside.flush();
        }
        came.len()
    }

    /// The way out, for what no datagram caused.
    pub fn outside(&mut self) -> &mut Outside<B> {
        &mut self.outside
    }

    /// Sends what is still waiting.
    pub fn flush(&mut self) {
        self.outside.flush();
    }

    /// Whether there is a socket, or a ring, to wait for.
    pub fn has_sockets(&self) -> bool {
        let outside = &self.outside;
        !outside.listeners.is_empty() || outside.ring.is_some() || outside.shared.is_some()
    }

    /// Waits for a datagram, at most `timeout`.
    pub fn wait(&mut self, timeout: Duration) {
        if let Err(e) = self.poller.wait(&mut self.ready, Some(timeout))
            && lines::permits(Peer::Local, Kind::N4Socket)
        {
            tracing::warn!("waiting for N4: {e}");
        }
    }
}

fn os(action: &str) -> impl FnOnce(io::Error) -> HostError {
    let action = action.to_owned();
    move |source| HostError::Os { action, source }
}

impl<B> Outside<B> {
    fn shared_ends(&mut self) -> &mut [SharedEnd] {
        self.shared.as_mut().map_or(&mut [], RingListener::ends)
    }

    fn hear(&mut self, peer: IpAddr, at: usize) {
        if self.listeners.len() < 2 {
            return;
        }
        if self.heard.len() >= PEERS_MAX {
            self.heard.clear();
        }
        self.heard.insert(peer, at);
    }

    fn listener_for(&self, peer: IpAddr) -> usize {
        self.heard.get(&peer).copied().unwrap_or(0)
    }

    fn flush(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.flush();
        }
        for end in self.shared_ends() {
            end.flush();
        }
        for listener in &mut self.listeners {
            if listener.out.is_empty() {
                continue;
            }
            let flushed = listener.socket.flush(&mut listener.out, PATIENCE, |_, e| {
                if lines::permits(Peer::Local, Kind::N4Socket) {
                    tracing::debug!("N4 datagram not sent: {e}");
                }
            });
            self.failed += flushed.failed as u64;
        }
    }
}

impl<B> Outbox for Outside<B> {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        if let Some(ring) = self.ring.as_mut().filter(|ring| ring.peer() == to) {
            self.failed += u64::from(!ring.send(bytes));
            return;
        }
        // What finds no room there, or is too long, goes by the socket.
        let mut ends = self.shared_ends().iter_mut();
        if ends.any(|end| end.peer() == to && end.send(bytes)) {
            return;
        }
        let SocketAddr::V4(to) = to else {
            self.failed += 1;
            return;
        };
        let at = self.listener_for(IpAddr::V4(*to.ip()));
        if self
            .listeners
            .get(at)
            .is_some_and(|listener| listener.out.is_full())
        {
            self.flush();
        }
        // Without sockets, a peer that no port has heard of.
        let listener = self.listeners.get_mut(at);
        if !listener.is_some_and(|listener| listener.out.push_bytes(bytes, to, None)) {
            self.failed += 1;
        }
    }
}

impl<B: Buffers> Env for Outside<B> {
    type Packet = B::Packet;

    fn alloc(&mut self) -> Option<B::Packet> {
        self.buffers.alloc()
    }
}
