//! 5GMM cause values (TS 24.501, 9.11.3.2).

use std::fmt;

/// Why a UE or an AMF refuses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cause(pub u8);

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        impl Cause {
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
    /// The subscriber is unknown, or is barred.
    ILLEGAL_UE = 3, "illegal UE";
    /// The device is not accepted.
    ILLEGAL_ME = 6, "illegal ME";
    /// The subscriber has no 5G subscription.
    SERVICES_NOT_ALLOWED = 7, "5GS services not allowed";
    /// The network knows no UE of this identity.
    IDENTITY_UNKNOWN = 9, "UE identity cannot be derived by the network";
    /// The network has deregistered the UE by itself.
    IMPLICITLY_DEREGISTERED = 10, "implicitly deregistered";
    /// This PLMN is not for the UE.
    PLMN_NOT_ALLOWED = 11, "PLMN not allowed";
    /// This tracking area is not for the UE.
    TRACKING_AREA_NOT_ALLOWED = 12, "tracking area not allowed";
    /// No cell of this area is suitable.
    NO_SUITABLE_CELLS = 15, "no suitable cells in tracking area";
    /// The challenge is not from the home network.
    MAC_FAILURE = 20, "MAC failure";
    /// The challenge's sequence number is out of range.
    SYNCH_FAILURE = 21, "synch failure";
    /// Too busy.
    CONGESTION = 22, "congestion";
    /// No algorithm is common, or the replayed capabilities are others.
    SECURITY_CAPABILITIES_MISMATCH = 23, "UE security capabilities mismatch";
    /// The UE did not like the Security Mode Command.
    SECURITY_MODE_REJECTED = 24, "security mode rejected, unspecified";
    /// The challenge is not meant for 5G.
    NON_5G_AUTHENTICATION = 26, "non-5G authentication unacceptable";
    /// No slice is allowed.
    NO_NETWORK_SLICES = 62, "no network slices available";
    /// The UE has as many sessions as there may be.
    MAXIMUM_SESSIONS = 65, "maximum number of PDU sessions reached";
    /// The slice and DNN have no room.
    INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN = 67, "insufficient resources for specific slice and DNN";
    /// The slice has no room.
    INSUFFICIENT_RESOURCES_FOR_SLICE = 69, "insufficient resources for specific slice";
    /// The key set identifier is in use.
    NGKSI_IN_USE = 71, "ngKSI already in use";
    /// The slice has no such data network, or the subscriber may not use it.
    DNN_NOT_SUPPORTED = 91, "DNN not supported or not subscribed in the slice";
    /// No room for the user plane.
    INSUFFICIENT_USER_PLANE_RESOURCES = 92, "insufficient user-plane resources for the PDU session";
    /// The payload of the message was not forwarded.
    PAYLOAD_NOT_FORWARDED = 90, "payload was not forwarded";
    /// The message makes no sense.
    SEMANTICALLY_INCORRECT = 95, "semantically incorrect message";
    /// An IE that must be there is missing or wrong.
    INVALID_MANDATORY_INFORMATION = 96, "invalid mandatory information";
    /// There is no such message, or not here.
    MESSAGE_TYPE = 97, "message type non-existent or not implemented";
    /// The message does not fit the state.
    NOT_COMPATIBLE_WITH_STATE = 98, "message type not compatible with the protocol state";
    /// Anything else.
    PROTOCOL_ERROR = 111, "protocol error, unspecified";
}

impl fmt::Display for Cause {
    /// `#20 (MAC failure)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} ({})", self.0, self.text())
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
