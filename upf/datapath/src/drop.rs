//! Drop reasons: dense, stable, each with its meaning.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $advice:literal,)*) => {
        /// Every way in which a packet ends without leaving. New reasons go to the end; a number
        /// is never given twice.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DropReason { $($(#[doc = $doc])* $name,)* }

        impl DropReason {
            /// True if a gate or a bit rate drops: QoS enforcement.
            #[inline]
            pub const fn is_of_qos(self) -> bool {
                matches!(
                    self,
                    Self::GateClosed | Self::MbrExceeded | Self::ShapingDelay | Self::ShapingFull
                )
            }

            /// All reasons, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name under which counters, `ctl drops` and metrics show it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What it means, in a sentence or two.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii_start(),)* }
            }

            /// What an operator does about it.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)* }
            }
        }
    };
}

reasons! {
    /// The frame is shorter than its Ethernet header.
    EthernetTruncated = "ethernet_truncated",
        "Look at the link partner and its driver: no station sends such frames on purpose.",
    /// The frame is addressed to another station.
    NotOurMac = "not_our_mac",
        "Harmless on a shared link. If user traffic is lost, compare the neighbour's ARP entry with `sluice ctl ports`.",
    /// No interface is configured for this port and VLAN.
    UnknownVlan = "unknown_vlan",
        "Compare the VLANs of the switch with `vlan` in upf.yaml.",
    /// Neither IPv4 nor ARP.
    EtherType = "ether_type",
        "Harmless: LLDP, IPv6 neighbour discovery and the like.",
    /// The IPv4 header is cut short, has a wrong version or header length.
    Ipv4Header = "ipv4_header",
        "Capture the frame at the sender; it sends damaged or IPv6-in-IPv4-typed frames.",
    /// The IPv4 total length is longer than the packet (RFC 1812, 5.2.2).
    Ipv4Length = "ipv4_length",
        "Look for a device on the way that cuts frames (MTU, faulty offload).",
    /// The IPv4 header checksum is wrong (RFC 1812, 5.2.2).
    Ipv4Checksum = "ipv4_checksum",
        "Look for a sender that leaves checksums to a card which does not write them (`ethtool -K ... tx off` on a veth).",
    /// A fragment that cannot be reassembled here (outer header).
    OuterFragment = "outer_fragment",
        "Raise the MTU between gNB and UPF, so that tunnel packets are not cut.",
    /// The UDP header is cut short or its length lies.
    UdpHeader = "udp_header",
        "Look at the sender: its UDP lengths do not agree with its IP lengths.",
    /// The GTP-U header is cut short, has another version or protocol type, or its length lies.
    GtpuHeader = "gtpu_header",
        "Look at who sends to UDP port 2152: it speaks something else than GTP-U version 1.",
    /// A GTP-U extension header is broken (length 0, beyond the packet, too many).
    GtpuExtension = "gtpu_extension",
        "Ask the vendor of the gNB: its extension headers break TS 29.281, 5.2.",
    /// A G-PDU that carries no packet.
    GtpuEmpty = "gtpu_empty",
        "Harmless in small numbers; some gNBs probe tunnels with empty packets.",
    /// The outer source is none of the configured peers.
    OuterSource = "outer_source",
        "Add the gNB to `peers` of the interface in upf.yaml, or find out who sends.",
    /// No session has this TEID.
    UnknownTeid = "unknown_teid",
        "Normal for a moment after a session has ended; the peer is told by an Error Indication. If it goes on, compare the gNB's TEID with `sluice ctl sessions`.",
    /// No session has this UE address.
    UnknownUe = "unknown_ue",
        "Packets for UEs without a session. If a UE should have one, look at `sluice ctl session ADDRESS` and at the route from the data network.",
    /// The inner packet is no IP packet, or its header is broken.
    InnerHeader = "inner_header",
        "Look at the UE: it sends neither IPv4 nor IPv6, or headers that are broken.",
    /// The inner packet's total length is longer than what the tunnel carried.
    InnerLength = "inner_length",
        "Look for a device between UE and UPF that cuts packets.",
    /// The inner IPv4 header checksum is wrong.
    InnerChecksum = "inner_checksum",
        "Look at the UE's or the gNB's offloads: the inner IPv4 checksum is wrong.",
    /// The UE sent from an address that is not its own.
    UeSource = "ue_source",
        "The UE uses an address that is not its own (tethering without NAT, spoofing).",
    /// No PDR of the session matches the packet (TS 29.244, 5.2.1: it is dropped).
    NoPdr = "no_pdr",
        "Compare QFI and filters of the session's PDRs (`sluice ctl rules SEID`) with what the UE sends (`sluice ctl trace`).",
    /// The FAR says drop.
    FarDrop = "far_drop",
        "The SMF wants it so: a FAR that drops.",
    /// The gate of a QER is closed.
    GateClosed = "gate_closed",
        "The SMF has closed the gate of a QER: no credit, or not authorised.",
    /// The packet exceeds a maximum bit rate.
    MbrExceeded = "mbr_exceeded",
        "The subscriber exceeds the session's or flow's maximum bit rate: by design.",
    /// Time to live would fall to 0 (RFC 1812, 5.3.1).
    TtlExceeded = "ttl_exceeded",
        "Harmless: traceroute. In great numbers, look for a routing loop between UPF and router.",
    /// The packet does not fit the outgoing MTU and may not be fragmented.
    TooBig = "too_big",
        "Raise the MTU of the way out, or lower that of the UEs; the sender is told by ICMP.",
    /// No route leads to the destination.
    NoRoute = "no_route",
        "Add a route to the network instance in upf.yaml, or a gateway.",
    /// The next hop answered neither ARP nor Neighbour Solicitation in time.
    NextHopUnresolved = "next_hop_unresolved",
        "The next hop does not answer ARP: look at it, at the VLAN and at the cabling.",
    /// Too many packets wait for next hops.
    NextHopQueueFull = "next_hop_queue_full",
        "Many packets wait for a next hop that does not answer ARP: see next_hop_unresolved.",
    /// No room in front of the packet for the outer header.
    NoHeadroom = "no_headroom",
        "Frames fill their buffers to the end: lower the MTU of the port, or report it with driver and MTU.",
    /// The transmit queue took no more.
    TransmitFull = "transmit_full",
        "The port sends slower than packets come: a slower link, flow control, or a policer behind it. Look at `sluice ctl ports`.",
    /// The queue to the control core was full.
    ControlQueueFull = "control_queue_full",
        "More signalling (ARP, echo, ICMP) than is taken in: look for a storm.",
    /// The ring to the owner of the session was full.
    HandoverFull = "handover_full",
        "A worker is overloaded, or others take its CPU: look at `sluice ctl workers`, isolate its CPU, or add workers.",
    /// Several segments that could not be made one.
    NotLinear = "not_linear",
        "Frames longer than a buffer where they cannot be joined: lower the MTU or raise `dpdk.data_room_bytes`.",
    /// No packet buffer for a packet that the path wanted to make.
    NoBuffer = "no_buffer",
        "All packet buffers are in use: raise `dpdk.mbufs`, or look for a port that does not send.",
    /// The GTP-U message type is none that a UPF receives.
    GtpuMessageType = "gtpu_message_type",
        "Look at who sends to UDP port 2152: the message is none that a UPF receives.",
    /// Reassembly timed out or ran out of room.
    Reassembly = "reassembly",
        "Fragments are lost on the way, or too many come at a time: raise the MTU between gNB and UPF.",
    /// The worker stopped while it held the packet.
    Stopped = "stopped",
        "Normal at the end of the program, or of a worker.",
    /// The FAR sends to the CP function (N4-u) without saying into which tunnel.
    N4uAbsent = "n4u_absent",
        "A FAR sends to the CP function without Outer Header Creation: look at the SMF's rules (`sluice ctl rules SEID`).",
    /// The session went, or sends elsewhere now, while the packet waited for its next hop or its bit rate.
    SessionChanged = "session_changed",
        "Normal for a moment: the session changed while a packet waited.",
    /// A packet from another UPF is not for the session's UE.
    UeDestination = "ue_destination",
        "A packet from another UPF (N9) is for a UE of another session: look at the SMF's TEIDs.",
    /// The UDP checksum of the outer packet is wrong (RFC 1122, 4.1.3.4).
    UdpChecksum = "udp_checksum",
        "Damaged on the way, or written wrongly by the gNB. `udp_checksums: ignore` lets it pass.",
    /// The queue of PFCP packets to the control core was full.
    N4QueueFull = "n4_queue_full",
        "More PFCP than the control core takes; the SMF sends again. Look for a storm in `sluice ctl counters`.",
    /// Sluice contradicts itself: a rule names a block, a peer or an interface that is not there. It is a
    /// fault of ours, never of packets or peers: please report it.
    Internal = "internal",
        "Report it, with `sluice ctl trace` of a session that has it.",
    /// The IPv6 header is cut short or has another version.
    Ipv6Header = "ipv6_header",
        "Look at the sender on N6 or N3: its IPv6 packets are broken.",
    /// The IPv6 payload length is longer than the frame.
    Ipv6Length = "ipv6_length",
        "Look for a device on N6 that cuts frames.",
    /// A packet of the UE's own link (duplicate address detection, multicast listener reports, or to a
    /// link-local address): no router passes it on (RFC 4291, 2.5.6).
    LinkLocal = "link_local",
        "Harmless: every IPv6 UE sends some when it attaches.",
    /// The outer header tells of congestion on the way (ECN CE), and the flow inside does not know ECN (RFC
    /// 6040, 4.2): dropped, as the congested router would have.
    CongestionMarked = "congestion_marked",
        "A router between gNB and UPF is congested. Look for the link that marks packets.",
    /// The packet is for an idle UE, and as many are held as may be, of its session or in all.
    HoldFull = "hold_full",
        "Many packets for a UE that is being paged, or many UEs at once: compare the held packets (`sluice ctl counters`) with `limits` in upf.yaml.",
    /// The packet was held for an idle UE, and the UE did not come back in time.
    HoldExpired = "hold_expired",
        "The UE did not answer its paging, or the SMF did not activate the session. If it goes on, look whether Session Report Requests are answered (`sluice ctl counters`).",
    /// The packet was held for an idle UE, and its session ended.
    HoldDiscarded = "hold_discarded",
        "Normal when sessions end while their UE is idle, or when paging has failed.",
    /// The quota of a URR is used up (TS 29.244, 5.2.2.3): until the CP function grants more, packets of its rules do
    /// not pass.
    QuotaExhausted = "quota_exhausted",
        "Normal for a prepaid UE. If the SMF grants new quotas, look at whether it got the report: `sluice ctl session SEID`.",
    /// The packet would have to wait longer for its bit rate than is allowed (`shaping.delay_ms`).
    ShapingDelay = "shaping_delay",
        "The subscriber exceeds the session's or flow's maximum bit rate for longer than is levelled out: by design.",
    /// Too many packets wait for bit rates, of the session or of the worker.
    ShapingFull = "shaping_full",
        "Of one session: by design, as with `shaping_delay`. Of many: raise `shaping.worker_packets` (with `dpdk.mbufs`), or shorten `shaping.delay_ms`.",
    /// A packet to a translated data network is not of a UE that has public ports: its session has no downlink
    /// rule there, or its source is another address.
    NatNoSession = "nat_no_session",
        "The session has no downlink PDR in the translated network instance, so it was given no ports: look at the SMF's rules (`sluice ctl rules SEID`).",
    /// All public ports of the UE are in use.
    NatNoPort = "nat_no_port",
        "The UE has too many flows, or attacks: see its blocks in `sluice ctl session`. If many have it, raise `blocks_per_ue` or `block_ports`.",
    /// No mapping belongs to the public address and port, or to what an ICMP error is about.
    NatNoMapping = "nat_no_mapping",
        "Normal: scans of public addresses, and answers that come after a mapping has ended.",
    /// The UE sent nothing to this sender by the mapping (address-dependent filtering).
    NatFiltered = "nat_filtered",
        "Normal with `filtering: address_dependent`: strangers, or peers of games and calls that need `endpoint_independent`.",
    /// Its protocol or ICMP type has no port to be told apart by.
    NatProtocol = "nat_protocol",
        "Translation passes UDP, TCP, ICMP queries and errors. IPsec without UDP, SCTP or GRE of UEs need a network instance without it.",
    /// A fragment whose first one did not pass, or not before it.
    NatFragment = "nat_fragment",
        "Fragments were lost or came out of order: look at the MTU between UE and server.",
    /// A packet to a public address of the pool, where those do not come back.
    NatHairpin = "nat_hairpin",
        "UEs talk to each other by public addresses, and `hairpinning` is off.",
    /// An outer packet over IPv6 has no UDP checksum (field 0): IPv6 wants one (RFC 8200, 8.1), as nothing else
    /// covers its addresses.
    UdpChecksumAbsent = "udp_checksum_absent",
        "The gNB sends GTP-U over IPv6 without UDP checksums (RFC 6935): let it write them, or set `udp_checksums: ignore`.",
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
