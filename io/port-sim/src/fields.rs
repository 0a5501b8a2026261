//! Header fields that a simulated network card hashes.

/// Source, destination and what follows, of an IP packet.
pub(crate) struct Ip<'a> {
    pub(crate) src: &'a [u8],
    pub(crate) dst: &'a [u8],
    protocol: u8,
    /// Empty for fragments but the first.
    payload: &'a [u8],
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const GTPU_PORT: u16 = 2152;
const G_PDU: u8 = 255;

/// The IP packet in an Ethernet frame, behind VLAN tags if any.
pub(crate) fn ip_of_frame(frame: &[u8]) -> Option<Ip<'_>> {
    let mut ethertype_at = 12;
    while matches!(u16_at(frame, ethertype_at)?, 0x8100 | 0x88a8) {
        ethertype_at += 4;
    }
    match u16_at(frame, ethertype_at)? {
        0x0800 | 0x86dd => ip(frame.get(ethertype_at + 2..)?),
        _ => None,
    }
}

impl<'a> Ip<'a> {
    /// Source and destination port of TCP or UDP, as one field of four bytes.
    pub(crate) fn ports(&self) -> Option<&'a [u8]> {
        matches!(self.protocol, TCP | UDP)
            .then(|| self.payload.get(..4))
            .flatten()
    }

    /// The packet inside, if this one carries a G-PDU (TS 29.281, 5.1).
    pub(crate) fn inside_gtpu(&self) -> Option<Ip<'a>> {
        if self.protocol != UDP || u16_at(self.payload, 2)? != GTPU_PORT {
            return None;
        }
        let gtpu = self.payload.get(8..)?;
        let (flags, message_type) = (*gtpu.first()?, *gtpu.get(1)?);
        if message_type != G_PDU {
            return None;
        }
        let mut header_len = if flags & 0x07 == 0 { 8 } else { 12 };
        while flags & 0x04 != 0 && *gtpu.get(header_len - 1)? != 0 {
            header_len += extension_len(gtpu, header_len)?;
        }
        ip(gtpu.get(header_len..)?)
    }
}

/// Length in bytes of the GTP-U extension header at `at`; a length of zero is
/// no header (TS 29.281, 5.2.1).
fn extension_len(gtpu: &[u8], at: usize) -> Option<usize> {
    let words = usize::from(*gtpu.get(at)?);
    (words > 0).then_some(words * 4)
}

fn ip(packet: &[u8]) -> Option<Ip<'_>> {
    match packet.first()? >> 4 {
        4 => ipv4(packet),
        6 => Some(Ip {
            src: packet.get(8..24)?,
            dst: packet.get(24..40)?,
            protocol: *packet.get(6)?,
            payload: packet.get(40..)?,
        }),
        _ => None,
    }
}

fn ipv4(packet: &[u8]) -> Option<Ip<'_>> {
    let header_len = usize::from(packet.first()? & 0x0f) * 4;
    let first_fragment = u16_at(packet, 6)? & 0x1fff == 0;
    let payload = packet.get(header_len..)?;
    Some(Ip {
        src: packet.get(12..16)?,
        dst: packet.get(16..20)?,
        protocol: *packet.get(9)?,
        payload: if first_fragment { payload } else { &[] },
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*field))
}
