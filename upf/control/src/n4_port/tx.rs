//! N4 transmit: datagrams to SMFs, as packets.

use super::{N4Address, PortN4, ReturnRoute};
use crate::directory::Directory;
use crate::frame::Frames;
use crate::signalling::Control;
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use sluice_datapath::limits::NEIGHBOUR_WAIT_NS;
use sluice_datapath::message::Resolve;
use sluice_datapath::tables::InterfaceId;
use sluice_port::Packet;
use sluice_wire::eth::{EthHeader, EtherType, MacAddr, Tag};
use sluice_wire::ipv4::{Fragments, HEADER_LEN, Ipv4, Ipv4Header, MAX_HEADER_LEN, Protocol};
use sluice_wire::pfcp;
use sluice_wire::udp::{self, UdpHeader};

/// Datagrams that wait for stations at a time: an SMF whose station is not known sends few requests
/// before it is answered, and repeats them.
const WAITING_MAX: usize = 64;

/// A datagram whose next hop is being asked for.
pub(super) struct WaitingDatagram {
    to: SocketAddrV4,
    bytes: Vec<u8>,
    /// None until it was first looked at.
    until_ns: Option<u64>,
}

/// Result for a packet that waited.
enum Fate {
    Sent,
    Stays,
    NoRoute,
}

impl<P: Packet> PortN4<P> {
    /// Makes packets of a datagram to a peer that was heard on a port, or to anybody if there are
    /// only ports. False if it has to leave elsewhere.
    pub fn send(&mut self, to: SocketAddr, bytes: &[u8], alloc: impl FnMut() -> Option<P>) -> bool {
        let SocketAddr::V4(to) = to else { return false };
        let Some(way) = self.heard.get_mut(to.ip()) else {
            if self.is_only {
                self.wait(to, bytes);
            }
            return self.is_only;
        };
        let Some(mac) = way.mac else {
            self.wait(to, bytes);
            return true;
        };
        // Stations change with every gNB that comes or goes, next hops of SMFs hardly ever: datagrams need not
        // wait for that. One that did go to a station that is no longer there is sent again by PFCP.
        if way.epoch != self.epoch && !way.is_stale {
            way.is_stale = true;
            self.stale.push(*to.ip());
        }
        let way = *way;
        self.send_by(way, mac, to, bytes, alloc);
        true
    }

    /// Looks up again the next hops that were used though stations have changed.
    fn refresh(&mut self, directory: &Directory) {
        for peer in self.stale.drain(..) {
            let Some(way) = self.heard.get_mut(&peer) else {
                continue;
            };
            let interface = self.places[usize::from(way.place)].interface;
            way.mac = directory
                .mac_towards(interface, peer.into())
                .and_then(Result::ok);
            (way.epoch, way.is_stale) = (self.epoch, false);
        }
    }

    #[cold]
    fn wait(&mut self, to: SocketAddrV4, bytes: &[u8]) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
            self.counters.unresolved += 1;
        }
        self.waiting.push_back(WaitingDatagram {
            to,
            bytes: bytes.to_vec(),
            until_ns: None,
        });
    }

    /// Whether [`settle`](Self::settle) has something to do.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.stale.is_empty()
    }

    /// Sends what waited for a station that is known now, asks for others, and gives up what has
    /// waited too long.
    pub fn settle(
        &mut self,
        now_ns: u64,
        control: &mut Control,
        alloc: &mut impl FnMut() -> Option<P>,
        out: &mut impl Frames,
    ) {
        self.refresh(&control.directory);
        for _ in 0..self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else {
                break;
            };
            match self.try_again(now_ns, &waiting, control, alloc, out) {
                Fate::Sent => {}
                Fate::NoRoute => self.counters.no_route += 1,
                Fate::Stays => {
                    let until_ns = *waiting.until_ns.get_or_insert(now_ns + NEIGHBOUR_WAIT_NS);
                    match until_ns > now_ns {
                        true => self.waiting.push_back(waiting),
                        false => self.counters.unresolved += 1,
                    }
                }
            }
        }
    }

    fn try_again(
        &mut self,
        now_ns: u64,
        waiting: &WaitingDatagram,
        control: &mut Control,
        alloc: &mut impl FnMut() -> Option<P>,
        out: &mut impl Frames,
    ) -> Fate {
        let peer = *waiting.to.ip();
        let heard = self.heard.get(&peer).copied();
        let Some(mut way) = heard.or_else(|| self.find(peer, &control.directory)) else {
            return Fate::NoRoute;
        };
        let interface = self.places[usize::from(way.place)].interface;
        match control.directory.mac_towards(interface, peer.into()) {
            None => Fate::NoRoute,
            Some(Err(station)) => {
                control.resolve(now_ns, Resolve::OnLink(interface, station), out);
                Fate::Stays
            }
            Some(Ok(mac)) => {
                way = ReturnRoute {
                    mac: Some(mac),
                    epoch: self.epoch,
                    ..way
                };
                self.heard.insert(peer, way);
                self.send_by(way, mac, waiting.to, &waiting.bytes, alloc);
                Fate::Sent
            }
        }
    }

    fn send_by(
        &mut self,
        way: ReturnRoute,
        mac: MacAddr,
        to: SocketAddrV4,
        bytes: &[u8],
        mut alloc: impl FnMut() -> Option<P>,
    ) {
        let place = self.places[usize::from(way.place)];
        self.identification = self.identification.wrapping_add(1);
        let datagram = Datagram {
            place: &place,
            mac,
            to,
            identification: self.identification,
            bytes,
        };
        let first = self.ready.len();
        let fits = HEADER_LEN + udp::HEADER_LEN + bytes.len() <= usize::from(place.mtu_bytes);
        let made = match fits {
            true => datagram.whole(&mut alloc).map(|packet| {
                self.ready.push((packet, place.interface));
            }),
            false => datagram.cut(&mut alloc, &mut self.ready),
        };
        match made {
            Some(()) => self.counters.sent += 1,
            None => {
                // A part of a datagram is of no use to anybody.
                let parts = self.ready.drain(first..);
                parts.for_each(|(packet, _)| packet.free());
                self.counters.unsent += 1;
            }
        }
    }

    /// Packets to be sent, with the interface of each.
    pub fn take_ready(&mut self) -> impl Iterator<Item = (P, InterfaceId)> {
        self.ready.drain(..)
    }
}

