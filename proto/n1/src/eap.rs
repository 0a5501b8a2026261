//! Messages of an authentication by EAP, and what tells it from 5G-AKA (TS 24.501, 8.2.1 and 8.2.3).

use oxirush_nas::nas_5gs as nas;
use sluice_security::{Abba, Autn, Rand};

use crate::downlink::{AuthenticationRequest, Downlink};

/// Authentication Request, or Result, of EAP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EapRequest {
    /// The keys that follow will be called so.
    pub ngksi: u8,
    /// ABBA, to which KAMF is bound.
    pub abba: Abba,
    /// A packet of the home network.
    pub eap: Vec<u8>,
}

impl EapRequest {
    pub(crate) fn request(&self) -> nas::NasAuthenticationRequest {
        let ngksi = nas::NasKeySetIdentifier::new(self.ngksi);
        let abba = nas::NasAbba::new(self.abba.to_vec());
        let eap = nas::NasEapMessage::new(self.eap.clone());
        nas::NasAuthenticationRequest::new(ngksi, abba).with_eap_message(eap)
    }

    pub(crate) fn result(&self) -> nas::NasAuthenticationResult {
        let ngksi = nas::NasKeySetIdentifier::new(self.ngksi);
        let abba = nas::NasAbba::new(self.abba.to_vec());
        let eap = nas::NasEapMessage::new(self.eap.clone());
        nas::NasAuthenticationResult::new(ngksi, eap).with_abba(abba)
    }

    pub(crate) fn of_result(m: &nas::NasAuthenticationResult) -> Self {
        let abba = m.abba.as_ref();
        Self {
            ngksi: m.ngksi.value & 7,
            // None, which is left out after EAP-Failure, is that of Release 17 (8.2.3.2).
            abba: abba
                .and_then(|abba| Abba::try_from(&abba.value[..]).ok())
                .unwrap_or_default(),
            eap: m.eap_message.value.to_vec(),
        }
    }
}

/// Of 5G-AKA, or of EAP.
pub(crate) fn challenge(m: &nas::NasAuthenticationRequest) -> Option<Downlink> {
    let (ngksi, abba) = (m.ngksi.value & 7, Abba::try_from(&m.abba.value[..]).ok()?);
    if let Some(eap) = m.eap_message.as_ref() {
        let eap = eap.value.to_vec();
        return Some(Downlink::EapRequest(EapRequest { ngksi, abba, eap }));
    }
    let rand = &m.authentication_parameter_rand.as_ref()?.value;
    let autn = &m.authentication_parameter_autn.as_ref()?.value;
    Some(Downlink::AuthenticationRequest(AuthenticationRequest {
        ngksi,
        abba,
        rand: Rand::try_from(&rand[..]).ok()?,
        autn: Autn::try_from(&autn[..]).ok()?,
    }))
}
