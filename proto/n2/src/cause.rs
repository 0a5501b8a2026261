//! Causes of NGAP (TS 38.413, 9.3.1.2).

use std::fmt;

use oxirush_ngap::ngap;

/// Why something is done or refused: a group, and its number in the ASN.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// Of the radio network.
    RadioNetwork(u8),
    /// Of the transport.
    Transport(u8),
    /// Of NAS.
    Nas(u8),
    /// Of the protocol.
    Protocol(u8),
    /// Of none of these.
    Misc(u8),
    /// Of a later release.
    #[default]
    Unknown,
}

impl Cause {
    /// A handover in preparation takes too long (TNGRELOCprep).
    pub const PREPARATION_EXPIRED: Self = Self::RadioNetwork(10);
    /// The UE has been handed over.
    pub const SUCCESSFUL_HANDOVER: Self = Self::RadioNetwork(2);
    /// A handover is given up.
    pub const HANDOVER_CANCELLED: Self = Self::RadioNetwork(5);
    /// The UE has not come in time (TNGRELOCoverall).
    pub const HANDOVER_EXPIRED: Self = Self::RadioNetwork(9);
    /// The target, or the core, cannot do what a handover needs.
    pub const HANDOVER_FAILED: Self = Self::RadioNetwork(7);
    /// Nobody knows the target.
    pub const UNKNOWN_TARGET: Self = Self::RadioNetwork(12);
    /// The target has no room.
    pub const NO_RADIO_RESOURCES: Self = Self::RadioNetwork(13);
    /// A handover is wanted since the radio wants it.
    pub const DESIRABLE_FOR_RADIO: Self = Self::RadioNetwork(16);
    /// Another procedure of the UE is under way.
    pub const INTERACTION: Self = Self::RadioNetwork(25);
    /// A PDU session that nobody knows.
    pub const UNKNOWN_SESSION: Self = Self::RadioNetwork(26);
    /// A QoS flow that the session does not have.
    pub const UNKNOWN_FLOW: Self = Self::RadioNetwork(27);
    /// A PDU session that is named twice.
    pub const SESSION_TWICE: Self = Self::RadioNetwork(28);
    /// The UE leaves by N2.
    pub const N2_HANDOVER_TRIGGERED: Self = Self::RadioNetwork(31);
    /// The UE leaves by Xn.
    pub const XN_HANDOVER_TRIGGERED: Self = Self::RadioNetwork(33);
    /// The UE is not used.
    pub const USER_INACTIVITY: Self = Self::RadioNetwork(20);
    /// The radio lost the UE.
    pub const RADIO_LOST: Self = Self::RadioNetwork(21);
    /// A local UE identity that nobody knows.
    pub const UNKNOWN_LOCAL_ID: Self = Self::RadioNetwork(14);
    /// Identities that do not belong together.
    pub const INCONSISTENT_REMOTE_ID: Self = Self::RadioNetwork(15);
    /// Integrity of the user plane cannot be protected.
    pub const NO_UP_INTEGRITY: Self = Self::RadioNetwork(37);
    /// Confidentiality of the user plane cannot be protected.
    pub const NO_UP_CONFIDENTIALITY: Self = Self::RadioNetwork(38);
    /// A slice that is not there.
    pub const SLICE_NOT_SUPPORTED: Self = Self::RadioNetwork(39);
    /// No room on the radio.
    pub const RADIO_RESOURCES_NOT_AVAILABLE: Self = Self::RadioNetwork(22);
    /// The 5GC's own reasons.
    pub const FROM_5GC: Self = Self::RadioNetwork(4);
    /// Done with the UE.
    pub const NORMAL_RELEASE: Self = Self::Nas(0);
    /// The UE did not prove who it is.
    pub const AUTHENTICATION_FAILURE: Self = Self::Nas(1);
    /// The UE leaves.
    pub const DEREGISTER: Self = Self::Nas(2);
    /// Of NAS.
    pub const NAS_UNSPECIFIED: Self = Self::Nas(3);
    /// Octets that are no message.
    pub const TRANSFER_SYNTAX: Self = Self::Protocol(0);
    /// Something that must be understood is not.
    pub const ABSTRACT_SYNTAX_REJECT: Self = Self::Protocol(1);
    /// Something that should be understood is not.
    pub const ABSTRACT_SYNTAX_NOTIFY: Self = Self::Protocol(2);
    /// A message at the wrong time.
    pub const NOT_COMPATIBLE_WITH_STATE: Self = Self::Protocol(3);
    /// A message that makes no sense.
    pub const SEMANTIC_ERROR: Self = Self::Protocol(4);
    /// IEs twice, or in a wrong order.
    pub const FALSELY_CONSTRUCTED: Self = Self::Protocol(5);
    /// Too much to do.
    pub const CONTROL_PROCESSING_OVERLOAD: Self = Self::Misc(0);
    /// The user plane has no room, or cannot do it.
    pub const NO_USER_PLANE_RESOURCES: Self = Self::Misc(1);
    /// None of the PLMNs is served here.
    pub const UNKNOWN_PLMN: Self = Self::Misc(4);
    /// Anything else.
    pub const UNSPECIFIED: Self = Self::Misc(5);

