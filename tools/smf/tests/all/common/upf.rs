//! A UPF without packets: it keeps the rules of its sessions as books, and refuses whatever does
//! not fit them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr};

use sluice_n4::{
    AssociationId, Config, Endpoint, Features, Input, Instant, NodeId, Outbox, PeerPort, Request,
    Role, SessionRequest,
};
use sluice_wire::ids::{FarId, PdrId, QerId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{
    CreatePdr, CreatedPdr, ErrorIndicationReport, UpdatePdr, UsageReport,
};
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationRequest, SessionModificationResponse, SessionReportRequest,
};
use sluice_wire::pfcp::value::{
    Edit, FSeid, FTeid, NtpTime, OffendingIe, ReportType, SessionModificationRequestFlags,
    UpFunctionFeatures, UsageReportTrigger, VolumeMeasurement,
};
use sluice_wire::pfcp::{Cause, IeType, MessageType, Reject, SequenceNumber};

use super::N3;

/// Record of one session in the books.
#[derive(Debug, Default, Clone)]
pub struct Books {
    pub cp_seid: Seid,
    pub pdrs: BTreeMap<PdrId, Pdr>,
    pub fars: BTreeMap<FarId, Far>,
    pub qers: BTreeSet<QerId>,
    pub urrs: BTreeSet<UrrId>,
    pub end_markers: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Pdr {
    pub teid: Option<Teid>,
    pub far: FarId,
    pub qers: Vec<QerId>,
    pub urrs: Vec<UrrId>,
}

#[derive(Debug, Clone, Default)]
pub struct Far {
    pub action: u16,
    pub peer: Option<Teid>,
}

pub struct FakeUpf {
    pub endpoint: Endpoint,
    pub sessions: HashMap<Seid, Books>,
    /// Answers the next session related request so.
    pub refuse_next: Option<Reject>,
    /// Answers establishments without the F-TEIDs that it chose.
    pub hides_f_teids: bool,
    /// Answers with this SEID in the header instead of the session's.
    pub wrong_seid: Option<Seid>,
    pub associations: Vec<AssociationId>,
    /// Responses to our own requests.
    pub answers: Vec<(MessageType, Vec<u8>)>,
    next_teid: u32,
    next_seid: u64,
}

impl FakeUpf {
    pub fn new(address: Ipv4Addr, started_s: u32) -> Self {
        let mut config = Config::new(NodeId::v4(address), NtpTime(started_s));
        config.features = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::EMPU);
        config.peer_port = PeerPort::Source;
        config.first_sequence = SequenceNumber::wrapping(started_s);
        config.heartbeat_interval_ms = 0;
        Self {
            endpoint: Endpoint::new(Role::Up, config),
            sessions: HashMap::new(),
            refuse_next: None,
            hides_f_teids: false,
            wrong_seid: None,
            associations: Vec::new(),
            answers: Vec::new(),
            next_teid: 0x1000,
            next_seid: 0x00ab_0000,
        }
    }

