//! Parser of received frames.

use std::net::Ipv4Addr;

use sluice_wire::arp::Arp;
use sluice_wire::eth::{Eth, EtherType, MacAddr};
use sluice_wire::gtpu::{self, GPdu, Message};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::Udp;

use crate::stamp::Stamp;

/// ICMP type and code: destination unreachable, fragmentation needed and DF set (RFC 792).
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];

/// A received frame, as far as it concerns us.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen<'a> {
    Stamped(Stamped),
    Arp(Arp),
    /// A GTP-U message that is no packet of ours.
    Gtpu {
        /// Sender: Ethernet and IP address, and UDP port.
        from: (MacAddr, Ipv4Addr, u16),
        /// To which of our addresses.
        to: Ipv4Addr,
        message: Message<'a>,
    },
    /// ICMP: a packet of ours was too long for a link behind.
    TooBig,
    /// A part of a packet.
    Fragment,
    /// A header that is not what it should be.
    Malformed,
    Other,
}

/// One of our packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stamped {
    pub(crate) stamp: Stamp,
    /// The tunnel in which it came, if in one.
    pub(crate) tunnel: Option<(Teid, Option<Qfi>)>,
    /// Addresses of the UE's packet.
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    /// Length of the UE's packet.
    pub(crate) ip_bytes: u16,
}

pub(crate) fn read(frame: &[u8]) -> Seen<'_> {
    let Ok(eth) = Eth::parse(frame) else {
        return Seen::Malformed;
    };
    match eth.ethertype() {
        EtherType::IPV4 => ipv4(&eth),
        EtherType::ARP => Arp::parse(eth.payload()).map_or(Seen::Malformed, Seen::Arp),
        _ => Seen::Other,
    }
}

fn ipv4<'a>(eth: &Eth<'a>) -> Seen<'a> {
    let Ok(ip) = Ipv4::parse(eth.payload()) else {
        return Seen::Malformed;
    };
    if ip.is_fragment() {
        return Seen::Fragment;
    }
    if ip.protocol() == Protocol::ICMP && ip.payload().starts_with(&FRAGMENTATION_NEEDED) {
        return Seen::TooBig;
    }
    if ip.protocol() != Protocol::UDP {
        return Seen::Other;
    }
    let Ok(udp) = Udp::parse(ip.payload()) else {
        return Seen::Malformed;
    };
    if udp.destination_port() == gtpu::PORT {
        return tunnelled(eth, &ip, &udp);
    }
    stamped(&ip, &udp, None)
}

fn tunnelled<'a>(eth: &Eth<'a>, ip: &Ipv4<'a>, udp: &Udp<'a>) -> Seen<'a> {
    let payload = udp.payload();
    let Ok(g_pdu) = GPdu::parse(payload) else {
        let from = (eth.source(), ip.source(), udp.source_port());
        return match Message::parse(payload) {
            Ok(message) => Seen::Gtpu {
                from,
                to: ip.destination(),
                message,
            },
            Err(_) => Seen::Malformed,
        };
    };
    let inner = g_pdu.payload(payload).and_then(|packet| {
        let ip = Ipv4::parse(packet).ok()?;
        let whole = !ip.is_fragment() && ip.protocol() == Protocol::UDP;
        let udp = whole.then(|| Udp::parse(ip.payload()).ok()).flatten();
        Some((ip, udp))
    });
    match inner {
        Some((ip, Some(udp))) => stamped(&ip, &udp, Some((g_pdu.teid, g_pdu.qfi))),
        Some((_, None)) => Seen::Other,
        None => Seen::Malformed,
    }
}

fn stamped<'a>(ip: &Ipv4<'a>, udp: &Udp<'a>, tunnel: Option<(Teid, Option<Qfi>)>) -> Seen<'a> {
    match Stamp::read(udp.payload()) {
        Some(stamp) => Seen::Stamped(Stamped {
            stamp,
            tunnel,
            source: ip.source(),
            destination: ip.destination(),
            ip_bytes: ip.total_len(),
        }),
        None => Seen::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluice_wire::eth::EthHeader;
    use sluice_wire::ipv4::Ipv4Header;

    #[test]
    fn a_packet_that_was_too_long_is_told() {
        let eth = EthHeader {
            destination: MacAddr([2, 0, 0, 0, 0, 1]),
            source: MacAddr([2, 0, 0, 0, 0, 2]),
            ethertype: EtherType::IPV4,
        };
        let (from, to) = (Ipv4Addr::new(198, 18, 6, 1), Ipv4Addr::new(198, 18, 6, 2));
        let ip = Ipv4Header::new(Protocol::ICMP, from, to)
            .to_bytes(8)
            .unwrap();
        let frame = |code| [&eth.to_bytes()[..], &ip, &[3, code, 0, 0, 0, 0, 5, 220]].concat();
        assert_eq!(read(&frame(4)), Seen::TooBig);
        assert_eq!(read(&frame(1)), Seen::Other);
    }

    proptest! {
        #[test]
        fn any_frame_can_be_read(mut frame in proptest::collection::vec(any::<u8>(), 0..120), ip: bool) {
            if ip && frame.len() > 40 {
                frame[12..15].copy_from_slice(&[8, 0, 0x45]);
                frame[23] = 17;
                frame[36..38].copy_from_slice(&gtpu::PORT.to_be_bytes());
            }
            let _ = read(&frame);
        }
    }
}
