//! Slow path reasons: why a packet was not of the common case, and so cost more (`ctl workers`).

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
        /// What kept a packet from the fast path. A packet has the first that holds.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SlowReason { $($(#[doc = $doc])* $name,)* }

        impl SlowReason {
            /// All.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name,)*];

            /// The name in `ctl workers` and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What it means, in a sentence or two.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii_start(),)* }
            }
        }
    };
}

reasons! {
    /// Headers that are not the usual ones: an outer IPv6 header, IPv4 options, GTP-U sequence numbers or other extension
    /// headers, an End Marker; a TCP SYN where an interface clamps segments.
    Headers = "headers",
    /// No session has this identifier.
    NoSession = "no_session",
    /// The endpoint has several rules, and the packet or the rule that it meets is not of the common case.
    SeveralRules = "several_rules",
    /// Its rule does something else than forward between N3 or N9 and N6: it drops, buffers, relays, has a
    /// closed gate, or wants another QFI.
    Rule = "rule",
    /// The inner packet has options, is damaged, or is not the UE's.
    Inner = "inner",
    /// Its TTL ends here.
    Ttl = "ttl",
    /// The next hop is not known, there is no route, or the packet is for the UPF itself.
    NextHop = "next_hop",
    /// It does not fit the MTU of the link that it leaves by.
    Size = "size",
    /// Its rule has used up the octets that a URR granted: a threshold, a quota or the first packet is near.
    Grant = "grant",
    /// It exceeds a shaped bit rate, or packets of its session wait for theirs.
    Shaped = "shaped",
    /// Its address and port are translated on N6.
    Translated = "translated",
    /// Nothing of that: no room in front of the packet.
    Other = "other",
}
