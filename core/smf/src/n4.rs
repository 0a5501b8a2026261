//! N4 towards UPFs: associations, answers to our requests, and reports.

use core::net::{IpAddr, SocketAddr};

use sluice_n1::PduAddress;
use sluice_n2::Tunnel;
use sluice_n4::{
    AssociationId, Endpoint, Event as N4Event, Input as N4Input, NodeId, Outbox, Request,
    RequestError, Response, Role, SessionRequest,
};
use sluice_sbi::{Effect, Line};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentResponse, SessionModificationResponse,
    SessionReportRequest, SessionReportResponse,
};
use sluice_wire::pfcp::value::{FTeid, NtpTime, OffendingIe, UeIpAddress, UpFunctionFeatures};
use sluice_wire::pfcp::{Cause, Full, MessageType, PORT, Writer};

use crate::config::Config;
use crate::limits;
use crate::rules;
use crate::session::{AtUpf, SessionId, Usage};
use crate::state::State;

/// What a UPF answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The session is established, with this address of the UE.
    Established(AtUpf, PduAddress),
    /// It is changed, or deleted.
    Done,
    /// It is not, for this cause.
    Refused(Cause),
    /// Nothing, or nothing that makes sense.
    Nothing,
}

/// What the endpoint sends.
#[derive(Default)]
pub(crate) struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

/// The endpoint of an SMF.
pub(crate) fn endpoint(config: &Config) -> Endpoint {
    let started = NtpTime::from_unix_s(config.started_unix_s);
    let mut n4 = sluice_n4::Config::new(NodeId::Ip(config.n4), started);
    n4.limits = sluice_n4::Limits::for_rate(limits::N4_REQUESTS_PER_S, n4.t1_ms, n4.n1);
    Endpoint::new(Role::Cp, n4)
}

impl State {
    pub(crate) fn n4_now(&self) -> sluice_n4::Instant {
        sluice_n4::Instant(self.now.instant.0)
    }

    fn flush(&mut self, sent: Sent) {
        let messages = sent.0.into_iter();
        self.effects
            .extend(messages.map(|(to, octets)| Effect::N4 { to, octets }));
    }

    /// Associates with each UPF that it is not associated with.
    pub(crate) fn associate(&mut self) {
        let mut sent = Sent::default();
        for index in 0..self.config.upfs.len() {
            if self.associations.get(index).copied().flatten().is_none() {
                let to = self.config.upfs[index].n4;
                let now = self.n4_now();
                let id = match self.endpoint.associate(now, to, false, &mut sent) {
                    // The UPF came first.
                    Ok(id) | Err(RequestError::AlreadyAssociated(id)) => Some(id),
                    Err(_) => None,
                };
                self.associations[index] = id;
            }
        }
        self.flush(sent);
    }