    pub fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8], out: &mut impl Outbox) {
        match self.endpoint.handle(now, from, bytes, out) {
            Input::Session(request) => self.answer(now, &request, out),
            Input::Response(response) => {
                let answer = (response.header.message_type, response.body.to_vec());
                self.answers.push(answer);
            }
            Input::Nothing => {}
        }
        while self.endpoint.next_event().is_some() {}
        self.associations = self.endpoint.associations().map(|(id, _)| id).collect();
    }

    /// The only session.
    pub fn session(&self) -> &Books {
        assert_eq!(self.sessions.len(), 1, "sessions");
        self.sessions.values().next().unwrap()
    }

    /// Reports usage and an Error Indication of a session.
    pub fn report(&mut self, now: Instant, cp_seid: Seid, remote: FTeid, out: &mut impl Outbox) {
        let mut body = SessionReportRequest {
            report_type: ReportType::USAR | ReportType::ERIR,
            error_indication_report: Some(ErrorIndicationReport {
                remote_f_teid: [remote].into_iter().collect(),
            }),
            ..SessionReportRequest::default()
        };
        body.usage_report
            .push(usage(UrrId(1), UsageReportTrigger::VOLTH));
        let request = Request {
            association: self.associations[0],
            to: None,
            tag: 0,
            message_type: MessageType::SESSION_REPORT_REQUEST,
            seid: Some(cp_seid),
        };
        self.endpoint
            .request(now, request, out, |w| body.emit(w))
            .unwrap();
    }

    fn answer(&mut self, now: Instant, request: &SessionRequest<'_>, out: &mut impl Outbox) {
        match request.header().message_type {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => self.establish(now, request, out),
            MessageType::SESSION_MODIFICATION_REQUEST => self.modify(now, request, out),
            MessageType::SESSION_DELETION_REQUEST => self.delete(now, request, out),
            other => panic!("an SMF does not send {other}"),
        }
    }

    fn establish(&mut self, now: Instant, request: &SessionRequest<'_>, out: &mut impl Outbox) {
        let node_id = self.endpoint.config().node_id.clone();
        let mut response = SessionEstablishmentResponse {
            node_id: node_id.as_wire(),
            cause: Cause::REQUEST_ACCEPTED,
            ..SessionEstablishmentResponse::default()
        };
        let mut body = SessionEstablishmentRequest::default();
        let read = body.parse_into(request.body).and_then(|()| self.may());
        let cp_seid = body.cp_f_seid.seid;
        match read.and_then(|()| self.open(&body)) {
            Ok((up_seid, created)) => {
                response.up_f_seid = Some(FSeid::v4(up_seid, N3));
                if !self.hides_f_teids {
                    response.created_pdr.extend(created);
                }
            }
            Err(reject) => {
                response.cause = reject.cause;
                response.offending_ie = reject.offending_ie.map(OffendingIe);
            }
        }
        let seid = self.wrong_seid.unwrap_or(cp_seid);
        self.endpoint
            .reply(now, request.reply, Some(seid), out, |w| response.emit(w))
            .unwrap();
    }

    fn open(
        &mut self,
        body: &SessionEstablishmentRequest<'_>,
    ) -> Result<(Seid, Vec<CreatedPdr>), Reject> {
        let mut books = Books {
            cp_seid: body.cp_f_seid.seid,
            ..Books::default()
        };
        books
            .urrs
            .extend(body.create_urr.iter().map(|urr| urr.urr_id));
        books
            .qers
            .extend(body.create_qer.iter().map(|qer| qer.qer_id));
        for far in &body.create_far {
            books.add_far(far)?;
        }
        let created = self.add_pdrs(&mut books, &body.create_pdr)?;
        books.check()?;
        self.next_seid += 1;
        self.sessions.insert(Seid(self.next_seid), books);
        Ok((Seid(self.next_seid), created))
    }

    /// Chooses TEIDs, the same for the same CHOOSE ID.
    fn add_pdrs(
        &mut self,
        books: &mut Books,
        pdrs: &[CreatePdr<'_>],
    ) -> Result<Vec<CreatedPdr>, Reject> {
        let mut chosen = HashMap::new();
        let mut created = Vec::new();
        for pdr in pdrs {
            let teid = match pdr.pdi.local_f_teid {
                None => None,
                Some(FTeid::Assigned { teid, .. }) => Some(teid),
                Some(FTeid::Choose { choose_id, .. }) => {
                    self.next_teid += 1;
                    let new = Teid::new(self.next_teid).unwrap();
                    let teid = choose_id.map_or(new, |id| *chosen.entry(id).or_insert(new));
                    created.push(CreatedPdr {
                        pdr_id: pdr.pdr_id,
                        local_f_teid: [FTeid::v4(teid, N3)].into_iter().collect(),
                        ..CreatedPdr::default()
                    });
                    Some(teid)
                }
            };
            let book = Pdr {
                teid,
                far: pdr
                    .far_id
                    .ok_or(Reject::conditional_missing(IeType::FAR_ID))?,
                qers: pdr.qer_id.to_vec(),
                urrs: pdr.urr_id.to_vec(),
            };
            if books.pdrs.insert(pdr.pdr_id, book).is_some() {
                return Err(Reject::incorrect(IeType::PDR_ID));
            }
        }
        Ok(created)
    }

    fn modify(&mut self, now: Instant, request: &SessionRequest<'_>, out: &mut impl Outbox) {
        let up_seid = request.header().seid.unwrap();
        let mut response = SessionModificationResponse {
            cause: Cause::REQUEST_ACCEPTED,
            ..SessionModificationResponse::default()
        };
        let old = self.sessions.get(&up_seid).cloned();
        let cp_seid = old.as_ref().map_or(Seid(0), |books| books.cp_seid);
        let mut body = SessionModificationRequest::default();
        let read = body.parse_into(request.body).and_then(|()| self.may());
        let unknown = Reject {
            cause: Cause::SESSION_CONTEXT_NOT_FOUND,
            offending_ie: None,
        };
        let done = read.and_then(|()| {
            let mut books = old.ok_or(unknown)?;
            let created = self.apply(&mut books, &body)?;
            self.sessions.insert(up_seid, books);
            Ok(created)
        });
        match done {
            Ok(created) => {
                response.created_pdr.extend(created);
                let immediate = UsageReportTrigger::IMMER;
                let reports = body
                    .query_urr
                    .iter()
                    .map(|query| usage(query.urr_id, immediate));
                response.usage_report.extend(reports);
            }
            Err(reject) => {
                response.cause = reject.cause;
                response.offending_ie = reject.offending_ie.map(OffendingIe);
            }
        }
        self.endpoint
            .reply(now, request.reply, Some(cp_seid), out, |w| response.emit(w))
            .unwrap();
    }

    fn apply(
        &mut self,
        books: &mut Books,
        body: &SessionModificationRequest<'_>,
    ) -> Result<Vec<CreatedPdr>, Reject> {
        for pdr in &body.remove_pdr {
            books
                .pdrs
                .remove(&pdr.pdr_id)
                .ok_or(Reject::incorrect(IeType::PDR_ID))?;
        }
        for far in &body.remove_far {
            books
                .fars
                .remove(&far.far_id)
                .ok_or(Reject::incorrect(IeType::FAR_ID))?;
        }
        for qer in &body.remove_qer {
            let found = books.qers.remove(&qer.qer_id);
            found
                .then_some(())
                .ok_or(Reject::incorrect(IeType::QER_ID))?;
        }
        books
            .urrs
            .extend(body.create_urr.iter().map(|urr| urr.urr_id));
        books
            .qers
            .extend(body.create_qer.iter().map(|qer| qer.qer_id));
        for far in &body.create_far {
            books.add_far(far)?;
        }
        for far in &body.update_far {
            books.update_far(far)?;
        }
        for pdr in &body.update_pdr {
            books.update_pdr(pdr)?;
        }
        for query in &body.query_urr {
            let known = books.urrs.contains(&query.urr_id);
            known
                .then_some(())
                .ok_or(Reject::incorrect(IeType::URR_ID))?;
        }
        let created = self.add_pdrs(books, &body.create_pdr)?;
        books.check()?;
        Ok(created)
    }

    fn delete(&mut self, now: Instant, request: &SessionRequest<'_>, out: &mut impl Outbox) {
        let up_seid = request.header().seid.unwrap();
        let known = self.sessions.get(&up_seid).cloned();
        let mut response = SessionDeletionResponse {
            cause: Cause::REQUEST_ACCEPTED,
            ..SessionDeletionResponse::default()
        };
        let unknown = Reject {
            cause: Cause::SESSION_CONTEXT_NOT_FOUND,
            offending_ie: None,
        };
        match self.may().and_then(|()| known.as_ref().ok_or(unknown)) {
            Ok(books) => {
                let last = UsageReportTrigger::TERMR;
                response
                    .usage_report
                    .extend(books.urrs.iter().map(|id| usage(*id, last)));
                self.sessions.remove(&up_seid);
            }
            Err(reject) => response.cause = reject.cause,
        }
        let seid = known.map_or(Seid(0), |books| books.cp_seid);
        self.endpoint
            .reply(now, request.reply, Some(seid), out, |w| response.emit(w))
            .unwrap();
    }

    fn may(&mut self) -> Result<(), Reject> {
        self.refuse_next.take().map_or(Ok(()), Err)
    }
}

