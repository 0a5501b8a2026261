//! PFD Contents (TS 29.244, 8.2.39): what tells the packets of an application.

use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

/// A part of a packet flow description. Texts are as they stand; flow descriptions are those of
/// [`FlowDescription`](crate::flow_description::FlowDescription).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PfdContents<'a> {
    /// FD: a flow description.
    pub flow_description: Option<&'a [u8]>,
    /// URL.
    pub url: Option<&'a [u8]>,
    /// DN: a domain name.
    pub domain_name: Option<&'a [u8]>,
    /// CP: what an operator agreed on.
    pub custom: Option<&'a [u8]>,
    /// DNP: the protocol in which the domain name is looked for.
    pub domain_name_protocol: Option<&'a [u8]>,
    /// AFD: further flow descriptions, each behind its length.
    pub additional_flow_descriptions: Option<&'a [u8]>,
    /// AURL: further URLs, each behind its length.
    pub additional_urls: Option<&'a [u8]>,
    /// ADNP: further domain names and protocols, each behind its length.
    pub additional_domain_names: Option<&'a [u8]>,
}

impl<'a> PfdContents<'a> {
    /// The contents that are one flow description.
    pub fn flow(flow_description: &'a [u8]) -> Self {
        Self {
            flow_description: Some(flow_description),
            ..Self::default()
        }
    }

    /// All flow descriptions, the additional ones last; `None` in place of one that is cut short.
    pub fn flow_descriptions(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut rest = self.additional_flow_descriptions.unwrap_or_default();
        let additional = core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut reader = Reader::new(rest);
            let text = reader.long_text().ok();
            rest = text.map_or(&[][..], |_| reader.rest());
            Some(text)
        });
        self.flow_description
            .map(Some)
            .into_iter()
            .chain(additional)
    }

    /// True if packets are told by more than flow descriptions.
    pub fn asks_for_names(&self) -> bool {
        let Self {
            flow_description: _,
            url,
            domain_name,
            custom,
            domain_name_protocol,
            additional_flow_descriptions: _,
            additional_urls,
            additional_domain_names,
        } = self;
        let names = [url, domain_name, custom, domain_name_protocol];
        let more = [additional_urls, additional_domain_names];
        names.into_iter().chain(more).any(Option::is_some)
    }

    /// In the order of the octets and of the flags.
    fn parts(&self) -> [Option<&'a [u8]>; 8] {
        [
            self.flow_description,
            self.url,
            self.domain_name,
            self.custom,
            self.domain_name_protocol,
            self.additional_flow_descriptions,
            self.additional_urls,
            self.additional_domain_names,
        ]
    }
}

impl<'a> Element<'a> for PfdContents<'a> {
    fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        if flags == 0 {
            return Err(Fault::Value);
        }
        reader.u8()?;
        let mut text = |bit: u32| reader.when(flags >> bit & 1 != 0, Reader::long_text);
        Ok(Self {
            flow_description: text(0)?,
            url: text(1)?,
            domain_name: text(2)?,
            custom: text(3)?,
            domain_name_protocol: text(4)?,
            additional_flow_descriptions: text(5)?,
            additional_urls: text(6)?,
            additional_domain_names: text(7)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let parts = self.parts();
        let there = (0..).zip(parts).filter(|(_, part)| part.is_some());
        out.bytes(&[there.fold(0, |flags, (bit, _)| flags | 1 << bit), 0])?;
        for text in parts.into_iter().flatten() {
            out.u16(u16::try_from(text.len()).map_err(|_| Full)?)?;
            out.bytes(text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;
    use std::vec::Vec;

    #[test]
    fn each_part_follows_its_flag_behind_its_length() {
        let contents = PfdContents {
            flow_description: Some(b"permit"),
            url: Some(b"u"),
            domain_name: Some(b"dn"),
            custom: Some(b"c"),
            domain_name_protocol: Some(b"p"),
            additional_flow_descriptions: Some(b"\0\x01a"),
            additional_urls: Some(b"\0\x01b"),
            additional_domain_names: Some(b"\0\x01c"),
        };
        let octets = b"\xff\0\0\x06permit\0\x01u\0\x02dn\0\x01c\0\x01p\0\x03\0\x01a\0\x03\0\x01b\0\x03\0\x01c";
        check_coding(&contents, octets);
        assert!(contents.asks_for_names());
        assert_eq!(PfdContents::decode(&[0, 0]), Err(Fault::Value));
        assert_eq!(PfdContents::decode(&[1, 0, 0, 7, b'x']), Err(Fault::Length));
    }

    #[test]
    fn additional_flow_descriptions_follow_the_first() {
        let contents = PfdContents {
            flow_description: Some(b"one"),
            additional_flow_descriptions: Some(b"\0\x03two\0\x05three"),
            ..PfdContents::default()
        };
        let all: Vec<_> = contents.flow_descriptions().collect();
        assert_eq!(all, [Some(&b"one"[..]), Some(b"two"), Some(b"three")]);
        assert!(!contents.asks_for_names());
        let cut = PfdContents {
            additional_flow_descriptions: Some(b"\0\x03two\0\x09three"),
            ..PfdContents::default()
        };
        let all: Vec<_> = cut.flow_descriptions().collect();
        assert_eq!(all, [Some(&b"two"[..]), None]);
    }
}
