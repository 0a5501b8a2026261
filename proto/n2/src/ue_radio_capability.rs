//! UE Radio Capability Info Indication (TS 38.413, 8.14.1), and the capability that gNBs need to page a UE.

use oxirush_ngap::{Error, ie, ngap};

use crate::table::{Element, message};
use crate::value::RadioCapability;

message! {
    /// UE Radio Capability Info Indication (9.2.13.1).
    pub struct UeRadioCapability = UERadioCapabilityInfoIndication,
        "UE Radio Capability Info Indication", of ids
    {
        /// Unread by the AMF.
        expected capability: RadioCapability = UERadioCapability,
        /// The part that a gNB needs to page the UE.
        ignorable for_paging: PagingCapability = UERadioCapabilityForPaging,
    }
}

/// UE Radio Capability for Paging (9.3.1.68), unread by the AMF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PagingCapability {
    /// Of NR.
    pub nr: Option<Vec<u8>>,
    /// Of E-UTRA.
    pub eutra: Option<Vec<u8>>,
}

impl Element<ie::UERadioCapabilityForPaging> for PagingCapability {
    fn read(value: ngap::UERadioCapabilityForPaging<'_>) -> Option<Self> {
        let nr = value.ue_radio_capability_for_paging_of_nr;
        let eutra = value.ue_radio_capability_for_paging_of_eutra;
        Some(Self {
            nr: nr.map(|octets| octets.0.to_vec()),
            eutra: eutra.map(|octets| octets.0.to_vec()),
        })
    }

    fn write(&self) -> Result<ngap::UERadioCapabilityForPaging<'static>, Error> {
        let (nr, eutra) = (self.nr.clone(), self.eutra.clone());
        Ok(ngap::UERadioCapabilityForPaging::new(
            nr.map(|octets| ngap::UERadioCapabilityForPagingOfNR(octets.into())),
            eutra.map(|octets| ngap::UERadioCapabilityForPagingOfEUTRA(octets.into())),
            None,
        ))
    }
}
