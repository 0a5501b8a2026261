//! Encapsulation: the headers to a next hop, with port and MTU, in the three words of its slot.
//!
//! The words hold a whole Ethernet header, with or without a VLAN tag. A longer [template](Template) stands with the
//! tables, and packets copy it from there.

use crate::forward::marking::Marking;
use crate::ids::InterfaceId;
use crate::limits::HEADROOM;
use crate::topology::{Interface, NextHop, Station};
use crate::tx::template::{Form, Template};
use core::net::IpAddr;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::{OUTER_IPV6_LEN, OuterIpv4};
use sluice_wire::layout::eth::{self, LEN as UNTAGGED, TAGGED_LEN as TAGGED};

const IS_THERE: u8 = 1;
const IS_KNOWN: u8 = 2;
const IS_TAGGED: u8 = 4;
const IS_LONG: u8 = 8;

/// The templates of all interfaces.
#[derive(Clone, Debug, Default)]
pub struct Templates(Vec<Template>);

impl Templates {
    /// Of these interfaces.
    ///
    /// # Panics
    /// If the headers of an interface's packets do not fit before them, or make frames longer than a length field says.
    pub fn of(interfaces: &[Interface]) -> Self {
        let template = |interface: &Interface| {
            let template = interface.template();
            let len = template.octets().len();
            let is_plain = interface.tunnels.is_empty() && interface.tunnels_ipv6.is_empty();
            let needed = if is_plain { len } else { OUTER_IPV6_LEN + len };
            // A received packet has given up its Ethernet header.
            let room = HEADROOM + UNTAGGED;
            assert!(needed <= room, "headers of {needed} octets in {room}");
            let frame = usize::from(interface.mtu) + len;
            assert!(frame <= u16::MAX.into(), "frames of {frame} octets");
            template
        };
        Self(interfaces.iter().map(template).collect())
    }

    /// The template of an interface.
    #[inline(always)]
    pub fn get(&self, id: InterfaceId) -> Option<&Template> {
        self.0.get(usize::from(id))
    }
}

/// An interface's part in the slots of its next hops.
#[derive(Debug)]
pub struct InterfaceEncap {
    template: Template,
    port: u16,
    mtu: u16,
}

impl InterfaceEncap {
    /// Of an interface.
    pub fn of(interface: &Interface) -> Self {
        Self {
            template: interface.template(),
            port: interface.port.0,
            mtu: interface.mtu,
        }
    }

    /// The words of a next hop on this interface: its MAC address, interface and flags; the template's next eight
    /// octets; its next four, MTU and port. Of a long template only the EtherType.
    pub fn words(&self, hop: &NextHop) -> [u64; 3] {
        let ether_type = match hop.address {
            IpAddr::V4(_) => EtherType::IPV4,
            IpAddr::V6(_) => EtherType::IPV6,
        };
        let ether_type = ether_type.0.to_be_bytes();
        let (form, ether_type_at) = match self.template.form {
            Form::Untagged => (0, eth::ETHERTYPE),
            Form::Tagged => (IS_TAGGED, eth::TAGGED_ETHERTYPE),
            Form::Long => (IS_LONG, eth::ETHERTYPE),
        };
        let mut header = [0; TAGGED];
        header.copy_from_slice(&self.template.octets[..TAGGED]);
        header[ether_type_at].copy_from_slice(&ether_type);
        let [_, _, _, _, _, _, s, t, u, v, w, x, y, z, tag @ ..] = header;
        let known = if hop.mac.is_some() { IS_KNOWN } else { 0 };
        let [a, b, c, d, e, f] = hop.mac.unwrap_or_default();
        let first = [a, b, c, d, e, f, hop.interface.0, IS_THERE | known | form];
        let [mtu, port] = [self.mtu, self.port].map(u64::from);
        [
            u64::from_le_bytes(first),
            u64::from_le_bytes([s, t, u, v, w, x, y, z]),
            u64::from(u32::from_le_bytes(tag)) | mtu << 32 | port << 48,
        ]
    }
}