    /// Whether it says that the UE is about to go to another gNB, or to come (TS 38.413, 9.3.1.2): what is
    /// refused for it may be tried again there.
    pub fn is_handover(self) -> bool {
        // Within NG-RAN by N2, to another system, by Xn.
        matches!(self, Self::RadioNetwork(31..=33))
    }

    /// Whether a gNB says by it that it cannot protect the user plane as it is required (TS 23.501, 5.10.3).
    pub fn is_up_security(self) -> bool {
        matches!(self, Self::NO_UP_INTEGRITY | Self::NO_UP_CONFIDENTIALITY)
    }

    pub(crate) fn of_asn1(cause: &ngap::Cause) -> Self {
        match cause {
            ngap::Cause::radioNetwork(value) => Self::RadioNetwork(*value as u8),
            ngap::Cause::transport(value) => Self::Transport(*value as u8),
            ngap::Cause::nas(value) => Self::Nas(*value as u8),
            ngap::Cause::protocol(value) => Self::Protocol(*value as u8),
            ngap::Cause::misc(value) => Self::Misc(*value as u8),
            _ => Self::Unknown,
        }
    }

    /// As the codec names it; a number that we never send is "unspecified" of its group.
    pub(crate) fn as_asn1(self) -> ngap::Cause {
        use ngap::CauseTransport as Transport;
        use ngap::{CauseMisc as Misc, CauseNas as Nas, CauseProtocol as Protocol};
        match self {
            Self::RadioNetwork(number) => ngap::Cause::radioNetwork(radio(number)),
            Self::Transport(0) => ngap::Cause::transport(Transport::transport_resource_unavailable),
            Self::Transport(_) => ngap::Cause::transport(Transport::unspecified),
            Self::Nas(number) => ngap::Cause::nas(match number {
                0 => Nas::normal_release,
                1 => Nas::authentication_failure,
                2 => Nas::deregister,
                _ => Nas::unspecified,
            }),
            Self::Protocol(number) => ngap::Cause::protocol(match number {
                0 => Protocol::transfer_syntax_error,
                1 => Protocol::abstract_syntax_error_reject,
                2 => Protocol::abstract_syntax_error_ignore_and_notify,
                3 => Protocol::message_not_compatible_with_receiver_state,
                4 => Protocol::semantic_error,
                5 => Protocol::abstract_syntax_error_falsely_constructed_message,
                _ => Protocol::unspecified,
            }),
            Self::Misc(number) => ngap::Cause::misc(match number {
                0 => Misc::control_processing_overload,
                1 => Misc::not_enough_user_plane_processing_resources,
                2 => Misc::hardware_failure,
                3 => Misc::om_intervention,
                4 => Misc::unknown_PLMN_or_SNPN,
                _ => Misc::unspecified,
            }),
            Self::Unknown => ngap::Cause::misc(Misc::unspecified),
        }
    }
}

/// Values of the radio network in the first version of the protocol; later ones are an extension.
const FIRST_VALUES: u8 = 45;

/// The value of this number: there are too many to name each. It is read from its encoding: a bit
/// that says whether it is an extension, and its number in six bits, or in seven of an extension.
fn radio(number: u8) -> ngap::CauseRadioNetwork {
    let octet = if number < FIRST_VALUES {
        number << 1
    } else {
        0x80 | (number - FIRST_VALUES) & 0x3f
    };
    let read = ngap::decode_open_type(&[octet]);
    let is_it = |cause: &ngap::CauseRadioNetwork| *cause as u8 == number;
    read.ok()
        .filter(is_it)
        .unwrap_or(ngap::CauseRadioNetwork::unspecified)
}

