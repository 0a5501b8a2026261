//! The PDU Session Container: PDU session user plane protocol (TS 38.415, 5.5), carried in an
//! extension header (TS 29.281, 5.2.2.7).
//!
//! ```text
//!      8   7   6   5 |   4  |    3   |    2   |  1          downlink, figure 5.5.2.1-1
//!    |  PDU type 0   | QMP  |  SNP   |  MSNP  | spare |
//!    | PPP | RQI |               QFI                  |
//!    | PPI (3 bits), spare                            |  if PPP
//!    | DL sending time stamp, 8 octets                |  if QMP
//!    | DL QFI sequence number, 3 octets               |  if SNP
//!    | DL MBS QFI sequence number, 4 octets           |  if MSNP
//!
//!    |  PDU type 1   | QMP  | DL del | UL del |  SNP  |    uplink, figure 5.5.2.2-1
//!    | N3/N9 delay | new IE |        QFI              |
//!    | DL sending time stamp repeated, DL received, UL sending time stamp, 8 octets each | if QMP
//!    | DL delay result, 4 octets                      |  if DL delay
//!    | UL delay result, 4 octets                      |  if UL delay
//!    | UL QFI sequence number, 3 octets               |  if SNP
//!    | N3/N9 delay result, 4 octets                   |  if N3/N9 delay
//!    | new IE flags, 1 octet                          |  if new IE
//!    | D1 UL PDCP delay result indicator, 1 octet     |  if new IE flag 0
//! ```

mod codec;

use super::cursor::{In, Out};
use super::{ExtensionType, GtpuError, PduType};
use crate::ids::Qfi;

/// Octets of the longest extension header that we write: an uplink container with every field.
pub const MAX_CONTAINER_LEN: usize = 48;

/// Paging Policy Indicator (TS 38.415, 5.5.3.7): 3 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ppi(u8);

impl Ppi {
    /// `None` above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 7 { Some(Self(value)) } else { None }
    }

    /// 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// A container of either direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduSessionInformation {
    /// PDU type 0, towards the UE.
    Downlink(DlPduSessionInformation),
    /// PDU type 1, from the UE.
    Uplink(UlPduSessionInformation),
}

/// DL PDU SESSION INFORMATION (TS 38.415, 5.5.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlPduSessionInformation {
    /// The QoS flow.
    pub qfi: Qfi,
    /// Reflective QoS: the UE shall derive a rule from this packet (5.5.3.4).
    pub rqi: bool,
    /// Paging Policy Indicator (5.5.3.7).
    pub ppi: Option<Ppi>,
    /// When the UPF sent this packet, as a 64-bit NTP time stamp (5.5.3.9); asks the gNB to
    /// measure.
    pub dl_sending_time_stamp: Option<u64>,
    /// Counts the packets of the QoS flow; 24 bits, higher ones are not sent.
    pub dl_qfi_sequence_number: Option<u32>,
    /// Counts the packets of the multicast QoS flow.
    pub dl_mbs_qfi_sequence_number: Option<u32>,
}

impl DlPduSessionInformation {
    /// Only the QoS flow.
    pub const fn new(qfi: Qfi) -> Self {
        Self {
            qfi,
            rqi: false,
            ppi: None,
            dl_sending_time_stamp: None,
            dl_qfi_sequence_number: None,
            dl_mbs_qfi_sequence_number: None,
        }
    }
}

/// UL PDU SESSION INFORMATION (TS 38.415, 5.5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UlPduSessionInformation {
    /// The QoS flow.
    pub qfi: Qfi,
    /// The time stamps of a QoS monitoring packet.
    pub monitoring: Option<MonitoringTimeStamps>,
    /// Downlink delay in the RAN, in milliseconds (5.5.3.14).
    pub dl_delay_result_ms: Option<u32>,
    /// Uplink delay in the RAN, in milliseconds (5.5.3.16).
    pub ul_delay_result_ms: Option<u32>,
    /// Counts the packets of the QoS flow; 24 bits, higher ones are not sent.
    pub ul_qfi_sequence_number: Option<u32>,
    /// Delay measured on N3 or N9, in milliseconds.
    pub n3_n9_delay_result_ms: Option<u32>,
    /// Whether the uplink delay includes the PDCP delay D1 of the UE.
    pub d1_ul_pdcp_delay_included: Option<bool>,
}

