//! Places of peers: connections, streams and octets that each peer takes, and how often it resets streams.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::limits::Limits;
use crate::wire::Load;

const SECOND: Duration = Duration::from_secs(1);

/// All peers that have something, or reset streams a moment ago.
pub(crate) struct Peers {
    connections: Cell<usize>,
    by_address: RefCell<HashMap<IpAddr, Rc<One>>>,
}

/// One peer.
struct One {
    connections: Cell<usize>,
    streams: Cell<usize>,
    octets: Cell<usize>,
    resets: Cell<u32>,
    resets_since: Cell<Instant>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    Server,
    Peer,
}

/// Place of a connection.
pub(crate) struct ConnectionPlace {
    peers: Rc<Peers>,
    address: IpAddr,
    one: Rc<One>,
    load: Cell<Load>,
}

/// Place of a stream, and of its octets.
pub(crate) struct StreamPlace {
    connection: Rc<ConnectionPlace>,
    octets: Cell<usize>,
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self {
            connections: Cell::new(0),
            by_address: RefCell::default(),
        }
    }

    /// Connections of all.
    pub(crate) fn connections(&self) -> usize {
        self.connections.get()
    }

    /// A place for a connection.
    pub(crate) fn connect(
        self: &Rc<Self>,
        address: IpAddr,
        limits: &Limits,
    ) -> Result<ConnectionPlace, Full> {
        let address = address.to_canonical();
        let mut by_address = self.by_address.borrow_mut();
        let has = by_address
            .get(&address)
            .map_or(0, |one| one.connections.get());
        if has >= limits.connections_per_peer {
            return Err(Full::Peer);
        }
        if self.connections.get() >= limits.connections {
            return Err(Full::Server);
        }
        // Whoever has left is kept for what it reset, for a second.
        if by_address.len() > 2 * limits.connections {
            by_address.retain(|_, one| one.connections.get() > 0 || one.has_reset());
        }
        let one = Rc::clone(by_address.entry(address).or_default());
        one.connections.update(|connections| connections + 1);
        self.connections.update(|connections| connections + 1);
        Ok(ConnectionPlace {
            peers: Rc::clone(self),
            address,
            one,
            load: Cell::default(),
        })
    }
}

impl Default for One {
    fn default() -> Self {
        Self {
            connections: Cell::new(0),
            streams: Cell::new(0),
            octets: Cell::new(0),
            resets: Cell::new(0),
            resets_since: Cell::new(Instant::now()),
        }
    }
}

impl One {
    fn has_reset(&self) -> bool {
        self.resets.get() > 0 && self.resets_since.get().elapsed() < SECOND
    }
}

impl ConnectionPlace {
    /// A place for a stream, if the peer may have one more.
    pub(crate) fn open(self: &Rc<Self>, limits: &Limits) -> Option<StreamPlace> {
        if self.one.streams.get() >= limits.streams_per_peer {
            return None;
        }
        self.one.streams.update(|streams| streams + 1);
        self.load.update(Load::open);
        Some(StreamPlace {
            connection: Rc::clone(self),
            octets: Cell::new(0),
        })
    }

    /// Streams of the connection.
    pub(crate) fn load(&self) -> Load {
        self.load.get()
    }

    /// Counts a stream that the peer reset; says whether it may reset more.
    pub(crate) fn reset(&self, limits: &Limits) -> bool {
        if self.one.resets_since.get().elapsed() >= SECOND {
            self.one.resets_since.set(Instant::now());
            self.one.resets.set(0);
        }
        self.one.resets.update(|resets| resets.saturating_add(1));
        self.one.resets.get() <= limits.resets_per_s
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.one.connections.update(|connections| connections - 1);
        self.peers.connections.update(|connections| connections - 1);
        if self.one.connections.get() == 0 && !self.one.has_reset() {
            self.peers.by_address.borrow_mut().remove(&self.address);
        }
    }
}

impl StreamPlace {
    /// Room for more octets of a body, if the peer may have them.
    pub(crate) fn take(&self, octets: usize, limits: &Limits) -> bool {
        let one = &self.connection.one;
        let is_free = one.octets.get() + octets <= limits.octets_per_peer;
        if is_free {
            one.octets.update(|all| all + octets);
            self.octets.update(|all| all + octets);
        }
        is_free
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let one = &self.connection.one;
        one.octets.update(|octets| octets - self.octets.get());
        one.streams.update(|streams| streams - 1);
        self.connection.load.update(Load::close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    #[test]
    fn places_come_back_and_one_peer_does_not_take_those_of_others() {
        let peers = Rc::new(Peers::new());
        let limits = Limits {
            connections: 3,
            connections_per_peer: 2,
            streams_per_peer: 2,
            octets_per_peer: 10,
            ..Limits::default()
        };
        let first = Rc::new(peers.connect(address(1), &limits).expect("a place"));
        let second = peers.connect(address(1), &limits).expect("a place");
        assert_eq!(peers.connect(address(1), &limits).err(), Some(Full::Peer));
        let mapped = IpAddr::V6(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped());
        assert_eq!(peers.connect(mapped, &limits).err(), Some(Full::Peer));
        let other = peers.connect(address(2), &limits).expect("a place");
        assert_eq!(peers.connect(address(3), &limits).err(), Some(Full::Server));
        let second = Rc::new(second);
        let stream = first.open(&limits).expect("a place");
        let more = second.open(&limits).expect("a place");
        assert!(first.open(&limits).is_none() && second.open(&limits).is_none());
        assert!(Rc::new(other).open(&limits).is_some());
        assert!(stream.take(6, &limits) && !more.take(5, &limits) && more.take(4, &limits));
        drop(stream);
        assert!(more.take(6, &limits) && first.load().streams == 0 && second.load().streams == 1);
        drop((first, more, second));
        assert_eq!(peers.connections.get(), 0);
        assert!(peers.by_address.borrow().is_empty());
    }

    /// A new connection is no new start.
    #[test]
    fn resets_are_counted_over_connections() {
        let peers = Rc::new(Peers::new());
        let limits = Limits {
            resets_per_s: 2,
            ..Limits::default()
        };
        for may_go_on in [true, true, false, false] {
            let place = peers.connect(address(1), &limits).expect("a place");
            assert_eq!(place.reset(&limits), may_go_on);
        }
        let place = peers.connect(address(2), &limits).expect("a place");
        assert!(place.reset(&limits));
    }
}
