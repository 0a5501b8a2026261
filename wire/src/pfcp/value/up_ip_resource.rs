//! User Plane IP Resource Information (TS 29.244 up to Release 15, 8.2.82).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::interface::SourceInterface;
use super::name::Name;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// The addresses of the UP function from which a CP function may assign F-TEIDs. Release 16
/// removed it; older peers still send it or ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserPlaneIpResourceInformation<'a> {
    /// TEIDRI: how many leading bits of the TEID are fixed, 0 to 7.
    pub teid_range_bits: u8,
    /// The fixed leading bits, when `teid_range_bits` is not 0.
    pub teid_range: u8,
    /// V4: the IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// V6: the IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// ASSONI: the network instance.
    pub network_instance: Option<Name<'a>>,
    /// ASSOSI: the source interface.
    pub source_interface: Option<SourceInterface>,
}

const V4: u8 = 0x01;
const V6: u8 = 0x02;
const ASSONI: u8 = 0x20;
const ASSOSI: u8 = 0x40;

impl<'a> Element<'a> for UserPlaneIpResourceInformation<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        let teid_range_bits = flags >> 2 & 7;
        let teid_range = reader.when(teid_range_bits != 0, Reader::u8)?.unwrap_or(0);
        let ipv4 = reader.ipv4(flags & V4 != 0)?;
        let ipv6 = reader.ipv6(flags & V6 != 0)?;
        // The network instance has no length of its own: it reaches up to the source interface.
        let rest = reader.rest();
        let (rest, interface) = match flags & ASSOSI {
            0 => (rest, None),
            _ => {
                let (interface, rest) = rest.split_last().ok_or(Fault::Length)?;
                (rest, Some(SourceInterface(interface & 0x0f)))
            }
        };
        let network_instance = (flags & ASSONI != 0)
            .then(|| Name::decode(rest))
            .transpose()?;
        Ok(Self {
            teid_range_bits,
            teid_range,
            ipv4,
            ipv6,
            network_instance,
            source_interface: interface,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let flags = [
            (V4, self.ipv4.is_some()),
            (V6, self.ipv6.is_some()),
            (ASSONI, self.network_instance.is_some()),
            (ASSOSI, self.source_interface.is_some()),
        ];
        let flags = flags
            .iter()
            .fold(0, |sum, &(bit, set)| if set { sum | bit } else { sum });
        out.u8(flags | (self.teid_range_bits & 7) << 2)?;
        if self.teid_range_bits & 7 != 0 {
            out.u8(self.teid_range)?;
        }
        out.ipv4(self.ipv4)?;
        out.ipv6(self.ipv6)?;
        self.network_instance
            .map_or(Ok(()), |name| name.encode(out))?;
        self.source_interface
            .map_or(Ok(()), |interface| interface.encode(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn the_instance_reaches_up_to_the_interface() {
        let information = UserPlaneIpResourceInformation {
            teid_range_bits: 2,
            teid_range: 0x40,
            ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)),
            network_instance: Some(Name(b"n3")),
            source_interface: Some(SourceInterface::CORE),
            ..UserPlaneIpResourceInformation::default()
        };
        check_coding(&information, b"\x69\x40\x0a\0\0\x01n3\x01");
        let cut = [0x61, 10, 0, 0, 1];
        assert_eq!(
            UserPlaneIpResourceInformation::decode(&cut),
            Err(Fault::Length)
        );
    }
}
