//! Outer fragments put together again (RFC 791, 3.2; RFC 8200, 4.5), bounded in number and time.
//!
//! Of IPv6 those whose fragment header follows the IPv6 header at once. A peer that fragments its tunnel packets costs a copy; one that never sends the last piece
//! costs a context for a second. Overlapping pieces are an attack (RFC 3128, RFC 5722): all are dropped.

use crate::drop::DropReason;
use crate::limits::{FRAGMENTS_PER_PACKET, REASSEMBLIES, REASSEMBLY_NS};
use arrayvec::ArrayVec;
use sluice_port::Packet;
use sluice_wire::ipv4::{Ipv4, Ipv4Header};
use sluice_wire::ipv6::{self, FRAGMENT_HEADER_LEN, Ipv6, is_ipv6};
use sluice_wire::layout::{eth, ipv6 as layout};

/// What belongs together (RFC 791, 2.3; RFC 8200, 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    src: u128,
    dst: u128,
    identification: u32,
    /// Of IPv4; none tells IPv6, whose parts may name different ones.
    protocol: Option<u8>,
}

/// One fragment: the frame, and where its payload goes.
#[derive(Debug)]
struct Piece<P> {
    frame: P,
    payload_at: usize,
    offset: usize,
    len: usize,
}

#[derive(Debug)]
struct Context<P> {
    key: Key,
    until_ns: u64,
    pieces: ArrayVec<Piece<P>, FRAGMENTS_PER_PACKET>,
    /// Payload bytes in all, once the last piece is here.
    total: Option<usize>,
}

/// Packets that come back.
pub type Pieces<P> = ArrayVec<P, FRAGMENTS_PER_PACKET>;

/// What became of a fragment.
pub enum Reassembled<P> {
    /// It waits for the others.
    Held,
    /// All are here; the assembled frame is for the caller to build from them.
    Complete(Whole<P>),
    /// It, and all that waited for it, are dropped.
    Refused(Pieces<P>, P, DropReason),
}

/// All fragments of one packet, in no particular order.
pub struct Whole<P> {
    pieces: ArrayVec<Piece<P>, FRAGMENTS_PER_PACKET>,
    total: usize,
}

/// The reassembler of one worker.
pub struct Reassembler<P> {
    contexts: Vec<Context<P>>,
}

impl<P: Packet> Default for Reassembler<P> {
    fn default() -> Self {
        Self {
            contexts: Vec::with_capacity(REASSEMBLIES),
        }
    }
}

impl<P: Packet> Reassembler<P> {
    /// Takes a frame whose IP header, a fragment's, begins at `l3`.
    pub fn add(&mut self, frame: P, l3: usize, now_ns: u64) -> Reassembled<P> {
        let Some((key, piece_at, more)) = read(&frame, l3) else {
            return Reassembled::Refused(Pieces::new(), frame, DropReason::OuterFragment);
        };
        let at = match self.contexts.iter().position(|c| c.key == key) {
            Some(at) => at,
            None if self.contexts.len() < REASSEMBLIES => {
                self.contexts.push(Context::new(key, now_ns));
                self.contexts.len() - 1
            }
            None => return Reassembled::Refused(Pieces::new(), frame, DropReason::Reassembly),
        };
        let (payload_at, offset, len) = piece_at;
        let piece = Piece {
            frame,
            payload_at,
            offset,
            len,
        };
        match self.contexts[at].add(piece, more) {
            Ok(false) => Reassembled::Held,
            Ok(true) => {
                let context = self.contexts.swap_remove(at);
                Reassembled::Complete(Whole {
                    total: context.total.unwrap_or_default(),
                    pieces: context.pieces,
                })
            }
            Err(frame) => {
                let context = self.contexts.swap_remove(at);
                let others = context.pieces.into_iter().map(|p| p.frame).collect();
                Reassembled::Refused(others, frame, DropReason::OuterFragment)
            }
        }
    }

    /// Frames held.
    pub fn held(&self) -> usize {
        self.contexts.iter().map(|c| c.pieces.len()).sum()
    }

    /// True if nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The frames of a packet that has waited too long.
    pub fn expire(&mut self, now_ns: u64) -> Option<Pieces<P>> {
        let at = self.contexts.iter().position(|c| c.until_ns <= now_ns)?;
        let context = self.contexts.swap_remove(at);
        Some(context.pieces.into_iter().map(|p| p.frame).collect())
    }
}

/// Ethernet and IP header, or less.
type LeadingOctets = ArrayVec<u8, 64>;
type PieceAt = (usize, usize, usize);

fn read<P: Packet>(frame: &P, l3: usize) -> Option<(Key, PieceAt, bool)> {
    let packet = frame.data().get(l3..)?;
    let (key, (payload_at, offset, len), more) = if is_ipv6(packet) {
        read_ipv6(packet)?
    } else {
        read_ipv4(packet)?
    };
    // Only the last piece may end off an 8-byte border (RFC 791, 3.2).
    let sound = len > 0 && (!more || len % 8 == 0) && offset + len <= usize::from(u16::MAX);
    sound.then_some((key, (l3 + payload_at, offset, len), more))
}

