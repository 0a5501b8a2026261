//! The rules of one session, as the CP function provisioned them: FARs, QERs and BARs; PDRs, URRs and UE addresses in
//! files of their own.

mod pdr;
mod ue;
mod urr;

use crate::limits::{BARS, ENDPOINTS, FARS, PDRS, QERS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES, URRS};
use crate::names::NameId;
use crate::network::Side;
use crate::session_sets::SetList;
use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv6Addr};
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::session::rule::BucketRef;
use sluice_datapath::session::usage_record::AwaitsPacket;
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_wire::ids::{BarId, FarId, QerId};
use sluice_wire::pfcp::value::{ApplyAction, BitRate, GateStatus};

pub use pdr::{Endpoint, Filter, FilterOrigin, IdList, Key, LocalTunnel, Origin, Pdr};
pub use ue::{Families, Given, UeAddresses, UeMatch, UeRoutes};
pub use urr::{ClockImage, Monitoring, MonitoringTime, Renewed, Urr, UrrTimes};

/// The IPv6 addresses of a session's F-TEIDs.
pub type TunnelIpv6 = ArrayVec<Ipv6Addr, TUNNEL_IPV6_ADDRESSES>;

/// User Plane Inactivity Timer of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inactivity {
    /// In seconds.
    pub timer_s: u32,
    /// Its cell in the session's usage record, which all rules are counted by; 0: none yet.
    pub cell: u32,
    /// It begins with the message at hand.
    pub is_renewed: bool,
    /// What the path is told with the transaction at hand.
    pub awaits_packet: AwaitsPacket,
}

impl Inactivity {
    /// One that begins.
    pub fn new(timer_s: u32) -> Self {
        Self {
            timer_s,
            cell: 0,
            is_renewed: true,
            awaits_packet: AwaitsPacket::NEVER,
        }
    }

    /// One that goes on.
    pub fn standing(timer_s: u32, cell: u32) -> Self {
        Self {
            cell,
            is_renewed: false,
            ..Self::new(timer_s)
        }
    }
}

