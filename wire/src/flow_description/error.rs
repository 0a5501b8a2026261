//! Why a text is no flow description, and the word that shows it.

use core::fmt;

/// What is wrong with a flow description, each with the number of the word, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowDescriptionError {
    /// The text ends before this word.
    Ended(u8),
    /// Not `permit`; `deny` is one of the others.
    Action(u8),
    /// Not `out`; `in` is one of the others.
    Direction(u8),
    /// Neither `ip` nor a number up to 255.
    Protocol(u8),
    /// Not `from`.
    From(u8),
    /// An address with `!`.
    Inverted(u8),
    /// Neither `any`, `assigned` nor an IP address.
    Address(u8),
    /// The length behind an address is no number, or exceeds the address.
    PrefixLength(u8),
    /// The other address is of the other family.
    MixedFamilies(u8),
    /// Neither ports nor `to`, or a range whose end is before its beginning.
    Ports(u8),
    /// More than [`super::MAX_PORT_RANGES`] ranges of ports.
    TooManyPorts(u8),
    /// Something behind the addresses and ports: an option, such as `frag`.
    Option(u8),
}

impl FlowDescriptionError {
    /// The number of the word, counted from 1.
    pub const fn word(&self) -> u8 {
        match *self {
            Self::Ended(word)
            | Self::Action(word)
            | Self::Direction(word)
            | Self::Protocol(word)
            | Self::From(word)
            | Self::Inverted(word)
            | Self::Address(word)
            | Self::PrefixLength(word)
            | Self::MixedFamilies(word)
            | Self::Ports(word)
            | Self::TooManyPorts(word)
            | Self::Option(word) => word,
        }
    }

    const fn what(&self) -> &'static str {
        match self {
            Self::Ended(_) => "is missing",
            Self::Action(_) => "is not `permit`",
            Self::Direction(_) => "is not `out`",
            Self::Protocol(_) => "is neither `ip` nor a protocol number",
            Self::From(_) => "is not `from`",
            Self::Inverted(_) => "is an inverted address (TS 29.212, 5.4.2)",
            Self::Address(_) => "is neither `any`, `assigned` nor an IP address",
            Self::PrefixLength(_) => "has a wrong prefix length",
            Self::MixedFamilies(_) => "is an address of the other family than the first",
            Self::Ports(_) => "is no list of ports",
            Self::TooManyPorts(_) => "lists more than 16 ranges of ports",
            Self::Option(_) => "is an option behind the addresses (TS 29.212, 5.4.2)",
        }
    }
}

impl fmt::Display for FlowDescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow description: word {} {}", self.word(), self.what())
    }
}

impl core::error::Error for FlowDescriptionError {}