impl Books {
    fn add_far(&mut self, far: &sluice_wire::pfcp::group::CreateFar<'_>) -> Result<(), Reject> {
        let header = far
            .forwarding_parameters
            .as_ref()
            .and_then(|p| p.outer_header_creation);
        let peer = header.and_then(|header| header.teid);
        let book = Far {
            action: far.apply_action.flags(),
            peer,
        };
        match self.fars.insert(far.far_id, book) {
            Some(_) => Err(Reject::incorrect(IeType::FAR_ID)),
            None => Ok(()),
        }
    }

    fn update_far(&mut self, far: &sluice_wire::pfcp::group::UpdateFar<'_>) -> Result<(), Reject> {
        let book = self
            .fars
            .get_mut(&far.far_id)
            .ok_or(Reject::incorrect(IeType::FAR_ID))?;
        if let Some(action) = far.apply_action {
            book.action = action.flags();
        }
        let Some(parameters) = &far.update_forwarding_parameters else {
            return Ok(());
        };
        if let Some(Edit::Set(header)) = parameters.outer_header_creation {
            book.peer = header.teid;
        }
        let flags = parameters.pfcpsmreq_flags.unwrap_or_default();
        self.end_markers += u32::from(flags.contains(SessionModificationRequestFlags::SNDEM));
        Ok(())
    }

