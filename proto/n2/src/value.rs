//! Values of NGAP: identities of UEs and gNBs, areas, locations.

use std::fmt;

use oxirush_ngap::aper::protocol::Ie;
use oxirush_ngap::aper::{BitString, Bits, Encode};
use oxirush_ngap::ngap::encode_open_type;
use oxirush_ngap::{Error, helpers, ie, ngap};
use sluice_ids::{Guami, NrCellIdentity, Plmn, STmsi, Snssai, Tac, Tai, Tmsi};
use sluice_security::{Kgnb, NextHop, SecurityCapability};

use crate::cause::Cause;
use crate::table::Element;

/// AMF UE NGAP ID, 40 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AmfUeId(pub u64);

/// RAN UE NGAP ID, 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RanUeId(pub u32);

/// Both names of a UE's connection.
pub type Ids = (AmfUeId, RanUeId);

/// PDU sessions, each with the transfer of its SMF or gNB.
pub type Transfers = Vec<(u8, Vec<u8>)>;

/// Sessions that a message had done, and those that were refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionResults {
    /// Each with the transfer of the outcome, such as a [`SetupResponse`](crate::SetupResponse).
    pub done: Transfers,
    /// Each with why.
    pub failed: Transfers,
}

/// A UE's connection, by one or both names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connection {
    /// The AMF's name.
    pub amf: Option<AmfUeId>,
    /// The gNB's name.
    pub ran: Option<RanUeId>,
}

/// Global gNB ID: 22 to 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gnb {
    /// Of the gNB.
    pub plmn: Plmn,
    /// Within it.
    pub id: u32,
    /// How many bits the identity has.
    pub bits: u8,
}

impl fmt::Display for Gnb {
    /// `208-93 000001/24`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:06x}/{}", self.plmn, self.id, self.bits)
    }
}

impl fmt::Debug for Gnb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A PLMN and the slices that it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlmnSlices {
    /// Whose slices.
    pub plmn: Plmn,
    /// At least one.
    pub slices: Vec<Snssai>,
}

/// A tracking area that a gNB serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SupportedArea {
    /// Its code.
    pub tac: Tac,
    /// PLMNs that are broadcast there.
    pub plmns: Vec<PlmnSlices>,
}

/// Where a UE is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// PLMN of the cell.
    pub plmn: Plmn,
    /// The cell.
    pub cell: NrCellIdentity,
    /// Tracking area.
    pub tai: Tai,
}

/// A UE's radio capability, which the AMF keeps unread.
pub type RadioCapability = Vec<u8>;

pub(crate) fn plmn(value: Plmn) -> ngap::PLMNIdentity {
    ngap::PLMNIdentity(value.octets())
}

pub(crate) fn read_plmn(value: &ngap::PLMNIdentity) -> Option<Plmn> {
    Plmn::from_octets(value.0)
}

pub(crate) fn slice(value: &Snssai) -> ngap::SNSSAI {
    helpers::s_nssai(value.sst, value.sd())
}

pub(crate) fn read_slice(value: &ngap::SNSSAI) -> Snssai {
    Snssai::new(value.sst.0[0], value.sd.as_ref().map(|sd| sd.0))
}

pub(crate) fn slices(values: &[Snssai]) -> ngap::SliceSupportList {
    let item = |value| ngap::SliceSupportItem::new(slice(value), None);
    ngap::SliceSupportList(values.iter().map(item).collect())
}

pub(crate) fn read_slices(list: &ngap::SliceSupportList) -> Vec<Snssai> {
    list.0
        .iter()
        .map(|item| read_slice(&item.s_nssai))
        .collect()
}

pub(crate) fn guami(value: &Guami) -> ngap::GUAMI {
    let amf = value.amf;
    ngap::GUAMI::new(
        plmn(value.plmn),
        ngap::AMFRegionID(Bits::low(amf.region().into(), 8)),
        ngap::AMFSetID(Bits::low(amf.set().into(), 10)),
        ngap::AMFPointer(Bits::low(amf.pointer().into(), 6)),
        None,
    )
}

