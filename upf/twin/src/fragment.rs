//! Fragments (RFC 791, 2.3 and 3.2): packets cut, and packets put together.

use crate::ipv4::{self, Packet};
use crate::ipv6;
use std::net::IpAddr;

/// How long fragments wait for the others.
const WAIT_NS: u64 = 1_000_000_000;
/// More fragments of one packet are not gathered.
const PIECES: usize = 16;

/// The pieces of a packet for links of `mtu` bytes: itself if it fits. None if it is a fragment
/// itself that reaches beyond what an offset field holds.
pub fn fragment(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    if packet.len() <= mtu {
        return vec![packet.to_vec()];
    }
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let (first_header, payload) = packet.split_at(header_len);
    let offset = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff;
    if usize::from(offset) * 8 + payload.len() > 65_535 {
        return Vec::new();
    }
    let later_header = [&packet[..20], &copied_options(&packet[20..header_len])].concat();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < payload.len() {
        let header = match at {
            0 => first_header,
            _ => &later_header,
        };
        let room = mtu - header.len();
        let left = payload.len() - at;
        let len = if left <= room { left } else { room / 8 * 8 };
        let is_last = len == left;
        pieces.push(piece(header, &payload[at..at + len], at, is_last));
        at += len;
    }
    pieces
}

/// One piece; what was cut may have been a fragment itself.
fn piece(header: &[u8], payload: &[u8], at: usize, is_last: bool) -> Vec<u8> {
    let mut piece = [header, payload].concat();
    let len = piece.len() as u16;
    piece[0] = 0x40 | (header.len() / 4) as u8;
    piece[2..4].copy_from_slice(&len.to_be_bytes());
    let mut word = u16::from_be_bytes([header[6], header[7]]);
    word += (at / 8) as u16;
    if !is_last {
        word |= 0x2000;
    }
    piece[6..8].copy_from_slice(&word.to_be_bytes());
    ipv4::set_checksum(&mut piece);
    piece
}

/// The options that every fragment carries (RFC 791, 3.1: the copied flag), padded.
fn copied_options(mut options: &[u8]) -> Vec<u8> {
    let mut copied = Vec::new();
    while let Some(kind) = options.first().copied().filter(|k| *k != 0) {
        let len = match kind {
            1 => 1,
            _ => usize::from(options.get(1).copied().unwrap_or(0)),
        };
        if len == 0 || (kind != 1 && len < 2) || len > options.len() {
            break;
        }
        if kind & 0x80 != 0 {
            copied.extend(&options[..len]);
        }
        options = &options[len..];
    }
    copied.resize(copied.len().next_multiple_of(4), 0);
    copied
}

/// What a fragment made of those that wait.
pub enum Gathered {
    /// It waits, too.
    Waits,
    /// It and those that waited are dropped: so many frames.
    Broken(usize),
    /// The frame with the whole packet, and how many pieces it was in.
    Whole(Vec<u8>, usize),
}

/// Fragments that wait.
#[derive(Clone, Debug, Default)]
pub struct Fragments(Vec<Gathering>);

/// A fragment of an outer packet.
pub struct Outer<'a> {
    of: Of,
    at: usize,
    bytes: &'a [u8],
    is_last: bool,
    /// The header that the whole packet has, but for its length.
    header: Vec<u8>,
}

/// Whose fragment it is: addresses, of IPv4 the protocol, and the identification.
type Of = (IpAddr, IpAddr, Option<u8>, u32);

impl<'a> Outer<'a> {
    pub fn of_ipv4(packet: &Packet<'a>) -> Self {
        let h = &packet.header;
        Self {
            of: (
                h.source_addr().into(),
                h.destination_addr().into(),
                Some(h.protocol().0),
                h.identification().into(),
            ),
            at: usize::from(h.fragments_offset().value()) * 8,
            bytes: packet.payload(),
            is_last: !h.more_fragments(),
            header: packet.bytes[..20].to_vec(),
        }
    }

    /// One whose fragment header is the first behind the IPv6 header.
    pub fn of_ipv6(packet: &ipv6::Packet<'a>) -> Option<Self> {
        let (header, behind) = packet.bytes.split_at(40);
        if header[6] != 44 || behind.len() < 8 {
            return None;
        }
        let (fragment, bytes) = behind.split_at(8);
        let word = u16::from_be_bytes([fragment[2], fragment[3]]);
        let identification = [fragment[4], fragment[5], fragment[6], fragment[7]];
        let mut header = header.to_vec();
        header[6] = fragment[0];
        let ends = &packet.header;
        Some(Self {
            of: (
                ends.source_addr().into(),
                ends.destination_addr().into(),
                None,
                u32::from_be_bytes(identification),
            ),
            at: usize::from(word & 0xfff8),
            bytes,
            is_last: word & 1 == 0,
            header,
        })
    }
}

/// Fragments of one packet.
#[derive(Clone, Debug)]
struct Gathering {
    of: Of,
    until_ns: u64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    at: usize,
    bytes: Vec<u8>,
    is_last: bool,
    /// The frame up to its payload.
    front: Vec<u8>,
}

impl Piece {
    fn end(&self) -> usize {
        self.at + self.bytes.len()
    }
}

