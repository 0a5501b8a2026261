//! Identifiers of the user plane as checked newtypes.
//!
//! Each says where its range comes from; a value of the type is always in range.

use core::fmt;
use core::num::NonZeroU32;

/// Tunnel Endpoint Identifier (TS 29.281, 5.1): 32 bits, here never 0.
///
/// 0 is reserved for signalling messages that belong to no tunnel, so a tunnel never has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Teid(NonZeroU32);

impl Teid {
    /// `None` for 0, which names no tunnel.
    pub const fn new(value: u32) -> Option<Self> {
        match NonZeroU32::new(value) {
            Some(v) => Some(Self(v)),
            None => None,
        }
    }

    /// The value as it stands on the wire, in host order.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Debug for Teid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Teid({:#010x})", self.get())
    }
}

impl fmt::Display for Teid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.get())
    }
}

/// QoS Flow Identifier (TS 38.415, 5.5.3.3): 6 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Qfi(u8);

impl Qfi {
    /// The largest value that six bits hold.
    pub const MAX: u8 = 63;

    /// `None` above 63.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= Self::MAX {
            Some(Self(value))
        } else {
            None
        }
    }

    /// 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

macro_rules! plain_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

plain_id!(
    /// Session Endpoint Identifier (TS 29.244, 7.2.2.4.2): 64 bits. 0 stands in a header when
    /// the peer's SEID is not known.
    Seid(u64)
);
plain_id!(
    /// Packet Detection Rule ID (TS 29.244, 8.2.36); every value is legal.
    PdrId(u16)
);
plain_id!(
    /// Forwarding Action Rule ID (TS 29.244, 8.2.74); the top bit marks a predefined rule.
    FarId(u32)
);
plain_id!(
    /// QoS Enforcement Rule ID (TS 29.244, 8.2.75); the top bit marks a predefined rule.
    QerId(u32)
);
plain_id!(
    /// Usage Reporting Rule ID (TS 29.244, 8.2.54); the top bit marks a predefined rule.
    UrrId(u32)
);
plain_id!(
    /// Buffering Action Rule ID (TS 29.244, 8.2.57).
    BarId(u8)
);
plain_id!(
    /// Precedence of a PDR (TS 29.244, 8.2.11): the lower value is tried first.
    Precedence(u32)
);
