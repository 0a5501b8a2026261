//! An endpoint by usrsctp: one port, all its associations, one-to-many.
//!
//! Timers move by the time that the caller hands in. Beside it usrsctp asks the host's clock: how long
//! a path was idle before a heartbeat, and how old is what it sends again. So time that is handed in
//! must not run much faster than the host's.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use crate::allow::AllowList;
use crate::limits;
use crate::peers::{Named, Peers, Token};
use crate::shim::{self, RawConfig, Received, Socket, kind};
use crate::transport::{Association, Event, Loss, Peer, Sctp, SendError};

/// Configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct Config {
    /// SCTP port.
    pub port: u16,
    /// Peers that may send.
    pub allowed: AllowList,
    /// Retransmission timeout at first.
    pub rto_initial_ms: u32,
    /// The least timeout; well above the peer's delay of acknowledgements, or what only waits for one
    /// is sent twice.
    pub rto_min_ms: u32,
    /// The greatest timeout, also of an INIT.
    pub rto_max_ms: u32,
    /// Time between heartbeats.
    pub heartbeat_ms: u32,
    /// How long an acknowledgement may wait for something to go with (RFC 9260, 6.2: at most 500).
    pub sack_ms: u32,
    /// Retransmissions and heartbeats without an answer after which a peer is gone.
    pub retransmissions: u16,
    /// How often an INIT is sent.
    pub init_attempts: u16,
}

impl Config {
    /// With what a network of one site has: a silent peer is noticed within a minute.
    pub fn new(port: u16, allowed: AllowList) -> Self {
        Self {
            port,
            allowed,
            rto_initial_ms: 1000,
            rto_min_ms: 500,
            rto_max_ms: 4000,
            heartbeat_ms: 5000,
            sack_ms: 50,
            retransmissions: 5,
            init_attempts: 4,
        }
    }
}

/// Why an endpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("SCTP port {port} cannot be opened: {source}")]
pub struct OpenError {
    port: u16,
    source: io::Error,
}

/// Counters of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Datagrams that usrsctp was given.
    pub taken: u64,
    /// Datagrams of addresses that may not speak.
    pub not_allowed: u64,
    /// Datagrams for other ports, which are somebody else's.
    pub other_port: u64,
    /// Datagrams that are too short, or come from port 0.
    pub malformed: u64,
    /// Datagrams of peers for which there is no room.
    pub no_room: u64,
    /// Associations that were aborted as there are too many.
    pub too_many: u64,
    /// Messages that were too long; their associations were aborted.
    pub too_long: u64,
    /// Messages received.
    pub received: u64,
    /// Messages sent.
    pub sent: u64,
}

/// An association as the endpoint knows it.
#[derive(Debug)]
struct Known {
    number: u32,
    token: Token,
    /// 0 while it is not up.
    streams: u16,
    /// The beginning of a message that has not ended.
    partial: Vec<u8>,
}

/// An endpoint of this process' usrsctp. Dropping it aborts its associations; their peers hear that
/// only if [`Endpoint::close`] was called before.
#[derive(Debug)]
pub struct Endpoint {
    number: u32,
    /// None when it is closed.
    socket: Option<Socket>,
    config: Config,
    peers: Peers,
    last: u32,
    associations: BTreeMap<Association, Known>,
    /// By usrsctp's numbers.
    by_number: BTreeMap<u32, Association>,
    events: Vec<Event>,
    room: Box<[u8]>,
    counters: Counters,
    strangers: Vec<IpAddr>,
}

