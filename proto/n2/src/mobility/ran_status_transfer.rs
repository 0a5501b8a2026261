//! Uplink and Downlink RAN Status Transfer (TS 38.413, 8.4.6 and 8.4.7): the target goes on counting where the source stopped.

use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};
use oxirush_ngap::{Error, ie};

use crate::table::{Element, message};
use crate::value::written;

message! {
    /// Uplink RAN Status Transfer (9.2.3.13).
    pub struct UplinkStatus = UplinkRANStatusTransfer, "Uplink RAN Status Transfer", of ids {
        /// For the target.
        required status: RanStatus = RANStatusTransfer_TransparentContainer,
    }
}

message! {
    /// Downlink RAN Status Transfer (9.2.3.14).
    pub struct DownlinkStatus = DownlinkRANStatusTransfer, "Downlink RAN Status Transfer", of ids {
        /// Of the source.
        required status: RanStatus = RANStatusTransfer_TransparentContainer,
    }
}

/// RAN Status Transfer Transparent Container (9.3.1.108), which an AMF passes on unread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RanStatus(Vec<u8>);

/// Bits of a PDCP sequence number of 12 bits.
const SN_BITS: u32 = 12;

impl RanStatus {
    /// Counts of the next packets, up and down, of a data radio bearer, 1 to 32, whose sequence numbers
    /// have 12 bits.
    pub fn new(bearer: u8, up: u32, down: u32) -> Self {
        let count = |count: u32| {
            let number = (count & ((1 << SN_BITS) - 1)) as u16;
            ngap::COUNTValueForPDCPSN12::new(number, count >> SN_BITS, None)
        };
        let up = ngap::DRBStatusUL12::new(count(up), None, None);
        let down = ngap::DRBStatusDL12::new(count(down), None);
        let item = ngap::DRBsSubjectToStatusTransferItem::new(
            ngap::DRBID(bearer.clamp(1, 32).into()),
            ngap::DRBStatusUL::dRBStatusUL12(up),
            ngap::DRBStatusDL::dRBStatusDL12(down),
            None,
        );
        let items = ngap::DRBsSubjectToStatusTransferList(vec![item]);
        Self(written(&ngap::RANStatusTransferTransparentContainer::new(
            items, None,
        )))
    }

    /// Bearer, and counts up and down, of each bearer with sequence numbers of 12 bits.
    pub fn counts(&self) -> Vec<(u8, u32, u32)> {
        let Ok(status) = self.write() else {
            return Vec::new();
        };
        let count = |count: &ngap::COUNTValueForPDCPSN12| {
            count.hfn_pdcp_sn12 << SN_BITS | u32::from(count.pdcp_sn12)
        };
        let of = |item: &ngap::DRBsSubjectToStatusTransferItem<'_>| {
            let ngap::DRBStatusUL::dRBStatusUL12(up) = &item.drb_status_ul else {
                return None;
            };
            let ngap::DRBStatusDL::dRBStatusDL12(down) = &item.drb_status_dl else {
                return None;
            };
            let (up, down) = (count(&up.ul_count_value), count(&down.dl_count_value));
            Some((item.drb_id.0 as u8, up, down))
        };
        let items = status.drbs_subject_to_status_transfer_list;
        items.0.iter().filter_map(of).collect()
    }
}

impl Element<ie::RANStatusTransfer_TransparentContainer> for RanStatus {
    /// As it came.
    fn read(value: ngap::RANStatusTransferTransparentContainer<'_>) -> Option<Self> {
        let octets = encode_open_type(&value).ok()?;
        Some(Self(octets.to_vec()))
    }

    /// It was read before, or made of values in their ranges.
    fn write(&self) -> Result<ngap::RANStatusTransferTransparentContainer<'static>, Error> {
        let container =
            decode_open_type::<ngap::RANStatusTransferTransparentContainer<'_>>(&self.0)?;
        Ok(container.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_bearers_are_read_as_they_are_written() {
        let status = RanStatus::new(3, 0x0012_3456, 0xffff_ffff);
        assert_eq!(status.counts(), [(3, 0x0012_3456, 0xffff_ffff)]);
    }
}
