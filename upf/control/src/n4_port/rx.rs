//! N4 receive: packets to a PFCP address, checked.

use super::PortN4;
use core::net::{Ipv4Addr, SocketAddr};
use sluice_datapath::tables::InterfaceId;
use sluice_datapath::tx::reassembly::Reassembled;
use sluice_port::Packet;
use sluice_wire::ipv4::Ipv4;
use sluice_wire::layout::eth;
use sluice_wire::pfcp;
use sluice_wire::udp::Udp;

/// Classes of received packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<'a> {
    /// A datagram for the PFCP endpoint.
    Datagram {
        /// Sender.
        from: SocketAddr,
        /// To which of our addresses.
        local: Ipv4Addr,
        /// The PFCP message.
        bytes: &'a [u8],
    },
    /// A part of one, for [`PortN4::gather`].
    Fragment,
    /// Nothing of use; it was counted.
    Refused,
}

impl<P: Packet> PortN4<P> {
    /// Checks lengths, checksums and addresses of a frame. Total: any bytes have an answer.
    pub fn arrive<'a>(&mut self, interface: InterfaceId, frame: &'a [u8]) -> Arrival<'a> {
        let l3 = eth::payload_at(frame).and_then(|l3| frame.get(l3..));
        let Some(ip) = l3.and_then(|l3| Ipv4::parse(l3).ok()) else {
            return self.malformed();
        };
        if ip.is_fragment() {
            self.counters.fragments += 1;
            return Arrival::Fragment;
        }
        let mut places = self.places.iter();
        let place = places.find(|p| p.interface == interface && p.address == ip.destination());
        let (Some(place), Ok(udp)) = (place, Udp::parse(ip.payload())) else {
            return self.malformed();
        };
        if udp.destination_port() != pfcp::PORT || ip.source().is_unspecified() {
            return self.malformed();
        }
        // A sender may leave the checksum out (RFC 768).
        if place.verifies_udp && !udp.verify(ip.source(), ip.destination()) {
            self.counters.checksum += 1;
            return Arrival::Refused;
        }
        self.counters.received += 1;
        Arrival::Datagram {
            from: SocketAddr::from((ip.source(), udp.source_port())),
            local: ip.destination(),
            bytes: udp.payload(),
        }
    }

    fn malformed(&mut self) -> Arrival<'static> {
        self.counters.malformed += 1;
        Arrival::Refused
    }

    /// Keeps a fragment until the others have come; gives the whole frame when none is missing.
    pub fn gather(&mut self, frame: P, now_ns: u64) -> Option<Vec<u8>> {
        let l3 = eth::payload_at(frame.data()).unwrap_or_default();
        match self.reassembler.add(frame, l3, now_ns) {
            Reassembled::Held => None,
            Reassembled::Complete(whole) => {
                let bytes = whole.to_vec();
                whole.into_frames().into_iter().for_each(Packet::free);
                bytes
            }
            Reassembled::Refused(others, frame, _) => {
                self.counters.reassembly += 1 + others.len() as u64;
                others.into_iter().for_each(Packet::free);
                frame.free();
                None
            }
        }
    }

    /// Gives up fragments that have waited too long.
    pub fn expire(&mut self, now_ns: u64) {
        while let Some(frames) = self.reassembler.expire(now_ns) {
            self.counters.reassembly += frames.len() as u64;
            frames.into_iter().for_each(Packet::free);
        }
    }
}