impl Endpoint {
    /// Opens a port. In one process each port is opened once.
    ///
    /// # Errors
    /// When usrsctp refuses.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        let raw = RawConfig {
            port: config.port,
            streams: limits::STREAMS,
            init_attempts: config.init_attempts,
            retransmissions: config.retransmissions,
            rto_initial_ms: config.rto_initial_ms,
            rto_min_ms: config.rto_min_ms,
            rto_max_ms: config.rto_max_ms,
            heartbeat_ms: config.heartbeat_ms,
            sack_ms: config.sack_ms,
            message_bytes: limits::MESSAGE_BYTES as u32,
        };
        let opened = shim::stack().open(&raw);
        let port = config.port;
        let (number, socket) = opened.map_err(|source| OpenError { port, source })?;
        Ok(Self {
            number,
            socket: Some(socket),
            config,
            peers: Peers::default(),
            last: 0,
            associations: BTreeMap::new(),
            by_number: BTreeMap::new(),
            events: Vec::new(),
            room: vec![0; limits::MESSAGE_BYTES].into_boxed_slice(),
            counters: Counters::default(),
            strangers: Vec::new(),
        })
    }

    /// Counters since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Peers that may speak to us from now on; who may not any more is not heard, and its associations are
    /// the caller's to abort.
    pub fn allow(&mut self, allowed: AllowList) {
        self.config.allowed = allowed;
    }

    /// Associations that are up or being set up by us.
    pub fn associations(&self) -> usize {
        self.associations.len()
    }

    /// Aborts all associations and closes the port; the datagrams that tell the peers.
    pub fn close(mut self) -> Vec<(Peer, Vec<u8>)> {
        let outbox = self.shut();
        self.addressed(outbox)
    }

    fn shut(&mut self) -> shim::Outbox {
        let Some(socket) = self.socket.take() else {
            return Vec::new();
        };
        let mut stack = shim::stack();
        let outbox = stack.close(self.number, &socket);
        self.peers
            .tokens()
            .for_each(|token| stack.remove_peer(token));
        outbox
    }

    fn addressed(&self, outbox: shim::Outbox) -> Vec<(Peer, Vec<u8>)> {
        let addressed = |(token, octets)| Some((self.peers.peer(token)?, octets));
        outbox.into_iter().filter_map(addressed).collect()
    }

    /// The name of a peer; none when there is no room.
    fn name(&mut self, peer: Peer) -> Option<Token> {
        match self.peers.name(self.number, peer) {
            Named::Known(token) => Some(token),
            Named::New(token, freed) => {
                let mut stack = shim::stack();
                freed.into_iter().for_each(|old| stack.remove_peer(old));
                stack.add_peer(token);
                Some(token)
            }
            Named::Full => None,
        }
    }

    /// Reads all that usrsctp has for us.
    fn drain(&mut self) {
        while let Some(received) = self.receive() {
            self.take(received);
        }
    }

    fn receive(&mut self) -> Option<Received> {
        let socket = self.socket.as_ref()?;
        shim::stack().receive(socket, &mut self.room)
    }

    fn take(&mut self, received: Received) {
        match received.kind {
            kind::MESSAGE => self.take_message(received),
            kind::UP => self.up(received),
            kind::RESTART => {
                self.lost(received.association, Loss::Restarted);
                self.up(received);
            }
            kind::LOST if received.was_aborted != 0 => {
                self.lost(received.association, Loss::Aborted);
            }
            kind::LOST => self.lost(received.association, Loss::Silent),
            kind::ENDED => self.lost(received.association, Loss::Ended),
            kind::REFUSED => self.lost(received.association, Loss::NotSetUp),
            _ => {}
        }
    }

    fn take_message(&mut self, received: Received) {
        let Some(association) = self.by_number.get(&received.association).copied() else {
            return;
        };
        let Some(known) = self.associations.get_mut(&association) else {
            return;
        };
        let part = self.room.get(..received.length as usize);
        let part = part.unwrap_or_default();
        if known.partial.len() + part.len() > limits::MESSAGE_BYTES {
            self.counters.too_long += 1;
            return self.refuse(association);
        }
        known.partial.extend_from_slice(part);
        if received.is_last != 0 {
            self.counters.received += 1;
            self.events.push(Event::Message {
                association,
                stream: received.stream,
                ppid: received.ppid,
                octets: std::mem::take(&mut known.partial),
            });
        }
    }

    /// Aborts an association, and says so.
    fn refuse(&mut self, association: Association) {
        if let Some(known) = self.forget(association) {
            if let Some(socket) = &self.socket {
                shim::stack().abort(socket, known.number);
            }
            let why = Loss::Refused;
            self.events.push(Event::Lost { association, why });
        }
    }

    fn up(&mut self, received: Received) {
        let number = received.association;
        let association = match self.by_number.get(&number) {
            Some(association) => *association,
            None => match self.admit(number, Token(received.peer)) {
                Some(association) => association,
                None => return,
            },
        };
        let Some(known) = self.associations.get_mut(&association) else {
            return;
        };
        known.streams = received.outbound_streams.max(1);
        let streams = known.streams;
        if let Some(peer) = self.peers.peer(known.token) {
            self.events.push(Event::Up {
                association,
                peer,
                streams,
            });
        }
    }

    /// A peer's association becomes ours, unless there are too many.
    fn admit(&mut self, number: u32, token: Token) -> Option<Association> {
        let of_peer = self.peers.associate(token);
        if self.associations.len() >= limits::ASSOCIATIONS
            || !(1..=limits::ASSOCIATIONS_PER_PEER).contains(&of_peer)
        {
            self.peers.part(token);
            self.counters.too_many += 1;
            let socket = self.socket.as_ref()?;
            shim::stack().abort(socket, number);
            return None;
        }
        Some(self.enter(number, token))
    }

    fn enter(&mut self, number: u32, token: Token) -> Association {
        self.last = self.last.wrapping_add(1);
        let association = Association(self.last);
        let known = Known {
            number,
            token,
            streams: 0,
            partial: Vec::new(),
        };
        self.associations.insert(association, known);
        self.by_number.insert(number, association);
        association
    }

    fn forget(&mut self, association: Association) -> Option<Known> {
        let known = self.associations.remove(&association)?;
        self.by_number.remove(&known.number);
        self.peers.part(known.token);
        Some(known)
    }

    fn lost(&mut self, number: u32, why: Loss) {
        let Some(association) = self.by_number.get(&number).copied() else {
            return;
        };
        self.forget(association);
        self.events.push(Event::Lost { association, why });
    }

    /// Remembers who wanted to speak to this port and may not.
    fn note_stranger(&mut self, address: IpAddr, datagram: &[u8]) {
        let is_for_us = datagram.get(2..4) == Some(&self.config.port.to_be_bytes()[..]);
        let has_room = self.strangers.len() < limits::STRANGERS;
        if is_for_us && has_room && !self.strangers.contains(&address) {
            self.strangers.push(address);
        }
    }

    /// Senders that are not allowed, since the last call; the first few.
    pub fn take_strangers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.strangers)
    }

    /// Whether usrsctp may see a datagram. On IP, other programs' associations come by, too: nobody
    /// but its owner answers what is for another port.
    fn is_ours(&mut self, from: Peer, datagram: &[u8]) -> bool {
        if !self.config.allowed.allows(from.address) {
            self.counters.not_allowed += 1;
            self.note_stranger(from.address, datagram);
            return false;
        }
        if datagram.len() < limits::DATAGRAM_BYTES_MIN || datagram[..2] == [0, 0] {
            self.counters.malformed += 1;
            return false;
        }
        if datagram[2..4] != self.config.port.to_be_bytes() {
            self.counters.other_port += 1;
            return false;
        }
        true
    }
}

