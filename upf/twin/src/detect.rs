//! Detection: which PDR a packet matches (TS 29.244, 5.2.1), by looking at all of them.

use crate::arrival::{Plain, Tunnelled};
use crate::config::{Place, Side, TwinConfig};
use crate::ipv4::{self, Fault, Packet};
use crate::outcome::{Drop, Notice};
use crate::rules::{FTeid, Flows, Pdr, Session, SessionId};
use std::collections::BTreeMap;

/// All sessions.
pub type Sessions = BTreeMap<SessionId, Session>;

/// A packet and the PDR that it matches.
pub struct Detected<'a> {
    pub session: SessionId,
    pub pdr: u16,
    /// The inner packet, or the plain one.
    pub packet: Packet<'a>,
    /// It came in a tunnel.
    pub tunnelled: bool,
}

/// Why no PDR matches, and who hears of it.
pub type Missed = (Drop, Option<Notice>);

/// A packet that came in a tunnel.
pub fn tunnelled<'a>(
    config: &TwinConfig,
    sessions: &Sessions,
    came: &Tunnelled<'a>,
) -> Result<Detected<'a>, Missed> {
    let f_teid = FTeid {
        address: came.local,
        teid: came.teid,
    };
    let ends = config
        .all_tunnels()
        .filter(|(_, t)| t.address == came.local);
    let places: Vec<&Place> = ends.map(|(_, t)| &t.place).collect();
    let enters = |pdr: &Pdr| {
        pdr.f_teid == Some(f_teid) && pdr.source != Side::Control && is_of(pdr, &places)
    };
    let Some((session, rules)) = find(sessions, enters) else {
        let notice = Notice::ErrorIndication {
            peer: came.peer,
            local: came.local,
            teid: came.teid,
        };
        return Err((Drop::UnknownTeid, Some(notice)));
    };
    let packet = ipv4::read(came.inner).map_err(|fault| match fault {
        Fault::Header => (Drop::InnerHeader, None),
        Fault::Length => (Drop::InnerLength, None),
        Fault::Checksum => (Drop::InnerChecksum, None),
    })?;
    let source = packet.header.source_addr();
    let uplink = rules.pdrs.values().any(|p| enters(p) && p.is_uplink());
    if uplink && rules.ue().is_some_and(|ue| ue != source) {
        return Err((Drop::UeSource, None));
    }
    let pdr = first(rules, came.qfi, enters)?;
    Ok(Detected {
        session,
        pdr,
        packet,
        tunnelled: true,
    })
}

/// A packet that came without a tunnel.
pub fn plain<'a>(
    config: &TwinConfig,
    sessions: &Sessions,
    came: Plain<'a>,
) -> Result<Detected<'a>, Missed> {
    let destination = came.packet.header.destination_addr();
    let place = config.links[came.link].plain.as_ref();
    let enters = |pdr: &Pdr| {
        let meant = config.plain(pdr.source, pdr.instance.as_deref());
        pdr.f_teid.is_none() && pdr.ue == Some(destination) && meant == place
    };
    let Some((session, rules)) = find(sessions, enters) else {
        return Err((Drop::UnknownUe, None));
    };
    let pdr = first(rules, None, enters)?;
    Ok(Detected {
        session,
        pdr,
        packet: came.packet,
        tunnelled: false,
    })
}

/// The session that has a PDR by which the packet enters.
fn find(sessions: &Sessions, enters: impl Fn(&Pdr) -> bool) -> Option<(SessionId, &Session)> {
    let mut all = sessions.iter();
    all.find(|(_, s)| s.pdrs.values().any(&enters))
        .map(|(id, s)| (*id, s))
}

/// The matching PDR that comes first in precedence: the lowest value (8.2.11).
fn first(rules: &Session, qfi: Option<u8>, enters: impl Fn(&Pdr) -> bool) -> Result<u16, Missed> {
    let of_flow = |pdr: &Pdr| pdr.qfis.is_empty() || qfi.is_some_and(|q| pdr.qfis.contains(&q));
    let matching = rules
        .pdrs
        .iter()
        .filter(|(_, p)| enters(p) && of_flow(p) && p.flows == Flows::All);
    let first = matching.min_by_key(|(_, p)| p.precedence);
    first.map(|(id, _)| *id).ok_or((Drop::NoPdr, None))
}

/// True if the PDR is for packets from one of these places.
fn is_of(pdr: &Pdr, places: &[&Place]) -> bool {
    let mut places = places.iter();
    places.any(|p| p.is_meant(pdr.source, pdr.instance.as_deref()))
}
