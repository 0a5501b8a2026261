//! Protection of a session's user plane (TS 23.501, 5.10.3): what is wanted of gNBs, and whether they do so.

use sluice_ids::{UpProtection, UpSecurity};
use sluice_n1::{IntegrityRate, IntegrityRates, SessionCause};
use sluice_n2::{Cause, ProtectedRate, SecurityIndication, SecurityResult};

/// Protection of a session's user plane. The policy is that of its establishment as long as the session is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Security {
    /// The subscription's, else the data network's; none leaves it to gNBs.
    pub policy: Option<UpSecurity>,
    /// How fast the UE protects the integrity.
    pub rates: IntegrityRates,
    /// Security Result that its gNB reported last.
    pub result: Option<SecurityResult>,
}

impl Security {
    /// Of a new session of this session AMBR, down and up.
    ///
    /// # Errors
    /// The policy requires integrity protection, and the UE is slower than its session may be.
    pub fn new(
        policy: Option<UpSecurity>,
        rates: IntegrityRates,
        (down_bps, up_bps): (u64, u64),
    ) -> Result<Self, SessionCause> {
        let is_required = policy.is_some_and(|one| one.integrity == UpProtection::Required);
        let reaches = rates.down.reaches(down_bps) && rates.up.reaches(up_bps);
        if is_required && !reaches {
            return Err(SessionCause::INTEGRITY_RATE_TOO_LOW);
        }
        Ok(Self {
            policy,
            rates,
            result: None,
        })
    }

    /// Security Indication for a gNB.
    pub fn indication(&self) -> Option<SecurityIndication> {
        let policy = self.policy?;
        let rate = |rate| match rate {
            IntegrityRate::Full => ProtectedRate::MaximumUeRate,
            IntegrityRate::Kbps64 | IntegrityRate::Null => ProtectedRate::Kbps64,
        };
        let rates = (rate(self.rates.up), rate(self.rates.down));
        let has_rates = policy.integrity != UpProtection::NotNeeded;
        Some(SecurityIndication {
            policy,
            rates: has_rates.then_some(rates),
        })
    }

    /// Whether a gNB that says this does what is required; one that says nothing of it does.
    pub fn is_fulfilled_by(&self, result: Option<SecurityResult>) -> bool {
        self.lacks(result).is_none()
    }

    /// Cause that names what is required and not done by a gNB that says this.
    pub fn lacks(&self, result: Option<SecurityResult>) -> Option<Cause> {
        let (result, policy) = result.zip(self.policy)?;
        result.lacks(policy)
    }

    /// Whether a gNB refuses the session for this cause since it cannot do what is required.
    pub fn is_why(&self, cause: Cause) -> bool {
        let required = |wanted| wanted == UpProtection::Required;
        self.policy.is_some_and(|policy| {
            cause == Cause::NO_UP_INTEGRITY && required(policy.integrity)
                || cause == Cause::NO_UP_CONFIDENTIALITY && required(policy.confidentiality)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(integrity: UpProtection) -> Option<UpSecurity> {
        Some(UpSecurity {
            integrity,
            confidentiality: UpProtection::Required,
        })
    }

    fn rates(up: IntegrityRate, down: IntegrityRate) -> IntegrityRates {
        IntegrityRates { up, down }
    }

    #[test]
    fn integrity_is_required_of_a_ue_that_is_fast_enough() {
        use IntegrityRate::{Full, Kbps64, Null};
        let new = |wanted, rates, ambr| Security::new(policy(wanted), rates, ambr).map(|_| ());
        let low = Err(SessionCause::INTEGRITY_RATE_TOO_LOW);
        let required = UpProtection::Required;
        assert_eq!(new(required, rates(Full, Full), (1_000_000, 1)), Ok(()));
        assert_eq!(new(required, rates(Full, Kbps64), (64_001, 64_000)), low);
        assert_eq!(new(required, rates(Kbps64, Full), (64_000, 64_001)), low);
        assert_eq!(
            new(required, rates(Kbps64, Kbps64), (64_000, 64_000)),
            Ok(())
        );
        assert_eq!(new(required, rates(Null, Null), (1, 1)), low);
        for wanted in [UpProtection::Preferred, UpProtection::NotNeeded] {
            assert_eq!(new(wanted, rates(Null, Kbps64), (64_001, 64_001)), Ok(()));
        }
        assert!(Security::new(None, rates(Null, Null), (1, 1)).is_ok());
    }

    #[test]
    fn rates_are_told_where_integrity_may_be_protected() {
        let told = |wanted| {
            let up = rates(IntegrityRate::Full, IntegrityRate::Null);
            let security = Security::new(policy(wanted), up, (1, 1));
            security.ok().and_then(|one| one.indication()?.rates)
        };
        let slow = (ProtectedRate::MaximumUeRate, ProtectedRate::Kbps64);
        assert_eq!(told(UpProtection::Preferred), Some(slow));
        assert_eq!(told(UpProtection::NotNeeded), None);
        assert_eq!(Security::default().indication(), None);
    }

    #[test]
    fn a_cause_counts_where_that_protection_is_required() {
        let security = |wanted| Security {
            policy: policy(wanted),
            ..Security::default()
        };
        assert!(security(UpProtection::Required).is_why(Cause::NO_UP_INTEGRITY));
        assert!(!security(UpProtection::Preferred).is_why(Cause::NO_UP_INTEGRITY));
        assert!(security(UpProtection::Preferred).is_why(Cause::NO_UP_CONFIDENTIALITY));
        assert!(!security(UpProtection::Required).is_why(Cause::NO_RADIO_RESOURCES));
        assert!(!Security::default().is_why(Cause::NO_UP_INTEGRITY));
    }
}
