//! PFCP Session Establishment (TS 29.244, 6.3.2, 7.5.2, 7.5.3).

use crate::network::Network;
use crate::session::draft::{Base, Drafted};
use crate::session::function::{Effects, UpFunction};
use crate::session::ground::shard_of;
use crate::session::pending::{Answer, Reply};
use crate::session::refusal::Refusal;
use crate::session::state::{Moment, State};
use crate::session::store::{CpSession, Digits, SessionRef, User};
use crate::session::work::{Created, Work};
use core::net::IpAddr;
use sluice_n4::{AssociationId, SessionRequest};
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionEstablishmentResponse};
use sluice_wire::pfcp::value::{
    FSeid, FTeid, OffendingIe, PdnType, SessionEstablishmentRequestFlags, UserId,
};
use sluice_wire::pfcp::{Cause, IeType, ie};

impl UpFunction {
    /// Establishes a session, or says why not.
    pub(super) fn establish<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
        out: &mut E,
    ) {
        let mut message = SessionEstablishmentRequest::default();
        let established = match message.parse_into(request.body) {
            Ok(()) => self.state.establish(at, request.association, &message, net),
            Err(reject) => Err(reject.into()),
        };
        match established {
            Ok(mut drafted) => {
                self.learn_cp_address(request, &message.cp_f_seid);
                self.note(request.association, &drafted);
                let reply = Reply {
                    to: request.reply,
                    cp_seid: message.cp_f_seid.seid,
                };
                let created = core::mem::take(&mut drafted.created);
                drafted.record.answer = Answer::Established(reply, created);
                self.launch(at, drafted, net, out);
            }
            Err(refusal) => self.refuse_establishment(at, request, &refusal, out),
        }
    }

    /// Requests about the session may come from the address in its F-SEID (5.6.2).
    fn learn_cp_address(&mut self, request: &SessionRequest<'_>, cp: &FSeid) {
        let from = request.reply.peer().ip();
        let v4 = cp.ipv4.map(IpAddr::V4);
        let address = v4.or(cp.ipv6.map(IpAddr::V6));
        if let Some(address) = address.filter(|a| *a != from && !a.is_unspecified()) {
            // If the peer has too many addresses already, its requests have to come from those.
            let _ = self.endpoint.add_address(request.association, address);
        }
    }

    fn refuse_establishment<E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        refusal: &Refusal,
        out: &mut E,
    ) {
        // 7.2.2.4.2: the CP function's SEID even in a rejection; 0 if it cannot be read.
        let cp = ie::first(request.body, IeType::F_SEID);
        let cp = cp
            .and_then(|value| FSeid::decode(value).ok())
            .unwrap_or_default();
        let node_id = self.endpoint.config().node_id.clone();
        let response = SessionEstablishmentResponse {
            node_id: node_id.as_wire(),
            cause: refusal.cause,
            offending_ie: refusal.offending_ie.map(OffendingIe),
            failed_rule_id: refusal.rule,
            ..SessionEstablishmentResponse::default()
        };
        let seid = Some(cp.seid);
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, request.reply, seid, out, |w| response.emit(w));
    }

    /// The response to an establishment that the path has carried out.
    pub(super) fn answer_establishment<E: Effects>(
        &mut self,
        at: Moment,
        session: SessionRef,
        reply: &Reply,
        created: &Created,
        out: &mut E,
    ) {
        let node_id = self.endpoint.config().node_id.clone();
        let up = FSeid::v4(session.seid(), self.state.config.n4_address);
        let response = SessionEstablishmentResponse {
            node_id: node_id.as_wire(),
            cause: Cause::REQUEST_ACCEPTED,
            up_f_seid: Some(up),
            created_pdr: created_pdrs(created),
            ..SessionEstablishmentResponse::default()
        };
        // A peer that is gone needs no answer.
        let _ = self
            .endpoint
            .reply(at.now, reply.to, Some(reply.cp_seid), out, |w| {
                response.emit(w)
            });
    }
}

/// Created PDR with the F-TEIDs of our choice.
pub(super) fn created_pdrs<const N: usize>(created: &Created) -> arrayvec::ArrayVec<CreatedPdr, N> {
    let pdrs = created.iter().filter_map(|(pdr_id, tunnel)| {
        let mut created = CreatedPdr {
            pdr_id: *pdr_id,
            ..CreatedPdr::default()
        };
        let teid = Teid::new(tunnel.teid)?;
        created.local_f_teid.push(FTeid::v4(teid, tunnel.address));
        Some(created)
    });
    pdrs.take(N).collect()
}

