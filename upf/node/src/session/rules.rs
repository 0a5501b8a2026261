//! The rules of one session, as the CP function provisioned them.

use crate::network::Side;
use crate::session::limits::{ENDPOINTS, FARS, PDRS, QERS, URRS};
use crate::session::names::NameId;
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_path::rule::BucketRef;
use sluice_path::tables::{EgressId, PeerId};
use sluice_wire::ids::{FarId, PdrId, QerId, UrrId};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};
use sluice_wire::pfcp::value::ReportingTriggers;
use sluice_wire::pfcp::value::{BitRate, GateStatus, MeasurementInformation, MeasurementMethod};

/// A Packet Detection Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pdr {
    /// PDR ID.
    pub id: PdrId,
    /// Precedence; lower values are tried first.
    pub precedence: u32,
    /// Source Interface.
    pub source: Side,
    /// Network Instance of the PDI.
    pub instance: NameId,
    /// Local F-TEID, whoever chose it.
    pub tunnel: Option<LocalTunnel>,
    /// UE IP Address.
    pub ue: Option<UeAddress>,
    /// QFIs of the PDI, one bit each; 0 matches all.
    pub qfis: u64,
    /// What the SDF filters say.
    pub filter: Filter,
    /// Outer Header Removal: GTP-U/UDP/IP.
    pub removes_outer: bool,
    /// Its FAR.
    pub far: FarId,
    /// Its QERs.
    pub qers: IdList<QERS_PER_PDR>,
    /// Its URRs.
    pub urrs: IdList<URRS_PER_PDR>,
}

/// A short list of identifiers that can be copied.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdList<const N: usize> {
    len: u8,
    ids: [u32; N],
}

impl<const N: usize> Default for IdList<N> {
    fn default() -> Self {
        Self {
            len: 0,
            ids: [0; N],
        }
    }
}

impl<const N: usize> IdList<N> {
    /// The identifiers.
    pub fn as_slice(&self) -> &[u32] {
        self.ids.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// So many identifiers of which no two are the same.
    pub fn of_distinct(len: usize, mut next: impl FnMut() -> u32) -> Self {
        let mut list = Self::default();
        for id in list.ids.iter_mut().take(len) {
            *id = next();
            list.len += 1;
        }
        list
    }

    /// One more, unless it is there already; false if the list is full.
    pub fn push(&mut self, id: u32) -> bool {
        if self.as_slice().contains(&id) {
            return true;
        }
        let Some(place) = self.ids.get_mut(usize::from(self.len)) else {
            return false;
        };
        *place = id;
        self.len += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True if `id` is there.
    pub fn contains(&self, id: u32) -> bool {
        self.as_slice().contains(&id)
    }
}

impl<const N: usize> FromIterator<u32> for IdList<N> {
    /// What does not fit is left out.
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut list = Self::default();
        for id in iter {
            list.push(id);
        }
        list
    }
}

/// What a PDR's SDF filters let through on an IPv4 path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Everything.
    All,
    /// Nothing: they name IPv6 addresses only, and inner packets here are IPv4.
    Nothing,
}

/// A tunnel endpoint of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// The address's number on the path.
    pub local: u8,
}

/// A UE address in a network instance of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UeAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Where plain packets to it are looked up.
    pub instance: u8,
}

impl Pdr {
    /// True for packets that the RAN sends, or another UPF nearer to it.
    pub fn is_from_access(&self) -> bool {
        self.source == Side::Access
    }

    /// True if the PDR can match a packet of this path.
    pub fn is_live(&self) -> bool {
        self.filter == Filter::All && !self.is_from_cp()
    }

    /// True for packets that the CP function sends by N4-u, which this path does not have.
    pub fn is_from_cp(&self) -> bool {
        self.source == Side::Control
    }

    /// The line by which its packets enter.
    pub fn key(&self) -> Option<Key> {
        match (self.tunnel, self.ue) {
            (Some(t), _) => Some(Key::Tunnel {
                local: t.local,
                teid: t.teid,
            }),
            (None, Some(ue)) => Some(Key::Ue {
                instance: ue.instance,
                address: u32::from(ue.address),
            }),
            (None, None) => None,
        }
    }
}

/// What a FAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF. Nothing is buffered yet: the packets are dropped, and counted as the FAR's.
    Buffer,
}

/// A Forwarding Action Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Far {
    /// FAR ID.
    pub id: FarId,
    /// Apply Action.
    pub action: Action,
    /// Apply Action as received.
    pub flags: u16,
    /// Forwarding Parameters.
    pub forwarding: Option<Forwarding>,
    /// The peer that is held for the outer header, if a live PDR needs one.
    pub peer: Option<PeerId>,
    /// The way out without outer header.
    pub egress: Option<EgressId>,
    /// The peer's Error Indication was reported and the FAR not changed since.
    pub reported: bool,
}

/// Forwarding Parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Destination Interface.
    pub side: Side,
    /// Network Instance.
    pub instance: NameId,
    /// Outer Header Creation GTP-U/UDP/IPv4.
    pub tunnel: Option<RemoteTunnel>,
}

impl Forwarding {
    /// True for packets to the CP function by N4-u, which this path does not have.
    pub fn is_to_cp(&self) -> bool {
        self.side == Side::Control
    }
}