pub(crate) fn read_guami(value: &ngap::GUAMI) -> Option<Guami> {
    let region = value.amf_region_id.0.value() as u8;
    let set = value.amf_set_id.0.value() as u16;
    let pointer = value.amf_pointer.0.value() as u8;
    let amf = sluice_ids::AmfId::new(region, set, pointer)?;
    Some(Guami {
        plmn: read_plmn(&value.plmn_identity)?,
        amf,
    })
}

pub(crate) fn cell(value: &Location) -> ngap::NRCGI {
    let [a, b, c, d, e] = value.cell.0;
    let cell = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]) >> 4;
    let cell = ngap::NRCellIdentity(Bits::low(cell, 36));
    ngap::NRCGI::new(plmn(value.plmn), cell, None)
}

pub(crate) fn read_cell(value: &ngap::NRCGI) -> NrCellIdentity {
    let cell = value.nr_cell_identity.0.value() << 4;
    let [_, _, _, a, b, c, d, e] = cell.to_be_bytes();
    NrCellIdentity([a, b, c, d, e])
}

pub(crate) fn tai(value: &Tai) -> ngap::TAI {
    ngap::TAI::new(plmn(value.plmn), ngap::TAC(value.tac.0), None)
}

pub(crate) fn read_tai(value: &ngap::TAI) -> Option<Tai> {
    Some(Tai {
        plmn: read_plmn(&value.plmn_identity)?,
        tac: Tac(value.tac.0),
    })
}

pub(crate) fn gnb(value: &Gnb) -> ngap::GlobalRANNodeID {
    let id = Bits::low(value.id.into(), usize::from(value.bits.clamp(22, 32)));
    let id = ngap::GNBID::gNB_ID(id);
    ngap::GlobalRANNodeID::globalGNB_ID(ngap::GlobalGNBID::new(plmn(value.plmn), id, None))
}

/// None of a node that is no gNB.
pub(crate) fn read_gnb(value: &ngap::GlobalRANNodeID) -> Option<Gnb> {
    let ngap::GlobalRANNodeID::globalGNB_ID(value) = value else {
        return None;
    };
    let ngap::GNBID::gNB_ID(bits) = &value.gnb_id else {
        return None;
    };
    let plmn = read_plmn(&value.plmn_identity)?;
    Some(Gnb {
        plmn,
        id: bits.value() as u32,
        bits: bits.len() as u8,
    })
}

/// The octets of a value of ours, whose types keep it in its range.
#[allow(clippy::expect_used)]
pub(crate) fn written<T: Encode>(value: &T) -> Vec<u8> {
    encode_open_type(value)
        .expect("our values are in their ranges")
        .to_vec()
}

/// Values that the codec converts from and to one of ours.
macro_rules! plain {
    ($($ie:ident: $ours:ty, $value:ident => $read:expr;)*) => {
        $(
            impl Element<ie::$ie> for $ours {
                fn read($value: <ie::$ie as Ie>::Value<'_>) -> Option<Self> {
                    Some($read)
                }

                fn write(&self) -> Result<<ie::$ie as Ie>::Value<'static>, Error> {
                    Ok(self.clone().into())
                }
            }
        )*
    };
}

plain! {
    AMFName: String, name => name.0.into_owned();
    RANNodeName: String, name => name.0.into_owned();
    NAS_PDU: Vec<u8>, octets => octets.0.to_vec();
    UERadioCapability: RadioCapability, octets => octets.0.to_vec();
    SourceToTarget_TransparentContainer: Vec<u8>, octets => octets.0.to_vec();
    TargetToSource_TransparentContainer: Vec<u8>, octets => octets.0.to_vec();
}

/// Values that say something by being there.
macro_rules! flags {
    ($($ie:ident: $value:ident;)*) => {
        $(
            impl Element<ie::$ie> for bool {
                fn read(_: ngap::$ie) -> Option<Self> {
                    Some(true)
                }

                fn write(&self) -> Result<ngap::$ie, Error> {
                    Ok(ngap::$ie::$value)
                }
            }
        )*
    };
}

flags! {
    UERetentionInformation: ues_retained;
    UEContextRequest: requested;
    DirectForwardingPathAvailability: direct_path_available;
    NewSecurityContextInd: R_true;
}

