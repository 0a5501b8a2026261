//! Parts of the generator that are drawn only where the packet path serves them.

/// What cases are made of beside IPv4 and PDRs that tell flows by QFI alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Sessions with a prefix, and IPv6 packets.
    pub ipv6: bool,
    /// SDF filters that single out flows, and those for IPv6.
    pub filters: bool,
}

impl Features {
    /// What the twin interprets.
    pub const ALL: Self = Self {
        ipv6: true,
        filters: true,
    };
}

/// What the session machine and the packet path do by now: this is the place to switch a part on.
pub const SERVED: Features = Features {
    ipv6: true,
    filters: true,
};
