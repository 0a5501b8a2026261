//! What a case is made of: steps, rules and packets as descriptions that can be shrunk. TEIDs that
//! the UPF will choose are not known yet, so packets name sessions and PDRs.

use sluice_twin::Side;
use std::net::Ipv4Addr;

/// A session of a case, whether it exists by then or not.
pub type Slot = u8;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Case {
    pub steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    Establish(Slot, Rules),
    Modify(Slot, Box<Change>),
    Delete(Slot),
    /// Nanoseconds.
    Advance(u64),
    /// Received at once, before the path works.
    Packets(Vec<PacketSpec>),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rules {
    pub pdrs: Vec<PdrSpec>,
    pub fars: Vec<FarSpec>,
    pub qers: Vec<QerSpec>,
    pub urrs: Vec<UrrSpec>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Change {
    pub remove_pdrs: Vec<u16>,
    pub remove_fars: Vec<u32>,
    pub remove_qers: Vec<u32>,
    pub remove_urrs: Vec<u32>,
    pub create: Rules,
    pub pdrs: Vec<PdrEdit>,
    pub fars: Vec<FarEdit>,
    pub qers: Vec<QerEdit>,
    pub urrs: Vec<UrrSpec>,
    pub query: Vec<u32>,
    pub query_all: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PdrSpec {
    pub id: u16,
    pub precedence: u32,
    pub source: Side,
    pub instance: Option<&'static str>,
    pub f_teid: TeidSpec,
    pub ue: Option<Ipv4Addr>,
    /// The S/D flag of the UE IP Address.
    pub ue_is_destination: bool,
    pub qfis: Vec<u8>,
    pub filter: Filter,
    pub removes_outer: bool,
    pub far: u32,
    pub qers: Vec<u32>,
    pub urrs: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TeidSpec {
    None,
    Choose,
    ChooseId(u8),
    Given(u32, Ipv4Addr),
    /// What another PDR of the session has.
    OfPdr(u16),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Filter {
    None,
    All,
    Ipv6,
    Ipv6OrAll,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PdrEdit {
    pub id: u16,
    pub precedence: Option<u32>,
    pub far: Option<u32>,
    pub qers: Option<Vec<u32>>,
    pub urrs: Option<Vec<u32>>,
    /// A PDI that tells only the side and these QFIs.
    pub flow: Option<(Side, Vec<u8>)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    Drop,
    Forward,
    Buffer,
    BufferAndNotify,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FarSpec {
    pub id: u32,
    pub action: Action,
    pub to: Option<Destination>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Destination {
    pub side: Side,
    pub instance: Option<&'static str>,
    pub tunnel: Option<(u32, Ipv4Addr)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FarEdit {
    pub id: u32,
    pub action: Option<Action>,
    pub to: Option<DestinationEdit>,
    /// In the IE of Create FAR, as SD-Core's SMF has it.
    pub as_created: bool,
}

/// Inner options: a parameter that is removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DestinationEdit {
    pub side: Option<Side>,
    pub instance: Option<Option<&'static str>>,
    pub tunnel: Option<Option<(u32, Ipv4Addr)>>,
    pub end_marker: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QerSpec {
    pub id: u32,
    /// Uplink and downlink gate open.
    pub open: (bool, bool),
    /// Uplink and downlink, kbit/s.
    pub mbr: Option<(u64, u64)>,
    pub qfi: Option<u8>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QerEdit {
    pub id: u32,
    pub open: Option<(bool, bool)>,
    pub mbr: Option<Option<(u64, u64)>>,
    pub qfi: Option<Option<u8>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct UrrSpec {
    pub id: u32,
    pub counts_packets: bool,
    pub inactive: bool,
}

/// A frame: default is sound in all layers.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketSpec {
    pub entry: Entry,
    /// The far end of the flow: inner destination (uplink) or source (downlink).
    pub remote: Ipv4Addr,
    /// Another address than the UE's.
    pub spoofed: Option<Ipv4Addr>,
    pub inner: IpSpec,
    pub ports: (u16, u16),
    pub payload_len: u16,
    pub gtpu: GtpuSpec,
    pub outer: IpSpec,
    /// The outer packet comes in fragments.
    pub cut: Option<Cut>,
    pub udp: UdpSpec,
    pub eth: EthSpec,
    pub damage: Damage,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Entry {
    /// Into the tunnel of a PDR from a peer; the TEID exclusive-or `wrong`.
    Tunnel {
        slot: Slot,
        pdr: u16,
        peer: Ipv4Addr,
        wrong: u32,
        downlink: bool,
        /// To another address of ours than the F-TEID's.
        other_end: bool,
    },
    /// On a link to a data network, for a UE address.
    Plain { ue: Ipv4Addr, link: usize },
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
    pub fn new(entry: Entry, remote: Ipv4Addr) -> Self {
        Self {
            entry,
            remote,
            spoofed: None,
            inner: IpSpec::default(),
            ports: (4000, 80),
            payload_len: 20,
            gtpu: GtpuSpec::default(),
            outer: IpSpec::default(),
            cut: None,
            udp: UdpSpec::default(),
            eth: EthSpec::default(),
            damage: Damage::default(),
        }
    }
}
