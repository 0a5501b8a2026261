//! Paging (TS 38.413, 8.5): an idle UE is called in all cells of its areas.

use oxirush_ngap::ngap::{self, PagingDRX};
use oxirush_ngap::{Error, ie};
use sluice_ids::{STmsi, Tai};

use crate::table::{Element, message};
use crate::ue_radio_capability::PagingCapability;
use crate::value;

/// Most areas of one message.
const AREAS: usize = 16;

message! {
    /// Paging (9.2.4.1).
    pub struct Paging = Paging, "Paging" {
        /// Name of the UE on the radio.
        required s_tmsi: STmsi = UEPagingIdentity,
        /// The UE's DRX value as NAS has it (TS 24.501, 9.11.3.2A); none where it has none of its own.
        ignorable drx: u8 = PagingDRX,
        /// Areas where the UE may be: at least one and at most 16.
        required areas: Vec<Tai> = TAIListForPaging,
        /// The gNB's report of the UE's radio.
        ignorable capability: PagingCapability = UERadioCapabilityForPaging,
        /// Number of this attempt, from 1 on, and how many there will be.
        expected attempt: (u8, u8) = AssistanceDataForPaging,
    }
    then = without_assistance;
}

/// Without Assistance Data it is the one attempt.
fn without_assistance(_: &ngap::NGAP_PDU, mut paging: Paging) -> Option<Paging> {
    if paging.attempt == <(u8, u8)>::default() {
        paging.attempt = (1, 1);
    }
    Some(paging)
}

impl Element<ie::UEPagingIdentity> for STmsi {
    /// None of a UE that is called by another kind of name.
    fn read(identity: ngap::UEPagingIdentity) -> Option<Self> {
        let ngap::UEPagingIdentity::fiveG_S_TMSI(s_tmsi) = identity else {
            return None;
        };
        Some(value::read_s_tmsi(&s_tmsi))
    }

    fn write(&self) -> Result<ngap::UEPagingIdentity, Error> {
        let s_tmsi = value::s_tmsi(self);
        Ok(ngap::UEPagingIdentity::fiveG_S_TMSI(s_tmsi))
    }
}

const CYCLES: [PagingDRX; 4] = [
    PagingDRX::v32,
    PagingDRX::v64,
    PagingDRX::v128,
    PagingDRX::v256,
];

/// The value of NAS that stands for a cycle counts from 1; NAS has more of them than NGAP.
impl Element<ie::PagingDRX> for u8 {
    fn read(cycle: PagingDRX) -> Option<Self> {
        Some(cycle as u8 + 1)
    }

    fn is_written(&self) -> bool {
        (1..=CYCLES.len()).contains(&usize::from(*self))
    }

    fn write(&self) -> Result<PagingDRX, Error> {
        let cycle = CYCLES.get(usize::from(*self).wrapping_sub(1));
        cycle
            .cloned()
            .ok_or_else(|| Error::argument("no DRX cycle"))
    }
}

impl Element<ie::TAIListForPaging> for Vec<Tai> {
    /// None of no area.
    fn read(list: ngap::TAIListForPaging) -> Option<Self> {
        let areas = list.0.iter();
        let areas: Self = areas
            .filter_map(|item| value::read_tai(&item.tai))
            .collect();
        (!areas.is_empty()).then_some(areas)
    }

    fn write(&self) -> Result<ngap::TAIListForPaging, Error> {
        let item = |tai| ngap::TAIListForPagingItem::new(value::tai(tai), None);
        let areas = self.iter().take(AREAS).map(item).collect();
        Ok(ngap::TAIListForPaging(areas))
    }
}

impl Element<ie::AssistanceDataForPaging> for (u8, u8) {
    fn read(assistance: ngap::AssistanceDataForPaging) -> Option<Self> {
        let told = assistance.paging_attempt_information;
        Some(told.map_or((1, 1), |told| {
            let attempts = told.intended_number_of_paging_attempts.0;
            (told.paging_attempt_count.0 as u8, attempts as u8)
        }))
    }

    fn write(&self) -> Result<ngap::AssistanceDataForPaging, Error> {
        let attempt = ngap::PagingAttemptInformation::new(
            ngap::PagingAttemptCount(self.0.clamp(1, 16).into()),
            ngap::IntendedNumberOfPagingAttempts(self.1.clamp(1, 16).into()),
            None,
            None,
        );
        Ok(ngap::AssistanceDataForPaging::new(
            None,
            Some(attempt),
            None,
        ))
    }
}
