//! Paging (TS 38.413, 9.2.4.1): an idle UE is called in all cells of its areas.

use oxirush_ngap::ngap::{self, NGAP_PDU, PagingDRX};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::{STmsi, Tac, Tai};

use crate::value;

/// Most areas of one message.
const AREAS: usize = 16;

/// Whom a gNB calls, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paging {
    /// What the UE calls itself on the radio.
    pub s_tmsi: STmsi,
    /// The UE's DRX value as NAS has it (TS 24.501, 9.11.3.2A); none where it has none of its own.
    pub drx: Option<u8>,
    /// Where it may be; at least one area and at most 16.
    pub areas: Vec<Tai>,
    /// What a gNB once told of its radio.
    pub capability: Option<PagingCapability>,
    /// Which attempt this is, from 1 on, and how many there will be.
    pub attempt: (u8, u8),
}

/// UE Radio Capability for Paging (9.3.1.68), unread by the AMF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PagingCapability {
    /// Of NR.
    pub nr: Option<Vec<u8>>,
    /// Of E-UTRA.
    pub eutra: Option<Vec<u8>>,
}

impl PagingCapability {
    pub(crate) fn write(&self) -> ngap::UERadioCapabilityForPaging<'static> {
        let nr = self.nr.clone();
        let eutra = self.eutra.clone();
        ngap::UERadioCapabilityForPaging::new(
            nr.map(|octets| ngap::UERadioCapabilityForPagingOfNR(octets.into())),
            eutra.map(|octets| ngap::UERadioCapabilityForPagingOfEUTRA(octets.into())),
            None,
        )
    }

    pub(crate) fn read(value: &ngap::UERadioCapabilityForPaging<'_>) -> Self {
        let nr = value.ue_radio_capability_for_paging_of_nr.as_ref();
        let eutra = value.ue_radio_capability_for_paging_of_eutra.as_ref();
        Self {
            nr: nr.map(|octets| octets.0.to_vec()),
            eutra: eutra.map(|octets| octets.0.to_vec()),
        }
    }
}

fn drx(value: u8) -> Option<PagingDRX> {
    Some(match value {
        1 => PagingDRX::v32,
        2 => PagingDRX::v64,
        3 => PagingDRX::v128,
        4 => PagingDRX::v256,
        _ => return None,
    })
}

pub(crate) fn write(m: &Paging) -> Result<NGAP_PDU, Error> {
    let identity = ngap::UEPagingIdentity::fiveG_S_TMSI(value::s_tmsi(&m.s_tmsi));
    let mut pdu = build_ngap!(
        InitiatingMessage,
        Paging,
        Paging,
        UEPagingIdentity(identity)
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(drx) = m.drx.and_then(drx) {
        ies.0.push(build_ngap_ie!(Paging, PagingDRX(drx))?);
    }
    let area = |tai: &Tai| {
        let tai = ngap::TAI::new(value::plmn(tai.plmn), ngap::TAC(tai.tac.0), None);
        ngap::TAIListForPagingItem::new(tai, None)
    };
    let areas = ngap::TAIListForPaging(m.areas.iter().take(AREAS).map(area).collect());
    ies.0.push(build_ngap_ie!(Paging, TAIListForPaging(areas))?);
    if let Some(capability) = &m.capability {
        let capability = capability.write();
        ies.0.push(build_ngap_ie!(
            Paging,
            UERadioCapabilityForPaging(capability)
        )?);
    }
    let (attempt, attempts) = m.attempt;
    let attempt = ngap::PagingAttemptInformation::new(
        ngap::PagingAttemptCount(attempt.clamp(1, 16).into()),
        ngap::IntendedNumberOfPagingAttempts(attempts.clamp(1, 16).into()),
        None,
        None,
    );
    let assistance = ngap::AssistanceDataForPaging::new(None, Some(attempt), None);
    ies.0
        .push(build_ngap_ie!(Paging, AssistanceDataForPaging(assistance))?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

/// None of a UE that is called by another kind of name, or of no area.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<Paging>, Error> {
    extract_ngap_ies!(pdu, Paging,
        req identity: ngap::UEPagingIdentity = UEPagingIdentity(identity) => identity,
        lax cycle: PagingDRX = PagingDRX(cycle) => cycle,
        req areas: ngap::TAIListForPaging = TAIListForPaging(list) => list,
        lax capability: PagingCapability =
            UERadioCapabilityForPaging(value) => PagingCapability::read(&value),
        lax assistance: ngap::AssistanceDataForPaging = AssistanceDataForPaging(value) => value,
    );
    let ngap::UEPagingIdentity::fiveG_S_TMSI(s_tmsi) = identity else {
        return Ok(None);
    };
    let area = |item: &ngap::TAIListForPagingItem| {
        Some(Tai {
            plmn: value::read_plmn(&item.tai.plmn_identity)?,
            tac: Tac(item.tai.tac.0),
        })
    };
    let told = assistance.and_then(|assistance| assistance.paging_attempt_information);
    let attempt = told.map_or((1, 1), |told| {
        (
            told.paging_attempt_count.0 as u8,
            told.intended_number_of_paging_attempts.0 as u8,
        )
    });
    let areas: Vec<Tai> = areas.0.iter().filter_map(area).collect();
    Ok((!areas.is_empty()).then(|| Paging {
        s_tmsi: value::read_s_tmsi(&s_tmsi),
        drx: cycle.map(|cycle| cycle as u8 + 1),
        areas,
        capability,
        attempt,
    }))
}
