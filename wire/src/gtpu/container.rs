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

use super::cursor::{In, Out};
use super::{ExtensionType, GtpuError, PduType};
use crate::ids::Qfi;

/// Octets of the longest extension header that we write: an uplink container with every field.
pub const MAX_CONTAINER_LEN: usize = 48;

const QMP: u8 = 0x08;
const DL_SNP: u8 = 0x04;
const DL_MSNP: u8 = 0x02;
const PPP: u8 = 0x80;
const RQI: u8 = 0x40;
const DL_DELAY: u8 = 0x04;
const UL_DELAY: u8 = 0x02;
const UL_SNP: u8 = 0x01;
const N3_N9_DELAY: u8 = 0x80;
const NEW_IE: u8 = 0x40;
const NEW_IE_D1: u8 = 0x01;

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
    /// Downlink delay in the RAN, in milliseconds (5.5.3.13).
    pub dl_delay_result_ms: Option<u32>,
    /// Uplink delay in the RAN, in milliseconds (5.5.3.14).
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

    /// Reads the content of an extension header; octets behind the known fields are ignored, as
    /// 5.5.3.8 wants of padding and of later versions.
    ///
    /// # Errors
    /// `ReservedPduType`, or `ContainerTruncated` if a field that a flag announces is not there.
    pub fn parse(content: &[u8]) -> Result<Self, GtpuError> {
        let mut fields = In(content);
        let [c0, c1] = fields.take().ok_or(GtpuError::ContainerTruncated)?;
        match PduType::from_octet(c0)? {
            PduType::Downlink => parse_downlink(c0, c1, &mut fields).map(Self::Downlink),
            PduType::Uplink => parse_uplink(c0, c1, &mut fields).map(Self::Uplink),
        }
        .ok_or(GtpuError::ContainerTruncated)
    }

    /// Writes the whole extension header, length and `next` type included; returns its length, or
    /// `None` if `out` is too short. [`MAX_CONTAINER_LEN`] octets always suffice.
    pub fn write(&self, out: &mut [u8], next: ExtensionType) -> Option<usize> {
        let mut out = Out::new(out);
        out.put(&[0])?;
        match self {
            Self::Downlink(dl) => write_downlink(dl, &mut out)?,
            Self::Uplink(ul) => write_uplink(ul, &mut out)?,
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

/// `Some(None)` if `flag` is clear, `Some(Some(..))` if the field is there, `None` if it is cut.
fn optional<const N: usize>(fields: &mut In<'_>, flag: bool) -> Option<Option<[u8; N]>> {
    if flag {
        fields.take().map(Some)
    } else {
        Some(None)
    }
}

fn u24(octets: [u8; 3]) -> u32 {
    let [a, b, c] = octets;
    u32::from_be_bytes([0, a, b, c])
}

fn parse_downlink(c0: u8, c1: u8, fields: &mut In<'_>) -> Option<DlPduSessionInformation> {
    let ppi = optional(fields, c1 & PPP != 0)?.map(|[octet]| Ppi(octet >> 5));
    Some(DlPduSessionInformation {
        qfi: Qfi::new(c1 & Qfi::MAX)?,
        rqi: c1 & RQI != 0,
        ppi,
        dl_sending_time_stamp: optional(fields, c0 & QMP != 0)?.map(u64::from_be_bytes),
        dl_qfi_sequence_number: optional(fields, c0 & DL_SNP != 0)?.map(u24),
        dl_mbs_qfi_sequence_number: optional(fields, c0 & DL_MSNP != 0)?.map(u32::from_be_bytes),
    })
}

fn parse_uplink(c0: u8, c1: u8, fields: &mut In<'_>) -> Option<UlPduSessionInformation> {
    let monitoring = if c0 & QMP != 0 {
        Some(parse_monitoring(fields)?)
    } else {
        None
    };
    let dl_delay_result_ms = optional(fields, c0 & DL_DELAY != 0)?.map(u32::from_be_bytes);
    let ul_delay_result_ms = optional(fields, c0 & UL_DELAY != 0)?.map(u32::from_be_bytes);
    let ul_qfi_sequence_number = optional(fields, c0 & UL_SNP != 0)?.map(u24);
    let n3_n9_delay_result_ms = optional(fields, c1 & N3_N9_DELAY != 0)?.map(u32::from_be_bytes);
    let [new_ie_flags] = optional(fields, c1 & NEW_IE != 0)?.unwrap_or([0]);
    let d1 = optional(fields, new_ie_flags & NEW_IE_D1 != 0)?;
    Some(UlPduSessionInformation {
        qfi: Qfi::new(c1 & Qfi::MAX)?,
        monitoring,
        dl_delay_result_ms,
        ul_delay_result_ms,
        ul_qfi_sequence_number,
        n3_n9_delay_result_ms,
        d1_ul_pdcp_delay_included: d1.map(|[octet]| octet & 1 != 0),
    })
}

fn parse_monitoring(fields: &mut In<'_>) -> Option<MonitoringTimeStamps> {
    Some(MonitoringTimeStamps {
        dl_sending_repeated: u64::from_be_bytes(fields.take()?),
        dl_received: u64::from_be_bytes(fields.take()?),
        ul_sending: u64::from_be_bytes(fields.take()?),
    })
}

/// `bit` if `set`.
fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn write_downlink(dl: &DlPduSessionInformation, out: &mut Out<'_>) -> Option<()> {
    let c0 = flag(dl.dl_sending_time_stamp.is_some(), QMP)
        | flag(dl.dl_qfi_sequence_number.is_some(), DL_SNP)
        | flag(dl.dl_mbs_qfi_sequence_number.is_some(), DL_MSNP);
    let c1 = flag(dl.ppi.is_some(), PPP) | flag(dl.rqi, RQI) | dl.qfi.get();
    out.put(&[c0, c1])?;
    if let Some(ppi) = dl.ppi {
        out.put(&[ppi.0 << 5])?;
    }
    if let Some(time_stamp) = dl.dl_sending_time_stamp {
        out.put(&time_stamp.to_be_bytes())?;
    }
    put_u24(out, dl.dl_qfi_sequence_number)?;
    put_u32(out, dl.dl_mbs_qfi_sequence_number)
}

fn write_uplink(ul: &UlPduSessionInformation, out: &mut Out<'_>) -> Option<()> {
    let c0 = 0x10
        | flag(ul.monitoring.is_some(), QMP)
        | flag(ul.dl_delay_result_ms.is_some(), DL_DELAY)
        | flag(ul.ul_delay_result_ms.is_some(), UL_DELAY)
        | flag(ul.ul_qfi_sequence_number.is_some(), UL_SNP);
    let c1 = flag(ul.n3_n9_delay_result_ms.is_some(), N3_N9_DELAY)
        | flag(ul.d1_ul_pdcp_delay_included.is_some(), NEW_IE)
        | ul.qfi.get();
    out.put(&[c0, c1])?;
    if let Some(stamps) = ul.monitoring {
        out.put(&stamps.dl_sending_repeated.to_be_bytes())?;
        out.put(&stamps.dl_received.to_be_bytes())?;
        out.put(&stamps.ul_sending.to_be_bytes())?;
    }
    put_u32(out, ul.dl_delay_result_ms)?;
    put_u32(out, ul.ul_delay_result_ms)?;
    put_u24(out, ul.ul_qfi_sequence_number)?;
    put_u32(out, ul.n3_n9_delay_result_ms)?;
    if let Some(included) = ul.d1_ul_pdcp_delay_included {
        out.put(&[NEW_IE_D1, u8::from(included)])?;
    }
    Some(())
}

fn put_u24(out: &mut Out<'_>, value: Option<u32>) -> Option<()> {
    let Some(value) = value else {
        return Some(());
    };
    let [_, a, b, c] = value.to_be_bytes();
    out.put(&[a, b, c])
}

fn put_u32(out: &mut Out<'_>, value: Option<u32>) -> Option<()> {
    let Some(value) = value else {
        return Some(());
    };
    out.put(&value.to_be_bytes())
}
