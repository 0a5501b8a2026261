//! What a case is made of: steps, rules and packets as descriptions that can be shrunk. TEIDs that
//! the UPF will choose are not known yet, so packets name sessions and PDRs.

mod filter;
mod packet;

pub use filter::*;
pub use packet::*;

use sluice_twin::Side;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
    /// Session Set Deletion.
    DeleteSets(Vec<SetSpec>),
    /// PFD Management: applications with their flows; none of them takes all back.
    Pfds(Vec<(&'static str, Vec<&'static str>)>),
    /// Nanoseconds.
    Advance(u64),
    /// Received at once, before the path works.
    Packets(Vec<PacketSpec>),
}

/// A part of a CP function, with which sessions end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SetSpec {
    pub node_type: u8,
    pub csid: u8,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rules {
    pub pdn_type: Option<u8>,
    /// User Plane Inactivity Timer, in seconds.
    pub inactivity: Option<u32>,
    pub sets: Vec<SetSpec>,
    pub pdrs: Vec<PdrSpec>,
    pub fars: Vec<FarSpec>,
    pub qers: Vec<QerSpec>,
    pub urrs: Vec<UrrSpec>,
    pub bars: Vec<BarSpec>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Change {
    pub remove_pdrs: Vec<u16>,
    pub remove_fars: Vec<u32>,
    pub remove_qers: Vec<u32>,
    pub remove_urrs: Vec<u32>,
    pub remove_bars: Vec<u8>,
    pub create: Rules,
    pub pdrs: Vec<PdrEdit>,
    pub fars: Vec<FarEdit>,
    pub qers: Vec<QerEdit>,
    pub urrs: Vec<UrrSpec>,
    pub bars: Vec<BarSpec>,
    /// DROBU.
    pub discards_held: bool,
    pub query: Vec<u32>,
    pub query_all: bool,
    /// User Plane Inactivity Timer; the inner none is a null IE.
    pub inactivity: Option<Option<u32>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PdrSpec {
    pub id: u16,
    pub precedence: u32,
    pub source: Side,
    pub instance: Option<&'static str>,
    pub f_teid: TeidSpec,
    /// The versions of the F-TEID's addresses that are told or asked for: IPv4, IPv6.
    pub families: (bool, bool),
    pub ue: UeSpec,
    /// The S/D flag of the UE IP Address.
    pub ue_is_destination: bool,
    pub qfis: Vec<u8>,
    pub filters: Vec<FilterSpec>,
    pub application: Option<&'static str>,
    /// Predefined rules that it activates.
    pub active: Vec<&'static str>,
    pub removes_outer: bool,
    /// Which outer header is removed, if it is another than the F-TEID's.
    pub removes_other: Option<u8>,
    pub far: u32,
    pub qers: Vec<u32>,
    pub urrs: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TeidSpec {
    None,
    Choose,
    ChooseId(u8),
    /// At the address of this end; `families` says which of its addresses.
    Given(u32, Ipv4Addr),
    /// What another PDR of the session has.
    OfPdr(u16),
}

/// UE addresses of a PDI; no IE if there are none.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct UeSpec {
    pub ipv4: Option<Ipv4Addr>,
    /// The prefix, with nothing in its lower half.
    pub ipv6: Option<Ipv6Addr>,
    pub behind: BehindSpec,
    pub fault: UeFault,
}

/// What lies behind a UE.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct BehindSpec {
    /// Framed routes.
    pub ipv4: Option<(Ipv4Addr, u8)>,
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// IPv6 Prefix Delegation Bits.
    pub delegated: u8,
}

/// What is wrong with a UE IP Address IE.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum UeFault {
    #[default]
    None,
    PrefixLength(u8),
    Delegation(u8),
    ChooseIpv4,
    ChooseIpv6,
    FramedRoute,
    FramedIpv6Route,
    FramedRouting,
}

