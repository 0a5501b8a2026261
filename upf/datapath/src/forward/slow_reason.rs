//! Slow path reasons: why a packet was not of the common case, and so cost more (`ctl workers`).

/// What kept a packet from the fast path. A packet has the first that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowReason {
    /// Headers that are not the usual ones: IPv4 options, GTP-U sequence numbers or other extension
    /// headers, an End Marker.
    Headers,
    /// No session has this identifier.
    NoSession,
    /// The endpoint has several rules.
    SeveralRules,
    /// Its rule does something else than forward between N3 or N9 and N6: it drops, buffers, relays, has a
    /// closed gate, or wants another QFI.
    Rule,
    /// The inner packet has options, is damaged, or is not the UE's.
    Inner,
    /// Its TTL ends here.
    Ttl,
    /// The next hop is not known, there is no route, or the packet is for the UPF itself.
    NextHop,
    /// It does not fit the MTU of the link that it leaves by.
    Size,
    /// Nothing of that: no room in front of the packet.
    Other,
}

impl SlowReason {
    /// All.
    pub const ALL: [Self; 9] = [
        Self::Headers,
        Self::NoSession,
        Self::SeveralRules,
        Self::Rule,
        Self::Inner,
        Self::Ttl,
        Self::NextHop,
        Self::Size,
        Self::Other,
    ];

    /// The name in `ctl workers` and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::NoSession => "no_session",
            Self::SeveralRules => "several_rules",
            Self::Rule => "rule",
            Self::Inner => "inner",
            Self::Ttl => "ttl",
            Self::NextHop => "next_hop",
            Self::Size => "size",
            Self::Other => "other",
        }
    }
}
