//! The twin's interface.

use crate::admit::{Draft, Refused, check, no, no_to};
use crate::applications::Told;
use crate::config::{Addresses, TwinConfig};
use crate::ecn;
use crate::forward::{self, Draw, Translation, forward};
use crate::fragment::{Fragments, Gathered};
use crate::hold::{self, HeldFrame, Paged};
use crate::nat::Nats;
use crate::outcome::{Drop, Outcome};
use crate::parse::{self, Arrival};
use crate::pdr_detection::{self, Sessions};
use crate::rules::{Session, SessionId};
use crate::shaping::{Door, Queue};
use crate::ue_addresses::UePrefix;
use crate::up_address::{self, Giving, Rested};
use crate::up_fteid::Choices;
use crate::usage::Urr;
use sluice_wire::pfcp::group::{CreatePdr, CreatedPdr, UsageReport};
use sluice_wire::pfcp::message::{
    SessionEstablishmentRequest, SessionModificationRequest, SessionSetDeletionRequest,
};
use sluice_wire::pfcp::value::{NtpTime, SessionModificationRequestFlags, UsageReportTrigger};
use sluice_wire::pfcp::{Cause, IeType};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How long a packet waits for the MAC address of its next hop.
const WAIT_NS: u64 = 3_000_000_000;

/// A UPF that takes its time.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    pub(crate) config: TwinConfig,
    pub(crate) sessions: Sessions,
    /// Packets of idle UEs, oldest first.
    pub(crate) holding: Vec<HeldFrame>,
    pub(crate) paged: Vec<Paged>,
    /// Sessions that were found without packets.
    inactive: Vec<SessionId>,
    /// When packets that wait for their next hop are given up.
    waiting: Vec<u64>,
    pub(crate) fragments: Fragments,
    pub(crate) nats: Nats,
    /// Packets of UEs to UEs by public addresses, with the link that they come back by.
    pub(crate) turned: Vec<(usize, Vec<u8>)>,
    /// The packet at hand as it came, if it was translated since.
    pub(crate) as_it_came: Option<Vec<u8>>,
    /// UE addresses that were given back.
    rested: Rested,
    /// What was told of applications.
    pub(crate) told: Told,
    shaped: Queue,
}

/// Whether a packet comes, was held for an idle UE, or has paid its bit rates and waited for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    First,
    Held,
    Due,
}

/// What a modification brings about.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Modified {
    /// Usage Reports of the response, by URR.
    pub reports: Vec<UsageReport<'static>>,
    /// End Markers that leave before anything takes the new path.
    pub end_markers: Vec<Outcome>,
    /// What becomes of packets that were held.
    pub released: Vec<Outcome>,
}

impl Twin {
    /// Without sessions.
    pub fn new(config: TwinConfig) -> Self {
        Self {
            nats: Nats::new(&config),
            config,
            ..Self::default()
        }
    }

    /// Session Establishment. `created` is what the UP function's answer says of F-TEIDs that it
    /// chose; `wall` is the time of day.
    ///
    /// # Errors
    /// [`Refused`]: the request should not have been granted, or not in this way.
    pub fn establish(
        &mut self,
        id: SessionId,
        request: &SessionEstablishmentRequest<'_>,
        created: &[CreatedPdr],
        wall: NtpTime,
    ) -> Result<(), Refused> {
        if self.sessions.contains_key(&id) {
            return Err(Refused::Answer(format!("session {id:#x} exists already")));
        }
        let had = up_address::had(&self.config, &self.sessions);
        let giving = self.giving(&had, created, wall);
        let (given, given_in) = giving.chosen(&request.create_pdr)?;
        let mut choices = Choices::new(created, &self.sessions);
        let mut draft = Draft {
            config: &self.config,
            told: &self.told,
            before: &Session::default(),
            rules: Session {
                given,
                given_in,
                ..Session::default()
            },
            is_new: true,
            choices: &mut choices,
            now: wall,
            end_markers: Vec::new(),
            removed: Vec::new(),
        };
        draft.establish(request)?;
        let rules = draft.rules;
        check(&self.config, &self.sessions, id, &rules)?;
        choices.check()?;
        up_address::check_answer(&request.create_pdr, created, &rules.given)?;
        self.sessions.insert(id, rules);
        self.note_rest(&had, wall);
        self.nats.follow(&self.config, &self.sessions);
        self.advance_urrs(wall);
        Ok(())
    }

