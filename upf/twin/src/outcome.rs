//! Outcome of a packet: transmitted frames, drops, reports.

use std::net::IpAddr;

/// Why a packet was dropped. The names are those under which the packet path counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub enum Drop {
    /// The frame is shorter than its Ethernet header.
    EthernetTruncated,
    /// Addressed to another station.
    NotOurMac,
    /// No interface for this port and VLAN.
    UnknownVlan,
    /// Neither IP nor ARP.
    EtherType,
    /// The outer or plain IPv4 header is broken.
    Ipv4Header,
    /// Its total length is longer than the packet.
    Ipv4Length,
    /// Its checksum is wrong.
    Ipv4Checksum,
    /// The IPv6 header of a plain packet is broken.
    Ipv6Header,
    /// Its payload length is longer than the packet.
    Ipv6Length,
    /// A fragment of an outer packet that fits nowhere.
    OuterFragment,
    /// A fragment that waited in vain for the others.
    Reassembly,
    /// The UDP header is cut short or its length lies.
    UdpHeader,
    /// The GTP-U header is broken.
    GtpuHeader,
    /// A GTP-U extension header is broken.
    GtpuExtension,
    /// A G-PDU without a packet.
    GtpuEmpty,
    /// No message that a UPF receives.
    GtpuMessageType,
    /// The outer source is not allowed.
    OuterSource,
    /// No session has this TEID.
    UnknownTeid,
    /// No session has this UE address or prefix.
    UnknownUe,
    /// The inner IPv4 or IPv6 header is broken.
    InnerHeader,
    /// Its length is longer than what was carried.
    InnerLength,
    /// Its checksum is wrong.
    InnerChecksum,
    /// The UE sent from an address that is not its own.
    UeSource,
    /// No PDR of the session matches.
    NoPdr,
    /// The FAR drops it.
    FarDrop,
    /// A gate is closed.
    GateClosed,
    /// It exceeds a maximum bit rate.
    MbrExceeded,
    /// A quota is used up.
    QuotaExhausted,
    /// Its time to live ends here.
    TtlExceeded,
    /// It does not fit the link.
    TooBig,
    /// What another UPF sent is not for the session's UE.
    UeDestination,
    /// The UDP checksum of the outer packet is wrong.
    UdpChecksum,
    /// Over IPv6 there is no UDP checksum.
    UdpChecksumAbsent,
    /// No route.
    NoRoute,
    /// The next hop did not answer in time.
    NextHopUnresolved,
    /// From or to an address that means something on the UE's link only.
    LinkLocal,
    /// Congestion was marked on the way, and the flow inside knows no ECN.
    CongestionMarked,
    /// The FAR sends it to the CP function, where nothing leads.
    N4uAbsent,
    /// It is for an idle UE, and as many are held as may be.
    HoldFull,
    /// It was held, and the UE did not come back in time.
    HoldExpired,
    /// It was held, and its tunnel or UE went.
    HoldDiscarded,
    /// It would wait too long for its bit rate.
    ShapingDelay,
    /// Too many wait.
    ShapingFull,
    /// Its session or tunnel went while it waited.
    SessionChanged,
    /// Its sender has no public ports.
    NatNoSession,
    /// All its public ports are in use.
    NatNoPort,
    /// No mapping belongs to it.
    NatNoMapping,
    /// The UE sent nothing to its sender.
    NatFiltered,
    /// It has no port to be told apart by.
    NatProtocol,
    /// A fragment without its first.
    NatFragment,
    /// From UE to UE by public addresses, which do not come back.
    NatHairpin,
}

