//! RSS hashes of a simulated port.

use crate::fields::{Ip, ip_of_frame};

/// What a port hashes.
#[derive(Clone, Copy, Debug)]
pub enum RssHash {
    /// Addresses and TCP or UDP ports of the outer IP packet, as most network
    /// cards do.
    OuterTuple,
    /// The address of the UE: the source of the packet inside a G-PDU, else the
    /// destination of the packet. Of an IPv6 address the first 64 bits.
    UeAddress,
    /// Source and destination of the packet inside a G-PDU, or of the outermost, with this key.
    Addresses(sluice_port::steer::Hash),
    /// Anything; `None` for a frame that is not hashed.
    Custom(fn(&[u8]) -> Option<u32>),
}

impl RssHash {
    /// The hash of a frame; none if the frame has not got the fields.
    pub fn of(self, frame: &[u8]) -> Option<u32> {
        match self {
            Self::OuterTuple => Some(outer_tuple(&ip_of_frame(frame)?)),
            Self::UeAddress => Some(ue_address(&ip_of_frame(frame)?)),
            Self::Addresses(hash) => addresses(hash, &ip_of_frame(frame)?),
            Self::Custom(hash) => hash(frame),
        }
    }
}

/// The key that Microsoft's "Verifying the RSS hash calculation" uses, and with
/// it many drivers.
pub const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Toeplitz hash: for each bit set in the input, the 32 bits of the key that
/// begin at that bit's place. The key counts as followed by zeros.
pub fn toeplitz(key: &[u8], input: impl IntoIterator<Item = u8>) -> u32 {
    let mut key = key.iter().copied();
    let mut next_byte = || u64::from(key.next().unwrap_or(0));
    let mut window = (0..4).fold(0, |bits, _| bits << 8 | next_byte());
    let mut hash = 0;
    for byte in input {
        window = window << 8 | next_byte();
        for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
            hash ^= (window >> (8 - bit)) as u32;
        }
    }
    hash
}

fn outer_tuple(ip: &Ip<'_>) -> u32 {
    let ports = ip.ports().unwrap_or_default();
    toeplitz(&TOEPLITZ_KEY, [ip.src, ip.dst, ports].concat())
}

/// Where an inner packet is asked for and there is none, the outer one is not hashed instead.
fn addresses(hash: sluice_port::steer::Hash, outer: &Ip<'_>) -> Option<u32> {
    let of = |ip: &Ip<'_>| toeplitz(&hash.key, [ip.src, ip.dst].concat());
    match hash.inside {
        true => outer.inside_gtpu().map(|inner| of(&inner)),
        false => Some(of(outer)),
    }
}

fn ue_address(outer: &Ip<'_>) -> u32 {
    let address = outer.inside_gtpu().map_or(outer.dst, |inner| inner.src);
    let prefix = if address.len() == 16 {
        &address[..8]
    } else {
        address
    };
    toeplitz(&TOEPLITZ_KEY, prefix.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp_frame(src: [u8; 4], dst: [u8; 4], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let mut frame = [&[0; 12][..], &[0x08, 0x00]].concat();
        frame.extend(ipv4_udp(src, dst, ports, payload));
        frame
    }

    fn ipv4_udp(src: [u8; 4], dst: [u8; 4], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
        let head = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
        let udp = [
            ports[0].to_be_bytes(),
            ports[1].to_be_bytes(),
            [0; 2],
            [0; 2],
        ]
        .concat();
        [&head[..], &src, &dst, &udp, payload].concat()
    }

    #[test]
    fn hashes_are_those_of_microsofts_verification_suite() {
        let frame = udp_frame([66, 9, 149, 187], [161, 142, 100, 80], [2794, 1766], &[]);
        assert_eq!(RssHash::OuterTuple.of(&frame), Some(0x51cc_c178));
        let addresses = [66, 9, 149, 187, 161, 142, 100, 80];
        assert_eq!(toeplitz(&TOEPLITZ_KEY, addresses), 0x323e_8fc2);
        let frame = udp_frame([199, 92, 111, 2], [65, 69, 140, 83], [14230, 4739], &[]);
        assert_eq!(RssHash::OuterTuple.of(&frame), Some(0xc626_b0ea));
    }

    #[test]
    fn both_directions_of_a_ue_have_one_hash() {
        let (ue, server) = ([10, 45, 0, 7], [8, 8, 8, 8]);
        let downlink = udp_frame(server, ue, [53, 4000], &[]);
        let expected = Some(toeplitz(&TOEPLITZ_KEY, ue));
        assert_eq!(RssHash::UeAddress.of(&downlink), expected);
        let inner = ipv4_udp(ue, server, [4000, 53], &[]);
        let plain = [&[0x30, 255, 0, 36, 0, 0, 0, 1], &inner[..]].concat();
        let pdu_session = [0x34, 255, 0, 44, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0];
        let extended = [&pdu_session[..], &inner].concat();
        for gtpu in [plain, extended] {
            let uplink = udp_frame([192, 168, 0, 1], [192, 168, 0, 2], [9999, 2152], &gtpu);
            assert_eq!(RssHash::UeAddress.of(&uplink), expected);
        }
    }

    #[test]
    fn truncated_frames_have_no_hash_or_some_but_never_panic() {
        let pdu_session = [0x34, 255, 0, 44, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0];
        let frame = udp_frame([1; 4], [2; 4], [3, 2152], &pdu_session);
        for end in 0..frame.len() {
            let _ = RssHash::UeAddress.of(&frame[..end]);
            let _ = RssHash::OuterTuple.of(&frame[..end]);
        }
        assert_eq!(RssHash::OuterTuple.of(&[0; 60]), None, "no IP");
    }
}