    /// Sessions without a free port get a further block: how many did, and how many did not.
    pub fn give_ports(&mut self) -> (u64, u64) {
        self.nats.give_more(&self.config)
    }

    /// Session Modification, queries included. Nothing changes if it is refused.
    ///
    /// # Errors
    /// [`Refused`], as for [`Self::establish`].
    pub fn modify(
        &mut self,
        id: SessionId,
        request: &SessionModificationRequest<'_>,
        created: &[CreatedPdr],
        (now_ns, wall): (u64, NtpTime),
    ) -> Result<Modified, Refused> {
        let Some(before) = &self.found(id, request) else {
            return no("the session is unknown");
        };
        let mut choices = Choices::new(created, &self.sessions);
        let mut draft = Draft {
            config: &self.config,
            told: &self.told,
            before,
            rules: before.clone(),
            is_new: false,
            choices: &mut choices,
            now: wall,
            end_markers: Vec::new(),
            removed: Vec::new(),
        };
        draft.modify(request)?;
        let (markers, removed) = (draft.end_markers, draft.removed);
        let mut after = draft.rules;
        check(&self.config, &self.sessions, id, &after)?;
        choices.check()?;
        up_address::check_answer(&request.create_pdr, created, &after.given)?;
        after.give_up_unused_buckets();
        let had = up_address::had(&self.config, &self.sessions);
        let reports = reports(before, &mut after, removed, request, wall);
        self.sessions.insert(id, after);
        self.note_rest(&had, wall);
        self.nats.follow(&self.config, &self.sessions);
        self.advance_urrs(wall);
        let (mut end_markers, mut left) = (Vec::new(), Vec::new());
        for marker in &markers {
            // A tunnel that several FARs leave ends once, by whatever name they call its interface; packets of
            // different marking may overtake each other in the network, so each marking has an end of its own.
            let end = self.config.tunnels(marker.side, marker.instance.as_deref());
            let mask = marker.marking.1 & !0x03;
            let marked = (marker.marking.0 & mask, mask);
            let tunnel = (end.map(|(_, end)| end.address), marker.to, marked);
            if left.contains(&tunnel) {
                continue;
            }
            left.push(tunnel);
            match forward::end_marker(&self.config, (id, false), marker) {
                Ok(sent) => end_markers.push(Outcome::Sent(sent)),
                Err(Drop::NoRoute) => end_markers.push(Outcome::Dropped(Drop::NoRoute, None)),
                // It waits for its next hop.
                Err(_) => {}
            }
        }
        let flags = request.pfcpsmreq_flags.unwrap_or_default();
        let mut released = match flags.contains(SessionModificationRequestFlags::DROBU) {
            true => self.discard_held(id),
            false => Vec::new(),
        };
        released.extend(self.waiting_again(now_ns, id));
        released.extend(self.read_again(now_ns, id));
        released.extend(self.turn_round(now_ns));
        Ok(Modified {
            reports,
            end_markers,
            released,
        })
    }

