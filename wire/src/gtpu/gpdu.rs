//! G-PDU: the message that carries user data.

use super::extension::{Container, Received, receive};
use super::{GtpuError, HEADER_LEN, Header, MessageType, PduSessionInformation};
use crate::ids::{Qfi, Teid};

/// Which way a PDU Session Container says that it goes (TS 38.415, 5.5.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PduType {
    /// DL PDU SESSION INFORMATION, type 0.
    Downlink,
    /// UL PDU SESSION INFORMATION, type 1.
    Uplink,
}

impl PduType {
    /// Reads the upper half of the container's first octet.
    #[inline]
    pub(super) const fn from_octet(octet: u8) -> Result<Self, GtpuError> {
        match octet >> 4 {
            0 => Ok(Self::Downlink),
            1 => Ok(Self::Uplink),
            other => Err(GtpuError::ReservedPduType(other)),
        }
    }
}

/// A G-PDU as its receiver needs it. Offsets count octets from the start of the GTP-U header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GPdu {
    /// The receiver's tunnel endpoint.
    pub teid: Teid,
    /// Where the inner packet begins.
    pub payload_offset: u16,
    /// How long it is.
    pub payload_len: u16,
    /// The sequence number, if the sender gives one.
    pub sequence: Option<u16>,
    /// The QoS flow, if a PDU Session Container names one.
    pub qfi: Option<Qfi>,
    /// Reflective QoS Indicator of a downlink container (TS 38.415, 5.5.3.4).
    pub rqi: bool,
    /// The direction that the PDU Session Container states.
    pub pdu_type: Option<PduType>,
    /// Where the content of the container begins; 0 without a container.
    container_offset: u16,
    /// How long the content is.
    container_len: u16,
}

impl GPdu {
    /// Reads the UDP payload that `bytes` is.
    ///
    /// # Errors
    /// [`GtpuError`]; `NotGPdu` if it is another message with a sound header, to be read by
    /// [`super::Message::parse`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, GtpuError> {
        match Self::parse_usual(bytes) {
            Some(g_pdu) => Ok(g_pdu),
            None => Self::parse_any(bytes),
        }
    }

    /// The inner packet; `bytes` is what was parsed.
    #[inline]
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        slice(bytes, self.payload_offset, self.payload_len)
    }

    /// All fields of the PDU Session Container; `bytes` is what was parsed.
    ///
    /// # Errors
    /// `ContainerTruncated` if the container announces fields that it does not have.
    pub fn container(&self, bytes: &[u8]) -> Result<Option<PduSessionInformation>, GtpuError> {
        if self.container_offset == 0 {
            return Ok(None);
        }
        let content = slice(bytes, self.container_offset, self.container_len)
            .ok_or(GtpuError::ContainerTruncated)?;
        PduSessionInformation::parse(content).map(Some)
    }

    /// The form that nearly all packets on N3 have: no sequence number, and one container of four
    /// octets. `None` means only that it is not this form.
    #[inline]
    fn parse_usual(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; 16] = bytes.first_chunk()?;
        let &[
            flags,
            ty,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            _,
            _,
            _,
            ext,
            units,
            c0,
            c1,
            end,
        ] = head;
        let form = u64::from_be_bytes([0, 0, 0, flags, ty, ext, units, end]);
        if form != u64::from_be_bytes([0, 0, 0, 0x34, 0xff, 0x85, 1, 0]) {
            return None;
        }
        let stated = u16::from_be_bytes([l0, l1]);
        if bytes.len() < HEADER_LEN + usize::from(stated) {
            return None;
        }
        let pdu_type = PduType::from_octet(c0).ok()?;
        Some(Self {
            teid: Teid::new(u32::from_be_bytes([t0, t1, t2, t3]))?,
            payload_offset: 16,
            payload_len: stated.checked_sub(8)?,
            sequence: None,
            qfi: Qfi::new(c1 & Qfi::MAX),
            rqi: pdu_type == PduType::Downlink && c1 & 0x40 != 0,
            pdu_type: Some(pdu_type),
            container_offset: 13,
            container_len: 2,
        })
    }

    /// Every legal form.
    fn parse_any(bytes: &[u8]) -> Result<Self, GtpuError> {
        let (header, body) = Header::parse(bytes)?;
        if header.message_type != MessageType::G_PDU {
            return Err(GtpuError::NotGPdu(header.message_type));
        }
        Self::from_parts(&header, body)
    }

    /// The same parts of any message of a tunnel, behind whose header `body` lies.
    #[inline]
    pub(super) fn from_parts(header: &Header, body: &[u8]) -> Result<Self, GtpuError> {
        let Received {
            container, payload, ..
        } = receive(header.next_extension, body)?;
        let end = HEADER_LEN + usize::from(header.length);
        // A header and eight extension headers of 1020 octets end far below 65536, and nothing
        // in a message is longer than its length field can say: no cast here loses anything.
        let mut g_pdu = Self {
            teid: Teid::new(header.teid).ok_or(GtpuError::TeidZero)?,
            payload_offset: (end - payload.len()) as u16,
            payload_len: payload.len() as u16,
            sequence: header.sequence,
            qfi: None,
            rqi: false,
            pdu_type: None,
            container_offset: 0,
            container_len: 0,
        };
        if let Some(Container {
            content,
            octets_behind,
        }) = container
        {
            g_pdu.container_offset = (end - octets_behind - content.len()) as u16;
            g_pdu.container_len = content.len() as u16;
            g_pdu.take_flow(content)?;
        }
        Ok(g_pdu)
    }

    /// Takes what both kinds of container have in their first two octets (TS 38.415, 5.5.2).
    #[inline]
    fn take_flow(&mut self, content: &[u8]) -> Result<(), GtpuError> {
        let [c0, c1] = *content.first_chunk().ok_or(GtpuError::ContainerTruncated)?;
        let pdu_type = PduType::from_octet(c0)?;
        self.pdu_type = Some(pdu_type);
        self.rqi = pdu_type == PduType::Downlink && c1 & 0x40 != 0;
        self.qfi = Qfi::new(c1 & Qfi::MAX);
        Ok(())
    }
}

#[inline]
fn slice(bytes: &[u8], offset: u16, len: u16) -> Option<&[u8]> {
    bytes.get(usize::from(offset)..)?.get(..usize::from(len))
}