/// Lists whose items hold one value of ours; items that make no sense are left out.
macro_rules! values {
    ($($list:ident: $ours:ty, $write:expr, $read:expr;)*) => {
        $(
            impl Element<ie::$list> for Vec<$ours> {
                fn read(list: <ie::$list as Ie>::Value<'_>) -> Option<Self> {
                    Some(list.0.iter().filter_map($read).collect())
                }

                fn write(&self) -> Result<<ie::$list as Ie>::Value<'static>, Error> {
                    Ok(self.iter().map($write).collect::<Vec<_>>().into())
                }
            }
        )*
    };
}

values! {
    ServedGUAMIList: Guami,
        |one| ngap::ServedGUAMIItem::new(guami(one), None, None),
        |item| read_guami(&item.guami);
    UnavailableGUAMIList: Guami,
        |one| ngap::UnavailableGUAMIItem::new(guami(one), None, None, None),
        |item| read_guami(&item.guami);
    PLMNSupportList: PlmnSlices,
        |one| ngap::PLMNSupportItem::new(plmn(one.plmn), slices(&one.slices), None),
        |item| read_plmn_slices(&item.plmn_identity, &item.slice_support_list);
    SupportedTAList: SupportedArea, area, |item| Some(read_area(item));
    UE_associatedLogicalNG_connectionList: Connection,
        connection,
        |item| Some(read_connection(item));
}

fn read_plmn_slices(
    plmn: &ngap::PLMNIdentity,
    slices: &ngap::SliceSupportList,
) -> Option<PlmnSlices> {
    Some(PlmnSlices {
        plmn: read_plmn(plmn)?,
        slices: read_slices(slices),
    })
}

fn area(value: &SupportedArea) -> ngap::SupportedTAItem {
    let broadcast = |value: &PlmnSlices| {
        ngap::BroadcastPLMNItem::new(plmn(value.plmn), slices(&value.slices), None)
    };
    let plmns = ngap::BroadcastPLMNList(value.plmns.iter().map(broadcast).collect());
    ngap::SupportedTAItem::new(ngap::TAC(value.tac.0), plmns, None)
}

/// PLMNs that are none are left out.
fn read_area(item: &ngap::SupportedTAItem) -> SupportedArea {
    let broadcast = item.broadcast_plmn_list.0.iter();
    let plmns = broadcast
        .filter_map(|item| read_plmn_slices(&item.plmn_identity, &item.tai_slice_support_list));
    SupportedArea {
        tac: Tac(item.tac.0),
        plmns: plmns.collect(),
    }
}

pub(crate) fn connection(value: &Connection) -> ngap::UEAssociatedLogicalNGConnectionItem {
    ngap::UEAssociatedLogicalNGConnectionItem::new(
        value.amf.map(|id| ngap::AMFUENGAPID(id.0)),
        value.ran.map(|id| ngap::RANUENGAPID(id.0)),
        None,
    )
}

pub(crate) fn read_connection(item: &ngap::UEAssociatedLogicalNGConnectionItem) -> Connection {
    Connection {
        amf: item.amf_ue_ngap_id.as_ref().map(|id| AmfUeId(id.0)),
        ran: item.ran_ue_ngap_id.as_ref().map(|id| RanUeId(id.0)),
    }
}

impl Element<ie::AMF_UE_NGAP_ID> for AmfUeId {
    fn read(id: ngap::AMFUENGAPID) -> Option<Self> {
        Some(Self(id.0))
    }

    fn write(&self) -> Result<ngap::AMFUENGAPID, Error> {
        Ok(ngap::AMFUENGAPID(self.0))
    }
}

impl Element<ie::SourceAMF_UE_NGAP_ID> for AmfUeId {
    fn read(id: ngap::AMFUENGAPID) -> Option<Self> {
        Some(Self(id.0))
    }

    fn write(&self) -> Result<ngap::AMFUENGAPID, Error> {
        Ok(ngap::AMFUENGAPID(self.0))
    }
}

impl Element<ie::RAN_UE_NGAP_ID> for RanUeId {
    fn read(id: ngap::RANUENGAPID) -> Option<Self> {
        Some(Self(id.0))
    }

