//! What differs between messages, and between sessions, of one form.

/// The kind of a value. Procedures do nothing with such values but compare those of one kind with
/// each other and pass them on, so it is enough to know which of them are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Domain {
    /// PDR ID.
    Pdr,
    /// FAR ID.
    Far,
    /// QER ID.
    Qer,
    /// URR ID.
    Urr,
    /// IPv4 address of the UE.
    UeAddress,
    /// TEID of a tunnel that ends here.
    LocalTeid,
    /// TEID of a tunnel that ends at a peer.
    RemoteTeid,
    /// IPv4 address of a peer's tunnel.
    RemoteAddress,
    /// Query URR Reference.
    Reference,
    /// Line of the path.
    Line,
    /// Extension block of the path.
    Block,
    /// Meter of a URR.
    Meter,
    /// Peer of the path.
    Peer,
}

impl Domain {
    /// False for values that procedures refuse.
    #[inline]
    pub fn is_plain(self, value: u32) -> bool {
        let is_host = || value != 0 && value >> 28 != 0xe && value != u32::MAX;
        (!self.is_host() || is_host()) && (!self.is_never_0() || value != 0)
    }

    /// True for IPv4 addresses.
    #[inline]
    pub fn is_host(self) -> bool {
        matches!(self, Self::UeAddress | Self::RemoteAddress)
    }

    /// True for TEIDs.
    #[inline]
    pub fn is_never_0(self) -> bool {
        matches!(self, Self::LocalTeid | Self::RemoteTeid)
    }

    /// True for identifiers whose length in a record depends on how large they are.
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Far | Self::Qer | Self::Urr)
    }
}

/// Where a value stands in a message or a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mark {
    /// Its kind.
    pub domain: Domain,
    /// Its first octet.
    pub at: u16,
    /// Its length, 2 or 4.
    pub octets: u8,
}

impl Mark {
    /// The value in a message, in network order.
    #[inline]
    pub fn value(&self, body: &[u8]) -> Option<u32> {
        let octets = body.get(usize::from(self.at)..)?;
        match self.octets {
            2 => octets.first_chunk().map(|o| u16::from_be_bytes(*o).into()),
            _ => octets.first_chunk().map(|o| u32::from_be_bytes(*o)),
        }
    }
}

/// The form of a session's record: all that is the same in sessions which differ in the values of
/// [`Domain`] alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FormId(pub u16);

impl FormId {
    /// Nobody looked.
    pub const UNKNOWN: Self = Self(0);
    /// There is no session yet.
    pub const NO_SESSION: Self = Self(1);
}
