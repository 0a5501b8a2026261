//! Template: the headers of all frames that leave by an interface, up to 128 octets, and the fields of them that differ
//! between packets.

use crate::drop::DropReason;
use sluice_port::Packet;
use sluice_wire::checksum::checksum;
use sluice_wire::eth::EtherType;
use sluice_wire::ipv6::is_ipv6;
use sluice_wire::layout::eth::{self, LEN as UNTAGGED, TAGGED_LEN as TAGGED};
use sluice_wire::layout::ipv4;

/// The longest template in octets.
pub const TEMPLATE_MAX: usize = 128;

/// The headers of all frames that leave by an interface. Each frame gets the next hop's MAC address, in the last two
/// octets the EtherType of its packet, and [its own lengths](PerPacket).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    pub(super) octets: [u8; TEMPLATE_MAX],
    pub(super) len: u8,
    pub(super) form: Form,
    per_packet: PerPacket,
}

/// Forms of templates; the first two have words of their own in a next hop's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Untagged,
    Tagged,
    Long,
}

/// The fields of a template that differ between packets: VXLAN has them all, GRE the lengths of its IP header, double
/// tags none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PerPacket {
    /// Where the next hop's MAC address stands.
    pub mac_at: u8,
    /// Length fields of 16 bits.
    pub lengths: [Option<LengthField>; 2],
    /// An IPv4 header whose checksum changes with its length.
    pub ipv4_at: Option<u8>,
}

/// A length field of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthField {
    /// Its first octet.
    pub at: u8,
    /// The first octet that it counts; the last is the frame's.
    pub from: u8,
}

impl Template {
    /// An Ethernet header, with a VLAN tag or without.
    pub fn ethernet(source: [u8; 6], vlan: Option<u16>) -> Self {
        let mut octets = [0; TEMPLATE_MAX];
        octets[eth::SOURCE].copy_from_slice(&source);
        let (mut len, mut form) = (UNTAGGED, Form::Untagged);
        if let Some(vlan) = vlan {
            octets[eth::ETHERTYPE].copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
            octets[eth::TCI].copy_from_slice(&vlan.to_be_bytes());
            (len, form) = (TAGGED, Form::Tagged);
        }
        Self {
            octets,
            len: len as u8,
            form,
            per_packet: PerPacket::default(),
        }
    }

    /// Other headers; none if they are shorter than Ethernet's or longer than [`TEMPLATE_MAX`], or a field ends behind
    /// them.
    pub fn new(headers: &[u8], per_packet: PerPacket) -> Option<Self> {
        let mut octets = [0; TEMPLATE_MAX];
        octets.get_mut(..headers.len())?.copy_from_slice(headers);
        let PerPacket {
            mac_at,
            lengths,
            ipv4_at,
        } = per_packet;
        let mac = (mac_at, eth::SOURCE.len());
        let ipv4 = ipv4_at.map(|at| (at, ipv4::LEN));
        let lengths = lengths.into_iter().flatten();
        let fields = lengths.flat_map(|LengthField { at, from }| [(at, 2), (from, 0)]);
        let fits = fields
            .chain([mac])
            .chain(ipv4)
            .all(|(at, len)| usize::from(at) + len <= headers.len());
        (fits && headers.len() >= UNTAGGED).then_some(Self {
            octets,
            len: headers.len() as u8,
            form: Form::Long,
            per_packet,
        })
    }

