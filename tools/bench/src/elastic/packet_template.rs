//! Packet templates of a source: default packets, or other sizes, with and without PDU Session
//! Container, one or several sizes in turn.

use crate::path::topology::{
    DN_MAC, GNBS, N3_MAC, N6_MAC, QFI, SERVER, UPF_N3, gnb_address, gnb_mac,
};
use crate::path::traffic::{Direction, Flow, Frames};
use sluice_wire::checksum::update_u16;
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{PORT, ShortContainer, g_pdu_header, g_pdu_header_with_container};
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::layout::{eth, gtpu, ipv4, udp};
use sluice_wire::udp::UdpHeader;
use std::net::Ipv4Addr;

/// The shortest inner packet: IPv4, UDP, and 16 octets in which a source writes number and time.
pub const INNER_MIN: usize = ipv4::LEN + udp::LEN + 16;
/// The longest, which fits into the MTU of the scene with its outer header.
pub const INNER_MAX: usize = 1540;
/// Where the TEID stands in a frame with an outer header.
const TEID_AT: usize = eth::LEN + ipv4::LEN + udp::LEN + gtpu::TEID;
const UE_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 443;

/// What packets look like.
#[derive(Debug)]
pub enum PacketTemplate {
    /// As in `sluice bench path`.
    Usual(Box<Frames>),
    /// These, one after the other.
    Shapes(Vec<Shape>),
}

impl Default for PacketTemplate {
    fn default() -> Self {
        Self::Usual(Box::default())
    }
}

/// One kind of packet.
#[derive(Clone, Debug)]
pub struct Shape {
    /// By gNB.
    uplink: Vec<Vec<u8>>,
    downlink: Vec<u8>,
    /// Where the inner packet begins, uplink and downlink.
    inner_at: [usize; 2],
}

impl PacketTemplate {
    /// Inner packets of these lengths in octets, one after the other; with or without container.
    pub fn of(inner_lens: &[usize], container: bool) -> Result<Self, String> {
        let bad = inner_lens
            .iter()
            .find(|len| !(INNER_MIN..=INNER_MAX).contains(*len));
        if let Some(len) = bad {
            return Err(format!(
                "an inner packet of {len} octets; expected {INNER_MIN} to {INNER_MAX}"
            ));
        }
        if inner_lens.is_empty() {
            return Err("no packet sizes".to_owned());
        }
        let shape = |len: &usize| Shape::new(*len, container);
        let shapes: Option<Vec<Shape>> = inner_lens.iter().map(shape).collect();
        Ok(Self::Shapes(
            shapes.ok_or("packets too long for their headers")?,
        ))
    }

    /// Octets of packet `number` in this direction, as it comes in.
    #[inline]
    pub fn len(&self, direction: Direction, number: u64) -> usize {
        match self {
            Self::Usual(_) => direction.input_len(),
            Self::Shapes(shapes) => {
                let shape = &shapes[number as usize % shapes.len()];
                match direction {
                    Direction::Uplink => shape.uplink[0].len(),
                    Direction::Downlink => shape.downlink.len(),
                }
            }
        }
    }

    /// Writes packet `number` of `flow` into `out`, which has its length.
    #[inline]
    pub fn fill(&self, direction: Direction, flow: &Flow, number: u64, out: &mut [u8]) {
        match self {
            Self::Usual(frames) => frames.fill(direction, flow, out),
            Self::Shapes(shapes) => {
                shapes[number as usize % shapes.len()].fill(direction, flow, out);
            }
        }
    }
}

impl Shape {
    fn new(len: usize, container: bool) -> Option<Self> {
        let ue = Ipv4Addr::UNSPECIFIED;
        let up = inner((ue, UE_PORT), (SERVER, SERVER_PORT), len)?;
        let down = inner((SERVER, SERVER_PORT), (ue, UE_PORT), len)?;
        let outer_len = 20 + 8 + if container { 16 } else { 8 };
        let uplink = (0..GNBS).map(|gnb| {
            let packet = outer(gnb_address(gnb), container, &up)?;
            Some(frame(N3_MAC, gnb_mac(gnb), &packet))
        });
        Some(Self {
            uplink: uplink.collect::<Option<_>>()?,
            downlink: frame(N6_MAC, DN_MAC, &down),
            inner_at: [14 + outer_len, 14],
        })
    }

