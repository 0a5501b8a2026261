//! Volumes, packet counts, and qualifiers of usage and data reports.

use crate::ids::Qfi;
use crate::pfcp::element::{Element, Fault, Reader};
use crate::pfcp::writer::{Full, Writer};

const TOVOL: u8 = 0x01;
const ULVOL: u8 = 0x02;
const DLVOL: u8 = 0x04;
const TONOP: u8 = 0x08;
const ULNOP: u8 = 0x10;
const DLNOP: u8 = 0x20;

/// Volumes in octets: Volume Threshold (8.2.13), Volume Quota (8.2.50) and the Subsequent ones
/// (8.2.16, 8.2.86).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// Both directions together, octets.
    pub total: Option<u64>,
    /// Uplink, octets.
    pub uplink: Option<u64>,
    /// Downlink, octets.
    pub downlink: Option<u64>,
}

impl Element<'_> for Volume {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        if flags & (TOVOL | ULVOL | DLVOL) == 0 {
            return Err(Fault::Value);
        }
        Ok(Self {
            total: reader.when(flags & TOVOL != 0, Reader::u64)?,
            uplink: reader.when(flags & ULVOL != 0, Reader::u64)?,
            downlink: reader.when(flags & DLVOL != 0, Reader::u64)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        flagged_u64(out, [self.total, self.uplink, self.downlink])
    }
}

/// Volume Measurement (8.2.44): what was used, octets and, if asked for (MNOP), packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VolumeMeasurement {
    /// Both directions together, octets.
    pub total: Option<u64>,
    /// Uplink, octets.
    pub uplink: Option<u64>,
    /// Downlink, octets.
    pub downlink: Option<u64>,
    /// Both directions together, packets.
    pub total_packets: Option<u64>,
    /// Uplink, packets.
    pub uplink_packets: Option<u64>,
    /// Downlink, packets.
    pub downlink_packets: Option<u64>,
}

impl Element<'_> for VolumeMeasurement {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        Ok(Self {
            total: reader.when(flags & TOVOL != 0, Reader::u64)?,
            uplink: reader.when(flags & ULVOL != 0, Reader::u64)?,
            downlink: reader.when(flags & DLVOL != 0, Reader::u64)?,
            total_packets: reader.when(flags & TONOP != 0, Reader::u64)?,
            uplink_packets: reader.when(flags & ULNOP != 0, Reader::u64)?,
            downlink_packets: reader.when(flags & DLNOP != 0, Reader::u64)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        flagged_u64(
            out,
            [
                self.total,
                self.uplink,
                self.downlink,
                self.total_packets,
                self.uplink_packets,
                self.downlink_packets,
            ],
        )
    }
}

/// Dropped DL Traffic Threshold (8.2.49).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DroppedDlTrafficThreshold {
    /// DLPA: downlink packets.
    pub downlink_packets: Option<u64>,
    /// DLBY: downlink octets.
    pub downlink_octets: Option<u64>,
}

impl Element<'_> for DroppedDlTrafficThreshold {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        Ok(Self {
            downlink_packets: reader.when(flags & 0x01 != 0, Reader::u64)?,
            downlink_octets: reader.when(flags & 0x02 != 0, Reader::u64)?,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        flagged_u64(out, [self.downlink_packets, self.downlink_octets])
    }
}

/// Writes a flags octet, first field in bit 1, and then the fields that are there.
fn flagged_u64<const N: usize>(out: &mut Writer<'_>, fields: [Option<u64>; N]) -> Result<(), Full> {
    let flags = fields
        .iter()
        .rev()
        .fold(0, |flags, field| flags << 1 | u8::from(field.is_some()));
    out.u8(flags)?;
    fields
        .into_iter()
        .flatten()
        .try_for_each(|field| out.u64(field))
}

/// Downlink Data Service Information (8.2.27).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DownlinkDataServiceInformation {
    /// PPI: the DSCP of the downlink packet, six bits.
    pub paging_policy_indication: Option<u8>,
    /// QFII: its QoS flow.
    pub qfi: Option<Qfi>,
}

impl Element<'_> for DownlinkDataServiceInformation {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(value);
        let flags = reader.u8()?;
        let ppi = reader.when(flags & 0x01 != 0, Reader::u8)?;
        let qfi = reader.when(flags & 0x02 != 0, Reader::u8)?;
        Ok(Self {
            paging_policy_indication: ppi.map(|ppi| ppi & 0x3f),
            qfi: qfi.and_then(|qfi| Qfi::new(qfi & Qfi::MAX)),
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let ppi = u8::from(self.paging_policy_indication.is_some());
        out.u8(u8::from(self.qfi.is_some()) << 1 | ppi)?;
        self.paging_policy_indication
            .map_or(Ok(()), |ppi| out.u8(ppi & 0x3f))?;
        self.qfi.map_or(Ok(()), |qfi| out.u8(qfi.get()))
    }
}

/// Additional Usage Reports Information (8.2.91), with cause More Usage Report to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AdditionalUsageReportsInformation {
    /// AURI: more reports will follow.
    pub more: bool,
    /// How many usage reports there are in all, 15 bits; 0 if not known.
    pub number: u16,
}

const AURI: u16 = 0x8000;

impl Element<'_> for AdditionalUsageReportsInformation {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        let number = Reader::new(value).u16()?;
        Ok(Self {
            more: number & AURI != 0,
            number: number & !AURI,
        })
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u16(self.number & !AURI | if self.more { AURI } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pfcp::testing::check_coding;

    #[test]
    fn volumes_follow_their_flags() {
        let volume = Volume {
            total: Some(1),
            uplink: None,
            downlink: Some(0x0203),
        };
        check_coding(
            &volume,
            &[5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 3],
        );
        assert_eq!(Volume::decode(&[0]), Err(Fault::Value));
        assert_eq!(Volume::decode(&[1, 0, 0]), Err(Fault::Length));
    }

    #[test]
    fn a_measurement_may_count_packets() {
        let measured = VolumeMeasurement {
            uplink: Some(7),
            downlink_packets: Some(9),
            ..VolumeMeasurement::default()
        };
        check_coding(
            &measured,
            &[0x22, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9],
        );
    }

    #[test]
    fn dropped_traffic_counts_packets_or_octets() {
        let dropped = DroppedDlTrafficThreshold {
            downlink_packets: None,
            downlink_octets: Some(3),
        };
        check_coding(&dropped, &[2, 0, 0, 0, 0, 0, 0, 0, 3]);
    }

    #[test]
    fn service_information_names_the_flow() {
        let information = DownlinkDataServiceInformation {
            paging_policy_indication: Some(46),
            qfi: Qfi::new(9),
        };
        check_coding(&information, &[3, 46, 9]);
    }

    #[test]
    fn more_reports_are_announced_in_the_top_bit() {
        let more = AdditionalUsageReportsInformation {
            more: true,
            number: 300,
        };
        check_coding(&more, &[0x81, 0x2c]);
    }
}