impl Sctp for Endpoint {
    fn input(&mut self, from: Peer, datagram: &[u8]) {
        if !self.is_ours(from, datagram) {
            return;
        }
        let Some(token) = self.name(from) else {
            self.counters.no_room += 1;
            return;
        };
        self.counters.taken += 1;
        shim::stack().input(token, datagram);
        self.drain();
    }

    fn time(&mut self, now_ms: u64) {
        shim::stack().time(now_ms);
        self.drain();
    }

    fn next_ms(&self) -> u64 {
        limits::TICK_MS.into()
    }

    fn connect(&mut self, to: Peer, port: u16) -> Option<Association> {
        if self.associations.len() >= limits::ASSOCIATIONS {
            return None;
        }
        let token = self.name(to)?;
        let socket = self.socket.as_ref()?;
        let number = shim::stack().connect(socket, token, port)?;
        self.peers.associate(token);
        Some(self.enter(number, token))
    }

    fn send(
        &mut self,
        association: Association,
        stream: u16,
        ppid: u32,
        octets: &[u8],
    ) -> Result<(), SendError> {
        let known = self.associations.get(&association);
        let known = known.ok_or(SendError::Unknown)?;
        let socket = self.socket.as_ref().ok_or(SendError::Unknown)?;
        if known.streams == 0 {
            return Err(SendError::Unknown);
        }
        if stream >= known.streams || !(1..=limits::MESSAGE_BYTES).contains(&octets.len()) {
            return Err(SendError::Invalid);
        }
        let sent = shim::stack().send(socket, known.number, (stream, ppid), octets);
        sent.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => SendError::Full,
            _ => SendError::Unknown,
        })?;
        self.counters.sent += 1;
        Ok(())
    }

    fn shutdown(&mut self, association: Association) {
        if let (Some(known), Some(socket)) = (self.associations.get(&association), &self.socket) {
            shim::stack().shutdown(socket, known.number);
        }
    }

    fn abort(&mut self, association: Association) {
        if let (Some(known), Some(socket)) = (self.forget(association), &self.socket) {
            shim::stack().abort(socket, known.number);
        }
    }

    fn take_datagrams(&mut self) -> Vec<(Peer, Vec<u8>)> {
        let outbox = shim::stack().take_outbox(self.number);
        self.addressed(outbox)
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shut();
    }
}