impl UeSpec {
    /// The address of the version that `like` has; in a prefix that with the same lower half.
    pub fn address(&self, like: IpAddr) -> Option<IpAddr> {
        match like {
            IpAddr::V4(_) => self.ipv4.map(IpAddr::V4),
            IpAddr::V6(like) => {
                let low = u128::from(like) & u128::from(u64::MAX);
                let whole = u128::from(self.ipv6?) | low;
                Some(IpAddr::V6(whole.into()))
            }
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct PdrEdit {
    pub id: u16,
    pub precedence: Option<u32>,
    pub far: Option<u32>,
    pub qers: Option<Vec<u32>>,
    pub urrs: Option<Vec<u32>>,
    /// A PDI that tells only the side, these QFIs and these filters.
    pub flow: Option<(Side, Vec<u8>, Vec<FilterSpec>)>,
    /// Of that PDI.
    pub application: Option<&'static str>,
    /// Predefined rules that it activates, and that it deactivates.
    pub on: Vec<&'static str>,
    pub off: Vec<&'static str>,
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
    pub bar: Option<u8>,
}

/// A Buffering Action Rule and its Suggested Buffering Packets Count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BarSpec {
    pub id: u8,
    pub packets: Option<u8>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Destination {
    pub side: Side,
    pub instance: Option<&'static str>,
    pub tunnel: Option<(u32, IpAddr)>,
    /// Transport Level Marking: octet and mask.
    pub marking: Option<(u8, u8)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FarEdit {
    pub id: u32,
    pub action: Option<Action>,
    pub to: Option<DestinationEdit>,
    pub bar: Option<Option<u8>>,
    /// In the IE of Create FAR, as SD-Core's SMF has it.
    pub as_created: bool,
}

/// Inner options: a parameter that is removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DestinationEdit {
    pub side: Option<Side>,
    pub instance: Option<Option<&'static str>>,
    pub tunnel: Option<Option<(u32, IpAddr)>>,
    pub marking: Option<Option<(u8, u8)>>,
    pub end_marker: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QerSpec {
    pub id: u32,
    /// Uplink and downlink gate open.
    pub open: (bool, bool),
    /// Uplink and downlink, kbit/s.
    pub mbr: Option<(u64, u64)>,
    pub gbr: Option<(u64, u64)>,
    pub qfi: Option<u8>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct QerEdit {
    pub id: u32,
    pub open: Option<(bool, bool)>,
    pub mbr: Option<Option<(u64, u64)>>,
    pub gbr: Option<Option<(u64, u64)>>,
    pub qfi: Option<Option<u8>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct UrrSpec {
    pub id: u32,
    pub counts_packets: bool,
    pub inactive: bool,
    /// Measurement Method: volume, duration.
    pub measures: (bool, bool),
    /// What gates and rates drop counts as well (MBQE).
    pub before_qos: bool,
    /// Its time runs without a first packet (ISTM).
    pub at_once: bool,
    /// When it reports by itself, and what it lets pass; an update that has none leaves that as it is.
    pub limits: Option<UrrLimits>,
}

/// Limits of a URR: uplink, downlink and total octets.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UrrLimits {
    pub threshold: Option<[Option<u64>; 3]>,
    pub quota: Option<[Option<u64>; 3]>,
    pub period_s: Option<u32>,
    /// Packets and octets to the UE that may be lost.
    pub lost: Option<(Option<u64>, Option<u64>)>,
    /// Reporting Triggers.
    pub tells_threshold: bool,
    pub tells_quota: bool,
    pub tells_start: bool,
    pub tells_period: bool,
    pub tells_lost: bool,
    pub times: TimeLimits,
    pub later: Option<LaterLimits>,
}

/// A Monitoring Time, and what holds from then on.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaterLimits {
    /// Seconds from the message on.
    pub in_s: u32,
    pub threshold: Option<[Option<u64>; 3]>,
    pub quota: Option<[Option<u64>; 3]>,
    pub time_threshold: Option<u32>,
    pub time_quota: Option<u32>,
}

/// Limits of a URR's time, in seconds, and which of them are told of.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TimeLimits {
    pub threshold: Option<u32>,
    pub quota: Option<u32>,
    pub validity: Option<u32>,
    pub holding: Option<u32>,
    pub inactivity: Option<u32>,
    /// Threshold, quota, validity, holding, stop of traffic.
    pub tells: [bool; 5],
}
