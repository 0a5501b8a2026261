//! N4 towards UPFs: associations, answers to our requests, and reports.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;

use sluice_n1::PduAddress;
use sluice_n2::Tunnel;
use sluice_n4::{
    AssociationId, Cidr, Endpoint, Event as N4Event, Features, Input as N4Input, NodeId, Outbox,
    Request, RequestError, Response, Role,
};
use sluice_sbi::{Effect, Instant, Line};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::group::{CreatedPdr, UsageReport};
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
};
use sluice_wire::pfcp::value::{CpFunctionFeatures, FTeid, NtpTime, UeIpAddress};
use sluice_wire::pfcp::{Cause, Full, MessageType, PORT, SequenceNumber, Writer};

use crate::config::Config;
use crate::context::session::{AtUpf, Loss, SessionId, Usage};
use crate::context::state::State;
use crate::limits;
use crate::upf::flow_rules;
use crate::upf::handover_rules;
use crate::upf::rules;

/// Answer of a UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The session is established, with this address of the UE.
    Established(AtUpf, PduAddress),
    /// The session is changed, or deleted.
    Done,
    /// The session is changed, and this tunnel takes packets for another gNB.
    Forwards(Tunnel),
    /// The request is refused, for this cause.
    Refused(Cause),
    /// Nothing, or nothing that makes sense.
    Nothing,
}

/// Datagrams that the endpoint sends.
#[derive(Default)]
pub(crate) struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

/// The endpoint of an SMF; its requests are numbered from the time of its start on, unless told otherwise.
pub(crate) fn endpoint(config: &Config, first_sequence: Option<u32>) -> Endpoint {
    let started = NtpTime::from_unix_s(config.started_unix_s);
    let mut n4 = sluice_n4::Config::new(NodeId::Ip(config.n4), started);
    n4.features = Features::of_cp(CpFunctionFeatures::EPFAR);
    n4.allowed_peers = allowed_peers(config);
    if let Some(number) = first_sequence {
        n4.first_sequence = SequenceNumber::wrapping(number);
    }
    n4.limits = sluice_n4::Limits::for_rate(limits::N4_REQUESTS_PER_S, n4.t1_ms, n4.n1);
    Endpoint::new(Role::Cp, n4)
}

/// Of others nothing is taken: whoever names a SEID can change what its session is charged.
pub(crate) fn allowed_peers(config: &Config) -> Vec<Cidr> {
    let upfs = config.upfs.iter();
    upfs.filter_map(|upf| host(upf.n4.ip())).collect()
}

/// One host alone.
pub(crate) fn host(ip: IpAddr) -> Option<Cidr> {
    let ip = ip.to_canonical();
    Cidr::new(ip, if ip.is_ipv4() { 32 } else { 128 })
}

impl State {
    pub(crate) fn n4_now(&self) -> sluice_n4::Instant {
        sluice_n4::Instant(self.now.instant.0)
    }

    pub(crate) fn flush(&mut self, sent: Sent) {
        for (to, octets) in sent.0 {
            self.see_n4(false, to, &octets);
            self.effects.push(Effect::N4 { to, octets });
        }
    }

    /// Associates with each UPF that it is not associated with, when it is time to try. With `retain` it is
    /// asked to keep the sessions that it has.
    pub(crate) fn associate(&mut self, retain: bool) {
        if self.to_end.is_some() {
            self.associate_at = Instant::NEVER;
        }
        if self.associate_at > self.now.instant {
            return;
        }
        let mut sent = Sent::default();
        for index in 0..self.config.upfs.len() {
            if self.associations.get(index).copied().flatten().is_none() {
                let to = self.config.upfs[index].n4;
                let now = self.n4_now();
                let id = match self.endpoint.associate(now, to, retain, &mut sent) {
                    // The UPF came first.
                    Ok(id) | Err(RequestError::AlreadyAssociated(id)) => Some(id),
                    Err(_) => None,
                };
                self.associations[index] = id;
            }
        }
        self.associate_at = match self.associations.iter().all(Option::is_some) {
            true => Instant::NEVER,
            false => self.now.instant.plus_ms(limits::ASSOCIATE_MS),
        };
        self.flush(sent);
    }

    /// Releases associations; their UPFs delete what they had.
    pub(crate) fn release_upfs(&mut self, associations: Vec<AssociationId>) {
        let (mut sent, now) = (Sent::default(), self.n4_now());
        for association in associations {
            self.upf_line(association, "PFCP association is released");
            // One that cannot be told is forgotten.
            if self.endpoint.release(now, association, &mut sent).is_err() {
                let _ = self.endpoint.forget(association);
            }
        }
        self.flush(sent);
    }

