//! SCTP: what a gNB's datagrams do to an endpoint of usrsctp that has an association with a peer, and what the
//! kernel says beside its messages.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, PoisonError};

use sluice_sctp::kernel::message;
use sluice_sctp::{AllowList, Config, Endpoint, Event, NGAP_PPID, Peer, Prefix, Sctp, limits};

use crate::script;

/// What an octet in front of a step says that it is; others are datagrams as they stand.
pub(crate) const CHUNKS_TO_SERVER: u8 = 0;
pub(crate) const CHUNKS_TO_CLIENT: u8 = 1;
pub(crate) const DATAGRAM: u8 = 2;
pub(crate) const OTHER_ADDRESS: u8 = 3;
pub(crate) const ANCILLARY: u8 = 4;
pub(crate) const NOTIFICATION: u8 = 5;
pub(crate) const NAME: u8 = 6;

/// usrsctp is one for the process, its time and its ports as well: each world has ports of its own.
static WORLD: Mutex<(u64, u16)> = Mutex::new((0, FIRST_PORT));
const FIRST_PORT: u16 = 20_000;

/// Octets of SCTP's common header.
const HEADER: usize = 12;

fn peer(last: u8) -> Peer {
    Peer {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
        udp_port: 0,
    }
}

/// An endpoint, its peer, and tags with which each may be spoken to.
struct World {
    server: Endpoint,
    client: Endpoint,
    ports: (u16, u16),
    to_server: [u8; 4],
    to_client: [u8; 4],
}

impl World {
    /// An association is up; none if no port is free.
    fn new(port: u16, now_ms: u64) -> Option<Self> {
        let prefix = Prefix::new(peer(0).address, 30)?;
        let open = |port| {
            let config = Config::new(port, AllowList::new(vec![prefix]));
            Endpoint::open(config).ok()
        };
        let mut this = Self {
            server: open(port)?,
            client: open(port + 1)?,
            ports: (port, port + 1),
            to_server: [0; 4],
            to_client: [0; 4],
        };
        this.client.time(now_ms);
        this.client.connect(peer(1), port)?;
        this.carry();
        Some(this)
    }

    /// Datagrams go both ways until there are none.
    fn carry(&mut self) {
        for _ in 0..64 {
            let (ups, downs) = (self.client.take_datagrams(), self.server.take_datagrams());
            if ups.is_empty() && downs.is_empty() {
                return;
            }
            for (_, octets) in ups {
                self.to_server = tag(&octets).unwrap_or(self.to_server);
                self.server.input(peer(2), &octets);
            }
            for (to, octets) in downs {
                if to == peer(2) {
                    self.to_client = tag(&octets).unwrap_or(self.to_client);
                    self.client.input(peer(1), &octets);
                }
            }
        }
    }

    /// Chunks with a header that is right, as somebody who can see the association would send them.
    fn chunks(&mut self, is_to_server: bool, chunks: &[u8]) {
        let (server, client) = self.ports;
        let (from, to, tag) = match is_to_server {
            true => (client, server, self.to_server),
            false => (server, client, self.to_client),
        };
        let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
        let mut datagram = [&ports[..], &tag, &[0; 4], chunks].concat();
        sum(&mut datagram);
        match is_to_server {
            true => self.server.input(peer(2), &datagram),
            false => self.client.input(peer(1), &datagram),
        }
    }

    /// A datagram whose ports and checksum are right.
    fn datagram(&mut self, from: Peer, octets: &[u8]) {
        let mut datagram = octets.to_vec();
        if datagram.len() >= HEADER {
            datagram[..2].copy_from_slice(&self.ports.1.to_be_bytes());
            datagram[2..4].copy_from_slice(&self.ports.0.to_be_bytes());
            sum(&mut datagram);
        }
        self.server.input(from, &datagram);
    }

    fn check(&mut self) {
        for event in self
            .server
            .take_events()
            .into_iter()
            .chain(self.client.take_events())
        {
            match event {
                Event::Message { octets, .. } => {
                    assert!((1..=limits::MESSAGE_BYTES).contains(&octets.len()));
                }
                Event::Up {
                    peer: who, streams, ..
                } => {
                    assert!(streams > 0);
                    assert!([peer(1), peer(2)].contains(&who), "{who}");
                }
                Event::Lost { .. } => {}
            }
        }
        for endpoint in [&self.server, &self.client] {
            assert!(endpoint.associations() <= limits::ASSOCIATIONS_PER_PEER);
        }
    }
}

/// The verification tag of a datagram; that of an INIT is none.
fn tag(datagram: &[u8]) -> Option<[u8; 4]> {
    let tag: [u8; 4] = datagram.get(4..8)?.try_into().ok()?;
    (tag != [0; 4]).then_some(tag)
}

/// CRC32c of all of it with zeros in its place (RFC 9260, appendix A).
fn sum(datagram: &mut [u8]) {
    datagram[8..HEADER].fill(0);
    let mut crc = u32::MAX;
    for octet in datagram.iter() {
        crc ^= u32::from(*octet);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    datagram[8..HEADER].copy_from_slice(&(!crc).to_le_bytes());
}

/// Plays a script of datagrams to two endpoints with an association, and of what a kernel says.
pub fn sctp_input(data: &[u8]) {
    let mut clock = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    let port = clock.1;
    clock.1 = if port > 60_000 { FIRST_PORT } else { port + 2 };
    let Some(mut world) = World::new(port, clock.0) else {
        return;
    };
    for step in script::steps(data) {
        clock.0 += step.wait_ns().min(2_000_000_000) / 1_000_000;
        world.server.time(clock.0);
        world.client.time(clock.0);
        match step.kind % 8 {
            CHUNKS_TO_SERVER => world.chunks(true, step.bytes),
            CHUNKS_TO_CLIENT => world.chunks(false, step.bytes),
            DATAGRAM => world.datagram(peer(2), step.bytes),
            OTHER_ADDRESS => {
                let before = world.server.counters().taken;
                world.datagram(peer(9), step.bytes);
                assert_eq!(world.server.counters().taken, before, "it may not speak");
            }
            ANCILLARY => {
                if let Some(place) = message::place(step.bytes) {
                    let written = message::to_place(place, 0);
                    assert_eq!(message::place(&written), Some(place));
                }
            }
            NOTIFICATION => {
                let _ = message::change(step.bytes);
            }
            NAME => {
                if let Some(address) = message::address(step.bytes) {
                    let written = message::to_addresses(&[address]);
                    assert_eq!(message::address(&written), Some(address));
                }
            }
            _ => world.server.input(peer(2), step.bytes),
        }
        world.carry();
        world.check();
    }
    // Whatever came, others are served: the client begins anew.
    let (server, client) = (world.server.counters(), world.client.counters());
    assert!(server.taken > 0 && client.taken > 0);
    let _ = (world.server.close(), world.client.close());
}

/// A message as the client would send it; samples begin with it.
pub(crate) const DATA: [u8; 24] = [
    // DATA, whole, TSN 1, stream 0, number 0, PPID 60
    0,
    3,
    0,
    24,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    NGAP_PPID as u8,
    0,
    21,
    0,
    4,
    0,
    0,
    1,
    0,
];
