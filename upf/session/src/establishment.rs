//! PFCP Session Establishment (TS 29.244, 6.3.2, 7.5.2, 7.5.3).

use crate::admission::{Admission, Created};
use crate::config::Unserved;
use crate::draft::{Base, Drafted, Scope};
use crate::function::{Effects, UpFunction};
use crate::network::Network;
use crate::pending::{Answer, Reply};
use crate::refusal::Refusal;
use crate::resources::shard_of;
use crate::state::{Moment, Sessions};
use crate::store::{CpSession, Digits, NewSession, SessionRef, User};
use core::net::{IpAddr, Ipv4Addr};
use sluice_n4::SessionRequest;
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::message::SessionEstablishmentHead;
use sluice_wire::pfcp::value::{
    FSeid, FTeid, PdnType, SessionEstablishmentRequestFlags, UeIpAddress, UserId,
};
use sluice_wire::pfcp::{Cause, Full, IeType, Ies, Reject, Writer, ie};

impl UpFunction {
    /// Establishes a session, or says why not.
    pub(super) fn establish<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        net: &mut N,
        out: &mut E,
    ) {
        let head = SessionEstablishmentHead::parse(request.body).map_err(Refusal::from);
        if let Ok(head) = &head
            && let Some(known) = self.state.known(request, head)
        {
            return self.answer_again(at, request, known, out);
        }
        let established = head.and_then(|head| {
            let drafted = self.state.establish(at, request, &head, net)?;
            Ok((drafted, head.cp_f_seid))
        });
        match established {
            Ok(done) => self.established(at, request, done, net, out),
            Err(refusal) => self.refuse_establishment(at, request, &refusal, out),
        }
    }

    fn established<N: Network, E: Effects>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        (mut drafted, cp_f_seid): (Drafted, FSeid),
        net: &mut N,
        out: &mut E,
    ) {
        self.learn_cp_address(request, &cp_f_seid);
        self.note(request.association, &drafted);
        let reply = Reply {
            to: request.reply,
            cp_seid: cp_f_seid.seid,
        };
        drafted.record.answer = Answer::Established(reply);
        self.launch(at, drafted, net, out);
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
        let Self {
            endpoint, node_id, ..
        } = self;
        let seid = Some(cp.seid);
        // A peer that is gone needs no answer.
        let _ = endpoint.reply(at.now, request.reply, seid, out, |w| {
            put(w, IeType::NODE_ID, &node_id.as_wire())?;
            refusal.write(w)
        });
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
        let Self {
            endpoint,
            state,
            node_id,
        } = self;
        let up = FSeid::v4(session.seid(), state.config.n4_address);
        let seid = Some(reply.cp_seid);
        // A peer that is gone needs no answer.
        let _ = endpoint.reply(at.now, reply.to, seid, out, |w| {
            put(w, IeType::NODE_ID, &node_id.as_wire())?;
            put(w, IeType::CAUSE, &Cause::REQUEST_ACCEPTED)?;
            put(w, IeType::F_SEID, &up)?;
            write_created(w, created)
        });
    }
}

/// Created PDR with the F-TEIDs of our choice.
pub(super) fn write_created(w: &mut Writer<'_>, created: &Created) -> Result<(), Full> {
    for (pdr_id, tunnel) in created {
        let Some(teid) = Teid::new(tunnel.teid) else {
            continue;
        };
        w.ie(IeType::CREATED_PDR, |w| {
            put(w, IeType::PDR_ID, pdr_id)?;
            put(w, IeType::F_TEID, &FTeid::v4(teid, tunnel.address))
        })?;
    }
    Ok(())
}

/// Writes one IE.
pub(super) fn put<'v>(
    w: &mut Writer<'_>,
    ie: IeType,
    value: &impl Element<'v>,
) -> Result<(), Full> {
    w.ie(ie, |w| value.encode(w))
}

impl Sessions {
    /// A User Plane Inactivity Timer is not watched yet: `n4.unserved` says whether that is a reason.
    pub(super) fn refuse_timer(&self, is_set: bool) -> Result<(), Refusal> {
        if is_set && self.config.unserved == Unserved::Refuse {
            return Err(Refusal {
                offending_ie: Some(IeType::USER_PLANE_INACTIVITY_TIMER),
                ..Refusal::of(Cause::SERVICE_NOT_SUPPORTED)
            });
        }
        Ok(())
    }

