//! User plane security of PDU sessions (TS 38.413, 9.3.1.27, 9.3.1.59 and 9.3.1.60): what the SMF wants of a gNB, and
//! what the gNB does.

use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};
use oxirush_ngap::{Error, ie};
use sluice_ids::{UpProtection, UpSecurity};

use crate::cause::Cause;
use crate::table::Element;

/// Maximum Integrity Protected Data Rate (9.3.1.103).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtectedRate {
    /// 64 kbit/s.
    Kbps64,
    /// As fast as the UE's radio.
    MaximumUeRate,
}

/// Security Indication (9.3.1.27).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityIndication {
    /// Policy.
    pub policy: UpSecurity,
    /// How fast the UE protects the integrity, up and down; told where that is required or preferred.
    pub rates: Option<(ProtectedRate, ProtectedRate)>,
}

/// Security Result (9.3.1.59): whether the gNB protects integrity and confidentiality.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityResult {
    /// Integrity protection is performed.
    pub integrity: bool,
    /// Confidentiality protection is performed.
    pub confidentiality: bool,
}

impl SecurityResult {
    /// Cause that names a protection which the policy requires and which is not performed.
    pub fn lacks(self, policy: UpSecurity) -> Option<Cause> {
        let is_missing = |wanted, is_done: bool| wanted == UpProtection::Required && !is_done;
        if is_missing(policy.integrity, self.integrity) {
            return Some(Cause::NO_UP_INTEGRITY);
        }
        let is_readable = is_missing(policy.confidentiality, self.confidentiality);
        is_readable.then_some(Cause::NO_UP_CONFIDENTIALITY)
    }
}

/// User Plane Security Information (9.3.1.60): what a gNB was told of a session before, and what it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpSecurityInformation {
    /// Protection that is performed.
    pub result: SecurityResult,
    /// Indication that the gNB has.
    pub indication: SecurityIndication,
}

impl ProtectedRate {
    fn write(self) -> ngap::MaximumIntegrityProtectedDataRate {
        use ngap::MaximumIntegrityProtectedDataRate as Rate;
        match self {
            Self::Kbps64 => Rate::bitrate64kbs,
            Self::MaximumUeRate => Rate::maximum_UE_rate,
        }
    }

    /// One of a later release is none that we may count on.
    fn read(rate: ngap::MaximumIntegrityProtectedDataRate) -> Self {
        match rate {
            ngap::MaximumIntegrityProtectedDataRate::maximum_UE_rate => Self::MaximumUeRate,
            _ => Self::Kbps64,
        }
    }
}

/// Maximum Integrity Protected Data Rate Downlink, an extension of the Security Indication.
const RATE_DOWN: u16 = 151;

impl SecurityIndication {
    pub(crate) fn as_asn1(&self) -> ngap::SecurityIndication {
        use ngap::ConfidentialityProtectionIndication as Confidentiality;
        use ngap::IntegrityProtectionIndication as Integrity;
        let integrity = match self.policy.integrity {
            UpProtection::Required => Integrity::required,
            UpProtection::Preferred => Integrity::preferred,
            UpProtection::NotNeeded => Integrity::not_needed,
        };
        let confidentiality = match self.policy.confidentiality {
            UpProtection::Required => Confidentiality::required,
            UpProtection::Preferred => Confidentiality::preferred,
            UpProtection::NotNeeded => Confidentiality::not_needed,
        };
        let up = self.rates.map(|(up, _)| up.write());
        // Without one of its own the downlink has that of the uplink.
        let down = self.rates.filter(|(up, down)| up != down);
        let down = down.and_then(|(_, down)| {
            let rate = encode_open_type(&down.write()).ok()?;
            let field =
                ngap::ProtocolExtensionField::new(RATE_DOWN, ngap::Criticality::ignore, rate);
            Some(ngap::ProtocolExtensionContainer(vec![field]))
        });
        ngap::SecurityIndication::new(integrity, confidentiality, up, down)
    }

    /// None of a wish of a later release.
    pub(crate) fn of_asn1(value: &ngap::SecurityIndication) -> Option<Self> {
        use ngap::ConfidentialityProtectionIndication as Confidentiality;
        use ngap::IntegrityProtectionIndication as Integrity;
        let integrity = match value.integrity_protection_indication {
            Integrity::required => UpProtection::Required,
            Integrity::preferred => UpProtection::Preferred,
            Integrity::not_needed => UpProtection::NotNeeded,
            _ => return None,
        };
        let confidentiality = match value.confidentiality_protection_indication {
            Confidentiality::required => UpProtection::Required,
            Confidentiality::preferred => UpProtection::Preferred,
            Confidentiality::not_needed => UpProtection::NotNeeded,
            _ => return None,
        };
        let extensions = value.ie_extensions.iter().flat_map(|all| &all.0);
        let mut down = extensions.filter(|one| one.id.0 == RATE_DOWN);
        let down = down.next().and_then(|one| {
            decode_open_type::<ngap::MaximumIntegrityProtectedDataRate>(&one.extension_value).ok()
        });
        let up = value.maximum_integrity_protected_data_rate_ul;
        let rates = up.map(|up| {
            let up = ProtectedRate::read(up);
            (up, down.map_or(up, ProtectedRate::read))
        });
        Some(Self {
            policy: UpSecurity {
                integrity,
                confidentiality,
            },
            rates,
        })
    }
}