impl UlPduSessionInformation {
    /// Only the QoS flow.
    pub const fn new(qfi: Qfi) -> Self {
        Self {
            qfi,
            monitoring: None,
            dl_delay_result_ms: None,
            ul_delay_result_ms: None,
            ul_qfi_sequence_number: None,
            n3_n9_delay_result_ms: None,
            d1_ul_pdcp_delay_included: None,
        }
    }
}

/// What a gNB returns to a QoS monitoring packet: 64-bit NTP time stamps (TS 38.415, 5.5.3.10 to
/// 5.5.3.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitoringTimeStamps {
    /// When the UPF sent the downlink packet, as it said.
    pub dl_sending_repeated: u64,
    /// When the gNB received that packet.
    pub dl_received: u64,
    /// When the gNB sent this packet.
    pub ul_sending: u64,
}

impl PduSessionInformation {
    /// The QoS flow.
    pub const fn qfi(&self) -> Qfi {
        match self {
            Self::Downlink(dl) => dl.qfi,
            Self::Uplink(ul) => ul.qfi,
        }
    }

    /// Reads the content of an extension header; octets behind the known fields are ignored, for they
    /// are padding or of a later version.
    ///
    /// # Errors
    /// `ReservedPduType`, or `ContainerTruncated` if a field that a flag announces is not there.
    pub fn parse(content: &[u8]) -> Result<Self, GtpuError> {
        let mut fields = In(content);
        let [c0, c1] = fields.take().ok_or(GtpuError::ContainerTruncated)?;
        match PduType::from_octet(c0)? {
            PduType::Downlink => codec::parse_downlink(c0, c1, &mut fields).map(Self::Downlink),
            PduType::Uplink => codec::parse_uplink(c0, c1, &mut fields).map(Self::Uplink),
        }
        .ok_or(GtpuError::ContainerTruncated)
    }

    /// Writes the whole extension header, length and `next` type included; returns its length, or
    /// `None` if `out` is too short. [`MAX_CONTAINER_LEN`] octets always suffice.
    pub fn write(&self, out: &mut [u8], next: ExtensionType) -> Option<usize> {
        let mut out = Out::new(out);
        out.put(&[0])?;
        match self {
            Self::Downlink(dl) => codec::write_downlink(dl, &mut out)?,
            Self::Uplink(ul) => codec::write_uplink(ul, &mut out)?,
        }
        while out.len() % 4 != 3 {
            out.put(&[0])?;
        }
        out.put(&[next.0])?;
        out.set(0, (out.len() / 4) as u8)?;
        Some(out.len())
    }
}

impl From<DlPduSessionInformation> for PduSessionInformation {
    fn from(dl: DlPduSessionInformation) -> Self {
        Self::Downlink(dl)
    }
}

impl From<UlPduSessionInformation> for PduSessionInformation {
    fn from(ul: UlPduSessionInformation) -> Self {
        Self::Uplink(ul)
    }
}

/// A container of four octets, the last on its chain: what nearly every packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortContainer(pub(super) [u8; 4]);

impl ShortContainer {
    /// Towards the UE.
    #[inline]
    pub const fn downlink(qfi: Qfi, rqi: bool) -> Self {
        Self([1, 0x00, (rqi as u8) << 6 | qfi.get(), 0])
    }

    /// From the UE.
    #[inline]
    pub const fn uplink(qfi: Qfi) -> Self {
        Self([1, 0x10, qfi.get(), 0])
    }
}
