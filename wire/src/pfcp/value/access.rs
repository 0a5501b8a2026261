//! PDN type, S-NSSAI, SMF set and address pool.

use super::name::Name;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// PDN Type (8.2.79): three bits, 0 is reserved. Values without a name are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PdnType(pub u8);

impl PdnType {
    /// IPv4.
    pub const IPV4: Self = Self(1);
    /// IPv6.
    pub const IPV6: Self = Self(2);
    /// IPv4 and IPv6.
    pub const IPV4V6: Self = Self(3);
    /// Unstructured.
    pub const NON_IP: Self = Self(4);
    /// Ethernet.
    pub const ETHERNET: Self = Self(5);
}

impl Element<'_> for PdnType {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        match Reader::new(value).u8()? & 7 {
            0 => Err(Fault::Value),
            pdn_type => Ok(Self(pdn_type)),
        }
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.0 & 7)
    }
}

/// S-NSSAI (8.2.176): the slice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SNssai {
    /// Slice/Service Type.
    pub sst: u8,
    /// Slice Differentiator, 24 bits; `None` is coded as all ones.
    pub sd: Option<u32>,
}

const NO_SD: u32 = 0x00ff_ffff;

impl Element<'_> for SNssai {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let (sst, sd) = (reader.u8()?, reader.u24()?);
        Ok(Self {
            sst,
            sd: (sd != NO_SD).then_some(sd),
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.sst)?;
        out.u24(self.sd.unwrap_or(NO_SD))
    }
}

/// SMF Set ID (8.2.131): a domain name behind a spare octet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SmfSetId<'a>(pub Name<'a>);

impl<'a> Element<'a> for SmfSetId<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        reader.u8()?;
        Name::decode(reader.rest()).map(Self)
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(0)?;
        self.0.encode_as_labels(out)
    }
}

/// UE IP address Pool Identity (8.2.128): the name of a pool that the UP function manages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UeIpAddressPoolIdentity<'a>(pub &'a [u8]);

impl<'a> Element<'a> for UeIpAddressPoolIdentity<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        Reader::new(value).long_text().map(Self)
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u16(u16::try_from(self.0.len()).map_err(|_| Full)?)?;
        out.bytes(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn pdn_type_0_is_incorrect() {
        check_coding(&PdnType::ETHERNET, &[5]);
        assert_eq!(PdnType::decode(&[0xf8]), Err(Fault::Value));
    }

    #[test]
    fn a_slice_without_differentiator_has_all_ones() {
        check_coding(&SNssai { sst: 1, sd: None }, &[1, 0xff, 0xff, 0xff]);
        check_coding(
            &SNssai {
                sst: 1,
                sd: Some(0x01_0203),
            },
            &[1, 1, 2, 3],
        );
        assert_eq!(SNssai::decode(&[1]), Err(Fault::Length));
    }

    #[test]
    fn a_set_id_is_a_name_behind_a_spare_octet() {
        check_coding(&SmfSetId(Name(b"\x04set1")), b"\0\x04set1");
    }

    #[test]
    fn a_pool_stands_behind_its_length() {
        check_coding(&UeIpAddressPoolIdentity(b"pool"), b"\0\x04pool");
    }
}