impl Element<ie::SecurityIndication> for SecurityIndication {
    fn read(value: ngap::SecurityIndication) -> Option<Self> {
        Self::of_asn1(&value)
    }

    fn write(&self) -> Result<ngap::SecurityIndication, Error> {
        Ok(self.as_asn1())
    }
}

impl SecurityResult {
    pub(crate) fn as_asn1(self) -> ngap::SecurityResult {
        use ngap::ConfidentialityProtectionResult as Confidentiality;
        use ngap::IntegrityProtectionResult as Integrity;
        let integrity = match self.integrity {
            true => Integrity::performed,
            false => Integrity::not_performed,
        };
        let confidentiality = match self.confidentiality {
            true => Confidentiality::performed,
            false => Confidentiality::not_performed,
        };
        ngap::SecurityResult::new(integrity, confidentiality, None)
    }

    pub(crate) fn of_asn1(value: &ngap::SecurityResult) -> Self {
        use ngap::ConfidentialityProtectionResult as Confidentiality;
        use ngap::IntegrityProtectionResult as Integrity;
        Self {
            integrity: value.integrity_protection_result == Integrity::performed,
            confidentiality: value.confidentiality_protection_result == Confidentiality::performed,
        }
    }
}

impl UpSecurityInformation {
    pub(crate) fn as_asn1(&self) -> ngap::UserPlaneSecurityInformation {
        let (result, indication) = (self.result.as_asn1(), self.indication.as_asn1());
        ngap::UserPlaneSecurityInformation::new(result, indication, None)
    }

    pub(crate) fn of_asn1(value: &ngap::UserPlaneSecurityInformation) -> Option<Self> {
        Some(Self {
            result: SecurityResult::of_asn1(&value.security_result),
            indication: SecurityIndication::of_asn1(&value.security_indication)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indications() -> Vec<SecurityIndication> {
        let rates = [
            None,
            Some((ProtectedRate::Kbps64, ProtectedRate::Kbps64)),
            Some((ProtectedRate::MaximumUeRate, ProtectedRate::MaximumUeRate)),
            Some((ProtectedRate::MaximumUeRate, ProtectedRate::Kbps64)),
            Some((ProtectedRate::Kbps64, ProtectedRate::MaximumUeRate)),
        ];
        let policies = UpProtection::ALL.iter().flat_map(|integrity| {
            UpProtection::ALL.iter().map(|confidentiality| UpSecurity {
                integrity: *integrity,
                confidentiality: *confidentiality,
            })
        });
        let with = |policy| rates.map(|rates| SecurityIndication { policy, rates });
        policies.flat_map(with).collect()
    }

    #[test]
    fn an_indication_is_read_as_it_is_written() {
        for indication in indications() {
            assert_eq!(
                SecurityIndication::of_asn1(&indication.as_asn1()),
                Some(indication)
            );
        }
    }

    /// By X.691: marker, two bits that say which optional members follow, an enumeration of three in its marker and
    /// two bits each, one of two in its marker and one bit.
    #[test]
    fn an_indication_is_in_the_octets_of_the_asn1() {
        let indication = SecurityIndication {
            policy: UpSecurity {
                integrity: UpProtection::Required,
                confidentiality: UpProtection::NotNeeded,
            },
            rates: Some((ProtectedRate::MaximumUeRate, ProtectedRate::MaximumUeRate)),
        };
        let octets = encode_open_type(&indication.as_asn1()).expect("in their ranges");
        assert_eq!(octets.as_ref(), [0b0100_0001, 0b0010_0000]);
    }

    #[test]
    fn a_policy_is_fulfilled_by_what_it_requires() {
        let policy = |integrity, confidentiality| UpSecurity {
            integrity,
            confidentiality,
        };
        let result = |integrity, confidentiality| SecurityResult {
            integrity,
            confidentiality,
        };
        let both = policy(UpProtection::Required, UpProtection::Required);
        let [integrity, readable] = [Cause::NO_UP_INTEGRITY, Cause::NO_UP_CONFIDENTIALITY];
        assert_eq!(result(true, true).lacks(both), None);
        assert_eq!(result(false, true).lacks(both), Some(integrity));
        assert_eq!(result(false, false).lacks(both), Some(integrity));
        assert_eq!(result(true, false).lacks(both), Some(readable));
        let neither = policy(UpProtection::Preferred, UpProtection::NotNeeded);
        assert_eq!(result(false, false).lacks(neither), None);
        for result in [result(true, false), result(false, true)] {
            assert_eq!(SecurityResult::of_asn1(&result.as_asn1()), result);
        }
    }
}
