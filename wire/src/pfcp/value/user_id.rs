//! User ID (TS 29.244, 8.2.101).

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// Who the user is, for traces and lawful interception; each identity as received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserId<'a> {
    /// IMSI, in TBCD (TS 29.274, 8.3).
    pub imsi: Option<&'a [u8]>,
    /// IMEI or IMEISV, in TBCD (TS 29.274, 8.10).
    pub imei: Option<&'a [u8]>,
    /// MSISDN, in TBCD (TS 29.274, 8.11).
    pub msisdn: Option<&'a [u8]>,
    /// Network Access Identifier, text (RFC 4282).
    pub nai: Option<&'a [u8]>,
    /// SUPI, text (TS 23.003, 2.2A).
    pub supi: Option<&'a [u8]>,
    /// GPSI, text (TS 29.571).
    pub gpsi: Option<&'a [u8]>,
    /// PEI, text (TS 29.571).
    pub pei: Option<&'a [u8]>,
}

impl<'a> Element<'a> for UserId<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        Ok(Self {
            imsi: reader.when(flags & 0x01 != 0, Reader::short_text)?,
            imei: reader.when(flags & 0x02 != 0, Reader::short_text)?,
            msisdn: reader.when(flags & 0x04 != 0, Reader::short_text)?,
            nai: reader.when(flags & 0x08 != 0, Reader::short_text)?,
            supi: reader.when(flags & 0x10 != 0, Reader::short_text)?,
            gpsi: reader.when(flags & 0x20 != 0, Reader::short_text)?,
            pei: reader.when(flags & 0x40 != 0, Reader::short_text)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let texts = [
            self.imsi,
            self.imei,
            self.msisdn,
            self.nai,
            self.supi,
            self.gpsi,
            self.pei,
        ];
        let flags = texts
            .iter()
            .rev()
            .fold(0, |flags, text| flags << 1 | u8::from(text.is_some()));
        out.u8(flags)?;
        texts
            .into_iter()
            .flatten()
            .try_for_each(|text| out.short_text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn identities_follow_their_flags() {
        let user = UserId {
            imsi: Some(&[0x00, 0x01, 0xf1]),
            supi: Some(b"imsi-001"),
            ..UserId::default()
        };
        check_coding(&user, b"\x11\x03\x00\x01\xf1\x08imsi-001");
        assert_eq!(UserId::decode(&[1, 4, 0]), Err(Fault::Length));
    }
}