    /// Session Deletion: the last usage of all URRs, and what becomes of packets that were held.
    ///
    /// # Errors
    /// [`Refused`] if there is no such session.
    pub fn delete(
        &mut self,
        id: SessionId,
        (now_ns, wall): (u64, NtpTime),
    ) -> Result<(Vec<UsageReport<'static>>, Vec<Outcome>), Refused> {
        let had = up_address::had(&self.config, &self.sessions);
        let Some(session) = self.sessions.remove(&id) else {
            return no("the session is unknown");
        };
        self.note_rest(&had, wall);
        self.nats.follow(&self.config, &self.sessions);
        let urrs = session.urrs.values().cloned();
        let last = urrs.flat_map(|mut u| u.report(UsageReportTrigger::TERMR, wall));
        let last = last.map(|report| session.detected(report)).collect();
        let mut released = self.waiting_again(now_ns, id);
        released.extend(self.read_again(now_ns, id));
        Ok((last, released))
    }

    /// Session Set Deletion: the sessions that end, and what becomes of packets that were held. Their last usage is
    /// told to nobody.
    ///
    /// # Errors
    /// [`Refused`] if it names no set.
    pub fn delete_sets(
        &mut self,
        request: &SessionSetDeletionRequest<'_>,
        when: (u64, NtpTime),
    ) -> Result<(Vec<SessionId>, Vec<Outcome>), Refused> {
        if request.fq_csid.is_empty() {
            let missing = Cause::CONDITIONAL_IE_MISSING;
            return no_to(missing, IeType::FQ_CSID, "no set is named");
        }
        let all = self.sessions.iter();
        let ends = all.filter(|(_, session)| session.is_in_any(&request.fq_csid));
        let ends: Vec<SessionId> = ends.map(|(id, _)| *id).collect();
        let mut released = Vec::new();
        for id in &ends {
            released.extend(self.delete(*id, when)?.1);
        }
        Ok((ends, released))
    }

    /// What a session's packets meet is about to change: what comes from now on leaves behind what waits for its
    /// bit rates.
    pub fn stand_behind(&mut self, id: SessionId) {
        self.shaped.stand_behind(id);
    }

