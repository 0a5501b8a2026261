//! PDR detection (TS 29.244, 5.2.1), by looking at all of them.

use crate::admit::EndMarker;
use crate::config::{Side, TwinConfig};
use crate::ecn;
use crate::ip::{self, Fault, Packet};
use crate::ipv6;
use crate::outcome::{Drop, Notice};
use crate::parse::{Plain, Tunnelled};
use crate::rules::{FTeid, Pdr, Session, SessionId};
use crate::shaping::Door;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// All sessions.
pub type Sessions = BTreeMap<SessionId, Session>;

/// A packet and the PDR that it matches.
pub struct Detected<'a> {
    /// Where it came in.
    pub link: usize,
    pub session: SessionId,
    pub door: Door,
    pub pdr: u16,
    /// The inner packet, or the plain one.
    pub packet: Packet<'a>,
    /// It came in a tunnel.
    pub tunnelled: bool,
    /// With these extension headers, which a relay passes on.
    pub passed_on: Vec<(u8, &'a [u8])>,
    /// And a QoS flow of its own.
    pub has_flow: bool,
}

/// Why no PDR matches, and who hears of it.
pub type Missed = (Drop, Option<Notice>);

/// A packet that came in a tunnel.
pub fn tunnelled<'a>(
    config: &TwinConfig,
    sessions: &Sessions,
    came: &Tunnelled<'a>,
) -> Result<Detected<'a>, Missed> {
    let enters = |pdr: &Pdr| enters(config, came, pdr);
    let Some((session, rules)) = find(sessions, enters) else {
        let notice = Notice::ErrorIndication {
            peer: came.peer,
            local: came.to,
            teid: came.teid,
        };
        return Err((Drop::UnknownTeid, Some(notice)));
    };
    let packet = ip::read(came.inner).map_err(|fault| match fault {
        Fault::Header => (Drop::InnerHeader, None),
        Fault::Length => (Drop::InnerLength, None),
        Fault::Checksum => (Drop::InnerChecksum, None),
    })?;
    belongs(rules, &packet, enters)?;
    if came.ecn == ecn::CE && packet.traffic_class() & 3 == ecn::NOT_ECT {
        return Err((Drop::CongestionMarked, None));
    }
    let pdr = first(rules, came.qfi, &packet, enters)?;
    Ok(Detected {
        link: came.link,
        session,
        door: door(came),
        pdr,
        packet,
        tunnelled: true,
        passed_on: came.passed_on.clone(),
        has_flow: came.qfi.is_some(),
    })
}

/// By what a packet in a tunnel comes.
pub fn door(came: &Tunnelled<'_>) -> Door {
    Door::Tunnel(came.local, came.teid)
}

/// The session that a tunnel belongs to.
pub fn session_of(
    config: &TwinConfig,
    sessions: &Sessions,
    came: &Tunnelled<'_>,
) -> Option<SessionId> {
    find(sessions, |pdr| enters(config, came, pdr)).map(|(id, _)| id)
}

/// True if a PDR is for packets of this tunnel.
fn enters(config: &TwinConfig, came: &Tunnelled<'_>, pdr: &Pdr) -> bool {
    let f_teid = FTeid {
        address: came.local,
        teid: came.teid,
    };
    let instance = pdr.instance.as_deref();
    let end = config.end_at(pdr.source, instance, came.local);
    pdr.f_teid == Some(f_teid) && end.is_some()
}

/// A packet from the RAN must be the UE's own, one from another UPF must be for the UE. Between
/// two gNBs it may be either. Nothing is checked in a session that was told no address.
fn belongs(
    rules: &Session,
    packet: &Packet<'_>,
    enters: impl Fn(&Pdr) -> bool,
) -> Result<(), Missed> {
    let here = || rules.pdrs.values().filter(|p| enters(p));
    let from_ran = here().any(|p| p.source == Side::Access);
    let to_ue = here().any(|p| !rules.is_uplink(p));
    let ue = rules.told;
    // A UE with a prefix has an address on its link besides (RFC 4862, 5.3), and hears groups there.
    let on_link = |address, is_of_link: fn(Ipv6Addr) -> bool| match address {
        IpAddr::V6(address) => ue.prefix.is_some() && is_of_link(address),
        IpAddr::V4(_) => false,
    };
    let (source, destination) = (packet.source(), packet.destination());
    let is_own = rules.hold(source) || on_link(source, ipv6::is_link_source);
    let is_for = rules.hold(destination) || on_link(destination, ipv6::is_link_destination);
    let belongs = (from_ran && is_own) || (to_ue && is_for) || ue.is_empty();
    match (belongs, from_ran) {
        (true, _) => Ok(()),
        (false, true) => Err((Drop::UeSource, None)),
        (false, false) => Err((Drop::UeDestination, None)),
    }
}

