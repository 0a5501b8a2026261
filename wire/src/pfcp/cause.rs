//! Cause values (TS 29.244, 8.2.1, Table 8.2.1-1).

use core::fmt;

use super::element::{Element, Fault, Reader};
use super::writer::{Full, Writer};

/// Whether a request was accepted, or why it was not. Values without a name here are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cause(pub u8);

impl Cause {
    /// Values 1 to 63 accept the request, wholly or in part; 64 to 255 reject it.
    pub const fn is_acceptance(self) -> bool {
        self.0 >= 1 && self.0 < 64
    }
}

macro_rules! causes {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl Cause {
            $(
                #[doc = concat!($name, ": value ", $number, ".")]
                pub const $constant: Self = Self($number);
            )*

            /// The name that the TS gives this value.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

causes! {
    REQUEST_ACCEPTED = 1, "Request accepted (success)";
    MORE_USAGE_REPORT_TO_SEND = 2, "More Usage Report to send";
    REQUEST_PARTIALLY_ACCEPTED = 3, "Request partially accepted";
    REQUEST_REJECTED = 64, "Request rejected (reason not specified)";
    SESSION_CONTEXT_NOT_FOUND = 65, "Session context not found";
    MANDATORY_IE_MISSING = 66, "Mandatory IE missing";
    CONDITIONAL_IE_MISSING = 67, "Conditional IE missing";
    INVALID_LENGTH = 68, "Invalid length";
    MANDATORY_IE_INCORRECT = 69, "Mandatory IE incorrect";
    INVALID_FORWARDING_POLICY = 70, "Invalid Forwarding Policy";
    INVALID_F_TEID_ALLOCATION_OPTION = 71, "Invalid F-TEID allocation option";
    NO_ESTABLISHED_PFCP_ASSOCIATION = 72, "No established PFCP Association";
    RULE_CREATION_MODIFICATION_FAILURE = 73, "Rule creation/modification Failure";
    PFCP_ENTITY_IN_CONGESTION = 74, "PFCP entity in congestion";
    NO_RESOURCES_AVAILABLE = 75, "No resources available";
    SERVICE_NOT_SUPPORTED = 76, "Service not supported";
    SYSTEM_FAILURE = 77, "System failure";
    REDIRECTION_REQUESTED = 78, "Redirection Requested";
    ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED = 79, "All dynamic addresses are occupied";
    UNKNOWN_PREDEFINED_RULE = 80, "Unknown Pre-defined Rule";
    UNKNOWN_APPLICATION_ID = 81, "Unknown Application ID";
    L2TP_TUNNEL_ESTABLISHMENT_FAILURE = 82, "L2TP tunnel Establishment failure";
    L2TP_SESSION_ESTABLISHMENT_FAILURE = 83, "L2TP session Establishment failure";
    L2TP_TUNNEL_RELEASE = 84, "L2TP tunnel release";
    L2TP_SESSION_RELEASE = 85, "L2TP session release";
    PFCP_SESSION_RESTORATION_FAILURE = 86,
        "PFCP session restoration failure due to requested resource not available";
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cause({self})")
    }
}

/// Prints the name and the number, or the number alone when it has no name here.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "cause {}", self.0),
        }
    }
}

impl Element<'_> for Cause {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        Reader::new(value).u8().map(Self)
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        out.u8(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acceptance_ends_below_64() {
        assert!(Cause::REQUEST_PARTIALLY_ACCEPTED.is_acceptance());
        assert!(!Cause(0).is_acceptance());
        assert!(Cause(63).is_acceptance());
        assert!(!Cause::REQUEST_REJECTED.is_acceptance());
    }

    #[test]
    fn a_cause_prints_its_name_and_number() {
        assert_eq!(Cause(69).to_string(), "Mandatory IE incorrect (69)");
        assert_eq!(Cause(200).to_string(), "cause 200");
    }
}