/// Words of the ASN.1 that clause 9.3.1.2 writes otherwise.
const WORDS: [(&str, &str); 27] = [
    ("txnrelocoverall", "TXnRELOCoverall"),
    ("tngrelocoverall", "TNGRELOCoverall"),
    ("tngrelocprep", "TNGRELOCprep"),
    ("ngran", "NG-RAN"),
    ("5gc", "5GC"),
    ("ho", "handover"),
    ("targetID", "target ID"),
    ("unkown", "unknown"),
    ("qos", "QoS"),
    ("ue", "UE"),
    ("uE", "UE"),
    ("ng", "NG"),
    ("xn", "Xn"),
    ("ims", "IMS"),
    ("eps", "EPS"),
    ("rat", "RAT"),
    ("up", "UP"),
    ("rrc", "RRC"),
    ("cn", "CN"),
    ("n26", "N26"),
    ("rsn", "RSN"),
    ("npn", "NPN"),
    ("cag", "CAG"),
    ("redcap", "RedCap"),
    ("mbs", "MBS"),
    ("om", "O&M"),
    ("iAB", "IAB"),
];

/// The name of clause 9.3.1.2, of that in the ASN.1.
fn words(name: &str) -> String {
    if let Some(how) = name.strip_prefix("abstract_syntax_error_") {
        return format!("abstract syntax error ({})", how.replace('_', " "));
    }
    let word = |word| {
        let known = WORDS.iter().find(|(asn1, _)| *asn1 == word);
        known.map_or(word, |(_, name)| *name)
    };
    let all: Vec<&str> = name.split('_').map(word).collect();
    all.join(" ")
}

impl fmt::Display for Cause {
    /// `radio network: user inactivity`, by the names of 9.3.1.2.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (group, name) = match self.as_asn1() {
            _ if *self == Self::Unknown => return f.write_str("a cause of a later release"),
            ngap::Cause::radioNetwork(value) => ("radio network", format!("{value:?}")),
            ngap::Cause::transport(value) => ("transport", format!("{value:?}")),
            ngap::Cause::nas(value) => ("NAS", format!("{value:?}")),
            ngap::Cause::protocol(value) => ("protocol", format!("{value:?}")),
            ngap::Cause::misc(value) => ("miscellaneous", format!("{value:?}")),
            _ => return f.write_str("a cause of a later release"),
        };
        write!(f, "{group}: {}", words(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_of_the_radio_network_is_written_as_itself() {
        // Those of Release 17 end with 54 at least.
        for number in 0..=54 {
            assert_eq!(
                Cause::of_asn1(&Cause::RadioNetwork(number).as_asn1()),
                Cause::RadioNetwork(number)
            );
        }
        assert_eq!(
            Cause::of_asn1(&Cause::RadioNetwork(255).as_asn1()),
            Cause::RadioNetwork(0)
        );
    }

    #[test]
    fn a_cause_is_shown_by_its_name() {
        let shown = [
            (Cause::UNKNOWN_PLMN, "miscellaneous: unknown PLMN or SNPN"),
            (Cause::USER_INACTIVITY, "radio network: user inactivity"),
            (
                Cause::SLICE_NOT_SUPPORTED,
                "radio network: slice not supported",
            ),
            (
                Cause::PREPARATION_EXPIRED,
                "radio network: TNGRELOCprep expiry",
            ),
            (
                Cause::FALSELY_CONSTRUCTED,
                "protocol: abstract syntax error (falsely constructed message)",
            ),
            (Cause::NORMAL_RELEASE, "NAS: normal release"),
            (
                Cause::NO_UP_INTEGRITY,
                "radio network: UP integrity protection not possible",
            ),
            (
                Cause::NO_UP_CONFIDENTIALITY,
                "radio network: UP confidentiality protection not possible",
            ),
            (
                Cause::HANDOVER_FAILED,
                "radio network: handover failure in target 5GC NG-RAN node or target system",
            ),
            (Cause::Unknown, "a cause of a later release"),
        ];
        for (cause, name) in shown {
            assert_eq!(cause.to_string(), name);
        }
        // None shows how the program calls it.
        for number in 0..=64 {
            let shown = Cause::RadioNetwork(number).to_string();
            assert!(!shown.contains(['_', '{', '(']), "{shown}");
        }
    }
}
