//! The rules of one session, as the CP function provisioned them. The file of a rule says also which octets of the
//! session's record it takes.

mod endpoint;
mod far;
pub mod octets;
mod pdr;
mod ue;
mod urr;

use crate::limits::{BARS, ENDPOINTS, FARS, PDRS, QERS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES, URRS};
use crate::network::Side;
use crate::session_sets::SetList;
use arrayvec::ArrayVec;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::usage_record::AwaitsPacket;
use sluice_wire::ids::{BarId, FarId};

#[cfg(test)]
pub use endpoint::entry_of;
pub use endpoint::{ENDPOINT_MAX, ENDPOINT_MIN, Endpoint, Key, Origin};
pub use far::{
    Action, BAR_MAX, Bar, FAR_IPV6, FAR_MARKED, FAR_MAX, FAR_MIN, Far, Forwarding, Indicated,
    QER_MAX, Qer, RemoteTunnel,
};
pub use pdr::{
    Filter, FilterOrigin, IPV6_TUNNELS_MAX, LocalTunnel, PDR_IPV6, PDR_MAX, PDR_MIN, Pdr, PdrForm,
};
pub use ue::{Families, Given, RecordUe, UE_MAX, UeAddresses, UeMatch, UeRoutes};
pub use urr::{
    ClockImage, MONITORING_MAX, Monitoring, MonitoringTime, Renewed, URR_MAX, Urr, UrrTimes,
};

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

/// The IPv4 addresses of our tunnel endpoints by their numbers on the path, as sessions told them first. A few stand
/// here once, and not in each record.
#[derive(Clone, Debug)]
pub struct TunnelIpv4(Box<[Option<Ipv4Addr>; 256]>);

impl Default for TunnelIpv4 {
    fn default() -> Self {
        Self(Box::new([None; 256]))
    }
}

impl TunnelIpv4 {
    /// That of an endpoint.
    pub fn get(&self, local: u8) -> Option<Ipv4Addr> {
        self.0[usize::from(local)]
    }

    /// Learns the addresses of endpoints that have told none yet.
    pub fn learn(&mut self, rules: &Rules) {
        for tunnel in rules.pdrs.iter().filter_map(|pdr| pdr.tunnel) {
            let known = &mut self.0[usize::from(tunnel.local)];
            *known = known.or(tunnel.addresses.ipv4);
        }
    }

    /// True if all F-TEIDs with an IPv4 address have the one that is known of their endpoint.
    pub fn has_all(&self, rules: &Rules) -> bool {
        let mut tunnels = rules.pdrs.iter().filter_map(|pdr| pdr.tunnel);
        tunnels.all(|tunnel| {
            let ipv4 = tunnel.addresses.ipv4;
            ipv4.is_none() || ipv4 == self.get(tunnel.local)
        })
    }
}
