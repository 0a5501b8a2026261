//! Codec of a PDU Session Container's fields (TS 38.415, figures 5.5.2.1-1 and 5.5.2.2-1).

use super::{DlPduSessionInformation, MonitoringTimeStamps, Ppi, UlPduSessionInformation};
use crate::gtpu::cursor::{In, Out};
use crate::ids::Qfi;

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

pub(super) fn parse_downlink(
    c0: u8,
    c1: u8,
    fields: &mut In<'_>,
) -> Option<DlPduSessionInformation> {
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

pub(super) fn parse_uplink(c0: u8, c1: u8, fields: &mut In<'_>) -> Option<UlPduSessionInformation> {
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

pub(super) fn write_downlink(dl: &DlPduSessionInformation, out: &mut Out<'_>) -> Option<()> {
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

pub(super) fn write_uplink(ul: &UlPduSessionInformation, out: &mut Out<'_>) -> Option<()> {
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
