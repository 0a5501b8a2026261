//! Rules as received: nothing is compiled, merged or looked up in advance.

use crate::applications::{Flows, OfApplication};
use crate::bucket::Bucket;
use crate::config::{Addresses, InterfaceName, Side, contains};
use crate::ip::Packet;
use crate::predefined::{Predefined, first_met};
use crate::sdf::SdfFilter;
use crate::ue_addresses::UeAddresses;
use crate::usage::Urr;
use sluice_wire::pfcp::group::{ApplicationDetectionInformation, UsageReport};
use sluice_wire::pfcp::value::{
    BitRate, CsidNode, FlowDirection, FlowInformation, FqCsid, GateStatus, Text, UsageReportTrigger,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whatever the user calls a session by; its UP SEID, say.
pub type SessionId = u64;

/// A part of a CP function: node, kind of node, CSID.
pub type SetName = (CsidNode, Option<u8>, u16);

/// An address and a length.
pub type Route = (IpAddr, u8);

/// The User Plane Inactivity Timer of a session (5.11), in whole seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inactivity {
    /// 0: there is none.
    pub timer: u32,
    pub last_packet: u32,
    pub now: u32,
    /// The CP function was told, and no packet came since.
    pub told: bool,
}

impl Inactivity {
    /// Set by a message.
    pub fn set(&mut self, timer: u32, now: u32) {
        *self = Self {
            timer,
            last_packet: now,
            now,
            told: false,
        };
    }

    /// A packet leaves.
    pub fn packet(&mut self) {
        (self.last_packet, self.told) = (self.now, false);
    }

    /// Time has come so far. True if the CP function is to be told.
    pub fn advance(&mut self, now: u32) -> bool {
        self.now = now;
        let is_over = self.timer > 0 && self.last_packet + self.timer <= now;
        is_over && !std::mem::replace(&mut self.told, true)
    }
}

fn named(ie: &FqCsid<'_>) -> impl Iterator<Item = SetName> {
    let (node, of) = (ie.node, ie.node_type);
    ie.csids().map(move |csid| (node, of, csid))
}

/// The rules of a session, by their identifiers.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub pdrs: BTreeMap<u16, Pdr>,
    pub fars: BTreeMap<u32, Far>,
    pub qers: BTreeMap<u32, Qer>,
    pub urrs: BTreeMap<u32, Urr>,
    /// Suggested Buffering Packets Counts of BARs.
    pub bars: BTreeMap<u8, Option<u8>>,
    pub inactivity: Inactivity,
    /// Bidirectional SDF filters by their IDs (8.2.5).
    pub filters: BTreeMap<u32, SdfFilter>,
    /// The UE's addresses as they were first told. They stay, even if no rule names them any more.
    pub told: UeAddresses,
    /// Those that the UP function gave, in the data network of their pools.
    pub given: UeAddresses,
    pub given_in: Option<InterfaceName>,
    /// Parts of CP functions with which it ends: node, kind of node, CSID.
    pub sets: BTreeSet<SetName>,
    /// Framed routes and a delegated prefix, as the establishment told them.
    pub behind: Vec<Route>,
}

impl Session {
    /// A gate or a bit rate drops a packet: URRs count it that measure before QoS enforcement.
    pub fn count_dropped(&mut self, pdr: &Pdr, uplink: bool, bytes: usize) {
        for urr in &pdr.urrs {
            if let Some(urr) = self.urrs.get_mut(urr) {
                urr.count_dropped(uplink, bytes);
            }
        }
    }