    /// Timers of the endpoint.
    pub(crate) fn n4_time(&mut self) {
        let (mut sent, now) = (Sent::default(), self.n4_now());
        self.endpoint.tick(now, &mut sent);
        self.flush(sent);
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

    /// Deletes a session that nobody waits for any more.
    pub(crate) fn forget_at_upf(&mut self, upf: AtUpf) {
        let kind = MessageType::SESSION_DELETION_REQUEST;
        self.ask_upf(upf.association, upf.to, kind, upf.seid, |_| Ok(()));
    }

    /// Takes a datagram; what procedures wait for is given back.
    pub(crate) fn n4_input(&mut self, from: SocketAddr, octets: &[u8]) -> Vec<(u64, Answer)> {
        let mut answers = Vec::new();
        for message in sluice_n4::messages(octets) {
            let (mut sent, now) = (Sent::default(), self.n4_now());
            match self.endpoint.handle(now, from, message, &mut sent) {
                N4Input::Nothing => self.flush(sent),
                N4Input::Response(response) => {
                    self.flush(sent);
                    answers.push((response.tag, self.read_answer(&response)));
                }
                N4Input::Session(request) => {
                    self.flush(sent);
                    self.report(&request);
                }
            }
        }
        answers
    }

    /// What happened to associations and requests since the last call: answers that will not come, and
    /// sessions that their UPFs have lost.
    pub(crate) fn n4_events(&mut self) -> (Vec<u64>, Vec<SessionId>) {
        let (mut failed, mut lost) = (Vec::new(), Vec::new());
        while let Some(event) = self.endpoint.next_event() {
            match event {
                N4Event::RequestFailed { tag, .. } => failed.push(tag),
                N4Event::AssociationUp { association, .. } => {
                    self.upf_line(association, "PFCP association is up");
                }
                N4Event::AssociationReplaced { association, .. }
                | N4Event::PeerRestarted { association } => {
                    self.upf_line(association, "the UPF has lost its sessions");
                    lost.extend(self.sessions_at(association));
                }
                N4Event::AssociationDown { association, .. } => {
                    self.upf_line(association, "PFCP association is down");
                    lost.extend(self.sessions_at(association));
                    for one in &mut self.associations {
                        *one = one.filter(|id| *id != association);
                    }
                }
                _ => {}
            }
        }
        (failed, lost)
    }

    fn sessions_at(&self, association: AssociationId) -> Vec<SessionId> {
        let is_there = |upf: AtUpf| upf.association == association;
        let sessions = self.sessions.iter();
        let there = sessions.filter(|(_, session)| session.upf.is_some_and(is_there));
        there.map(|(key, _)| SessionId(key)).collect()
    }

    fn upf_line(&mut self, _: AssociationId, what: &str) {
        self.effects.push(Effect::Ladder(Line {
            from: "UPF",
            to: "SMF",
            what: what.to_owned(),
            step: "",
            supi: None,
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
                    by_cause(answer.cause)
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

    fn read_established(&self, response: &Response<'_>) -> Option<Answer> {
        let mut answer = SessionEstablishmentResponse::default();
        let read = answer.parse_into(response.body);
        if answer.cause != Cause::default() && !answer.cause.is_acceptance() {
            return Some(Answer::Refused(answer.cause));
        }
        read.ok()?;
        let f_seid = answer.up_f_seid?;
        let is_uplink = |pdr: &&_| {
            let pdr: &sluice_wire::pfcp::group::CreatedPdr = pdr;
            pdr.pdr_id == rules::UPLINK_PDR
        };
        let created = answer.created_pdr.iter().find(is_uplink)?;
        let Some(FTeid::Assigned { teid, ipv4, ipv6 }) = created.local_f_teid.first() else {
            return None;
        };
        let uplink = Tunnel {
            ipv4: *ipv4,
            ipv6: *ipv6,
            teid: teid.get(),
        };
        let all = answer.created_pdr.iter();
        let ue = all.flat_map(|pdr| pdr.ue_ip_address.iter()).next();
        let told = ue.map(address).unwrap_or_default();
        let at = f_seid.ipv4.map(IpAddr::V4).or(f_seid.ipv6.map(IpAddr::V6));
        let upf = AtUpf {
            association: response.association,
            to: at.map(|ip| self.seid_address(response.association, ip)),
            seid: f_seid.seid,
            uplink,
        };
        Some(Answer::Established(upf, told))
    }

    /// Where requests of a session go: to the address of the UPF's F-SEID, at the port of the UPF.
    fn seid_address(&self, association: AssociationId, ip: IpAddr) -> SocketAddr {
        let known = self.endpoint.association(association);
        let port = known.map_or(PORT, |known| known.primary().port());
        SocketAddr::new(ip, port)
    }

    fn add_usage(&mut self, seid: Option<Seid>, reports: &[UsageReport<'_>]) {
        let id = seid.map(|seid| SessionId::from_number(seid.0));
        let session = id.and_then(|id| self.sessions.get_mut(id.0));
        let Some(session) = session else {
            return;
        };
        for report in reports {
            let volume = report.volume_measurement.unwrap_or_default();
            session.usage.add(Usage {
                uplink_octets: volume.uplink.unwrap_or_default(),
                downlink_octets: volume.downlink.unwrap_or_default(),
            });
        }
    }

    /// Session Report Request (TS 29.244, 6.3.5): usage is added up; downlink data for an idle UE is
    /// counted, since nobody is paged yet.
    fn report(&mut self, request: &SessionRequest<'_>) {
        let header = *request.header();
        let (mut sent, now) = (Sent::default(), self.n4_now());
        if header.message_type != MessageType::SESSION_REPORT_REQUEST {
            return;
        }
        let id = SessionId::from_number(header.seid.unwrap_or_default().0);
        let known = self.sessions.get(id.0);
        let up_seid = known.and_then(|session| session.upf).map(|upf| upf.seid);
        let mut report = SessionReportRequest::default();
        let (cause, offending) = match report.parse_into(request.body) {
            Err(reject) => (reject.cause, reject.offending_ie.map(OffendingIe)),
            Ok(()) if up_seid.is_none() => (Cause::SESSION_CONTEXT_NOT_FOUND, None),
            Ok(()) => (Cause::REQUEST_ACCEPTED, None),
        };
        if cause == Cause::REQUEST_ACCEPTED {
            self.add_usage(header.seid, &report.usage_report);
            self.counters.usage_reports += u64::from(!report.usage_report.is_empty());
            self.counters.downlink_data_reports += u64::from(report.downlink_data_report.is_some());
            if !report.usage_report.is_empty() {
                self.record(id, false);
            }
        }
        let answer = SessionReportResponse {
            cause,
            offending_ie: offending,
            ..SessionReportResponse::default()
        };
        let seid = Some(up_seid.unwrap_or_default());
        // What cannot be sent is counted by the endpoint; the UPF asks again.
        let _ = self
            .endpoint
            .reply(now, request.reply, seid, &mut sent, |w| answer.emit(w));
        self.flush(sent);
    }

    /// An association with a UPF for the network and slice, that chooses tunnels, and addresses where
    /// that is needed; and which one it is.
    pub(crate) fn choose_upf(
        &self,
        dnn: &sluice_ids::Dnn,
        slice: &sluice_ids::Snssai,
        needs_address: bool,
    ) -> Option<(AssociationId, usize)> {
        let upfs = self.config.upfs.iter().enumerate();
        let serving = upfs.filter(|(_, upf)| upf.serves(dnn, slice));
        let up = serving.filter_map(|(index, _)| {
            let id = self.associations.get(index).copied().flatten()?;
            let association = self.endpoint.association(id)?;
            let is_there = association.is_established() && !association.is_lost();
            let features = association
                .features()
                .up
                .unwrap_or(UpFunctionFeatures::NONE);
            let has = |feature| features.contains(feature);
            let serves = is_there
                && !association.is_ending()
                && has(UpFunctionFeatures::FTUP)
                && (!needs_address || has(UpFunctionFeatures::UEIP));
            serves.then_some((id, index))
        });
        up.into_iter().next()
    }
}

fn by_cause(cause: Cause) -> Answer {
    if cause.is_acceptance() {
        Answer::Done
    } else {
        Answer::Refused(cause)
    }
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
