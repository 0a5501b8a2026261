//! Results for user planes that a UE requested again (TS 24.501, 9.11.3.42 and 9.11.3.43).

use oxirush_nas::nas_5gs as nas;

use crate::cause::Cause;
use crate::lists;

/// Results for the sessions that a UE named as those with data to send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reactivation {
    /// Sessions that are not up again, with causes.
    pub failed: Vec<(u8, Cause)>,
}

type Result = nas::NasPduSessionReactivationResult;
type ErrorCause = nas::NasPduSessionReactivationResultErrorCause;

impl Reactivation {
    /// As the IEs have it: a bit for each that failed, and its cause where any did.
    pub(crate) fn write(&self) -> (Result, Option<ErrorCause>) {
        let bits = self
            .failed
            .iter()
            .map(|(session, _)| 1_u16 << (session & 15));
        let bits = bits.fold(0, |all, bit| all | bit);
        let causes = lists::causes(&self.failed);
        let causes = (!causes.is_empty()).then(|| ErrorCause::new(causes));
        (Result::new(bits.to_le_bytes().to_vec()), causes)
    }

    /// Of the IEs; none if the first is not there.
    pub(crate) fn read(result: Option<&Result>, causes: Option<&ErrorCause>) -> Option<Self> {
        let bits = lists::status(&result?.value)?;
        let told = causes.map(|causes| lists::read_causes(&causes.value));
        let told = told.unwrap_or_default();
        let cause = |session: u8| {
            let found = told.iter().find(|(of, _)| *of == session);
            found.map_or(Cause::PROTOCOL_ERROR, |(_, cause)| *cause)
        };
        let failed = (1..16).filter(|session| bits & 1 << session != 0);
        let failed = failed.map(|session| (session, cause(session))).collect();
        Some(Self { failed })
    }
}
