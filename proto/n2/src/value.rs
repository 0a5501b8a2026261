//! Values of NGAP: identities of UEs and gNBs, areas, locations.

use std::fmt;

use oxirush_ngap::aper::{BitString, Bits};
use oxirush_ngap::{Error, build_ngap, helpers, ngap};
use sluice_ids::{Guami, NrCellIdentity, Plmn, STmsi, Snssai, Tac, Tai, Tmsi};
use sluice_security::SecurityCapability;

use crate::cause::Cause;

/// AMF UE NGAP ID, 40 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AmfUeId(pub u64);

/// RAN UE NGAP ID, 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RanUeId(pub u32);

/// A UE's connection, by one or both names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

pub(crate) fn allowed(values: &[Snssai]) -> ngap::AllowedNSSAI {
    let item = |value| ngap::AllowedNSSAIItem::new(slice(value), None);
    ngap::AllowedNSSAI(values.iter().take(8).map(item).collect())
}

pub(crate) fn read_allowed(list: &ngap::AllowedNSSAI) -> Vec<Snssai> {
    list.0
        .iter()
        .map(|item| read_slice(&item.s_nssai))
        .collect()
}

pub(crate) fn areas(values: &[SupportedArea]) -> ngap::SupportedTAList {
    let broadcast = |value: &PlmnSlices| {
        ngap::BroadcastPLMNItem::new(plmn(value.plmn), slices(&value.slices), None)
    };
    let area = |value: &SupportedArea| {
        let plmns = ngap::BroadcastPLMNList(value.plmns.iter().map(broadcast).collect());
        ngap::SupportedTAItem::new(ngap::TAC(value.tac.0), plmns, None)
    };
    ngap::SupportedTAList(values.iter().map(area).collect())
}

/// PLMNs that are none are left out.
pub(crate) fn read_areas(list: &ngap::SupportedTAList) -> Vec<SupportedArea> {
    let broadcast = |item: &ngap::BroadcastPLMNItem| {
        let plmn = read_plmn(&item.plmn_identity)?;
        Some(PlmnSlices {
            plmn,
            slices: read_slices(&item.tai_slice_support_list),
        })
    };
    let area = |item: &ngap::SupportedTAItem| SupportedArea {
        tac: Tac(item.tac.0),
        plmns: item
            .broadcast_plmn_list
            .0
            .iter()
            .filter_map(broadcast)
            .collect(),
    };
    list.0.iter().map(area).collect()
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

pub(crate) fn location(value: &Location) -> ngap::UserLocationInformation<'static> {
    let location = ngap::UserLocationInformationNR::new(cell(value), tai(&value.tai), None, None);
    ngap::UserLocationInformation::userLocationInformationNR(location)
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

/// None of a UE that is not at an NR cell.
pub(crate) fn read_location(value: &ngap::UserLocationInformation<'_>) -> Option<Location> {
    let ngap::UserLocationInformation::userLocationInformationNR(value) = value else {
        return None;
    };
    let tac = Tac(value.tai.tac.0);
    Some(Location {
        plmn: read_plmn(&value.nr_cgi.plmn_identity)?,
        cell: read_cell(&value.nr_cgi),
        tai: Tai {
            plmn: read_plmn(&value.tai.plmn_identity)?,
            tac,
        },
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

/// The algorithms that a UE has besides the null ones, from number 1 on (TS 38.413, 9.3.1.86).
pub(crate) fn capabilities(value: &SecurityCapability) -> ngap::UESecurityCapabilities<'static> {
    four_capabilities([value.ea(), value.ia(), value.eea(), value.eia()])
}

/// The same of octets of 5G-EA, 5G-IA, EEA, EIA.
pub(crate) fn four_capabilities(four: [u8; 4]) -> ngap::UESecurityCapabilities<'static> {
    let [ea, ia, eea, eia] = four.map(|octet| BitString::from([octet << 1, 0]));
    ngap::UESecurityCapabilities::new(
        ngap::NRencryptionAlgorithms(ea),
        ngap::NRintegrityProtectionAlgorithms(ia),
        ngap::EUTRAencryptionAlgorithms(eea),
        ngap::EUTRAintegrityProtectionAlgorithms(eia),
        None,
    )
}

/// The octets of 5G-EA, 5G-IA, EEA, EIA without the null algorithms.
pub(crate) fn read_capabilities(value: &ngap::UESecurityCapabilities<'_>) -> [u8; 4] {
    let octet = |bits: &BitString<'_>| bits.as_octets().first().copied().unwrap_or_default() >> 1;
    [
        octet(&value.nr_encryption_algorithms.0),
        octet(&value.nr_integrity_protection_algorithms.0),
        octet(&value.eutra_encryption_algorithms.0),
        octet(&value.eutra_integrity_protection_algorithms.0),
    ]
}

pub(crate) fn connections(list: &[Connection]) -> ngap::UEAssociatedLogicalNGConnectionList {
    let item = |connection: &Connection| {
        ngap::UEAssociatedLogicalNGConnectionItem::new(
            connection.amf.map(|id| ngap::AMFUENGAPID(id.0)),
            connection.ran.map(|id| ngap::RANUENGAPID(id.0)),
            None,
        )
    };
    ngap::UEAssociatedLogicalNGConnectionList(list.iter().map(item).collect())
}

pub(crate) fn read_connections(
    list: &ngap::UEAssociatedLogicalNGConnectionList,
) -> Vec<Connection> {
    let connection = |item: &ngap::UEAssociatedLogicalNGConnectionItem| Connection {
        amf: item.amf_ue_ngap_id.as_ref().map(|id| AmfUeId(id.0)),
        ran: item.ran_ue_ngap_id.as_ref().map(|id| RanUeId(id.0)),
    };
    list.0.iter().map(connection).collect()
}

/// Error Indication of either end.
pub(crate) fn error_indication(
    connection: &Connection,
    why: Option<Cause>,
) -> Result<ngap::NGAP_PDU, Error> {
    let why = why.unwrap_or(Cause::UNSPECIFIED).write();
    match *connection {
        Connection {
            amf: Some(amf),
            ran: Some(ran),
        } => {
            build_ngap!(
                InitiatingMessage,
                ErrorIndication,
                ErrorIndication,
                AMF_UE_NGAP_ID(amf.0),
                RAN_UE_NGAP_ID(ran.0),
                Cause(why),
            )
        }
        Connection {
            amf: Some(amf),
            ran: None,
        } => {
            build_ngap!(
                InitiatingMessage,
                ErrorIndication,
                ErrorIndication,
                AMF_UE_NGAP_ID(amf.0),
                Cause(why),
            )
        }
        Connection {
            amf: None,
            ran: Some(ran),
        } => {
            build_ngap!(
                InitiatingMessage,
                ErrorIndication,
                ErrorIndication,
                RAN_UE_NGAP_ID(ran.0),
                Cause(why),
            )
        }
        Connection {
            amf: None,
            ran: None,
        } => {
            build_ngap!(
                InitiatingMessage,
                ErrorIndication,
                ErrorIndication,
                Cause(why)
            )
        }
    }
}