    /// What becomes of a session's packets that wait for their bit rates: those whose door is gone go, those
    /// whose FAR buffers now are held.
    pub(crate) fn waiting_again(&mut self, now_ns: u64, id: SessionId) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for w in self.shaped.take(id) {
            let (config, sessions) = (&self.config, &self.sessions);
            let detected = match parse::read(config, w.port, &w.frame) {
                Ok(Arrival::Tunnel(came)) => pdr_detection::tunnelled(config, sessions, &came),
                Ok(Arrival::Plain(came)) => pdr_detection::plain(config, sessions, came),
                Ok(Arrival::EndMarker(came)) => {
                    match pdr_detection::session_of(config, sessions, &came) {
                        Some(_) => self.shaped.put_back(w),
                        None => outcomes.push(Outcome::Dropped(Drop::SessionChanged, None)),
                    }
                    continue;
                }
                _ => continue,
            };
            let is_held = match &detected {
                Err((Drop::UnknownTeid | Drop::UnknownUe, _)) => {
                    outcomes.push(Outcome::Dropped(Drop::SessionChanged, None));
                    continue;
                }
                Err(_) => false,
                Ok(detected) => {
                    let session = &sessions[&detected.session];
                    forward::holds(config, session, detected)
                }
            };
            match is_held {
                true => outcomes.extend(self.go_on(now_ns, (w.port, &w.frame, w.came), Turn::Due)),
                false => self.shaped.put_back(w),
            }
        }
        outcomes
    }

    /// Addresses that nobody has any more rest from now on.
    fn note_rest(&mut self, before: &BTreeSet<(usize, IpAddr)>, now: NtpTime) {
        let after = up_address::had(&self.config, &self.sessions);
        self.rested.note(before, &after, now);
    }

    /// A frame that `port` received. Several outcomes where it leaves in pieces, or decides the
    /// fate of fragments that waited.
    pub fn packet(&mut self, now_ns: u64, port: u16, frame: &[u8]) -> Vec<Outcome> {
        self.execute(now_ns, port, frame, Turn::First)
    }

    /// The same of a packet that is new, or that has waited.
    pub(crate) fn execute(
        &mut self,
        now_ns: u64,
        port: u16,
        frame: &[u8],
        turn: Turn,
    ) -> Vec<Outcome> {
        let detected = match parse::read(&self.config, port, frame) {
            Err(drop) => return vec![Outcome::Dropped(drop, None)],
            Ok(Arrival::Control) => return vec![Outcome::Control],
            Ok(Arrival::Fragment(packet)) => {
                let gathered = self.fragments.add(frame, &packet, now_ns);
                return self.gathered(now_ns, port, gathered);
            }
            Ok(Arrival::EndMarker(came)) => {
                return vec![self.end_marker(port, frame, &came, turn)];
            }
            Ok(Arrival::Tunnel(came)) => {
                if let Some(told) = ecn::told_inside(frame, &came) {
                    return self.execute(now_ns, port, &told, turn);
                }
                pdr_detection::tunnelled(&self.config, &self.sessions, &came)
            }
            Ok(Arrival::Plain(came)) => {
                let packet = match self.outside(&came, turn) {
                    Some(nat) => return self.came_to_public(now_ns, port, frame, (nat, came)),
                    None => came,
                };
                pdr_detection::plain(&self.config, &self.sessions, packet)
            }
        };
        let detected = match detected {
            Ok(detected) => detected,
            Err((Drop::UnknownTeid | Drop::UnknownUe, _)) if turn == Turn::Due => {
                return vec![Outcome::Dropped(Drop::SessionChanged, None)];
            }
            Err((drop, notice)) => return vec![Outcome::Dropped(drop, notice)],
        };
        let Some(session) = self.sessions.get_mut(&detected.session) else {
            return vec![Outcome::Dropped(Drop::NoPdr, None)];
        };
        let before = self.shaped.before(detected.door, self.config.shaping);
        let draw = Draw {
            now_ns,
            before: (turn != Turn::Due).then_some(before),
        };
        let mut translation = Translation {
            nats: &mut self.nats,
            turned: &mut self.turned,
        };
        let outcomes = forward(&self.config, session, &detected, draw, &mut translation);
        if outcomes == [Outcome::Buffered] && turn != Turn::Held {
            let door = hold::door(&self.config, session, &detected);
            let most = hold::most(&self.config, session, &detected);
            self.paged.extend(hold::first_of_flow(session, &detected));
            return vec![self.hold((door, most), now_ns, port, frame)];
        }
        if let [Outcome::Shaped(until_ns)] = outcomes[..] {
            let of = (detected.door, detected.session);
            let waits = (port, frame, self.as_it_came.clone());
            self.shaped.push(until_ns, of, waits);
        }
        let held = outcomes.iter().filter(|o| **o == Outcome::Held);
        self.waiting.extend(held.map(|_| now_ns + WAIT_NS));
        outcomes
    }

    /// An End Marker goes where the session's packets go, behind those that wait.
    fn end_marker(
        &mut self,
        port: u16,
        frame: &[u8],
        came: &parse::Tunnelled<'_>,
        turn: Turn,
    ) -> Outcome {
        let door = pdr_detection::door(came);
        if let Some(outcome) = self.behind(door, turn) {
            if let Outcome::Shaped(until_ns) = outcome {
                let session = pdr_detection::session_of(&self.config, &self.sessions, came);
                let of = (door, session.unwrap_or(0));
                self.shaped.push(until_ns, of, (port, frame, None));
            }
            return outcome;
        }
        let Some((stream, marker)) = pdr_detection::end_marker(&self.config, &self.sessions, came)
        else {
            return Outcome::Control;
        };
        let sent = forward::end_marker(&self.config, stream, &marker);
        sent.map_or_else(|why| Outcome::Dropped(why, None), Outcome::Sent)
    }

    /// What becomes of an End Marker that finds packets before it.
    fn behind(&self, door: Door, turn: Turn) -> Option<Outcome> {
        let last = self
            .shaped
            .last_due_ns(door)
            .filter(|_| turn == Turn::First)?;
        let has_room = self.shaped.before(door, self.config.shaping).has_room;
        Some(match has_room {
            true => Outcome::Shaped(last),
            false => Outcome::Dropped(Drop::ShapingFull, None),
        })
    }

    pub(crate) fn gathered(&mut self, now_ns: u64, port: u16, gathered: Gathered) -> Vec<Outcome> {
        match gathered {
            Gathered::Waits => vec![Outcome::Held],
            Gathered::Broken(frames) => {
                vec![Outcome::Dropped(Drop::OuterFragment, None); frames]
            }
            Gathered::Whole(frame, pieces) => {
                let mut outcomes = vec![Outcome::Merged; pieces - 1];
                outcomes.extend(self.packet(now_ns, port, &frame));
                outcomes
            }
        }
    }

    /// When the next packet leaves that waits for its bit rates.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.shaped.next_due_ns()
    }

    /// Time passes: packets that leave now, and those that waited in vain.
    pub fn advance(&mut self, now_ns: u64) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while let Some(w) = self.shaped.pop(now_ns) {
            outcomes.extend(self.go_on(now_ns, (w.port, &w.frame, w.came), Turn::Due));
        }
        outcomes.extend(self.turn_round(now_ns));
        let before = self.waiting.len();
        self.waiting.retain(|until_ns| *until_ns > now_ns);
        let mut dropped = vec![Drop::NextHopUnresolved; before - self.waiting.len()];
        dropped.extend(vec![Drop::Reassembly; self.fragments.expire(now_ns)]);
        dropped.extend(self.expire_held(now_ns));
        outcomes.extend(dropped.into_iter().map(|d| Outcome::Dropped(d, None)));
        outcomes
    }

    /// Time passes for URRs and sessions: periods end, and no packets came.
    pub fn advance_urrs(&mut self, wall: NtpTime) {
        let urrs = self.sessions.values_mut().flat_map(|s| s.urrs.values_mut());
        urrs.for_each(|urr| urr.advance(wall));
        for (id, session) in &mut self.sessions {
            if session.inactivity.advance(wall.0) {
                self.inactive.push(*id);
            }
        }
    }

    /// The usage that sessions report by themselves by now: of each all that is due, by URR.
    pub fn usage_reports(&mut self, wall: NtpTime) -> Vec<(SessionId, Vec<UsageReport<'static>>)> {
        let sessions = self.sessions.iter_mut().map(|(id, session)| {
            let urrs = session.urrs.values_mut();
            let due: Vec<_> = urrs.flat_map(|urr| urr.due_reports(wall)).collect();
            let told = due.into_iter().map(|report| session.detected(report));
            (*id, told.collect())
        });
        let due = sessions.filter(|(_, reports): &(_, Vec<_>)| !reports.is_empty());
        due.collect()
    }

    /// Sessions that the CP function is told are inactive, since this was asked before.
    pub fn inactive(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.inactive)
    }

    /// True if it matters which of two packets comes first: something happens at an amount of octets.
    pub fn counts_packet_by_packet(&self) -> bool {
        let mut urrs = self.sessions.values().flat_map(|s| s.urrs.values());
        urrs.any(Urr::waits_for_packets)
    }

    /// Packets that wait for their next hop, for an idle UE or for their bit rates, and fragments.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.fragments.held() + self.holding.len() + self.shaped.len()
    }

    /// Sessions by their names.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// The local TEID of a PDR, by which packets reach it.
    pub fn teid(&self, id: SessionId, pdr: u16) -> Option<(IpAddr, u32)> {
        let f_teid = self.sessions.get(&id)?.pdrs.get(&pdr)?.f_teid?;
        Some((f_teid.address, f_teid.teid))
    }

    /// The addresses in the F-TEID of a PDR.
    pub fn f_teid_addresses(&self, id: SessionId, pdr: u16) -> Option<Addresses> {
        Some(self.sessions.get(&id)?.pdrs.get(&pdr)?.addresses)
    }

    /// The UE's IPv4 address, if a rule of the session tells it.
    pub fn ue(&self, id: SessionId) -> Option<std::net::Ipv4Addr> {
        self.sessions.get(&id)?.ue().ipv4
    }

    /// The UE's IPv6 prefix, if a rule of the session tells it.
    pub fn ue_prefix(&self, id: SessionId) -> Option<std::net::Ipv6Addr> {
        let prefix = self.sessions.get(&id)?.ue().prefix?;
        Some(prefix.address())
    }

    /// The IPv4 address and the prefix that a UP function may give to the PDRs of a request, as a session has them
    /// or as they are free.
    pub fn to_give(
        &self,
        id: SessionId,
        pdrs: &[CreatePdr<'_>],
        wall: NtpTime,
    ) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let had = up_address::had(&self.config, &self.sessions);
        let free = || self.giving(&had, &[], wall).chosen(pdrs);
        let ue = match self.sessions.get(&id) {
            Some(session) => session.given,
            None => free().map(|(ue, _)| ue).unwrap_or_default(),
        };
        (ue.ipv4, ue.prefix.map(UePrefix::address))
    }

    fn giving<'a>(
        &'a self,
        had: &'a BTreeSet<(usize, IpAddr)>,
        created: &'a [CreatedPdr],
        now: NtpTime,
    ) -> Giving<'a> {
        Giving {
            config: &self.config,
            had,
            rested: &self.rested,
            created,
            now,
        }
    }

    /// True if downlink packets of a session may come out of a tunnel as well as from a data
    /// network, so that what arrives on two ports draws on one bucket. Which of them comes first is
    /// then seen from outside.
    pub fn downlink_has_two_doors(&self) -> bool {
        let by_tunnel = |s: &Session| {
            let mut live = s.pdrs.values().filter(|p| s.is_live(p));
            live.any(|p| p.f_teid.is_some() && !s.is_uplink(p))
        };
        self.sessions.values().any(by_tunnel)
    }
}