/// A tunnel endpoint of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: Ipv4Addr,
}

impl Far {
    /// The peer's tunnel, if packets go into one.
    pub fn tunnel(&self) -> Option<RemoteTunnel> {
        self.forwarding.and_then(|f| f.tunnel)
    }
}

/// A QoS Enforcement Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Qer {
    /// QER ID.
    pub id: QerId,
    /// Gate Status.
    pub gate: GateStatus,
    /// Maximum Bitrate.
    pub mbr: Option<BitRate>,
    /// Guaranteed Bitrate: kept, nothing is reserved for it.
    pub gbr: Option<BitRate>,
    /// QFI that packets are marked with.
    pub qfi: Option<u8>,
    /// Shared buckets, uplink and downlink.
    pub buckets: [BucketRef; 2],
    /// It came with the message at hand.
    pub is_new: bool,
}

impl Qer {
    /// It has no shared buckets any more.
    pub fn drop_buckets(&mut self) {
        self.buckets = [BucketRef::NONE; 2];
    }
}

/// A Usage Reporting Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Urr {
    /// URR ID.
    pub id: UrrId,
    /// Measurement Method.
    pub method: MeasurementMethod,
    /// Measurement Information.
    pub information: MeasurementInformation,
    /// Reporting Triggers.
    pub triggers: ReportingTriggers,
    /// Where its usage adds up.
    pub meter: u32,
}

/// By what packets find a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A TEID at a local address.
    Tunnel {
        /// The address's number.
        local: u8,
        /// The TEID.
        teid: u32,
    },
    /// A UE address in a network instance.
    Ue {
        /// The network instance.
        instance: u8,
        /// The address, host order.
        address: u32,
    },
    /// Nothing: a group of blocks that hold buckets.
    Spare,
}

/// Where a line comes from, and so where it goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A TEID slot of ours.
    Slot,
    /// A configured pool of UE addresses.
    Pool,
    /// The lines for what others chose.
    Foreign,
    /// It is no line.
    None,
}

/// A line of the session with its extension blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// By what packets find it.
    pub key: Key,
    /// The line.
    pub line: u32,
    /// Where the line comes from.
    pub origin: Origin,
    /// Extension blocks in order, 0 for none.
    pub blocks: [u32; sluice_path::limits::BLOCK_CHAIN],
}

impl Endpoint {
    /// True if rules or buckets of it stand in extension blocks.
    pub fn has_blocks(&self) -> bool {
        self.blocks[0] != 0
    }

    /// Its extension blocks.
    pub fn blocks(&self) -> impl Iterator<Item = u32> {
        self.blocks.into_iter().take_while(|b| *b != 0)
    }
}

/// All rules of a session, and where they are installed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rules {
    /// PDRs in no order.
    pub pdrs: ArrayVec<Pdr, PDRS>,
    /// FARs in no order.
    pub fars: ArrayVec<Far, FARS>,
    /// QERs in no order.
    pub qers: ArrayVec<Qer, QERS>,
    /// URRs in no order.
    pub urrs: ArrayVec<Urr, URRS>,
    /// Lines and blocks.
    pub endpoints: ArrayVec<Endpoint, ENDPOINTS>,
}

impl Rules {
    /// The FAR of this identifier.
    pub fn far(&self, id: FarId) -> Option<&Far> {
        self.fars.iter().find(|f| f.id == id)
    }

    /// The QER of this identifier.
    pub fn qer(&self, id: u32) -> Option<&Qer> {
        self.qers.iter().find(|q| q.id.0 == id)
    }

    /// The URR of this identifier.
    pub fn urr(&self, id: u32) -> Option<&Urr> {
        self.urrs.iter().find(|u| u.id.0 == id)
    }

    /// The line of this key.
    pub fn endpoint(&self, key: Key) -> Option<&Endpoint> {
        self.endpoints.iter().find(|e| e.key == key)
    }

    /// True for packets on their way from the UE, false for those to it. Source Interface Access
    /// says uplink, all others downlink; a FAR that sends back to the access side takes that away
    /// (TS 29.244, 8.2.2, 8.2.24): data that a gNB forwards to the next one in a handover was on
    /// its way to the UE (TS 23.502, 4.9.1.3.3).
    pub fn is_uplink(&self, pdr: &Pdr) -> bool {
        let far = self.far(pdr.far);
        let back = far
            .and_then(|f| f.forwarding)
            .is_some_and(|f| f.side == Side::Access);
        pdr.is_from_access() && !back
    }

    /// The session's UE address.
    pub fn ue_address(&self) -> Option<Ipv4Addr> {
        self.pdrs.iter().find_map(|p| p.ue).map(|ue| ue.address)
    }

    /// Becomes a copy of `other`: only what is there is copied.
    pub fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.pdrs.extend(other.pdrs.iter().copied());
        self.fars.extend(other.fars.iter().copied());
        self.qers.extend(other.qers.iter().copied());
        self.urrs.extend(other.urrs.iter().copied());
        self.endpoints.extend(other.endpoints.iter().copied());
    }

    /// Empties everything.
    pub fn clear(&mut self) {
        self.pdrs.clear();
        self.fars.clear();
        self.qers.clear();
        self.urrs.clear();
        self.endpoints.clear();
    }
}