/// All that a datagram's packets are made of.
struct Datagram<'a> {
    place: &'a N4Address,
    mac: MacAddr,
    to: SocketAddrV4,
    identification: u16,
    bytes: &'a [u8],
}

impl Datagram<'_> {
    /// Headers up to UDP, and the payload behind them, in one packet.
    fn whole<P: Packet>(&self, alloc: &mut impl FnMut() -> Option<P>) -> Option<P> {
        let (ip, udp) = self.headers()?;
        self.packet(alloc, &[&ip, &udp, self.bytes])
    }

    /// The same in fragments that fit the link (RFC 791, 3.2).
    #[cold]
    fn cut<P: Packet>(
        &self,
        alloc: &mut impl FnMut() -> Option<P>,
        out: &mut Vec<(P, InterfaceId)>,
    ) -> Option<()> {
        let (ip, udp) = self.headers()?;
        let whole = [&ip[..], &udp, self.bytes].concat();
        let packet = Ipv4::parse(&whole).ok()?;
        let pieces = Fragments::new(packet, self.place.mtu_bytes).ok()?;
        for piece in pieces.clone() {
            let mut header = [0; MAX_HEADER_LEN];
            let len = pieces.write_header(&piece, &mut header);
            let payload = packet.payload().get(piece.payload)?;
            let packet = self.packet(alloc, &[header.get(..len)?, payload])?;
            out.push((packet, self.place.interface));
        }
        Some(())
    }

    fn headers(&self) -> Option<([u8; HEADER_LEN], [u8; udp::HEADER_LEN])> {
        let (source, destination): (Ipv4Addr, Ipv4Addr) = (self.place.address, *self.to.ip());
        let ports = UdpHeader {
            source_port: pfcp::PORT,
            destination_port: self.to.port(),
        };
        let udp = ports.to_bytes(source, destination, self.bytes).ok()?;
        let ip = Ipv4Header {
            identification: self.identification,
            ..Ipv4Header::new(Protocol::UDP, source, destination)
        };
        Some((ip.to_bytes(udp.len() + self.bytes.len()).ok()?, udp))
    }

    fn packet<P: Packet>(
        &self,
        alloc: &mut impl FnMut() -> Option<P>,
        parts: &[&[u8]],
    ) -> Option<P> {
        let ethernet = EthHeader {
            destination: self.mac,
            source: self.place.mac,
            ethertype: EtherType::IPV4,
        };
        let tagged = self.place.vlan.map(|vlan| {
            ethernet.to_tagged_bytes(Tag {
                priority: 0,
                drop_eligible: false,
                vlan: Some(vlan),
            })
        });
        let plain = ethernet.to_bytes();
        let front = tagged.as_ref().map_or(&plain[..], |tagged| &tagged[..]);
        let len = front.len() + parts.iter().map(|p| p.len()).sum::<usize>();
        let mut packet = alloc()?;
        let Ok(mut room) = packet.append(len) else {
            packet.free();
            return None;
        };
        for part in core::iter::once(&front).chain(parts) {
            let (here, rest) = room.split_at_mut(part.len());
            here.copy_from_slice(part);
            room = rest;
        }
        Some(packet)
    }
}
