//! An endpoint by the kernel's own SCTP: one socket, all its associations, several addresses (RFC 6458).

mod filter;
pub mod message;
mod socket;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use sluice_host::netns::Ns;

use crate::allow::AllowList;
use crate::endpoint::{Config, Counters};
use crate::limits;
use crate::transport::{Association, Event, Loss, Peer, Sctp, SendError};
use message::{Became, Change, Number, Place};
use socket::{Received, Socket, What};

/// Why there is no endpoint of the kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel has none.
    #[error(
        "this kernel has no SCTP ({0}); load its module (modprobe sctp), or choose sctp: userspace"
    )]
    Absent(io::Error),
    /// The kernel refuses.
    #[error("SCTP of the kernel at {at}: {source}")]
    Refused {
        /// The addresses that were asked for.
        at: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// More prefixes than a filter has room for.
    #[error(
        "{0} prefixes of gNBs are more than the kernel's packet filter takes; join some of them"
    )]
    TooManyPrefixes(usize),
}

/// Whether the kernel of this namespace has SCTP; its module may be loaded by asking.
///
/// # Errors
/// [`KernelError::Absent`] if not.
pub fn kernel_has_sctp(ns: &Ns) -> Result<(), KernelError> {
    let asked = ns.run(|| Socket::new(true)).map_err(io::Error::other);
    asked.flatten().map(drop).map_err(KernelError::Absent)
}

/// An association.
#[derive(Debug)]
struct Known {
    number: Number,
    /// 0 while it is not up.
    streams: u16,
    peer: Option<IpAddr>,
    /// The beginning of a message that has not ended.
    partial: Vec<u8>,
}

/// An endpoint; dropping it aborts nothing, as the kernel then ends its associations in order.
#[derive(Debug)]
pub struct KernelEndpoint {
    socket: Socket,
    is_ipv4: bool,
    config: Config,
    last: u32,
    associations: BTreeMap<Association, Known>,
    by_number: BTreeMap<Number, Association>,
    events: Vec<Event>,
    room: Box<[u8]>,
    counters: Counters,
}