    fn write(&self) -> Result<ngap::RANUENGAPID, Error> {
        Ok(ngap::RANUENGAPID(self.0))
    }
}

impl Element<ie::Cause> for Cause {
    fn read(cause: ngap::Cause) -> Option<Self> {
        Some(Self::of_asn1(&cause))
    }

    fn write(&self) -> Result<ngap::Cause, Error> {
        Ok(self.as_asn1())
    }
}

impl Element<ie::GUAMI> for Guami {
    fn read(value: ngap::GUAMI) -> Option<Self> {
        read_guami(&value)
    }

    fn write(&self) -> Result<ngap::GUAMI, Error> {
        Ok(guami(self))
    }
}

impl Element<ie::FiveG_S_TMSI> for STmsi {
    fn read(value: ngap::FiveGSTMSI) -> Option<Self> {
        Some(read_s_tmsi(&value))
    }

    fn write(&self) -> Result<ngap::FiveGSTMSI, Error> {
        Ok(s_tmsi(self))
    }
}

pub(crate) fn s_tmsi(value: &STmsi) -> ngap::FiveGSTMSI {
    let joined = u16::from_be_bytes(value.set_and_pointer);
    ngap::FiveGSTMSI::new(
        ngap::AMFSetID(Bits::low((joined >> 6).into(), 10)),
        ngap::AMFPointer(Bits::low((joined & 0x3f).into(), 6)),
        ngap::FiveGTMSI(value.tmsi.0),
        None,
    )
}

pub(crate) fn read_s_tmsi(value: &ngap::FiveGSTMSI) -> STmsi {
    let (set, pointer) = (value.amf_set_id.0.value(), value.amf_pointer.0.value());
    let joined = (set << 6 | pointer) as u16;
    STmsi {
        set_and_pointer: joined.to_be_bytes(),
        tmsi: Tmsi(value.five_g_tmsi.0),
    }
}

impl Element<ie::UserLocationInformation> for Location {
    /// None of a UE that is not at an NR cell.
    fn read(value: ngap::UserLocationInformation<'_>) -> Option<Self> {
        let ngap::UserLocationInformation::userLocationInformationNR(value) = value else {
            return None;
        };
        Some(Self {
            plmn: read_plmn(&value.nr_cgi.plmn_identity)?,
            cell: read_cell(&value.nr_cgi),
            tai: read_tai(&value.tai)?,
        })
    }

    fn write(&self) -> Result<ngap::UserLocationInformation<'static>, Error> {
        let nr = ngap::UserLocationInformationNR::new(cell(self), tai(&self.tai), None, None);
        Ok(ngap::UserLocationInformation::userLocationInformationNR(nr))
    }
}

impl Element<ie::GlobalRANNodeID> for Gnb {
    fn read(value: ngap::GlobalRANNodeID) -> Option<Self> {
        read_gnb(&value)
    }

    fn write(&self) -> Result<ngap::GlobalRANNodeID, Error> {
        Ok(gnb(self))
    }
}

impl Element<ie::AllowedNSSAI> for Vec<Snssai> {
    fn read(list: ngap::AllowedNSSAI) -> Option<Self> {
        let items = list.0.iter();
        Some(items.map(|item| read_slice(&item.s_nssai)).collect())
    }

    /// At most eight (9.3.1.31).
    fn write(&self) -> Result<ngap::AllowedNSSAI, Error> {
        let item = |value| ngap::AllowedNSSAIItem::new(slice(value), None);
        let items = self.iter().take(8).map(item).collect();
        Ok(ngap::AllowedNSSAI(items))
    }
}

/// 5G-EA, 5G-IA, EEA, EIA: the algorithms besides the null ones, from number 1 on (TS 38.413, 9.3.1.86).
impl Element<ie::UESecurityCapabilities> for [u8; 4] {
    fn read(value: ngap::UESecurityCapabilities<'_>) -> Option<Self> {
        let octet =
            |bits: &BitString<'_>| bits.as_octets().first().copied().unwrap_or_default() >> 1;
        Some([
            octet(&value.nr_encryption_algorithms.0),
            octet(&value.nr_integrity_protection_algorithms.0),
            octet(&value.eutra_encryption_algorithms.0),
            octet(&value.eutra_integrity_protection_algorithms.0),
        ])
    }

