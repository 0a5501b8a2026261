//! Drop reasons: dense, stable, each with its meaning.

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Every way in which a packet ends without leaving. New reasons go to the end; a number
        /// is never given twice.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$doc])* $name,)* }

        impl DropReason {
            /// All reasons, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name under which counters, `ctl drops` and metrics show it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

reasons! {
    /// The frame is shorter than its Ethernet header.
    EthernetTruncated = "ethernet_truncated",
    /// The frame is addressed to another station.
    NotOurMac = "not_our_mac",
    /// No interface is configured for this port and VLAN.
    UnknownVlan = "unknown_vlan",
    /// Neither IPv4 nor ARP.
    EtherType = "ether_type",
    /// The IPv4 header is cut short, has a wrong version or header length.
    Ipv4Header = "ipv4_header",
    /// The IPv4 total length is longer than the packet (RFC 1812, 5.2.2).
    Ipv4Length = "ipv4_length",
    /// The IPv4 header checksum is wrong (RFC 1812, 5.2.2).
    Ipv4Checksum = "ipv4_checksum",
    /// A fragment that cannot be reassembled here (outer header).
    OuterFragment = "outer_fragment",
    /// The UDP header is cut short or its length lies.
    UdpHeader = "udp_header",
    /// The GTP-U header is cut short, has another version or protocol type, or its length lies.
    GtpuHeader = "gtpu_header",
    /// A GTP-U extension header is broken (length 0, beyond the packet, too many).
    GtpuExtension = "gtpu_extension",
    /// A G-PDU that carries no packet.
    GtpuEmpty = "gtpu_empty",
    /// The outer source is none of the configured peers.
    OuterSource = "outer_source",
    /// No session has this TEID.
    UnknownTeid = "unknown_teid",
    /// No session has this UE address.
    UnknownUe = "unknown_ue",
    /// The inner packet is no IPv4 packet, or its header is broken.
    InnerHeader = "inner_header",
    /// The inner packet's total length is longer than what the tunnel carried.
    InnerLength = "inner_length",
    /// The inner IPv4 header checksum is wrong.
    InnerChecksum = "inner_checksum",
    /// The UE sent from an address that is not its own.
    UeSource = "ue_source",
    /// No PDR of the session matches the packet (TS 29.244, 5.2.1: it is dropped).
    NoPdr = "no_pdr",
    /// The FAR says drop.
    FarDrop = "far_drop",
    /// The gate of a QER is closed.
    GateClosed = "gate_closed",
    /// The packet exceeds a maximum bit rate.
    MbrExceeded = "mbr_exceeded",
    /// Time to live would fall to 0 (RFC 1812, 5.3.1).
    TtlExceeded = "ttl_exceeded",
    /// The packet does not fit the outgoing MTU and may not be fragmented.
    TooBig = "too_big",
    /// No route leads to the destination.
    NoRoute = "no_route",
    /// The next hop did not answer ARP in time.
    NextHopUnresolved = "next_hop_unresolved",
    /// Too many packets wait for next hops.
    NextHopQueueFull = "next_hop_queue_full",
    /// No room in front of the packet for the outer header.
    NoHeadroom = "no_headroom",
    /// The transmit queue took no more.
    TransmitFull = "transmit_full",
    /// The queue to the control core was full.
    ControlQueueFull = "control_queue_full",
    /// The ring to the owner of the session was full.
    HandoverFull = "handover_full",
    /// Several segments that could not be made one.
    NotLinear = "not_linear",
    /// No packet buffer for a packet that the path wanted to make.
    NoBuffer = "no_buffer",
    /// The GTP-U message type is none that a UPF receives.
    GtpuMessageType = "gtpu_message_type",
    /// Reassembly timed out or ran out of room.
    Reassembly = "reassembly",
    /// The worker stopped while it held the packet.
    Stopped = "stopped",
    /// The FAR sends to the CP function (N4-u), where nothing leads yet.
    N4uAbsent = "n4u_absent",
    /// The session went, or sends elsewhere now, while the packet waited for its next hop.
    SessionChanged = "session_changed",
    /// A packet from another UPF is not for the session's UE.
    UeDestination = "ue_destination",
    /// The UDP checksum of the outer packet is wrong (RFC 1122, 4.1.3.4).
    UdpChecksum = "udp_checksum",
    /// The queue of PFCP packets to the control core was full.
    N4QueueFull = "n4_queue_full",
    /// Sluice contradicts itself: a rule names a block, a peer or an interface that is not there. It is a
    /// fault of ours, never of packets or peers: please report it.
    Internal = "internal",
}

#[cfg(test)]
mod tests {
    use super::DropReason;

    #[test]
    fn numbers_are_dense_and_names_are_unique() {
        for (i, r) in DropReason::ALL.iter().enumerate() {
            assert_eq!(*r as usize, i);
        }
        let mut names: Vec<_> = DropReason::ALL.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DropReason::ALL.len());
    }
}
