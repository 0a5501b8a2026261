//! Message types (TS 29.244, Table 7.3-1) and sequence numbers (7.2.2.2).

use core::fmt;

/// The type of a PFCP message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageType(pub u8);

macro_rules! message_types {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl MessageType {
            $(
                #[doc = concat!($name, ": type ", $number, ".")]
                pub const $constant: Self = Self($number);
            )*

            /// All types that have a name here.
            pub const ALL: &'static [Self] = &[$(Self($number)),*];

            /// The name that the TS gives this type.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

message_types! {
    HEARTBEAT_REQUEST = 1, "Heartbeat Request";
    HEARTBEAT_RESPONSE = 2, "Heartbeat Response";
    PFD_MANAGEMENT_REQUEST = 3, "PFD Management Request";
    PFD_MANAGEMENT_RESPONSE = 4, "PFD Management Response";
    ASSOCIATION_SETUP_REQUEST = 5, "Association Setup Request";
    ASSOCIATION_SETUP_RESPONSE = 6, "Association Setup Response";
    ASSOCIATION_UPDATE_REQUEST = 7, "Association Update Request";
    ASSOCIATION_UPDATE_RESPONSE = 8, "Association Update Response";
    ASSOCIATION_RELEASE_REQUEST = 9, "Association Release Request";
    ASSOCIATION_RELEASE_RESPONSE = 10, "Association Release Response";
    VERSION_NOT_SUPPORTED_RESPONSE = 11, "Version Not Supported Response";
    NODE_REPORT_REQUEST = 12, "Node Report Request";
    NODE_REPORT_RESPONSE = 13, "Node Report Response";
    SESSION_SET_DELETION_REQUEST = 14, "Session Set Deletion Request";
    SESSION_SET_DELETION_RESPONSE = 15, "Session Set Deletion Response";
    SESSION_SET_MODIFICATION_REQUEST = 16, "Session Set Modification Request";
    SESSION_SET_MODIFICATION_RESPONSE = 17, "Session Set Modification Response";
    SESSION_ESTABLISHMENT_REQUEST = 50, "Session Establishment Request";
    SESSION_ESTABLISHMENT_RESPONSE = 51, "Session Establishment Response";
    SESSION_MODIFICATION_REQUEST = 52, "Session Modification Request";
    SESSION_MODIFICATION_RESPONSE = 53, "Session Modification Response";
    SESSION_DELETION_REQUEST = 54, "Session Deletion Request";
    SESSION_DELETION_RESPONSE = 55, "Session Deletion Response";
    SESSION_REPORT_REQUEST = 56, "Session Report Request";
    SESSION_REPORT_RESPONSE = 57, "Session Report Response";
}

impl MessageType {
    /// Whether it is one of the session's messages, whose header carries a SEID (7.2.2.4.1).
    pub const fn is_session_related(self) -> bool {
        self.0 >= 50 && self.0 <= 57
    }

    /// Whether it is a named message that asks for a response.
    pub const fn is_request(self) -> bool {
        self.response().is_some()
    }

    /// Whether it is a named message that answers a request.
    pub const fn is_response(self) -> bool {
        self.name().is_some() && !self.is_request()
    }

    /// The type that answers this request; `None` for responses and unknown types.
    pub const fn response(self) -> Option<Self> {
        match self.0 {
            1 | 3 | 5 | 7 | 9 | 12 | 14 | 16 | 50 | 52 | 54 | 56 => Some(Self(self.0 + 1)),
            _ => None,
        }
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageType({self})")
    }
}

/// Prints the name, or the number of a type without one.
impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "message {}", self.0),
        }
    }
}

/// Sequence number of a message: 24 bits, the same in a request and its response.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct SequenceNumber(u32);

impl SequenceNumber {
    /// The largest value that 24 bits hold.
    pub const MAX: u32 = 0x00ff_ffff;

    /// `None` above 24 bits.
    pub const fn new(value: u32) -> Option<Self> {
        if value <= Self::MAX {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The low 24 bits of any number, for counters that wrap.
    pub const fn wrapping(value: u32) -> Self {
        Self(value & Self::MAX)
    }

    /// 0 to 16,777,215.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number after this one; 0 follows the largest.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::wrapping(self.0 + 1)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_the_response_after_it() {
        let answer = MessageType::SESSION_REPORT_REQUEST.response();
        assert_eq!(answer, Some(MessageType::SESSION_REPORT_RESPONSE));
        assert_eq!(MessageType::VERSION_NOT_SUPPORTED_RESPONSE.response(), None);
        assert!(MessageType::VERSION_NOT_SUPPORTED_RESPONSE.is_response());
        assert!(!MessageType(99).is_request() && !MessageType(99).is_response());
    }

    #[test]
    fn sequence_numbers_wrap_at_24_bits() {
        assert_eq!(SequenceNumber::wrapping(0xffff_ffff).next().get(), 0);
        assert_eq!(SequenceNumber::new(0x0100_0000), None);
    }
}