    fn fill(&self, direction: Direction, flow: &Flow, out: &mut [u8]) {
        let (from, at, ue_at) = match direction {
            Direction::Uplink => (&self.uplink[flow.gnb()], self.inner_at[0], 12),
            Direction::Downlink => (&self.downlink, self.inner_at[1], 16),
        };
        if out.len() != from.len() {
            return;
        }
        out.copy_from_slice(from);
        if direction == Direction::Uplink {
            out[TEID_AT..TEID_AT + 4].copy_from_slice(&flow.teid.to_be_bytes());
        }
        let header = &mut out[at..at + 20];
        let mut sum = u16::from_be_bytes([header[10], header[11]]);
        for half in [(flow.ue >> 16) as u16, flow.ue as u16] {
            sum = update_u16(sum, 0, half);
        }
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header[ue_at..ue_at + 4].copy_from_slice(&flow.ue.to_be_bytes());
    }
}

/// UDP without a checksum: sources write over the payload's end.
fn inner(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), len: usize) -> Option<Vec<u8>> {
    let header = Ipv4Header::new(Protocol::UDP, from.0, to.0);
    let ports = UdpHeader {
        source_port: from.1,
        destination_port: to.1,
    };
    let payload: Vec<u8> = (0..len - 28).map(|n| n as u8).collect();
    let udp = ports.to_bytes_unsummed(payload.len()).ok()?;
    let ip = header.to_bytes(len - 20).ok()?;
    Some([&ip[..], &udp, &payload].concat())
}

fn outer(gnb: Ipv4Addr, container: bool, inner: &[u8]) -> Option<Vec<u8>> {
    // Each session's TEID is written over this one.
    let teid = Teid::new(1)?;
    let gtpu = match container {
        true => {
            let container = ShortContainer::uplink(QFI);
            g_pdu_header_with_container(teid, container, inner.len())
                .ok()?
                .to_vec()
        }
        false => g_pdu_header(teid, inner.len()).ok()?.to_vec(),
    };
    let ports = UdpHeader {
        source_port: 0xc000,
        destination_port: PORT,
    };
    let udp = ports.to_bytes_unsummed(gtpu.len() + inner.len()).ok()?;
    let header = Ipv4Header {
        dont_fragment: true,
        ..Ipv4Header::new(Protocol::UDP, gnb, UPF_N3)
    };
    let ip = header.to_bytes(8 + gtpu.len() + inner.len()).ok()?;
    Some([&ip[..], &udp, &gtpu, inner].concat())
}

fn frame(to: MacAddr, from: MacAddr, packet: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: to,
        source: from,
        ethertype: EtherType::IPV4,
    };
    [&header.to_bytes()[..], packet].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    #[test]
    fn packets_are_what_another_library_reads() {
        let flow = Flow::new(0x8000_0001, 0x1000_0003, Ipv4Addr::new(10, 64, 255, 254));
        for (container, outer) in [(true, 44), (false, 36)] {
            for len in [INNER_MIN, 64, 309, 1500, INNER_MAX] {
                let mould = PacketTemplate::of(&[len], container).unwrap();
                for direction in [Direction::Uplink, Direction::Downlink] {
                    let mut frame = vec![0; mould.len(direction, 0)];
                    mould.fill(direction, &flow, 0, &mut frame);
                    let up = direction == Direction::Uplink;
                    assert_eq!(frame.len(), 14 + len + if up { outer } else { 0 });
                    let at = if up { 14 + outer } else { 14 };
                    let inner = SlicedPacket::from_ip(&frame[at..]).unwrap();
                    let Some(NetSlice::Ipv4(ip)) = &inner.net else {
                        panic!("{inner:?}");
                    };
                    let header = ip.header().to_header();
                    assert_eq!(header.header_checksum, header.calc_header_checksum());
                    let ue = if up {
                        header.source
                    } else {
                        header.destination
                    };
                    assert_eq!(ue, [10, 64, 255, 254]);
                    let Some(TransportSlice::Udp(udp)) = &inner.transport else {
                        panic!("{inner:?}");
                    };
                    assert_eq!(udp.payload().len(), len - 28);
                }
            }
        }
    }

    #[test]
    fn sizes_come_in_turn_and_impossible_ones_are_refused() {
        let mould = PacketTemplate::of(&[64, 524], true).unwrap();
        let lens: Vec<usize> = (0..3).map(|n| mould.len(Direction::Downlink, n)).collect();
        assert_eq!(lens, [78, 538, 78]);
        let of = |lens: &[usize]| PacketTemplate::of(lens, true).unwrap_err();
        assert!(of(&[43]).contains("expected 44 to 1540"));
        assert_eq!(of(&[]), "no packet sizes");
    }
}