/// The session and the tunnel into which an End Marker goes on: that of the first PDR of its
/// tunnel whose FAR sends into another. None where tunnels end.
pub fn end_marker(
    config: &TwinConfig,
    sessions: &Sessions,
    came: &Tunnelled<'_>,
) -> Option<((SessionId, bool), EndMarker)> {
    let (id, rules) = find(sessions, |pdr| enters(config, came, pdr))?;
    let mut live: Vec<&Pdr> = rules.pdrs.values().collect();
    live.retain(|p| rules.is_live(p) && enters(config, came, p));
    live.sort_by_key(|p| p.precedence);
    let fars = live.iter().filter_map(|p| rules.fars.get(&p.far));
    let mut ways = fars.filter(|f| f.forwards).filter_map(|f| {
        let to = f.forwarding.as_ref()?;
        Some((to, to.tunnel?))
    });
    let (to, tunnel) = ways.next()?;
    let marker = EndMarker {
        side: to.side,
        instance: to.instance.clone(),
        to: tunnel,
        marking: to.marking,
    };
    let from_access = live.iter().any(|p| p.source == Side::Access);
    Some(((id, from_access), marker))
}

/// A packet that came without a tunnel.
pub fn plain<'a>(
    config: &TwinConfig,
    sessions: &Sessions,
    came: Plain<'a>,
) -> Result<Detected<'a>, Missed> {
    let destination = came.packet.destination();
    let place = config.links[came.link].plain.as_ref();
    // What the session was told leads to it: whether its PDRs want the packet is another question.
    let enters = |pdr: &Pdr| {
        let meant = config.data_network(pdr.source, pdr.instance.as_deref());
        pdr.f_teid.is_none() && meant == place
    };
    let is_for = |(_, rules): &(&SessionId, &Session)| {
        rules.told.have(destination) && rules.pdrs.values().any(enters)
    };
    let is_behind = |(_, rules): &(&SessionId, &Session)| {
        rules.hold(destination) && rules.pdrs.values().any(enters)
    };
    let found = sessions.iter().find(is_for);
    let found = found.or_else(|| sessions.iter().find(is_behind));
    let found = found.map(|(id, rules)| (*id, rules));
    let Some((session, rules)) = found else {
        return Err((Drop::UnknownUe, None));
    };
    let pdr = first(rules, None, &came.packet, enters)?;
    Ok(Detected {
        link: came.link,
        session,
        door: Door::Ue(session),
        pdr,
        packet: came.packet,
        tunnelled: false,
        passed_on: Vec::new(),
        has_flow: false,
    })
}

/// The session that has a PDR by which the packet enters.
fn find(sessions: &Sessions, enters: impl Fn(&Pdr) -> bool) -> Option<(SessionId, &Session)> {
    let mut all = sessions.iter();
    all.find(|(_, s)| s.pdrs.values().any(&enters))
        .map(|(id, s)| (*id, s))
}

/// The matching PDR that comes first in precedence: the lowest value (8.2.11), then the lowest ID.
fn first(
    rules: &Session,
    qfi: Option<u8>,
    packet: &Packet<'_>,
    enters: impl Fn(&Pdr) -> bool,
) -> Result<u16, Missed> {
    let of_flow = |pdr: &Pdr| pdr.qfis.is_empty() || qfi.is_some_and(|q| pdr.qfis.contains(&q));
    let matching = rules
        .pdrs
        .iter()
        .filter(|(_, p)| enters(p) && of_flow(p) && rules.lets_through(p, packet));
    let first = matching.min_by_key(|(id, p)| (p.precedence, **id));
    first.map(|(id, _)| *id).ok_or((Drop::NoPdr, None))
}