    fn establish<N: Network>(
        &mut self,
        at: Moment,
        request: &SessionRequest<'_>,
        head: &SessionEstablishmentHead<'_>,
        net: &mut N,
    ) -> Result<Drafted, Refusal> {
        let SessionRequest {
            association, body, ..
        } = *request;
        if self.is_leaving(request.association) {
            return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
        }
        let rules = Body::new(body);
        refuse_unsupported(head, &rules)?;
        let timer = head.user_plane_inactivity_timer.is_some();
        self.refuse_timer(timer)?;
        let flags = head.pfcpsereq_flags.unwrap_or_default();
        let base = Base {
            session: None,
            shard: self.shard_for(body, at.seconds()),
            restores: flags.contains(SessionEstablishmentRequestFlags::RESTI),
        };
        let shard = base.shard;
        self.ground.prefetch_taking(shard);
        let (mut drafted, _) = self.draft(at, base, net, |work| create_all(work, &rules))?;
        drafted.record.remarks.inactivity_timer = timer;
        let cp = CpSession {
            seid: head.cp_f_seid.seid,
            ipv4: head.cp_f_seid.ipv4,
            ipv6: head.cp_f_seid.ipv6,
        };
        let new = NewSession {
            association,
            cp,
            shard,
            check: self.new_check(),
            request: request.fingerprint,
            user: head.user_id.as_ref().map(read_user).unwrap_or_default(),
        };
        // There is room: the draft was checked against the store.
        let Some(session) = self.store.insert(&new, &self.draft) else {
            self.undo(net);
            return Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE));
        };
        drafted.record.session = session;
        self.settle(session, at.seconds());
        Ok(drafted)
    }

    /// The shard is that of the UE's address, which a NIC can compute too.
    fn shard_for(&mut self, body: &[u8], now_s: u32) -> u32 {
        match first_ue_address(body) {
            Some(address) => shard_of(address),
            None => self.any_shard(now_s),
        }
    }
}

/// The UE's IPv4 address in the first PDI that has one.
fn first_ue_address(body: &[u8]) -> Option<Ipv4Addr> {
    let inside = |value, ie_type| {
        let ies = Ies::new(value).map_while(Result::ok);
        ies.filter(move |ie| ie.ie_type == ie_type)
            .map(|ie| ie.value)
    };
    let pdis = inside(body, IeType::CREATE_PDR).flat_map(|pdr| inside(pdr, IeType::PDI));
    let mut addresses = pdis.flat_map(|pdi| inside(pdi, IeType::UE_IP_ADDRESS));
    addresses.find_map(|value| UeIpAddress::decode(value).ok()?.ipv4)
}

fn create_all<N: Network>(work: &mut Admission<'_, N>, body: &Body<'_>) -> Result<Scope, Refusal> {
    for rule in [IeType::CREATE_PDR, IeType::CREATE_FAR] {
        if !body.may_have(rule) {
            return Err(Reject::mandatory_missing(rule).into());
        }
    }
    work.create_rules(body)?;
    Ok(Scope::Rules)
}

/// BARs are admitted and without effect, as nothing is buffered; so are traces, which change nothing
/// for packets.
fn refuse_unsupported(head: &SessionEstablishmentHead<'_>, body: &Body<'_>) -> Result<(), Refusal> {
    let refused = |cause, ie| Refusal {
        offending_ie: Some(ie),
        ..Refusal::of(cause)
    };
    for ie in [IeType::CREATE_TRAFFIC_ENDPOINT, IeType::CREATE_MAR] {
        if body.may_have(ie) {
            return Err(refused(Cause::SERVICE_NOT_SUPPORTED, ie));
        }
    }
    match head.pdn_type {
        None | Some(PdnType::IPV4 | PdnType::IPV4V6) => Ok(()),
        Some(PdnType::IPV6 | PdnType::NON_IP | PdnType::ETHERNET) => {
            Err(refused(Cause::SERVICE_NOT_SUPPORTED, IeType::PDN_TYPE))
        }
        Some(_) => Err(refused(Cause::MANDATORY_IE_INCORRECT, IeType::PDN_TYPE)),
    }
}

/// Who the user is, as far as it is kept.
pub(super) fn read_user(user: &UserId<'_>) -> User {
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
