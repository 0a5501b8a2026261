//! Packet templates of a source: default packets, or other sizes, with and without PDU Session
//! Container, one or several sizes in turn.

use crate::path::topology::{
    DN_MAC, GNBS, N3_MAC, N6_MAC, QFI, SERVER, UPF_N3, gnb_address, gnb_mac,
};
use crate::path::traffic::{
    Direction, Flow, Frames, INNER_TTL, SERVER_PORT, TEID_AT, UE_PORT, frame, inner, outer,
};
use sluice_wire::checksum::update_u16;
use sluice_wire::gtpu::ShortContainer;
use sluice_wire::layout::{ipv4, udp};
use std::net::Ipv4Addr;

/// The shortest inner packet: IPv4, UDP, and 16 octets in which a source writes number and time.
pub const INNER_MIN: usize = ipv4::LEN + udp::LEN + 16;
/// The longest, which fits into the MTU of the scene with its outer header.
pub const INNER_MAX: usize = 1540;

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
        let shapes = inner_lens.iter().map(|len| Shape::new(*len, container));
        Ok(Self::Shapes(shapes.collect()))
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
    /// UDP without a checksum: sources write over the payload's end.
    fn new(len: usize, container: bool) -> Self {
        let (ue, server) = ((Ipv4Addr::UNSPECIFIED, UE_PORT), (SERVER, SERVER_PORT));
        let up = inner([ue, server], INNER_TTL, len, false);
        let down = inner([server, ue], INNER_TTL, len, false);
        let container = container.then(|| ShortContainer::uplink(QFI));
        let uplink = |gnb| {
            let packet = outer((gnb_address(gnb), UPF_N3), container, &up);
            frame(N3_MAC, gnb_mac(gnb), &packet)
        };
        let uplink: Vec<_> = (0..GNBS).map(uplink).collect();
        Self {
            inner_at: [uplink[0].len() - len, 14],
            uplink,
            downlink: frame(N6_MAC, DN_MAC, &down),
        }
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