    fn update_pdr(&mut self, pdr: &UpdatePdr<'_>) -> Result<(), Reject> {
        let book = self
            .pdrs
            .get_mut(&pdr.pdr_id)
            .ok_or(Reject::incorrect(IeType::PDR_ID))?;
        if let Some(Edit::Set(far)) = pdr.far_id {
            book.far = far;
        }
        Ok(())
    }

    /// Every rule that a PDR names is there, and every FAR and QER is named.
    fn check(&self) -> Result<(), Reject> {
        for pdr in self.pdrs.values() {
            let found = self.fars.contains_key(&pdr.far);
            found
                .then_some(())
                .ok_or(Reject::incorrect(IeType::FAR_ID))?;
            let found = pdr.qers.iter().all(|qer| self.qers.contains(qer));
            found
                .then_some(())
                .ok_or(Reject::incorrect(IeType::QER_ID))?;
            let found = pdr.urrs.iter().all(|urr| self.urrs.contains(urr));
            found
                .then_some(())
                .ok_or(Reject::incorrect(IeType::URR_ID))?;
        }
        let far_named = |id: &FarId| self.pdrs.values().any(|pdr| pdr.far == *id);
        let qer_named = |id: &QerId| self.pdrs.values().any(|pdr| pdr.qers.contains(id));
        let named = self.fars.keys().all(far_named) && self.qers.iter().all(qer_named);
        named
            .then_some(())
            .ok_or(Reject::incorrect(IeType::CREATE_PDR))
    }
}

/// 1000 octets and 10 packets up, 2000 and 20 down, for URR 1; as many more for each after it.
fn usage(urr_id: UrrId, trigger: UsageReportTrigger) -> UsageReport<'static> {
    let n = u64::from(urr_id.0);
    UsageReport {
        urr_id,
        usage_report_trigger: trigger,
        start_time: Some(NtpTime(1)),
        end_time: Some(NtpTime(2)),
        volume_measurement: Some(VolumeMeasurement {
            total: Some(3000 * n),
            uplink: Some(1000 * n),
            downlink: Some(2000 * n),
            total_packets: Some(30 * n),
            uplink_packets: Some(10 * n),
            downlink_packets: Some(20 * n),
        }),
        ..UsageReport::default()
    }
}
