//! Remote GTP-U Peer (TS 29.244, 8.2.70).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::interface::DestinationInterface;
use super::name::Name;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// A GTP-U peer whose path failed or recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RemoteGtpuPeer<'a> {
    /// V4: its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// V6: its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// DI: on which side it is.
    pub destination_interface: Option<DestinationInterface>,
    /// NI: in which network instance it is.
    pub network_instance: Option<Name<'a>>,
}

const V6: u8 = 0x01;
const V4: u8 = 0x02;
const DI: u8 = 0x04;
const NI: u8 = 0x08;

impl<'a> Element<'a> for RemoteGtpuPeer<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        if flags & (V4 | V6) == 0 {
            return Err(Fault::Value);
        }
        Ok(Self {
            ipv4: reader.ipv4(flags & V4 != 0)?,
            ipv6: reader.ipv6(flags & V6 != 0)?,
            destination_interface: reader.when(flags & DI != 0, |r| {
                DestinationInterface::decode(r.long_text()?)
            })?,
            network_instance: reader.when(flags & NI != 0, |r| Name::decode(r.long_text()?))?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let flags = [
            (V6, self.ipv6.is_some()),
            (V4, self.ipv4.is_some()),
            (DI, self.destination_interface.is_some()),
            (NI, self.network_instance.is_some()),
        ];
        out.u8(flags
            .iter()
            .fold(0, |sum, &(bit, set)| if set { sum | bit } else { sum }))?;
        out.ipv4(self.ipv4)?;
        out.ipv6(self.ipv6)?;
        if let Some(interface) = self.destination_interface {
            out.u16(1)?;
            interface.encode(out)?;
        }
        if let Some(name) = self.network_instance {
            out.u16(u16::try_from(name.0.len()).map_err(|_| Full)?)?;
            name.encode(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn interface_and_instance_stand_behind_two_octet_lengths() {
        let peer = RemoteGtpuPeer {
            ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)),
            destination_interface: Some(DestinationInterface::CORE),
            network_instance: Some(Name(b"n3")),
            ..RemoteGtpuPeer::default()
        };
        check_coding(&peer, b"\x0e\x0a\0\0\x01\0\x01\x01\0\x02n3");
        assert_eq!(RemoteGtpuPeer::decode(&[4, 0, 1, 1]), Err(Fault::Value));
    }
}
