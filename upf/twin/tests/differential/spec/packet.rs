//! Packets as descriptions, layer by layer.

use super::Slot;
use std::net::IpAddr;

/// A frame: default is sound in all layers.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketSpec {
    pub entry: Entry,
    /// The far end of the flow: inner destination (uplink) or source (downlink). Its version is that of
    /// the packet.
    pub remote: IpAddr,
    /// Another address than the UE's.
    pub spoofed: Option<IpAddr>,
    /// The lower half of the UE's IPv6 address.
    pub interface: u64,
    pub inner: IpSpec,
    pub inner6: Ipv6Spec,
    pub ports: (u16, u16),
    /// Towards a session's public address and the port that its own one has there.
    pub public_of: Option<Slot>,
    pub icmp: Icmp,
    /// Of TCP.
    pub flags: u8,
    /// The UDP checksum of the inner packet, right or wrong.
    pub checksum: u16,
    pub payload_len: u16,
    /// A TCP segment in place of ports and payload.
    pub tcp: Option<TcpSpec>,
    pub gtpu: GtpuSpec,
    pub outer: IpSpec,
    /// Extension headers of the outer header, where the peer has an IPv6 address.
    pub outer_extensions: Vec<Extension>,
    /// The outer packet comes in fragments.
    pub cut: Option<Cut>,
    pub udp: UdpSpec,
    pub eth: EthSpec,
    pub damage: Damage,
}

/// What an inner packet of ICMP is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Icmp {
    /// Whatever the ports make of it.
    Other,
    Request,
    Reply,
    /// About a packet of this protocol that went the other way; cut short to so many octets.
    Unreachable(u8, u8),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Entry {
    /// Into the tunnel of a PDR from a peer; the TEID exclusive-or `wrong`.
    Tunnel {
        slot: Slot,
        pdr: u16,
        peer: IpAddr,
        wrong: u32,
        downlink: bool,
        /// To another address of ours than the F-TEID's.
        other_end: bool,
    },
    /// On a link to a data network, for a UE address.
    Plain { ue: IpAddr, link: usize },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IpSpec {
    pub version: u8,
    /// Words of options.
    pub options: u8,
    pub header_len_error: i8,
    pub tos: u8,
    pub total_len_error: i16,
    pub identification: u16,
    pub dont_fragment: bool,
    pub more_fragments: bool,
    pub offset: u16,
    pub ttl: u8,
    pub protocol: u8,
    pub checksum: Checksum,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Ipv6Spec {
    pub version: u8,
    pub class: u8,
    pub label: u32,
    pub payload_len_error: i16,
    pub hop_limit: u8,
    /// What stands behind all extension headers.
    pub protocol: u8,
    pub extensions: Vec<Extension>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Extension {
    /// Hop-by-hop options, routing or destination options by their numbers, of so many 8 octets.
    Header(u8, u8),
    /// Offset in 8 octets, and whether more follow.
    Fragment(u16, bool),
}

/// A TCP segment with options.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpSpec {
    pub flags: u8,
    pub options: Vec<u8>,
    /// The header is so many words longer than it says.
    pub words_error: i8,
    pub checksum: u16,
    /// Octets that are there.
    pub len: u16,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Checksum {
    Good,
    Wrong,
    /// Sound, with the identification chosen so that the checksum is this.
    Is(u16),
}

#[derive(Clone, PartialEq, Debug)]
pub struct GtpuSpec {
    pub qfi: Option<u8>,
    pub container: Container,
    /// Extension headers before the container: type and length in words.
    pub before: Vec<(u8, u8)>,
    /// And behind it.
    pub behind: Vec<(u8, u8)>,
    pub sequence: bool,
    pub n_pdu: bool,
    pub message_type: u8,
    pub length_error: i16,
    pub flags_error: u8,
    pub no_payload: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Container {
    pub pdu_type: u8,
    pub words: u8,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UdpSpec {
    pub source_port: u16,
    pub destination_port: u16,
    pub length_error: i16,
    pub checksum: UdpSum,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum UdpSum {
    None,
    Good,
    Wrong,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct EthSpec {
    pub to: MacSpec,
    pub vlan: VlanSpec,
    pub ether_type: Option<u16>,
    pub padding: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum MacSpec {
    #[default]
    Us,
    Other,
    Broadcast,
    /// 33:33 and the end of the inner IPv6 destination (RFC 2464, 7).
    Group,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum VlanSpec {
    #[default]
    Right,
    None,
    Tag(u16),
    Twice,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cut {
    /// Payload bytes of a fragment.
    pub len: u16,
    pub reversed: bool,
    /// A fragment (modulo their number) that does not come.
    pub lost: Option<u8>,
    /// A fragment that comes again after all others.
    pub twice: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Damage {
    /// Only so many bytes arrive.
    pub cut: Option<u16>,
    /// A byte (modulo length) exclusive-or a mask.
    pub flip: Option<(u16, u8)>,
}

impl Default for IpSpec {
    fn default() -> Self {
        Self {
            version: 4,
            options: 0,
            header_len_error: 0,
            tos: 0,
            total_len_error: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            offset: 0,
            ttl: 64,
            protocol: 17,
            checksum: Checksum::Good,
        }
    }
}

impl Default for Ipv6Spec {
    fn default() -> Self {
        Self {
            version: 6,
            class: 0,
            label: 0,
            payload_len_error: 0,
            hop_limit: 64,
            protocol: 17,
            extensions: vec![],
        }
    }
}

impl Default for GtpuSpec {
    fn default() -> Self {
        Self {
            qfi: Some(9),
            container: Container {
                pdu_type: 1,
                words: 1,
            },
            before: vec![],
            behind: vec![],
            sequence: false,
            n_pdu: false,
            message_type: 255,
            length_error: 0,
            flags_error: 0,
            no_payload: false,
        }
    }
}

impl Default for UdpSpec {
    fn default() -> Self {
        Self {
            source_port: 50_000,
            destination_port: 2152,
            length_error: 0,
            checksum: UdpSum::None,
        }
    }
}

impl PacketSpec {
    pub fn new(entry: Entry, remote: IpAddr) -> Self {
        Self {
            entry,
            remote,
            spoofed: None,
            interface: 1,
            inner: IpSpec::default(),
            inner6: Ipv6Spec::default(),
            ports: (4000, 80),
            public_of: None,
            icmp: Icmp::Other,
            flags: 5,
            checksum: 0,
            payload_len: 20,
            tcp: None,
            gtpu: GtpuSpec::default(),
            outer: IpSpec::default(),
            outer_extensions: vec![],
            cut: None,
            udp: UdpSpec::default(),
            eth: EthSpec::default(),
            damage: Damage::default(),
        }
    }
}