impl Drop {
    /// The name under which it is counted.
    pub fn name(self) -> &'static str {
        match self {
            Self::EthernetTruncated => "ethernet_truncated",
            Self::NotOurMac => "not_our_mac",
            Self::UnknownVlan => "unknown_vlan",
            Self::EtherType => "ether_type",
            Self::Ipv4Header => "ipv4_header",
            Self::Ipv4Length => "ipv4_length",
            Self::Ipv4Checksum => "ipv4_checksum",
            Self::Ipv6Header => "ipv6_header",
            Self::Ipv6Length => "ipv6_length",
            Self::OuterFragment => "outer_fragment",
            Self::Reassembly => "reassembly",
            Self::UdpHeader => "udp_header",
            Self::GtpuHeader => "gtpu_header",
            Self::GtpuExtension => "gtpu_extension",
            Self::GtpuEmpty => "gtpu_empty",
            Self::GtpuMessageType => "gtpu_message_type",
            Self::OuterSource => "outer_source",
            Self::UnknownTeid => "unknown_teid",
            Self::UnknownUe => "unknown_ue",
            Self::InnerHeader => "inner_header",
            Self::InnerLength => "inner_length",
            Self::InnerChecksum => "inner_checksum",
            Self::UeSource => "ue_source",
            Self::NoPdr => "no_pdr",
            Self::FarDrop => "far_drop",
            Self::GateClosed => "gate_closed",
            Self::MbrExceeded => "mbr_exceeded",
            Self::QuotaExhausted => "quota_exhausted",
            Self::TtlExceeded => "ttl_exceeded",
            Self::TooBig => "too_big",
            Self::UeDestination => "ue_destination",
            Self::UdpChecksum => "udp_checksum",
            Self::UdpChecksumAbsent => "udp_checksum_absent",
            Self::NoRoute => "no_route",
            Self::NextHopUnresolved => "next_hop_unresolved",
            Self::LinkLocal => "link_local",
            Self::CongestionMarked => "congestion_marked",
            Self::N4uAbsent => "n4u_absent",
            Self::HoldFull => "hold_full",
            Self::HoldExpired => "hold_expired",
            Self::HoldDiscarded => "hold_discarded",
            Self::ShapingDelay => "shaping_delay",
            Self::ShapingFull => "shaping_full",
            Self::SessionChanged => "session_changed",
            Self::NatNoSession => "nat_no_session",
            Self::NatNoPort => "nat_no_port",
            Self::NatNoMapping => "nat_no_mapping",
            Self::NatFiltered => "nat_filtered",
            Self::NatProtocol => "nat_protocol",
            Self::NatFragment => "nat_fragment",
            Self::NatHairpin => "nat_hairpin",
        }
    }
}

/// What the sender of a dropped packet is to hear.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A GTP-U Error Indication (TS 29.281, 7.3.1).
    ErrorIndication {
        /// Who sent the G-PDU.
        peer: IpAddr,
        /// To which address of ours.
        local: IpAddr,
        /// To which TEID.
        teid: u32,
    },
    /// An ICMP or ICMPv6 error about this packet, by its version, to its sender there.
    Icmp(IcmpCause, Vec<u8>, Sender),
}

/// A packet's sender, and the network instance to look for it in: its address may mean another station elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sender {
    /// In the network instance that the packet came from without a tunnel.
    DataNetwork(String),
    /// The UE with that address in the network instance that the packet goes to.
    Ue(String),
    /// Somewhere before the tunnel that the packet came by, to leave in another.
    Relayed,
}

/// Why an ICMP error is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpCause {
    /// Time to live (hop limit) exceeded in transit.
    TtlExceeded,
    /// Fragmentation needed, or Packet Too Big; the MTU that fits, bytes.
    TooBig(u16),
}

/// A frame that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// By which port.
    pub port: u16,
    /// The whole frame. Where `source_port_at` is some, these two bytes are 0 here.
    pub frame: Vec<u8>,
    /// Where the outer UDP source port stands, which is the sender's choice.
    pub source_port_at: Option<usize>,
    /// The outer header is IPv6's: its UDP checksum, 0 here, must be right for that port.
    pub has_checksum: bool,
    /// The flow that the source port must be the same for: the inner packet's addresses,
    /// protocol and ports.
    pub flow: Vec<u8>,
    /// Session, and whether it came from the access side: order is kept within.
    pub stream: (u64, bool),
    /// Its SYN was lowered to what a link allows.
    pub is_clamped: bool,
}

/// What becomes of a packet. One frame may have several outcomes: it may leave in fragments, or
/// decide the fate of fragments that came before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It leaves.
    Sent(Sent),
    /// It is dropped, and perhaps its sender hears of it.
    Dropped(Drop, Option<Notice>),
    /// It is for the control core, as it came.
    Control,
    /// A UE's packet to one of our own addresses has arrived.
    Arrived(Vec<u8>),
    /// A UE's Router Solicitation goes to the CP function, or is answered with the session's prefix.
    RouterSolicitation(Vec<u8>),
    /// It waits for the MAC address of its next hop, or for other fragments.
    Held,
    /// It is held for an idle UE.
    Buffered,
    /// It waits for its bit rates until then.
    Shaped(u64),
    /// A fragment that waited became part of another packet.
    Merged,
}