    fn write(&self) -> Result<ngap::UESecurityCapabilities<'static>, Error> {
        let [ea, ia, eea, eia] = self.map(|octet| BitString::from([octet << 1, 0]));
        Ok(ngap::UESecurityCapabilities::new(
            ngap::NRencryptionAlgorithms(ea),
            ngap::NRintegrityProtectionAlgorithms(ia),
            ngap::EUTRAencryptionAlgorithms(eea),
            ngap::EUTRAintegrityProtectionAlgorithms(eia),
            None,
        ))
    }
}

impl Element<ie::UESecurityCapabilities> for SecurityCapability {
    fn read(value: ngap::UESecurityCapabilities<'_>) -> Option<Self> {
        let four = <[u8; 4]>::read(value)?;
        Self::from_octets(&four)
    }

    fn write(&self) -> Result<ngap::UESecurityCapabilities<'static>, Error> {
        [self.ea(), self.ia(), self.eea(), self.eia()].write()
    }
}

impl Element<ie::SecurityKey> for Kgnb {
    /// None of a key that has not 256 bits.
    fn read(key: ngap::SecurityKey<'_>) -> Option<Self> {
        let key: [u8; 32] = key.0.as_octets().try_into().ok()?;
        Some(Self::new(key))
    }

    fn write(&self) -> Result<ngap::SecurityKey<'static>, Error> {
        Ok((*self.octets()).into())
    }
}

impl Element<ie::SecurityContext> for NextHop {
    /// None of a key that has not 256 bits.
    fn read(value: ngap::SecurityContext<'_>) -> Option<Self> {
        let key: [u8; 32] = value.next_hop_nh.0.as_octets().try_into().ok()?;
        Some(Self {
            key: Kgnb::new(key),
            ncc: value.next_hop_chaining_count.0,
        })
    }

    fn write(&self) -> Result<ngap::SecurityContext<'static>, Error> {
        let ncc = ngap::NextHopChainingCount(self.ncc % 8);
        Ok(ngap::SecurityContext::new(
            ncc,
            (*self.key.octets()).into(),
            None,
        ))
    }
}

/// RFSP index (9.3.1.61; TS 23.501, 5.3.4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rfsp(u16);

impl Rfsp {
    /// None of what is not from 1 to 256.
    pub fn new(index: u16) -> Option<Self> {
        (1..=256).contains(&index).then_some(Self(index))
    }

    /// From 1 to 256.
    pub fn index(self) -> u16 {
        self.0
    }
}

impl Element<ie::IndexToRFSP> for Rfsp {
    fn read(value: ngap::IndexToRFSP) -> Option<Self> {
        u16::try_from(value.0).ok().and_then(Self::new)
    }

    fn write(&self) -> Result<ngap::IndexToRFSP, Error> {
        Ok(ngap::IndexToRFSP(self.0.into()))
    }
}

/// Without the serial number of the device.
impl Element<ie::MaskedIMEISV> for [u8; 8] {
    fn read(value: ngap::MaskedIMEISV) -> Option<Self> {
        Some(value.0.value().to_be_bytes())
    }

    fn write(&self) -> Result<ngap::MaskedIMEISV, Error> {
        let bits = Bits::low(u64::from_be_bytes(*self), 64);
        Ok(ngap::MaskedIMEISV(bits))
    }
}

/// Bits per second, down and up.
impl Element<ie::UEAggregateMaximumBitRate> for (u64, u64) {
    fn read(value: ngap::UEAggregateMaximumBitRate) -> Option<Self> {
        let down = value.ue_aggregate_maximum_bit_rate_dl.0;
        Some((down, value.ue_aggregate_maximum_bit_rate_ul.0))
    }

    fn write(&self) -> Result<ngap::UEAggregateMaximumBitRate, Error> {
        let (down, up) = (ngap::BitRate(self.0), ngap::BitRate(self.1));
        Ok(ngap::UEAggregateMaximumBitRate::new(down, up, None))
    }
}