/// All rules of a session, and where they are installed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rules {
    /// The UE's addresses.
    pub ue: UeAddresses,
    /// What lies behind the UE.
    pub routes: UeRoutes,
    /// The session sets that it belongs to.
    pub sets: SetList,
    /// PDRs in no order.
    pub pdrs: ArrayVec<Pdr, PDRS>,
    /// FARs in no order.
    pub fars: ArrayVec<Far, FARS>,
    /// QERs in no order.
    pub qers: ArrayVec<Qer, QERS>,
    /// BARs in no order.
    pub bars: ArrayVec<Bar, BARS>,
    /// URRs in no order.
    pub urrs: ArrayVec<Urr, URRS>,
    /// When the CP function is to hear that no packets come.
    pub inactivity: Option<Inactivity>,
    /// Entries and blocks.
    pub endpoints: ArrayVec<Endpoint, ENDPOINTS>,
    /// Cells of the usage record beside those of the URRs, for their rules alone.
    pub spare_cells: ArrayVec<u32, SPARE_CELLS>,
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

    /// The BAR of this identifier.
    pub fn bar(&self, id: BarId) -> Option<&Bar> {
        self.bars.iter().find(|b| b.id == id)
    }

    /// The BAR of a FAR.
    pub fn bar_of(&self, far: &Far) -> Option<&Bar> {
        self.bar(far.bar?)
    }

    /// The URR of this identifier.
    pub fn urr(&self, id: u32) -> Option<&Urr> {
        self.urrs.iter().find(|u| u.id.0 == id)
    }

    /// The URRs with a cell in the usage record, in the order of the cells.
    pub fn watching(&self) -> impl Iterator<Item = &Urr> {
        self.urrs.iter().filter(|urr| urr.cell != 0)
    }

    /// The cells of the usage record in their order.
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        let own = self.watching().map(|urr| urr.cell);
        let session = self.inactivity.map(|inactivity| inactivity.cell);
        let own = own.chain(session.filter(|cell| *cell != 0));
        own.chain(self.spare_cells.iter().copied())
    }

    /// True if URRs of a PDR wait for octets.
    pub fn is_watched(&self, pdr: &Pdr) -> bool {
        if self.inactivity.is_some() {
            return true;
        }
        let mut active = self.watching().filter(|urr| urr.is_active());
        active.any(|urr| pdr.urrs.contains(urr.id.0))
    }

    /// True if URRs of a PDR measure before QoS enforcement: what gate and bit rates drop counts for them.
    pub fn counts_drops(&self, pdr: &Pdr) -> bool {
        let mut active = self.watching().filter(|urr| urr.is_active());
        active.any(|urr| urr.is_before_qos() && pdr.urrs.contains(urr.id.0))
    }

    /// True if URRs of a PDR measure time, or its session's inactivity is watched: its last packet is noted.
    pub fn is_timed(&self, pdr: &Pdr) -> bool {
        if self.inactivity.is_some() {
            return true;
        }
        let mut active = self.watching().filter(|urr| urr.is_active());
        active.any(|urr| urr.measures_time() && pdr.urrs.contains(urr.id.0))
    }

    /// The IPv6 addresses in the F-TEIDs of PDRs, each once.
    pub fn tunnel_ipv6_addresses(&self) -> TunnelIpv6 {
        let mut all = TunnelIpv6::new();
        let tunnels = self.pdrs.iter().filter_map(|pdr| pdr.tunnel);
        for address in tunnels.filter_map(|tunnel| tunnel.addresses.ipv6) {
            if !all.contains(&address) {
                // There are no more: they are refused.
                let _ = all.try_push(address);
            }
        }
        all
    }

    /// The entry of this key.
    pub fn endpoint(&self, key: Key) -> Option<&Endpoint> {
        self.endpoints.iter().find(|e| e.key == key)
    }

    /// The entries by which the session has to be found: those with rules of which the CP function wants to hear, and
    /// those that do not tell the UE's network instance, as they lead to another one or to none.
    pub fn traced_back_entries(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().filter(|endpoint| {
            let mut behind = self.pdrs.iter().filter(|p| p.key() == Some(endpoint.key));
            behind.any(|pdr| {
                let far = self.far(pdr.far);
                far.is_some_and(Far::notifies)
                    || self.is_watched(pdr)
                    || self.leads_astray(pdr, far)
            })
        })
    }

    /// True for packets from tunnels that do not go, plain, to a network instance in which the UE has its addresses.
    fn leads_astray(&self, pdr: &Pdr, far: Option<&Far>) -> bool {
        if pdr.tunnel.is_none() {
            return false;
        }
        let of_far = far.and_then(|far| far.forwarding.as_ref());
        let plain = of_far.filter(|to| to.tunnel.is_none() && to.side != Side::Control);
        let mut homes = self
            .pdrs
            .iter()
            .filter(|pdr| matches!(pdr.key(), Some(Key::Ue { .. })));
        let is_home = plain.is_some_and(|to| homes.any(|home| home.instance == to.instance));
        !is_home
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

    /// The families that packets of the session can be of: those of the UE's addresses and of what lies behind it,
    /// both where none was told.
    pub fn families(&self) -> Families {
        let told = self.ue.families().or(self.routes.families);
        told.or_if_none(Families::BOTH)
    }

    /// The families of the packets that a PDR can match.
    pub fn families_of(&self, pdr: &Pdr) -> Families {
        let named = pdr.ue.map_or(Families::NONE, |ue| ue.families);
        let told = named.or_if_none(Families::BOTH);
        self.families().and(pdr.filter.families).and(told)
    }

    /// True if the PDR can match a packet of this path.
    pub fn is_live(&self, pdr: &Pdr) -> bool {
        !self.families_of(pdr).is_none()
    }

    /// Becomes a copy of `other`: only what is there is copied.
    pub fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.ue = other.ue;
        self.routes = other.routes;
        self.sets.extend(other.sets.iter().copied());
        self.pdrs.extend(other.pdrs.iter().copied());
        self.fars.extend(other.fars.iter().copied());
        self.qers.extend(other.qers.iter().copied());
        self.bars.extend(other.bars.iter().copied());
        self.urrs.extend(other.urrs.iter().copied());
        self.inactivity = other.inactivity;
        self.endpoints.extend(other.endpoints.iter().copied());
        self.spare_cells.extend(other.spare_cells.iter().copied());
    }

    /// Empties everything.
    pub fn clear(&mut self) {
        self.ue = UeAddresses::default();
        self.routes = UeRoutes::default();
        self.sets.clear();
        self.pdrs.clear();
        self.fars.clear();
        self.qers.clear();
        self.bars.clear();
        self.urrs.clear();
        self.inactivity = None;
        self.endpoints.clear();
        self.spare_cells.clear();
    }
}