    /// Timers of the endpoint.
    pub(crate) fn n4_time(&mut self) {
        let (mut sent, now) = (Sent::default(), self.n4_now());
        self.endpoint.tick(now, &mut sent);
        self.flush(sent);
        self.tell_silent();
    }

    /// Sends a request for a session; its answer has the tag. None if it cannot be sent.
    pub(crate) fn ask_upf(
        &mut self,
        association: AssociationId,
        to: Option<SocketAddr>,
        message_type: MessageType,
        seid: Seid,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Option<u64> {
        self.tags += 1;
        let (tag, now, mut sent) = (self.tags, self.n4_now(), Sent::default());
        let request = Request {
            association,
            to,
            tag,
            message_type,
            seid: Some(seid),
        };
        let asked = self.endpoint.request(now, request, &mut sent, write);
        self.flush(sent);
        asked.ok().map(|_| tag)
    }

    /// Takes a datagram; what procedures wait for is given back.
    pub(crate) fn n4_input(&mut self, from: SocketAddr, octets: &[u8]) -> Vec<(u64, Answer)> {
        let mut answers = Vec::new();
        for message in sluice_n4::messages(octets) {
            let (mut sent, now) = (Sent::default(), self.n4_now());
            self.see_n4(true, from, message);
            match self.endpoint.handle(now, from, message, &mut sent) {
                N4Input::Nothing => {
                    self.flush(sent);
                    self.answered_late(from, message);
                }
                N4Input::Response(response) => {
                    self.flush(sent);
                    let answer = self.read_answer(&response);
                    if let Answer::Established(AtUpf { to: Some(to), .. }, _) = answer {
                        self.hear_from(response.association, to.ip());
                    }
                    answers.push((response.tag, answer));
                }
                N4Input::Session(request) => {
                    self.flush(sent);
                    self.serve(&request);
                }
            }
        }
        answers
    }

    /// A UPF has sessions at this address, as it says itself: requests go there, and its answers and
    /// reports come from there (TS 29.244, 4.2.3). Others' are not heard.
    pub(crate) fn hear_from(&mut self, association: AssociationId, ip: IpAddr) {
        if self.endpoint.is_allowed(ip) || !self.endpoint.add_address(association, ip) {
            return;
        }
        self.told_hosts.push((association, ip));
        self.endpoint.set_allowed_peers(self.allowed_hosts());
    }

    /// Hosts whose messages are accepted on N4.
    pub(crate) fn allowed_hosts(&self) -> Vec<Cidr> {
        let told = self.told_hosts.iter().filter_map(|(_, ip)| host(*ip));
        allowed_peers(&self.config)
            .into_iter()
            .chain(told)
            .collect()
    }

    /// Events of associations and requests since the last call: answers that will not come, and sessions that their
    /// UPFs have lost.
    pub(crate) fn n4_events(&mut self) -> (Vec<u64>, Vec<SessionId>) {
        let (mut failed, mut lost) = (Vec::new(), Vec::new());
        while let Some(event) = self.endpoint.next_event() {
            match event {
                N4Event::RequestFailed { tag, .. } => failed.push(tag),
                N4Event::AssociationUp {
                    association,
                    sessions_retained,
                } => {
                    self.upf_line(association, "PFCP association is up");
                    self.has_come(association);
                    self.given_up_at.remove(&association);
                    self.associated(association, sessions_retained);
                }
                // It may be back soon, and packets may flow all the while.
                N4Event::PeerLost { association } => {
                    self.upf_line(association, "the UPF does not answer");
                    self.give_up_later(association);
                }
                N4Event::PeerRecovered { association } => {
                    self.upf_line(association, "the UPF answers again");
                    // One that was restarted before is to associate still.
                    if !self.has_restarted(association) {
                        self.given_up_at.remove(&association);
                    }
                    self.forget_orphans(association, true);
                }
                N4Event::AssociationReplaced { association, .. } => {
                    self.leaving.remove(&association);
                    self.forget_paths(association);
                    self.upf_line(association, "the UPF has lost its sessions");
                    self.given_up_at.remove(&association);
                    self.forget_orphans(association, false);
                    self.lose_at(association, Loss::Restarted);
                    self.restore_at(association);
                }
                N4Event::AssociationUpdated { association } => self.features_told(association),
                // They are restored when the association is there again, if it is soon.
                N4Event::PeerRestarted { association } => {
                    self.leaving.remove(&association);
                    self.forget_paths(association);
                    self.upf_line(association, "the UPF was restarted");
                    self.forget_orphans(association, false);
                    self.lose_at(association, Loss::Restarted);
                    self.give_up_later(association);
                }
                N4Event::ReleaseRequested { association, .. } => self.release_asked(association),
                N4Event::AssociationDown { association, .. } => {
                    self.upf_line(association, "PFCP association is down");
                    self.given_up_at.remove(&association);
                    self.forget_paths(association);
                    if self.leaving.remove(&association) && self.wait_for_return(association) {
                        continue;
                    }
                    self.forget_orphans(association, false);
                    lost.extend(self.lose_at(association, Loss::Gone));
                    for one in &mut self.associations {
                        *one = one.filter(|id| *id != association);
                    }
                    self.told_hosts.retain(|(id, _)| *id != association);
                    self.endpoint.set_allowed_peers(self.allowed_hosts());
                    self.associate_at = self.now.instant.plus_ms(limits::ASSOCIATE_MS);
                }
                _ => {}
            }
        }
        let now = self.now.instant;
        let given_up = self.given_up_at.extract_if(.., |_, at| *at <= now);
        let given_up: Vec<AssociationId> = given_up.map(|(association, _)| association).collect();
        for association in given_up {
            self.upf_line(association, "sessions of the UPF are given up");
            lost.extend(self.lose_at(association, Loss::Gone));
        }
        (failed, lost)
    }

    /// Gives up the sessions of an association after a while, if they have not been restored by then.
    pub(crate) fn give_up_later(&mut self, association: AssociationId) {
        let at = self.now.instant.plus_ms(self.config.upf_return_ms);
        self.given_up_at.entry(association).or_insert(at);
    }

    /// Whether sessions wait until a restarted UPF associates.
    fn has_restarted(&self, association: AssociationId) -> bool {
        let there = self.sessions_at(association).into_iter();
        let mut sessions = there.filter_map(|id| self.sessions.get(id.0));
        sessions.any(|session| session.loss == Loss::Restarted)
    }

    pub(crate) fn lose_at(&mut self, association: AssociationId, loss: Loss) -> Vec<SessionId> {
        let lost = self.sessions_at(association);
        for id in &lost {
            if let Some(session) = self.sessions.get_mut(id.0) {
                // A UPF that was restarted since has it no more, and its SEID may be another's now.
                if session.loss == Loss::Restarted && loss == Loss::Gone {
                    session.upf = None;
                }
                session.loss = loss;
            }
        }
        lost
    }

    /// The UPF says that it has not the session: it gets it again, as one that was restarted does (TS 23.527, 4.3).
    pub(crate) fn is_lost_at(&mut self, id: SessionId, upf: AtUpf) {
        let session = self.sessions.get_mut(id.0);
        if let Some(session) = session.filter(|one| one.upf == Some(upf) && one.loss == Loss::None)
        {
            session.loss = Loss::Restarted;
            self.to_restore.push_back(id);
        }
    }

    /// Whether a restarted UPF can get the session again now.
    pub(crate) fn is_restorable(&self, id: SessionId) -> bool {
        let session = self.sessions.get(id.0);
        let lost = session.filter(|session| session.loss == Loss::Restarted);
        let upf = lost.and_then(|session| session.upf);
        let association = upf.and_then(|upf| self.endpoint.association(upf.association));
        association
            .is_some_and(|association| association.is_established() && !association.is_ending())
    }

    pub(crate) fn restore_at(&mut self, association: AssociationId) {
        let there = self.sessions_at(association).into_iter();
        let is_to_be = |id: &SessionId| {
            let session = self.sessions.get(id.0);
            session.is_some_and(|session| session.loss == Loss::Restarted)
        };
        let lost: Vec<SessionId> = there.filter(is_to_be).collect();
        self.to_restore.extend(lost);
    }

    pub(crate) fn sessions_at(&self, association: AssociationId) -> Vec<SessionId> {
        let is_there = |upf: AtUpf| upf.association == association;
        let sessions = self.sessions.iter();
        let there = sessions.filter(|(_, session)| session.upf.is_some_and(is_there));
        there.map(|(key, _)| SessionId(key)).collect()
    }

    pub(crate) fn upf_line(&mut self, association: AssociationId, what: &str) {
        let at = self.address_of(association);
        let at = at.map_or_else(String::new, |n4| format!("UPF {n4}: "));
        self.effects.push(Effect::CallFlow(Line {
            from: "UPF",
            to: "SMF",
            what: format!("{at}{what}"),
            step: "",
            supi: None,
            ue: None,
        }));
    }

    fn read_answer(&mut self, response: &Response<'_>) -> Answer {
        let answer = match response.header.message_type {
            MessageType::SESSION_ESTABLISHMENT_RESPONSE => self.read_established(response),
            MessageType::SESSION_MODIFICATION_RESPONSE => {
                let mut answer = SessionModificationResponse::default();
                let read = answer.parse_into(response.body);
                read.ok().map(|()| {
                    self.add_usage(response.header.seid, &answer.usage_report);
                    let is_it = |pdr: &&CreatedPdr| pdr.pdr_id == handover_rules::PDR;
                    let created = answer.created_pdr.iter().find(is_it);
                    match created
                        .and_then(tunnel)
                        .filter(|_| answer.cause.is_acceptance())
                    {
                        Some(tunnel) => Answer::Forwards(tunnel),
                        None => by_cause(answer.cause),
                    }
                })
            }
            MessageType::SESSION_DELETION_RESPONSE => {
                let mut answer = SessionDeletionResponse::default();
                let read = answer.parse_into(response.body);
                read.ok().map(|()| {
                    self.add_usage(response.header.seid, &answer.usage_report);
                    by_cause(answer.cause)
                })
            }
            _ => None,
        };
        answer.unwrap_or(Answer::Nothing)
    }

    pub(crate) fn read_established(&self, response: &Response<'_>) -> Option<Answer> {
        let mut answer = SessionEstablishmentResponse::default();
        let read = answer.parse_into(response.body);
        if answer.cause != Cause::default() && !answer.cause.is_acceptance() {
            return Some(Answer::Refused(answer.cause));
        }
        read.ok()?;
        let f_seid = answer.up_f_seid?;
        let is_uplink = |pdr: &&CreatedPdr| pdr.pdr_id == rules::UPLINK_PDR;
        // One that gets its F-TEID back need not be told of it.
        let created = answer.created_pdr.iter().find(is_uplink);
        let uplink = created.and_then(tunnel).unwrap_or_default();
        let all = answer.created_pdr.iter();
        let ue = all.flat_map(|pdr| pdr.ue_ip_address.iter()).next();
        let told = ue.map(address).unwrap_or_default();
        let at = f_seid.ipv4.map(IpAddr::V4).or(f_seid.ipv6.map(IpAddr::V6));
        let upf = AtUpf {
            association: response.association,
            to: at.map(|ip| self.seid_address(response.association, ip)),
            seid: f_seid.seid,
            uplink,
            ipv6_prefix: ue.and_then(|ue| ue.ipv6).map(prefix),
        };
        Some(Answer::Established(upf, told))
    }

    /// Destination of a session's requests: the address of the UPF's F-SEID, at the port of the UPF.
    fn seid_address(&self, association: AssociationId, ip: IpAddr) -> SocketAddr {
        let known = self.endpoint.association(association);
        let port = known.map_or(PORT, |known| known.primary().port());
        SocketAddr::new(ip, port)
    }

    /// Adds usage up; the rating groups that it was reported of.
    pub(crate) fn add_usage(
        &mut self,
        seid: Option<Seid>,
        reports: &[UsageReport<'_>],
    ) -> BTreeSet<Option<u32>> {
        let id = seid.map(|seid| SessionId::from_number(seid.0));
        let session = id.and_then(|id| self.sessions.get_mut(id.0));
        let mut groups = BTreeSet::new();
        let Some(session) = session else {
            return groups;
        };
        for report in reports {
            let volume = report.volume_measurement.unwrap_or_default();
            let usage = Usage {
                uplink_octets: volume.uplink.unwrap_or_default(),
                downlink_octets: volume.downlink.unwrap_or_default(),
            };
            session.usage.add(usage);
            self.usage.add(usage);
            let rule = flow_rules::rule_of(report.urr_id);
            groups.insert(rule.and_then(|rule| session.flows.add_usage(rule, usage)));
        }
        groups
    }
}

/// The UPF's end of a tunnel.
fn tunnel(created: &CreatedPdr) -> Option<Tunnel> {
    created.local_f_teid.first().and_then(one_of)
}

pub(crate) fn one_of(end: &FTeid) -> Option<Tunnel> {
    match end {
        FTeid::Assigned { teid, ipv4, ipv6 } => Some(Tunnel {
            ipv4: *ipv4,
            ipv6: *ipv6,
            teid: teid.get(),
        }),
        _ => None,
    }
}

fn by_cause(cause: Cause) -> Answer {
    if cause.is_acceptance() {
        Answer::Done
    } else {
        Answer::Refused(cause)
    }
}

fn prefix(address: core::net::Ipv6Addr) -> [u8; 8] {
    ((address.to_bits() >> 64) as u64).to_be_bytes()
}

/// The interface identifier is the UPF's choice; where it made none, ours.
fn address(ue: &UeIpAddress) -> PduAddress {
    let identifier = |ipv6: core::net::Ipv6Addr| {
        let low = ipv6.to_bits() as u64;
        let low = if low == 0 { 1 } else { low };
        low.to_be_bytes()
    };
    PduAddress {
        ipv4: ue.ipv4,
        interface_identifier: ue.ipv6.map(identifier),
    }
}

#[cfg(test)]
mod tests;