/// What was asked for, and the last words of URRs that go or lose their last PDR (7.5.5.1).
fn reports(
    before: &Session,
    after: &mut Session,
    removed: Vec<Urr>,
    request: &SessionModificationRequest<'_>,
    wall: NtpTime,
) -> Vec<UsageReport<'static>> {
    let used = |s: &Session| -> BTreeSet<u32> {
        let lists = s.pdrs.values().flat_map(|p| p.urrs.iter().copied());
        lists.collect()
    };
    let (used_before, used_after) = (used(before), used(after));
    let flags = request.pfcpsmreq_flags.unwrap_or_default();
    let all = flags.contains(SessionModificationRequestFlags::QAURR);
    let removed = removed.into_iter();
    let last = removed.flat_map(|mut urr| urr.report(UsageReportTrigger::TERMR, wall));
    let mut reports: Vec<_> = last.map(|report| before.detected(report)).collect();
    let gone: Vec<u32> = reports.iter().map(|r| r.urr_id.0).collect();
    let mut others = Vec::new();
    for (id, urr) in &mut after.urrs {
        // One of the same name that has just come was not measuring yet.
        if gone.contains(id) || !before.urrs.contains_key(id) {
            continue;
        }
        let asked = all || request.query_urr.iter().any(|q| q.urr_id.0 == *id);
        let abandoned = used_before.contains(id) && !used_after.contains(id);
        if abandoned {
            others.extend(urr.report(UsageReportTrigger::TERMR, wall));
        } else if asked {
            others.extend(urr.report(UsageReportTrigger::IMMER, wall));
        }
    }
    reports.extend(others.into_iter().map(|report| after.detected(report)));
    reports.sort_by_key(|r| r.urr_id.0);
    reports
}
