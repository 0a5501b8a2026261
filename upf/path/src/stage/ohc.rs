//! Outer header creation: IPv4, UDP and GTP-U with or without a PDU Session Container.

use crate::drop::DropReason;
use crate::tables::Peer;
use sluice_port::Packet;

/// IPv4 20 + UDP 8 + GTP-U 8.
pub const PLAIN_LEN: usize = 36;
/// ... + sequence number, N-PDU, next type 4 + PDU Session Container 4.
pub const WITH_CONTAINER_LEN: usize = 44;

const GTPU_PORT: u16 = 2152;
const G_PDU: u8 = 255;

/// What the GTP-U header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunnel {
    /// TEID of the peer.
    pub teid: u32,
    /// QFI of the PDU Session Container; without it there is no container.
    pub qfi: Option<u8>,
    /// The container's PDU type: 1 from the UE's side (towards an anchor), 0 towards the UE.
    pub uplink: bool,
}

impl Tunnel {
    /// A header without a container.
    pub fn bare(teid: u32) -> Self {
        Self {
            teid,
            qfi: None,
            uplink: false,
        }
    }
}

/// How many bytes the outer header takes.
#[inline]
pub fn len(tunnel: &Tunnel) -> usize {
    match tunnel.qfi {
        Some(_) => WITH_CONTAINER_LEN,
        None => PLAIN_LEN,
    }
}

/// Puts the outer header in front of the inner packet.
#[inline]
pub fn create<P: Packet>(
    packet: &mut P,
    tunnel: &Tunnel,
    peer: &Peer,
    flow_hash: u32,
) -> Result<(), DropReason> {
    let inner_len = packet.len();
    let added = len(tunnel);
    packet
        .push_front(added)
        .map_err(|_| DropReason::NoHeadroom)?;
    let data = packet.data_mut();
    let total = u16::try_from(inner_len + added).map_err(|_| DropReason::TooBig)?;
    let front = plain(tunnel, peer, total, flow_hash);
    match tunnel.qfi {
        Some(qfi) => {
            let header = data.first_chunk_mut().ok_or(DropReason::NoHeadroom)?;
            *header = with_container(&front, tunnel, qfi);
        }
        None => *data.first_chunk_mut().ok_or(DropReason::NoHeadroom)? = front,
    }
    Ok(())
}

#[inline]
fn with_container(
    front: &[u8; PLAIN_LEN],
    tunnel: &Tunnel,
    qfi: u8,
) -> [u8; WITH_CONTAINER_LEN] {
    let mut h = [0; WITH_CONTAINER_LEN];
    h[..PLAIN_LEN].copy_from_slice(front);
    // Version 1, GTP, extension header follows (TS 29.281, 5.1).
    h[28] = 0x34;
    // Sequence number and N-PDU unused; next: PDU Session Container (0x85), one unit of 4 bytes;
    // PDU type in the top four bits (TS 38.415, 5.5.2), no further extension header.
    let pdu_type = if tunnel.uplink { 0x10 } else { 0x00 };
    h[36..].copy_from_slice(&[0, 0, 0, 0x85, 1, pdu_type, qfi, 0]);
    h
}

#[inline]
fn plain(tunnel: &Tunnel, peer: &Peer, total: u16, flow_hash: u32) -> [u8; PLAIN_LEN] {
    let mut h = [0; PLAIN_LEN];
    let (src, dst) = (peer.local.octets(), peer.address.octets());
    h[0] = 0x45;
    h[2..4].copy_from_slice(&total.to_be_bytes());
    // An atomic datagram: DF set, identification 0 (RFC 6864, 4.1).
    h[6] = 0x40;
    h[8] = 64;
    h[9] = 17;
    h[12..16].copy_from_slice(&src);
    h[16..20].copy_from_slice(&dst);
    let sum = header_checksum(src, dst, total);
    h[10..12].copy_from_slice(&sum.to_be_bytes());
    // The source port spreads flows over the peer's queues (TS 29.281, 4.4.2.3 leaves it free);
    // dynamic range of RFC 6335.
    let src_port = 0xc000 | (flow_hash & 0x3fff) as u16;
    h[20..22].copy_from_slice(&src_port.to_be_bytes());
    h[22..24].copy_from_slice(&GTPU_PORT.to_be_bytes());
    h[24..26].copy_from_slice(&(total - 20).to_be_bytes());
    // UDP checksum 0: none, as usual over IPv4 for tunnels whose inner packets have their own.
    h[28] = 0x30;
    h[29] = G_PDU;
    h[30..32].copy_from_slice(&(total - 36).to_be_bytes());
    h[32..36].copy_from_slice(&tunnel.teid.to_be_bytes());
    h
}

/// Of the header above: all fields but addresses and length are constant.
#[inline]
fn header_checksum(src: [u8; 4], dst: [u8; 4], total: u16) -> u16 {
    let halves = |a: [u8; 4]| {
        let w = u32::from_be_bytes(a);
        (w >> 16) + (w & 0xffff)
    };
    let sum = 0x4500 + 0x4000 + 0x4011 + u32::from(total) + halves(src) + halves(dst);
    let sum = (sum >> 16) + (sum & 0xffff);
    !((sum >> 16) + (sum & 0xffff)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_wire::checksum::Sum;

    fn peer() -> Peer {
        Peer {
            address: [192, 0, 2, 200].into(),
            local: [198, 51, 100, 7].into(),
            next_hop: 0,
        }
    }

    #[test]
    fn the_ip_checksum_is_right_for_every_length() {
        let tunnel = Tunnel {
            teid: 1,
            qfi: None,
            uplink: false,
        };
        for total in (PLAIN_LEN as u16..=u16::MAX).step_by(7) {
            let h = plain(&tunnel, &peer(), total, 99);
            assert!(Sum::of(&h[..20]).verifies(), "length {total}");
        }
    }

    #[test]
    fn the_container_stands_as_ts_38_415_draws_it() {
        let tunnel = Tunnel {
            teid: 0x0102_0304,
            qfi: Some(9),
            uplink: false,
        };
        let h = with_container(&plain(&tunnel, &peer(), 144, 0), &tunnel, 9);
        assert_eq!(
            h[28..],
            [0x34, 255, 0, 108, 1, 2, 3, 4, 0, 0, 0, 0x85, 1, 0, 9, 0]
        );
        assert_eq!(h[20..28], [0xc0, 0, 0x08, 0x68, 0, 124, 0, 0]);
    }
}