    /// The octets before any packet.
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..self.len.into()).unwrap_or_default()
    }

    /// Puts the headers in front of an IP packet.
    #[inline(always)]
    pub fn push<P: Packet>(&self, packet: &mut P, mac: [u8; 6]) -> Result<(), DropReason> {
        let ether_type = if is_ipv6(packet.data()) {
            EtherType::IPV6
        } else {
            EtherType::IPV4
        };
        if self.form == Form::Untagged {
            self.push_ethernet::<UNTAGGED, P>(packet, mac, ether_type)
        } else {
            self.push_other(packet, mac, ether_type)
        }
    }

    #[cold]
    fn push_other<P: Packet>(
        &self,
        packet: &mut P,
        mac: [u8; 6],
        ether_type: EtherType,
    ) -> Result<(), DropReason> {
        if self.form == Form::Tagged {
            return self.push_ethernet::<TAGGED, P>(packet, mac, ether_type);
        }
        let len = packet.total_len() + usize::from(self.len);
        let front = packet.push_front(self.len.into());
        let headers = front.map_err(|_| DropReason::NoHeadroom)?;
        self.write(headers, len, mac, ether_type)
            .ok_or(DropReason::Internal)
    }

    #[inline(always)]
    fn push_ethernet<const N: usize, P: Packet>(
        &self,
        packet: &mut P,
        mac: [u8; 6],
        ether_type: EtherType,
    ) -> Result<(), DropReason> {
        let front = packet.push_front(N).ok();
        let header: Option<&mut [u8; N]> = front.and_then(|front| front.first_chunk_mut());
        let header = header.ok_or(DropReason::NoHeadroom)?;
        header.copy_from_slice(&self.octets[..N]);
        header[eth::DESTINATION].copy_from_slice(&mac);
        header[N - 2..].copy_from_slice(&ether_type.0.to_be_bytes());
        Ok(())
    }

    /// Writes the headers of a frame of `frame_len` octets; none, and some of them written, if there is no room.
    pub(super) fn write(
        &self,
        headers: &mut [u8],
        frame_len: usize,
        mac: [u8; 6],
        ether_type: EtherType,
    ) -> Option<()> {
        let headers = headers.get_mut(..self.len.into())?;
        headers.copy_from_slice(self.octets());
        *headers
            .get_mut(usize::from(self.per_packet.mac_at)..)?
            .first_chunk_mut()? = mac;
        *headers.last_chunk_mut()? = ether_type.0.to_be_bytes();
        for LengthField { at, from } in self.per_packet.lengths.into_iter().flatten() {
            let counted = frame_len.saturating_sub(from.into()) as u16;
            let field = headers.get_mut(usize::from(at)..)?.first_chunk_mut()?;
            *field = counted.to_be_bytes();
        }
        if let Some(at) = self.per_packet.ipv4_at {
            let header: &mut [u8; ipv4::LEN] =
                headers.get_mut(usize::from(at)..)?.first_chunk_mut()?;
            header[ipv4::CHECKSUM..][..2].fill(0);
            let sum = checksum(header);
            header[ipv4::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(at: u8, from: u8) -> PerPacket {
        PerPacket {
            lengths: [None, Some(LengthField { at, from })],
            ..PerPacket::default()
        }
    }

    #[test]
    fn templates_have_14_to_128_octets_with_all_fields_inside() {
        let new = |len, per_packet| Template::new(&vec![7; len], per_packet);
        let none = PerPacket::default();
        assert!([0, 13, 129].iter().all(|len| new(*len, none).is_none()));
        for len in [14, 22, 128] {
            let template = new(len, none).expect("a length that fits");
            assert_eq!(template.octets(), vec![7; len]);
        }
        let mac = |mac_at| PerPacket { mac_at, ..none };
        let ipv4 = |at| PerPacket {
            ipv4_at: Some(at),
            ..none
        };
        for (inside, outside) in [
            (mac(30), mac(31)),
            (ipv4(16), ipv4(17)),
            (field(34, 0), field(35, 0)),
            (field(0, 36), field(0, 37)),
        ] {
            assert!(new(36, inside).is_some(), "{inside:?}");
            assert!(new(36, outside).is_none(), "{outside:?}");
        }
    }

    #[test]
    fn lengths_count_from_their_octet_to_the_end_of_the_frame() {
        let template = Template::new(&[7; 50], field(20, 16)).expect("fields inside");
        let mut headers = [0; 50];
        let mac = [1, 2, 3, 4, 5, 6];
        template.write(&mut headers, 1050, mac, EtherType::IPV6);
        let mut expected = [7; 50];
        expected[..6].copy_from_slice(&mac);
        expected[20..22].copy_from_slice(&1034u16.to_be_bytes());
        expected[48..].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(headers, expected);
        let written = template.write(&mut headers[..49], 1050, mac, EtherType::IPV6);
        assert_eq!(written, None, "too little room");
    }
}
