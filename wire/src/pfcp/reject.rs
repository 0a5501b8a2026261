//! Parse errors: the cause and the offending IE that a response names.

use core::fmt;

use super::cause::Cause;
use super::ie_type::IeType;

/// What a rejecting response says: Cause (TS 29.244, 8.2.1) and Offending IE (8.2.22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reject {
    /// The cause of the rejection.
    pub cause: Cause,
    /// The type of the IE that is missing, wrong or too many.
    pub offending_ie: Option<IeType>,
}

impl Reject {
    /// A rejection that names an IE.
    pub const fn new(cause: Cause, offending_ie: IeType) -> Self {
        Self {
            cause,
            offending_ie: Some(offending_ie),
        }
    }

    /// A mandatory IE is absent (7.6.6).
    pub const fn mandatory_missing(ie: IeType) -> Self {
        Self::new(Cause::MANDATORY_IE_MISSING, ie)
    }

    /// A conditional IE is absent though its condition holds (7.6.6).
    pub const fn conditional_missing(ie: IeType) -> Self {
        Self::new(Cause::CONDITIONAL_IE_MISSING, ie)
    }

    /// An IE is shorter than its contents (7.6.7).
    pub const fn invalid_length(ie: IeType) -> Self {
        Self::new(Cause::INVALID_LENGTH, ie)
    }

    /// An IE holds a value that the TS does not allow (7.6.8).
    pub const fn incorrect(ie: IeType) -> Self {
        Self::new(Cause::MANDATORY_IE_INCORRECT, ie)
    }

    /// An IE is repeated more often than [`crate::limits`] allows.
    pub const fn too_many(ie: IeType) -> Self {
        Self::new(Cause::NO_RESOURCES_AVAILABLE, ie)
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offending_ie {
            Some(ie) => write!(f, "{}: {ie}", self.cause),
            None => self.cause.fmt(f),
        }
    }
}

impl core::error::Error for Reject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_names_cause_and_ie() {
        let reject = Reject::mandatory_missing(IeType::FAR_ID);
        assert_eq!(
            reject.to_string(),
            "Mandatory IE missing (66): FAR ID (108)"
        );
    }
}