/// The next hop of a slot, if there is one.
#[inline(always)]
pub fn station(words: [u64; 3]) -> Option<Station> {
    let [a, b, c, d, e, f, interface, flags] = words[0].to_le_bytes();
    (flags & IS_THERE != 0).then_some(Station {
        interface: InterfaceId(interface),
        mac: (flags & IS_KNOWN != 0).then_some([a, b, c, d, e, f]),
    })
}

/// The headers to one next hop. Of its slot's words the first may change, the others are constant.
#[derive(Clone, Copy, Debug)]
pub struct Encap([u64; 3]);

impl Encap {
    /// Of a slot, if the MAC address is known.
    #[inline(always)]
    pub fn of_words(words: [u64; 3]) -> Option<Self> {
        let encap = Self(words);
        (encap.flags() & IS_KNOWN != 0).then_some(encap)
    }

    #[inline(always)]
    fn flags(&self) -> u8 {
        (self.0[0] >> 56) as u8
    }

    /// The largest IP packet.
    #[inline(always)]
    pub fn mtu(&self) -> u16 {
        (self.0[2] >> 32) as u16
    }

    /// The port's number.
    #[inline(always)]
    pub fn tx_buffer(&self) -> u16 {
        (self.0[2] >> 48) as u16
    }

    #[inline(always)]
    fn is_untagged(&self) -> bool {
        self.flags() & (IS_TAGGED | IS_LONG) == 0
    }

    /// Octets of the headers; none if the tables lack the template. To be foreseen by the processor, not waited for: where
    /// a packet begins hangs on it.
    #[inline(always)]
    pub fn header_len(&self, templates: &Templates) -> Option<usize> {
        if self.is_untagged() {
            return Some(UNTAGGED);
        }
        core::hint::cold_path();
        if self.flags() & IS_LONG == 0 {
            return Some(TAGGED);
        }
        // No call: it would cost the frequent case registers.
        Some(self.long(templates)?.len.into())
    }

    /// Writes the headers of a whole frame; gives the rest.
    #[inline(always)]
    pub fn write<'a>(&self, frame: &'a mut [u8], templates: &Templates) -> Option<&'a mut [u8]> {
        let [mac, behind, tag] = self.0.map(u64::to_le_bytes);
        if self.is_untagged() {
            let (header, rest) = frame.split_first_chunk_mut::<UNTAGGED>()?;
            // Two octets too many, so that it is one store.
            header[..8].copy_from_slice(&mac);
            header[6..].copy_from_slice(&behind);
            return Some(rest);
        }
        core::hint::cold_path();
        if self.flags() & IS_LONG != 0 {
            return self.write_long(frame, templates);
        }
        let (header, rest) = frame.split_first_chunk_mut::<TAGGED>()?;
        header[..8].copy_from_slice(&mac);
        header[6..14].copy_from_slice(&behind);
        header[14..].copy_from_slice(&tag[..4]);
        Some(rest)
    }

    #[inline(always)]
    fn long<'t>(&self, templates: &'t Templates) -> Option<&'t Template> {
        let [.., interface, _] = self.0[0].to_le_bytes();
        templates.get(InterfaceId(interface))
    }

    #[inline(never)]
    fn write_long<'a>(&self, frame: &'a mut [u8], templates: &Templates) -> Option<&'a mut [u8]> {
        let template = self.long(templates)?;
        let [mac @ .., _, _] = self.0[0].to_le_bytes();
        let [.., high, low] = self.0[1].to_le_bytes();
        let ether_type = EtherType(u16::from_be_bytes([high, low]));
        let len = frame.len();
        let (headers, rest) = frame.split_at_mut_checked(template.octets().len())?;
        template.write(headers, len, mac, ether_type)?;
        Some(rest)
    }
}