/// A Buffering Action Rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// BAR ID.
    pub id: BarId,
    /// Downlink Data Notification Delay in units of 50 ms.
    pub delay: u8,
    /// Suggested Buffering Packets Count.
    pub packets: Option<u8>,
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
    /// It guarantees a bit rate, which only a GBR flow has (TS 23.501, 5.7.2.5).
    pub fn is_of_gbr_flow(&self) -> bool {
        self.gbr
            .is_some_and(|rate| rate.uplink_kbps > 0 || rate.downlink_kbps > 0)
    }

    /// It has no shared buckets any more.
    pub fn drop_buckets(&mut self) {
        self.buckets = [BucketRef::NONE; 2];
    }
}

/// What a FAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF: packets are held.
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
    /// BAR ID.
    pub bar: Option<BarId>,
    /// Forwarding Parameters.
    pub forwarding: Option<Forwarding>,
    /// The peer that is held for the outer header, if a live PDR needs one.
    pub peer: Option<PeerId>,
    /// The way out without outer header.
    pub egress: Option<EgressId>,
    /// Whether the CP function knows of the peer's Error Indication.
    pub indicated: Indicated,
    /// QoS flows whose packets were reported and the FAR not updated since, a bit for each QFI; 0 is of those
    /// without.
    pub paged: u64,
    /// The message at hand updates it: what stands on the path is written anew.
    pub is_updated: bool,
}

/// How far the report of an Error Indication about a FAR's tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Indicated {
    /// There was none since the FAR was changed, or its report was refused.
    #[default]
    No,
    /// A report is due.
    Due,
    /// It is under way.
    Sent,
    /// The CP function has taken it: more indications say nothing new.
    Told,
}

/// Forwarding Parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Destination Interface.
    pub side: Side,
    /// Network Instance.
    pub instance: NameId,
    /// Outer Header Creation GTP-U/UDP/IPv4 or GTP-U/UDP/IPv6.
    pub tunnel: Option<RemoteTunnel>,
    /// Transport Level Marking.
    pub marking: Marking,
}

impl Forwarding {
    /// True for packets to the CP function without a tunnel (N4-u) that leads there.
    pub fn is_lost(&self) -> bool {
        self.side == Side::Control && self.tunnel.is_none()
    }
}

/// A tunnel endpoint of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: IpAddr,
}

impl Far {
    /// True if the CP function wants to hear of the first packet.
    pub fn notifies(&self) -> bool {
        self.action == Action::Buffer && self.flags & ApplyAction::NOCP.flags() != 0
    }

    /// True if outer headers are marked.
    pub fn marks(&self) -> bool {
        self.forwarding.is_some_and(|f| !f.marking.is_none())
    }

    /// The peer's tunnel, if packets go into one.
    pub fn tunnel(&self) -> Option<RemoteTunnel> {
        self.forwarding.and_then(|f| f.tunnel)
    }
}