impl KernelEndpoint {
    /// Opens a port at these addresses in `ns`. One that `listens` takes associations of others, of those
    /// that [`Config::allowed`] has: the kernel hears nobody else. One that does not takes none of others.
    ///
    /// # Errors
    /// That the kernel has no SCTP, or why it refuses.
    pub fn open(
        ns: &Ns,
        addresses: &[IpAddr],
        config: Config,
        listens: bool,
    ) -> Result<Self, KernelError> {
        let is_ipv4 = addresses.iter().all(IpAddr::is_ipv4);
        let opened = ns.run(|| Socket::new(is_ipv4)).map_err(io::Error::other);
        let socket = opened
            .flatten()
            .map_err(|error| match error.raw_os_error() {
                Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT) => KernelError::Absent(error),
                _ => refused(addresses, &config)(error),
            })?;
        let local: Vec<_> = addresses
            .iter()
            .map(|address| SocketAddr::new(*address, config.port))
            .collect();
        // Before anybody may speak. Peers that we choose ourselves may have further addresses.
        if listens {
            let program = filter::program(&config.allowed, is_ipv4);
            let number = config.allowed.prefixes().len();
            let program = program.ok_or(KernelError::TooManyPrefixes(number))?;
            socket
                .filter(&program)
                .map_err(refused(addresses, &config))?;
        }
        socket
            .configure(&config)
            .and_then(|()| socket.bind(&local))
            .and_then(|()| if listens { socket.listen() } else { Ok(()) })
            .map_err(refused(addresses, &config))?;
        Ok(Self {
            socket,
            is_ipv4,
            config,
            last: 0,
            associations: BTreeMap::new(),
            by_number: BTreeMap::new(),
            events: Vec::new(),
            room: vec![0; limits::MESSAGE_BYTES].into_boxed_slice(),
            counters: Counters::default(),
        })
    }

    /// Counters of the endpoint. Packets that the kernel took or dropped are in its own counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Peers that may speak to us from now on. A list that is too long for the kernel's filter lets its
    /// parser see strangers, whose associations are then aborted.
    pub fn allow(&mut self, allowed: AllowList) {
        let program = filter::program(&allowed, self.is_ipv4);
        let program = program.unwrap_or_else(filter::everybody);
        // Where the kernel refuses, the one before it stays, which may hear too few.
        let _ = self.socket.filter(&program);
        self.config.allowed = allowed;
    }

    /// Takes what is there, at most so many messages; what has happened is in the events.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn take(&mut self, most: usize) -> io::Result<()> {
        for _ in 0..most {
            match self.socket.receive(&mut self.room) {
                Ok(Some(received)) => self.received(&received),
                Ok(None) => return Ok(()),
                // Of an association that is gone already; others have their notification.
                Err(error) if is_of_one(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn received(&mut self, received: &Received) {
        match &received.what {
            What::Message(Some(place)) => self.message(*place, received),
            What::Message(None) => {}
            What::Notification(from) => {
                let octets = self.room.get(..received.length).unwrap_or_default();
                if let Some(change) = message::change(octets) {
                    self.change(change, *from);
                }
            }
        }
    }

    fn message(&mut self, place: Place, received: &Received) {
        let Some(association) = self.by_number.get(&place.number).copied() else {
            return;
        };
        let Some(known) = self.associations.get_mut(&association) else {
            return;
        };
        let part = self.room.get(..received.length).unwrap_or_default();
        if known.partial.len() + part.len() > limits::MESSAGE_BYTES {
            self.counters.too_long += 1;
            return self.refuse(association);
        }
        known.partial.extend_from_slice(part);
        if received.is_last {
            self.counters.received += 1;
            self.events.push(Event::Message {
                association,
                stream: place.stream,
                ppid: place.ppid,
                octets: std::mem::take(&mut known.partial),
            });
        }
    }

    fn change(&mut self, change: Change, from: Option<SocketAddr>) {
        let number = change.number;
        match change.became {
            Became::Up => self.up(change, from),
            Became::Restarted => {
                self.lost(number, Loss::Restarted);
                self.up(change, from);
            }
            Became::Lost { was_aborted: true } => self.lost(number, Loss::Aborted),
            Became::Lost { was_aborted: false } => self.lost(number, Loss::Silent),
            Became::Ended => self.lost(number, Loss::Ended),
            Became::NotSetUp => self.lost(number, Loss::NotSetUp),
        }
    }

    fn up(&mut self, change: Change, from: Option<SocketAddr>) {
        let address = from.map(|from| from.ip());
        let association = match self.by_number.get(&change.number) {
            Some(association) => *association,
            None => match self.admit(change.number, address) {
                Some(association) => association,
                None => return,
            },
        };
        let Some(known) = self.associations.get_mut(&association) else {
            return;
        };
        known.streams = change.streams.max(1);
        known.peer = address.or(known.peer);
        let (streams, Some(address)) = (known.streams, known.peer) else {
            return;
        };
        let udp_port = 0;
        self.events.push(Event::Up {
            association,
            peer: Peer { address, udp_port },
            streams,
        });
    }

    /// A peer's association becomes ours, unless it may not speak or there are too many.
    fn admit(&mut self, number: Number, from: Option<IpAddr>) -> Option<Association> {
        let is_allowed = from.is_some_and(|from| self.config.allowed.allows(from));
        let of_peer = self.associations.values().filter(|one| one.peer == from);
        let is_room = self.associations.len() < limits::ASSOCIATIONS
            && of_peer.count() < limits::ASSOCIATIONS_PER_PEER;
        if is_allowed && is_room {
            return Some(self.enter(number, from));
        }
        let counter = match is_allowed {
            true => &mut self.counters.too_many,
            false => &mut self.counters.not_allowed,
        };
        *counter += 1;
        // One that is gone already needs no end.
        let _ = self.socket.abort(number);
        None
    }

    fn enter(&mut self, number: Number, peer: Option<IpAddr>) -> Association {
        self.last = self.last.wrapping_add(1);
        let association = Association(self.last);
        let known = Known {
            number,
            streams: 0,
            peer,
            partial: Vec::new(),
        };
        self.associations.insert(association, known);
        self.by_number.insert(number, association);
        association
    }

    fn forget(&mut self, association: Association) -> Option<Known> {
        let known = self.associations.remove(&association)?;
        self.by_number.remove(&known.number);
        Some(known)
    }

    /// Aborts an association, and says so.
    fn refuse(&mut self, association: Association) {
        if let Some(known) = self.forget(association) {
            let _ = self.socket.abort(known.number);
            let why = Loss::Refused;
            self.events.push(Event::Lost { association, why });
        }
    }

    fn lost(&mut self, number: Number, why: Loss) {
        let Some(association) = self.by_number.get(&number).copied() else {
            return;
        };
        self.forget(association);
        self.events.push(Event::Lost { association, why });
    }

    /// Aborts all associations and closes the port.
    pub fn close(self) {
        for known in self.associations.values() {
            let _ = self.socket.abort(known.number);
        }
    }
}

fn refused(addresses: &[IpAddr], config: &Config) -> impl Fn(io::Error) -> KernelError + use<> {
    let all: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let at = format!("{} port {}", all.join(", "), config.port);
    move |source| KernelError::Refused {
        at: at.clone(),
        source,
    }
}

/// An error of one association, which a socket of many tells as its own.
fn is_of_one(error: &io::Error) -> bool {
    let of_one = [
        libc::ECONNRESET,
        libc::ECONNREFUSED,
        libc::ECONNABORTED,
        libc::ETIMEDOUT,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::ENOTCONN,
        libc::EPIPE,
        libc::EINTR,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| of_one.contains(&code))
}

impl Sctp for KernelEndpoint {
    /// Packets are the kernel's matter.
    fn input(&mut self, _: Peer, _: &[u8]) {}

    /// The kernel keeps the time as well.
    fn time(&mut self, _: u64) {}

    fn next_ms(&self) -> u64 {
        u64::MAX
    }

    fn connect(&mut self, to: Peer, port: u16) -> Option<Association> {
        if self.associations.len() >= limits::ASSOCIATIONS {
            return None;
        }
        let number = self
            .socket
            .connect(SocketAddr::new(to.address, port))
            .ok()?;
        Some(self.enter(number, Some(to.address)))
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
        if known.streams == 0 {
            return Err(SendError::Unknown);
        }
        if stream >= known.streams || !(1..=limits::MESSAGE_BYTES).contains(&octets.len()) {
            return Err(SendError::Invalid);
        }
        let place = Place {
            number: known.number,
            stream,
            ppid,
        };
        self.socket
            .send(place, octets)
            .map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => SendError::Full,
                _ => SendError::Unknown,
            })?;
        self.counters.sent += 1;
        Ok(())
    }

    fn shutdown(&mut self, association: Association) {
        if let Some(known) = self.associations.get(&association) {
            // What fails here is gone already, which a notification tells.
            let _ = self.socket.shutdown(known.number);
        }
    }

    fn abort(&mut self, association: Association) {
        if let Some(known) = self.forget(association) {
            let _ = self.socket.abort(known.number);
        }
    }

    fn take_datagrams(&mut self) -> Vec<(Peer, Vec<u8>)> {
        Vec::new()
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl AsFd for KernelEndpoint {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