/// The headers of the tunnels to one peer.
#[derive(Clone, Copy, Debug)]
pub struct TunnelEncap {
    /// The octets that all outer headers share.
    pub outer: OuterIpv4,
    /// How its header is marked.
    pub marking: Marking,
    /// To the next hop.
    pub encap: Encap,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tx::template::PerPacket;

    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 6];
    const MAC: [u8; 6] = [2, 9, 8, 7, 6, 5];

    /// An interface with a template, as the tables have it.
    fn templates(template: &Template) -> Templates {
        let others = Template::ethernet([9; 6], None);
        Templates(vec![others, template.clone()])
    }

    fn words(template: &Template, mac: Option<[u8; 6]>) -> [u64; 3] {
        let encap = InterfaceEncap {
            template: template.clone(),
            port: 3,
            mtu: 1500,
        };
        encap.words(&NextHop {
            interface: InterfaceId(1),
            address: [192, 0, 2, 1].into(),
            mac,
        })
    }

    #[test]
    fn a_slot_gives_back_the_headers_of_its_next_hop() {
        let tag = &[0x81, 0, 0x0a, 0xbc][..];
        let double = [&[0; 6], &OWN[..], &[0x88, 0xa8, 0, 5], tag, &[0; 2]].concat();
        let double = Template::new(&double, PerPacket::default()).expect("22 octets");
        let longest: [u8; 128] = core::array::from_fn(|at| at as u8);
        let at_60 = PerPacket {
            mac_at: 60,
            ..PerPacket::default()
        };
        let longest_template = Template::new(&longest, at_60).expect("128 octets");
        let ethernet = |tags: &[u8]| [&MAC[..], &OWN, tags, &[8, 0]].concat();
        let [before, behind] = [&longest[..60], &longest[66..126]];
        for (template, expected) in [
            (Template::ethernet(OWN, None), ethernet(&[])),
            (Template::ethernet(OWN, Some(0x0abc)), ethernet(tag)),
            (double, ethernet(&[&[0x88, 0xa8, 0, 5], tag].concat())),
            (longest_template, [before, &MAC, behind, &[8, 0]].concat()),
        ] {
            let words = words(&template, Some(MAC));
            let encap = Encap::of_words(words).expect("its address is known");
            assert_eq!((encap.mtu(), encap.tx_buffer()), (1500, 3));
            let templates = templates(&template);
            assert_eq!(encap.header_len(&templates), Some(expected.len()));
            let mut frame = [0xee; 140];
            let rest = encap.write(&mut frame, &templates).expect("room").len();
            assert_eq!(frame[..140 - rest], expected);
            assert!(frame[140 - rest..].iter().all(|octet| *octet == 0xee));
            let short = encap.write(&mut frame[..expected.len() - 1], &templates);
            assert!(short.is_none(), "no room");
        }
    }

    #[test]
    fn a_slot_names_its_station_and_has_headers_once_that_is_known() {
        let long = Template::new(&[7; 50], PerPacket::default()).expect("50 octets");
        for template in [Template::ethernet(OWN, None), long] {
            for mac in [None, Some(MAC)] {
                let words = words(&template, mac);
                let interface = InterfaceId(1);
                assert_eq!(station(words), Some(Station { interface, mac }));
                assert_eq!(Encap::of_words(words).is_some(), mac.is_some());
            }
        }
        assert_eq!(station([0; 3]), None);
        assert!(Encap::of_words([0; 3]).is_none());
    }

    #[test]
    fn without_its_template_a_long_header_has_no_length() {
        let long = Template::new(&[7; 50], PerPacket::default()).expect("50 octets");
        let encap = Encap::of_words(words(&long, Some(MAC))).expect("its address is known");
        let none = Templates::default();
        assert_eq!(encap.header_len(&none), None);
        assert!(encap.write(&mut [0; 100], &none).is_none());
    }
}