impl State {
    fn establish<N: Network>(
        &mut self,
        at: Moment,
        association: AssociationId,
        message: &SessionEstablishmentRequest<'_>,
        net: &mut N,
    ) -> Result<Drafted, Refusal> {
        if self.releasing {
            return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
        }
        refuse_unsupported(message)?;
        let flags = message.pfcpsereq_flags.unwrap_or_default();
        let base = Base {
            session: None,
            shard: self.shard_for(message, at.seconds()),
            restores: flags.contains(SessionEstablishmentRequestFlags::RESTI),
        };
        let shard = base.shard;
        let mut drafted = self.draft(at, base, net, |work| create_all(work, message))?;
        let cp = CpSession {
            seid: message.cp_f_seid.seid,
            ipv4: message.cp_f_seid.ipv4,
            ipv6: message.cp_f_seid.ipv6,
        };
        let check = self.new_check();
        // There is room: the draft was checked against the store.
        let Some(session) = self.store.insert(association, cp, shard, check) else {
            self.undo(net);
            return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
        };
        drafted.record.session = session;
        self.commit(session, at.seconds());
        if let (Some(user), Some(s)) = (&message.user_id, self.store.get_mut(session)) {
            s.user = read_user(user);
        }
        Ok(drafted)
    }

    /// The shard is that of the UE's address, which a NIC can compute too.
    fn shard_for(&mut self, message: &SessionEstablishmentRequest<'_>, now_s: u32) -> u32 {
        let pdis = message.create_pdr.iter().map(|p| &p.pdi);
        let mut addresses = pdis.flat_map(|p| &p.ue_ip_address).filter_map(|ue| ue.ipv4);
        match addresses.next() {
            Some(address) => shard_of(address),
            None => self.any_shard(now_s),
        }
    }
}

fn create_all<N: Network>(
    work: &mut Work<'_, N>,
    message: &SessionEstablishmentRequest<'_>,
) -> Result<(), Refusal> {
    for ie in &message.create_far {
        work.create_far(ie)?;
    }
    for ie in &message.create_qer {
        work.create_qer(ie)?;
    }
    for ie in &message.create_urr {
        work.create_urr(ie)?;
    }
    for ie in &message.create_pdr {
        work.create_pdr(ie)?;
    }
    Ok(())
}

/// BARs are admitted and without effect, as nothing is buffered; so are traces and the
/// inactivity timer, which change nothing for packets.
fn refuse_unsupported(message: &SessionEstablishmentRequest<'_>) -> Result<(), Refusal> {
    let refused = |cause, ie| Refusal {
        offending_ie: Some(ie),
        ..Refusal::of(cause)
    };
    if !message.create_traffic_endpoint.is_empty() {
        let ie = IeType::CREATE_TRAFFIC_ENDPOINT;
        return Err(refused(Cause::SERVICE_NOT_SUPPORTED, ie));
    }
    if !message.create_mar.is_empty() {
        return Err(refused(Cause::SERVICE_NOT_SUPPORTED, IeType::CREATE_MAR));
    }
    match message.pdn_type {
        None | Some(PdnType::IPV4 | PdnType::IPV4V6) => Ok(()),
        Some(PdnType::IPV6 | PdnType::NON_IP | PdnType::ETHERNET) => {
            Err(refused(Cause::SERVICE_NOT_SUPPORTED, IeType::PDN_TYPE))
        }
        Some(_) => Err(refused(Cause::MANDATORY_IE_INCORRECT, IeType::PDN_TYPE)),
    }
}

fn read_user(user: &UserId<'_>) -> User {
    User {
        imsi: user
            .imsi
            .map(digits)
            .or(user.supi.map(imsi_of))
            .unwrap_or_default(),
        msisdn: user.msisdn.map(digits).unwrap_or_default(),
    }
}

/// The digits of a SUPI of type IMSI (TS 29.571, 5.3.2).
fn imsi_of(supi: &[u8]) -> Digits {
    let text = supi.strip_prefix(b"imsi-").unwrap_or_default();
    let mut digits = Digits::new();
    for octet in text.iter().filter(|o| o.is_ascii_digit()) {
        if digits.try_push(char::from(*octet)).is_err() {
            break;
        }
    }
    digits
}

/// TBCD (TS 29.002): the low half first, a filler of 15 at the end.
fn digits(tbcd: &[u8]) -> Digits {
    let mut text = Digits::new();
    for half in tbcd.iter().flat_map(|octet| [octet & 15, octet >> 4]) {
        if half > 9 || text.try_push(char::from(b'0' + half)).is_err() {
            break;
        }
    }
    text
}
