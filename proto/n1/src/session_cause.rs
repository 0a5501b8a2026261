//! 5GSM cause values (TS 24.501, 9.11.4.2).

use std::fmt;

/// Why a session is refused, cut or released.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionCause(pub u8);

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        impl SessionCause {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// In the words of the TS.
            pub fn text(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "not named",
                }
            }
        }
    };
}

causes! {
    /// No address, or no room.
    INSUFFICIENT_RESOURCES = 26, "insufficient resources";
    /// No data network of this name.
    UNKNOWN_DNN = 27, "missing or unknown DNN";
    /// The data network has none of this type.
    UNKNOWN_SESSION_TYPE = 28, "unknown PDU session type";
    /// Anything else.
    REJECTED = 31, "request rejected, unspecified";
    /// The requested service option is not supported.
    NOT_SUPPORTED = 32, "service option not supported";
    /// The requested service option is not subscribed.
    NOT_SUBSCRIBED = 33, "requested service option not subscribed";
    /// Another procedure has this identity.
    PTI_IN_USE = 35, "PTI already in use";
    /// No such flow for this session.
    QOS_NOT_ACCEPTED = 37, "5GS QoS not accepted";
    /// Nothing is wrong.
    REGULAR_DEACTIVATION = 36, "regular deactivation";
    /// The network fails.
    NETWORK_FAILURE = 38, "network failure";
    /// The UE shall ask for the session again.
    REACTIVATION_REQUESTED = 39, "reactivation requested";
    /// No session of this identity.
    INVALID_SESSION_IDENTITY = 43, "invalid PDU session identity";
    /// Filters contradict each other or themselves.
    SEMANTICS_OF_FILTERS = 44, "semantic errors in packet filters";
    /// Filters cannot be read.
    SYNTAX_OF_FILTERS = 45, "syntactical error in packet filters";
    /// IPv4 alone, where both were asked for.
    IPV4_ONLY = 50, "PDU session type IPv4 only allowed";
    /// IPv6 alone, where both were asked for.
    IPV6_ONLY = 51, "PDU session type IPv6 only allowed";
    /// The session of a handover is not there.
    SESSION_DOES_NOT_EXIST = 54, "PDU session does not exist";
    /// No flow of this 5QI.
    UNSUPPORTED_FIVE_QI = 59, "unsupported 5QI value";
    /// Only SSC mode 1 is there.
    SSC_MODE_NOT_SUPPORTED = 68, "not supported SSC mode";
    /// No data network of this name in the slice.
    UNKNOWN_DNN_IN_SLICE = 70, "missing or unknown DNN in a slice";
    /// No procedure has this identity.
    INVALID_PTI = 81, "invalid PTI value";
    /// The UE cannot protect what integrity protection is required of.
    INTEGRITY_RATE_TOO_LOW = 82, "maximum data rate per UE for user-plane integrity protection is too low";
    /// Rules or flows that do not fit what there is.
    SEMANTICS_OF_QOS = 83, "semantic error in the QoS operation";
    /// Rules or flows that cannot be read.
    SYNTAX_OF_QOS = 84, "syntactical error in the QoS operation";
    /// A message of a procedure that is not there.
    PTI_MISMATCH = 47, "PTI mismatch";
    /// An IE that must be there is missing or wrong.
    INVALID_MANDATORY_INFORMATION = 96, "invalid mandatory information";
    /// There is no such message, or not here.
    MESSAGE_TYPE = 97, "message type non-existent or not implemented";
    /// The message does not fit the state.
    NOT_COMPATIBLE_WITH_STATE = 98, "message type not compatible with the protocol state";
    /// Anything else of the protocol.
    PROTOCOL_ERROR = 111, "protocol error, unspecified";
}

impl fmt::Display for SessionCause {
    /// `#27 (missing or unknown DNN)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} ({})", self.0, self.text())
    }
}

impl fmt::Debug for SessionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