impl Fragments {
    /// A fragment in its frame.
    pub fn add(&mut self, frame: &[u8], fragment: &Outer<'_>, now_ns: u64) -> Gathered {
        let payload = fragment.bytes;
        let piece = Piece {
            at: fragment.at,
            bytes: payload.to_vec(),
            is_last: fragment.is_last,
            front: front(frame, &fragment.header),
        };
        let on_border = piece.is_last || payload.len().is_multiple_of(8);
        if payload.is_empty() || !on_border || piece.end() > 65_535 {
            return Gathered::Broken(1);
        }
        let of = fragment.of;
        let at = self.0.iter().position(|g| g.of == of);
        let mut gathering = match at {
            Some(at) => self.0.remove(at),
            None => Gathering {
                of,
                until_ns: now_ns + WAIT_NS,
                pieces: Vec::new(),
            },
        };
        gathering.pieces.push(piece);
        let pieces = gathering.pieces.len();
        if pieces > PIECES || !gathering.is_sound() {
            return Gathered::Broken(pieces);
        }
        match gathering.whole() {
            Some(whole) => Gathered::Whole(whole, pieces),
            None => {
                self.0.push(gathering);
                Gathered::Waits
            }
        }
    }

    /// Frames that wait.
    pub fn held(&self) -> usize {
        self.0.iter().map(|g| g.pieces.len()).sum()
    }

    /// Gives up what has waited too long: so many frames.
    pub fn expire(&mut self, now_ns: u64) -> usize {
        let before = self.held();
        self.0.retain(|g| g.until_ns > now_ns);
        before - self.held()
    }
}

impl Gathering {
    /// No byte twice, one end, nothing behind it.
    fn is_sound(&self) -> bool {
        let mut pieces: Vec<&Piece> = self.pieces.iter().collect();
        pieces.sort_by_key(|p| p.at);
        let apart = pieces.windows(2).all(|p| p[0].end() <= p[1].at);
        let early_end = pieces.iter().rev().skip(1).any(|p| p.is_last);
        apart && !early_end
    }

    /// The frame of the whole packet, if no byte is missing. Its IPv4 header has no options: they
    /// were for those who forwarded the fragments.
    fn whole(&self) -> Option<Vec<u8>> {
        let mut pieces: Vec<&Piece> = self.pieces.iter().collect();
        pieces.sort_by_key(|p| p.at);
        let mut payload: Vec<u8> = Vec::new();
        for piece in &pieces {
            if piece.at != payload.len() {
                return None;
            }
            payload.extend(&piece.bytes);
        }
        pieces.last().filter(|p| p.is_last)?;
        let mut frame = pieces.first()?.front.clone();
        if self.of.0.is_ipv6() {
            let ip = frame.len() - 40;
            let len = payload.len() as u16;
            frame[ip + 4..ip + 6].copy_from_slice(&len.to_be_bytes());
            frame.extend(payload);
            return Some(frame);
        }
        let ip = frame.len() - 20;
        let total = (20 + payload.len()) as u16;
        frame[ip] = 0x45;
        frame[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
        frame[ip + 6..ip + 8].fill(0);
        ipv4::set_checksum(&mut frame[ip..]);
        frame.extend(payload);
        Some(frame)
    }
}

/// Ethernet header and IP header.
fn front(frame: &[u8], header: &[u8]) -> Vec<u8> {
    let ethernet = match frame[12..14] {
        [0x81, 0x00] => 18,
        _ => 14,
    };
    [&frame[..ethernet], header].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(options: &[u8], payload: usize) -> Vec<u8> {
        let words = 0x45 + options.len() as u8 / 4;
        let total = (20 + options.len() + payload) as u16;
        let [high, low] = total.to_be_bytes();
        let mut p = vec![words, 0, high, low, 0, 9, 0, 0, 64, 17, 0, 0];
        p.extend([10, 45, 0, 7, 192, 0, 2, 1]);
        p.extend(options);
        ipv4::set_checksum(&mut p);
        p.extend((0..payload).map(|i| i as u8));
        p
    }

    #[test]
    fn pieces_fit_and_make_the_whole_again() {
        let whole = packet(&[], 100);
        let pieces = fragment(&whole, 60);
        assert_eq!(
            pieces.iter().map(Vec::len).collect::<Vec<_>>(),
            [60, 60, 40]
        );
        let mut waiting = Fragments::default();
        for (i, piece) in pieces.iter().rev().enumerate() {
            let frame = [&[0; 12][..], &[8, 0], piece].concat();
            let packet = ipv4::read(piece).expect("sound");
            match waiting.add(&frame, &Outer::of_ipv4(&packet), 0) {
                Gathered::Waits => assert!(i < 2),
                Gathered::Whole(frame, 3) => assert_eq!(frame[14..], whole[..]),
                _ => panic!("piece {i}"),
            }
        }
        assert_eq!(waiting.held(), 0);
    }

    #[test]
    fn only_options_with_the_copied_flag_stand_in_later_pieces() {
        let pieces = fragment(&packet(&[1, 0x94, 4, 0, 0, 1, 1, 0], 100), 80);
        assert_eq!(pieces[0][..1], [0x47]);
        assert_eq!(pieces[1][..1], [0x46]);
        assert_eq!(pieces[1][20..24], [0x94, 4, 0, 0]);
    }

    #[test]
    fn overlapping_pieces_are_dropped_and_late_ones_given_up() {
        let pieces = fragment(&packet(&[], 100), 60);
        let mut waiting = Fragments::default();
        let mut add = |piece: &[u8]| {
            let frame = [&[0; 12][..], &[8, 0], piece].concat();
            let packet = ipv4::read(piece).expect("sound");
            waiting.add(&frame, &Outer::of_ipv4(&packet), 5)
        };
        assert!(matches!(add(&pieces[0]), Gathered::Waits));
        assert!(matches!(add(&pieces[0]), Gathered::Broken(2)));
        assert!(matches!(add(&pieces[1]), Gathered::Waits));
        assert_eq!(waiting.expire(WAIT_NS + 4), 0);
        assert_eq!(waiting.expire(WAIT_NS + 5), 1);
    }
}