fn read_ipv4(packet: &[u8]) -> Option<(Key, PieceAt, bool)> {
    let ip = Ipv4::parse(packet).ok()?;
    let key = Key {
        src: ip.source_u32().into(),
        dst: ip.destination_u32().into(),
        identification: ip.identification().into(),
        protocol: Some(ip.protocol().0),
    };
    let offset = usize::from(ip.fragment_offset()) * 8;
    let place = (ip.header_len(), offset, ip.payload().len());
    Some((key, place, ip.more_fragments()))
}

fn read_ipv6(packet: &[u8]) -> Option<(Key, PieceAt, bool)> {
    let ip = Ipv6::parse(packet).ok()?;
    let (header, part) = ip.fragment()?;
    let key = Key {
        src: ip.source().to_bits(),
        dst: ip.destination().to_bits(),
        identification: header.identification,
        protocol: None,
    };
    let payload_at = ipv6::HEADER_LEN + FRAGMENT_HEADER_LEN;
    let place = (payload_at, header.offset.into(), part.len());
    Some((key, place, header.more))
}

impl<P: Packet> Context<P> {
    fn new(key: Key, now_ns: u64) -> Self {
        Self {
            key,
            until_ns: now_ns + REASSEMBLY_NS,
            pieces: ArrayVec::new(),
            total: None,
        }
    }

    /// `Ok(true)` if nothing is missing any more; the frame comes back if it cannot be a piece.
    fn add(&mut self, piece: Piece<P>, more: bool) -> Result<bool, P> {
        let end = piece.offset + piece.len;
        let beyond = self.total.is_some_and(|total| end > total || !more);
        let cuts_off = !more && self.pieces.iter().any(|p| p.offset + p.len > end);
        let overlaps = |p: &Piece<P>| piece.offset < p.offset + p.len && p.offset < end;
        if beyond || cuts_off || self.pieces.iter().any(overlaps) || self.pieces.is_full() {
            return Err(piece.frame);
        }
        if !more {
            self.total = Some(end);
        }
        self.pieces.push(piece);
        let have: usize = self.pieces.iter().map(|p| p.len).sum();
        Ok(self.total == Some(have))
    }
}

impl<P: Packet> Whole<P> {
    /// Writes the assembled frame into `out`, an empty packet. False if it does not fit.
    pub fn write(&self, out: &mut P) -> bool {
        let Some(front) = self.front() else {
            return false;
        };
        let room = out.append(front.len() + self.total);
        room.is_ok_and(|room| self.fill(&front, room))
    }

    /// The assembled frame, for those whose packets are too small for it.
    pub fn to_vec(&self) -> Option<Vec<u8>> {
        let front = self.front()?;
        let mut out = vec![0; front.len() + self.total];
        self.fill(&front, &mut out).then_some(out)
    }

    fn front(&self) -> Option<LeadingOctets> {
        let first = self.pieces.iter().find(|p| p.offset == 0)?;
        front(first, self.total)
    }

    fn fill(&self, front: &[u8], room: &mut [u8]) -> bool {
        let (head, body) = room.split_at_mut(front.len());
        head.copy_from_slice(front);
        for p in &self.pieces {
            let from = p.frame.data().get(p.payload_at..p.payload_at + p.len);
            match (body.get_mut(p.offset..p.offset + p.len), from) {
                (Some(to), Some(from)) => to.copy_from_slice(from),
                _ => return false,
            }
        }
        true
    }

    /// The fragments, to be freed.
    pub fn into_frames(self) -> Pieces<P> {
        self.pieces.into_iter().map(|p| p.frame).collect()
    }
}

/// Ethernet header (18 bytes with a tag) and the IP header of the whole. Options of IPv4 are left out: they
/// concern those who forwarded the fragments (RFC 791, 3.1: most are not copied anyway).
fn front<P: Packet>(first: &Piece<P>, total: usize) -> Option<LeadingOctets> {
    let data = first.frame.data();
    let ethernet_len = eth::payload_at(data)?;
    if is_ipv6(data.get(ethernet_len..)?) {
        return front_ipv6(data, ethernet_len, total);
    }
    let ip = Ipv4::parse(data.get(ethernet_len..)?).ok()?;
    let header = Ipv4Header {
        more_fragments: false,
        fragment_offset: 0,
        ..Ipv4Header::from(&ip)
    };
    let mut out = ArrayVec::new();
    out.try_extend_from_slice(data.get(..ethernet_len)?).ok()?;
    out.try_extend_from_slice(&header.to_bytes(total).ok()?)
        .ok()?;
    Some(out)
}

/// The same of IPv6, the fragment header left out.
fn front_ipv6(data: &[u8], ethernet_len: usize, total: usize) -> Option<LeadingOctets> {
    let ip = Ipv6::parse(data.get(ethernet_len..)?).ok()?;
    let (fragment, _) = ip.fragment()?;
    let mut out = LeadingOctets::new();
    let headers = data.get(..ethernet_len + ipv6::HEADER_LEN)?;
    out.try_extend_from_slice(headers).ok()?;
    let header = out.get_mut(ethernet_len..)?;
    let len = u16::try_from(total).ok()?;
    header
        .get_mut(layout::PAYLOAD_LEN..)?
        .first_chunk_mut()
        .map(|place: &mut [u8; 2]| *place = len.to_be_bytes())?;
    *header.get_mut(layout::NEXT_HEADER)? = fragment.next.0;
    Some(out)
}