    /// Belongs to these sets, and no longer to others of the same kinds of nodes.
    pub fn join(&mut self, told: &[FqCsid<'_>]) {
        self.sets
            .retain(|(_, of, _)| told.iter().all(|ie| ie.node_type != *of));
        self.sets.extend(told.iter().flat_map(named));
    }

    /// True if it belongs to one of the sets.
    pub fn is_in_any(&self, told: &[FqCsid<'_>]) -> bool {
        told.iter()
            .flat_map(named)
            .any(|name| self.sets.contains(&name))
    }

    /// True if some rule reports or stops packets by their number or octets.
    pub fn has_limits(&self) -> bool {
        !self.urrs.is_empty() || self.qers.values().any(|qer| qer.mbr.is_some())
    }

    /// The UE's addresses, from whichever PDRs tell them.
    pub fn ue(&self) -> UeAddresses {
        UeAddresses {
            ipv4: self.pdrs.values().find_map(|p| p.ue.ipv4),
            prefix: self.pdrs.values().find_map(|p| p.ue.prefix),
        }
    }

    /// True if an address is the UE's or lies behind it.
    pub fn hold(&self, address: IpAddr) -> bool {
        self.told.have(address) || self.behind.iter().any(|route| contains(*route, address))
    }

    /// A filter is kept as long as a PDR has its ID.
    pub fn give_up_unused_filters(&mut self) {
        let pdrs = &self.pdrs;
        self.filters.retain(|id, _| {
            let is_it = |f: &Filter| *f == Filter::Kept(*id);
            pdrs.values().any(|p| p.filters.iter().any(is_it))
        });
    }

    /// True if a PDI's UE address and SDF filters let the packet through.
    pub fn lets_through(&self, pdr: &Pdr, packet: &Packet<'_>) -> bool {
        let is_like = |route: &Route| route.0.is_ipv4() == packet.source().is_ipv4();
        let names_version = pdr.ue.is_empty()
            || pdr.ue.know_version_of(packet.source())
            || pdr.routes.iter().any(is_like);
        let is_uplink = pdr.source == Side::Access;
        let is_met = |f: &Filter| match f {
            Filter::Own(filter) => filter.is_met_by(packet, is_uplink),
            Filter::Kept(id) => self.filters[id].is_met_by(packet, is_uplink),
        };
        names_version
            && (pdr.filters.is_empty() || pdr.filters.iter().any(is_met))
            && (pdr.application.as_ref()).is_none_or(|of| of.is_met_by(packet, is_uplink))
            && (pdr.active.is_empty() || first_met(pdr, packet).is_some())
    }

    /// True if the PDR may match a packet: its filters must be for an IP version that it names and the UE has.
    pub fn is_live(&self, pdr: &Pdr) -> bool {
        let versions: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let has = |ue: &UeAddresses, routes: &[Route], like: IpAddr| {
            let mut routes = routes.iter();
            ue.is_empty()
                || ue.know_version_of(like)
                || routes.any(|route| route.0.is_ipv4() == like.is_ipv4())
        };
        let is_for = |f: &Filter, like: IpAddr| match f {
            Filter::Own(filter) => filter.is_for_version(like.is_ipv6()),
            Filter::Kept(id) => {
                (self.filters.get(id)).is_some_and(|f| f.is_for_version(like.is_ipv6()))
            }
        };
        let filters = |like| pdr.filters.is_empty() || pdr.filters.iter().any(|f| is_for(f, like));
        let rules = |like: IpAddr| {
            let mut active = pdr.active.iter();
            pdr.active.is_empty() || active.any(|rule| rule.is_for_version(like.is_ipv6()))
        };
        let flows = |like: IpAddr| {
            let application = pdr.application.as_ref();
            application.is_none_or(|of| of.is_for_version(like.is_ipv6()))
        };
        let may = |like: &IpAddr| {
            has(&pdr.ue, &pdr.routes, *like)
                && has(&self.told, &self.behind, *like)
                && filters(*like)
                && rules(*like)
                && flows(*like)
        };
        versions.iter().any(may)
    }

    /// PDRs have the flows that their applications have now.
    pub fn renew_applications(&mut self, flows: impl Fn(&'static str) -> Flows) {
        let named = self
            .pdrs
            .values_mut()
            .filter_map(|p| p.application.as_mut());
        named.for_each(|of| of.flows = flows(of.name));
    }

    /// True if a PDR is of one of these applications.
    pub fn names_any(&self, names: &BTreeSet<&'static str>) -> bool {
        let mut named = self.pdrs.values().filter_map(|p| p.application.as_ref());
        named.any(|of| names.contains(of.name))
    }

    /// The applications of a URR's PDRs, or other traffic.
    fn traffic_of(&self, urr: u32) -> BTreeSet<Option<&'static str>> {
        let of_urr = self.pdrs.values().filter(|p| p.urrs.contains(&urr));
        let named = of_urr.map(|p| p.application.as_ref().map(|of| of.name));
        named.collect()
    }

    /// True if it would not be clear whose traffic a URR tells of.
    pub fn is_ambiguous(&self, urr: u32) -> bool {
        self.traffic_of(urr).len() > 1
    }

    /// A report of the start or stop of traffic tells whose it is.
    pub fn detected(&self, mut report: UsageReport<'static>) -> UsageReport<'static> {
        let trigger = report.usage_report_trigger;
        let starts = trigger.contains(UsageReportTrigger::START);
        let tells = starts || trigger.contains(UsageReportTrigger::STOPT);
        let id = report.urr_id.0;
        let of_urr = self.pdrs.values().filter(|p| p.urrs.contains(&id));
        let application = of_urr.filter_map(|p| p.application.as_ref()).next();
        let is_reduced = self.urrs.get(&id).is_some_and(Urr::tells_no_flows);
        report.application_detection_information = application.filter(|_| tells).map(|of| {
            let text = of.flows.only_text().filter(|_| !is_reduced);
            ApplicationDetectionInformation {
                application_id: Text(of.name.as_bytes()),
                application_instance_id: text.map(|_| &b"1"[..]),
                flow_information: text.filter(|_| starts).map(|text| FlowInformation {
                    direction: FlowDirection(3),
                    flow_description: text.as_bytes(),
                }),
            }
        });
        report
    }

    /// True if packets may draw on a QER by a PDR.
    fn draws(&self, pdr: &Pdr, qer: u32) -> bool {
        let of_rules = pdr.active.iter().filter(|rule| rule.qer == Some(qer));
        let mut of_rules = of_rules.map(|rule| Pdr {
            active: vec![rule.clone()],
            ..pdr.clone()
        });
        (pdr.qers.contains(&qer) && self.is_live(pdr)) || of_rules.any(|pdr| self.is_live(&pdr))
    }

    /// True if packets may reach a FAR by a PDR.
    pub fn reaches(&self, pdr: &Pdr, far: u32) -> bool {
        pdr.far == far && self.is_live(pdr)
    }

    /// A bucket that no PDR draws on is not kept: it is full when one comes to it again.
    pub fn give_up_unused_buckets(&mut self) {
        let draws = |uplink: bool, qer: u32| {
            let mut pdrs = self.pdrs.values();
            pdrs.any(|p| self.is_uplink(p) == uplink && self.draws(p, qer))
        };
        let used: Vec<(u32, bool, bool)> = (self.qers.keys())
            .map(|id| (*id, draws(true, *id), draws(false, *id)))
            .collect();
        for (id, uplink, downlink) in used {
            if let Some(qer) = self.qers.get_mut(&id) {
                if !uplink {
                    qer.uplink = Bucket::default();
                }
                if !downlink {
                    qer.downlink = Bucket::default();
                }
            }
        }
    }

    /// True for packets that come from the UE. "Access" as Source Interface says so, but not where
    /// "Access" is the Destination Interface, too (8.2.24, NOTE 3): then one gNB forwards what it
    /// had for the UE to the next one.
    pub fn is_uplink(&self, pdr: &Pdr) -> bool {
        let to = self.fars.get(&pdr.far).and_then(|f| f.forwarding.as_ref());
        let forwards_data = to.is_some_and(|to| to.side == Side::Access);
        pdr.source == Side::Access && !forwards_data
    }
}

/// A Packet Detection Rule (TS 29.244, 7.5.2.2).
#[derive(Clone, PartialEq, Debug)]
pub struct Pdr {
    pub precedence: u32,
    pub source: Side,
    pub instance: Option<String>,
    pub f_teid: Option<FTeid>,
    /// The addresses in it.
    pub addresses: Addresses,
    /// The CHOOSE ID that the F-TEID was given for.
    pub choose_id: Option<u8>,
    pub ue: UeAddresses,
    /// Framed routes, and a prefix of which the UE's is a part.
    pub routes: Vec<Route>,
    pub qfis: Vec<u8>,
    /// A packet must meet one of them, if there are any.
    pub filters: Vec<Filter>,
    /// The application whose flows a packet must meet.
    pub application: Option<OfApplication>,
    /// Predefined rules that match in its place, if there are any, in the order of the configuration.
    pub active: Vec<Predefined>,
    pub removes_outer: bool,
    pub far: u32,
    pub qers: Vec<u32>,
    pub urrs: Vec<u32>,
}

/// A tunnel endpoint of ours: the first of its end's addresses stands for both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FTeid {
    pub address: IpAddr,
    pub teid: u32,
}

/// An SDF filter of a PDI.
#[derive(Clone, PartialEq, Debug)]
pub enum Filter {
    /// Without an ID.
    Own(SdfFilter),
    /// That which the session keeps under an ID.
    Kept(u32),
}

/// A Forwarding Action Rule (7.5.2.3).
#[derive(Clone, Debug)]
pub struct Far {
    pub forwards: bool,
    /// DROP: where to does not matter.
    pub drops: bool,
    /// BUFF.
    pub buffers: bool,
    /// NOCP beside it.
    pub notifies: bool,
    pub bar: Option<u8>,
    /// QFIs of packets that were told of since the FAR was updated; 0: without.
    pub told: Vec<u8>,
    pub forwarding: Option<Forwarding>,
}

/// Forwarding Parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Forwarding {
    pub side: Side,
    pub instance: Option<String>,
    pub tunnel: Option<Remote>,
    /// Value and mask of outer headers' octets; 0 and 0: they are as configured.
    pub marking: (u8, u8),
}

impl Forwarding {
    /// True if packets go to the CP function, and no tunnel takes them there.
    pub fn is_lost(&self) -> bool {
        self.side == Side::Control && self.tunnel.is_none()
    }

    /// True if packets may leave without an outer header.
    pub fn is_plain(&self) -> bool {
        self.tunnel.is_none() && matches!(self.side, Side::Core | Side::SgiLan)
    }
}

/// A tunnel endpoint of a peer (Outer Header Creation).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    pub address: IpAddr,
    pub teid: u32,
}

impl Qer {
    /// True if it has a bit rate of a direction.
    pub fn limits(&self, is_uplink: bool) -> bool {
        let rate = self.mbr.map(|mbr| match is_uplink {
            true => mbr.uplink_kbps,
            false => mbr.downlink_kbps,
        });
        rate.is_some_and(|kbps| kbps > 0)
    }
}

/// A QoS Enforcement Rule (7.5.2.5).
#[derive(Clone, Debug)]
pub struct Qer {
    pub gate: GateStatus,
    pub mbr: Option<BitRate>,
    pub gbr: Option<BitRate>,
    pub qfi: Option<u8>,
    pub uplink: Bucket,
    pub downlink: Bucket,
}
