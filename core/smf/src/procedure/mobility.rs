//! Handover, the SMF's part (TS 23.502, 4.9.1.2 and 4.9.1.3): packets go to another gNB, and those that are
//! under way to the one before are forwarded.
//!
//! A handover does not wait for what UE and network have under way about the session: a session has a
//! procedure of this kind beside its other one.

use sluice_n2::mobility as transfer;
use sluice_n2::{Admitted, Cause, PathSwitch, PathSwitchAcknowledge, Tunnel};
use sluice_sbi::{
    Container, Instant, Message, N2Sm, Problem, Slot, SmChange, SmContextUpdated, UpdateSmContext,
};
use sluice_wire::pfcp::MessageType;

use crate::context::session::{Loss, QFI, SessionId};
use crate::context::state::State;
use crate::limits;
use crate::procedure::Procedure;
use crate::procedure::flow_mobility;
use crate::procedure::user_plane::{access, downlink, setup, unprotected};
use crate::upf::handover_rules as forwarding_rules;
use crate::upf::n4::Answer;
use crate::upf::rules::Downlink;

/// The procedure of a request.
pub(crate) async fn run(p: Procedure, message: Slot) {
    let Message::UpdateSmContext(update) = *message else {
        return;
    };
    // A change of flows would go to the gNB that the UE leaves.
    if matches!(
        update.change,
        SmChange::PathSwitch | SmChange::HandoverRequired
    ) {
        p.with(|state| {
            let until = state.now.instant.plus_ms(limits::HANDOVER_MS);
            state.postpone(p.session, Some(until));
        });
    }
    let answer = match update.change {
        SmChange::PathSwitch => path_switch(&p, &update).await,
        SmChange::HandoverRequired => required(&p, &update),
        SmChange::HandoverPrepared => prepared(&p, &update).await,
        SmChange::HandoverComplete => complete(&p).await,
        SmChange::ModifyIndicated => flow_mobility::run(&p, &update).await,
        _ => cancelled(&p).await,
    };
    // It is over, or never began.
    let is_over = match update.change {
        SmChange::HandoverRequired => matches!(answer, Message::Failure(_)),
        SmChange::HandoverPrepared | SmChange::ModifyIndicated => false,
        _ => true,
    };
    p.with(|state| {
        if is_over {
            state.postpone(p.session, None);
        }
        state.answer_mobility(p.session, answer);
    });
}

fn updated(n2_kind: N2Sm, octets: &[u8]) -> Message {
    let n2 = Container::new(octets).unwrap_or(Container::NONE);
    SmContextUpdated {
        n2_kind,
        n2,
        ..SmContextUpdated::NOTHING
    }
    .into()
}

/// Whether a gNB has the session's default flow, and an end for its tunnel.
fn is_whole(tunnel: Tunnel, qfis: &[u8]) -> bool {
    tunnel.teid != 0 && qfis.contains(&QFI)
}

/// 4.9.1.2.2: the UE has come to another gNB by Xn.
async fn path_switch(p: &Procedure, update: &UpdateSmContext) -> Message {
    let told = update.n2.get().and_then(PathSwitch::decode);
    let told = told.filter(|told| is_whole(told.downlink, &told.qfis));
    // 3 and 4: N4 Session Modification; 5: End Marker
    let is_switched = match &told {
        Some(told) => {
            let is_switched = switch(p, "3", told.downlink).await == Answer::Done;
            // What the gNB before did not have, this one was not asked for.
            let asked = p.with_session(|session| session.flows.at_gnb);
            let asked = asked.unwrap_or_default();
            p.with(|state| state.has_flows(p.session, asked, &told.qfis));
            is_switched
        }
        None => false,
    };
    if let Some(told) = told.filter(|_| is_switched) {
        let security = p.with(|state| {
            state.reach(p.session, None);
            state.verify_security(p.session, told.downlink, told.security)
        });
        // 6: the UPF's end of the tunnel is what it was
        let uplink = None;
        let octets = PathSwitchAcknowledge { uplink, security }.encode();
        return updated(N2Sm::PathSwitched, &octets);
    }
    // The session stays, without user plane.
    deactivate(p).await;
    let octets = transfer::path_switch_unsuccessful(Cause::HANDOVER_FAILED);
    updated(N2Sm::NotSwitched, &octets)
}

/// 4.9.1.3.2, steps 4 to 7: the UE is to go to another gNB.
fn required(p: &Procedure, update: &UpdateSmContext) -> Message {
    let is_direct = update.n2.get().and_then(transfer::read_handover_required);
    // 5: a session without tunnel does not go along
    let n2 = p.with_session(|session| {
        session.mobility.is_direct = is_direct?;
        session.mobility.target = None;
        session.mobility.asked = session.flows.asked_at_setup();
        setup(session)
    });
    match n2.flatten() {
        Some(n2) => SmContextUpdated {
            n2_kind: N2Sm::HandoverRequest,
            n2,
            ..SmContextUpdated::NOTHING
        }
        .into(),
        None => Problem::ContextNotFound.into(),
    }
}

/// 11a to 11f: the target has room.
async fn prepared(p: &Procedure, update: &UpdateSmContext) -> Message {
    let told = update.n2.get().and_then(Admitted::decode);
    let told = told.filter(|told| is_whole(told.downlink, &told.qfis));
    let Some(told) = told else {
        return Problem::Protocol.into();
    };
    let is_safe = p.with_session(|session| session.security.is_fulfilled_by(told.security));
    if is_safe == Some(false) {
        let said = unprotected::told(told.security);
        p.with(|state| state.security_refused(p.session, unprotected::HANDOVER, said));
        return Problem::Protocol.into();
    }
    let is_direct = p.with_session(|session| {
        session.mobility.security = told.security;
        session.mobility.target = Some(told.downlink);
        session.mobility.qfis.clone_from(&told.qfis);
        session.mobility.is_direct
    });
    let forwarding = match told.forwarding {
        // 11b and 11c: the UPF forwards where the source cannot
        Some(target) if is_direct == Some(false) => forward(p, target, &told.qfis).await,
        target => target,
    };
    let octets = transfer::handover_command(forwarding, &told.qfis);
    updated(N2Sm::HandoverCommand, &octets)
}

/// 4.9.1.3.3, steps 7 to 11: the UE has come.
async fn complete(p: &Procedure) -> Message {
    let target = p.with_session(|session| session.mobility.target.take());
    let Some(target) = target.flatten() else {
        return Problem::ContextNotFound.into();
    };
    // 10a and 10b: N4 Session Modification, with an End Marker for the source
    let is_switched = switch(p, "10", target).await == Answer::Done;
    let (asked, qfis) = p
        .with_session(|session| {
            let mobility = &mut session.mobility;
            session.security.result = mobility.security.take();
            (mobility.asked, std::mem::take(&mut mobility.qfis))
        })
        .unwrap_or_default();
    p.with(|state| state.has_flows(p.session, asked, &qfis));
    // 15: what the UPF forwards ends with a timer
    p.with(|state| state.end_forwarding_later(p.session));
    if is_switched {
        p.with(|state| state.reach(p.session, None));
        return SmContextUpdated::NOTHING.into();
    }
    deactivate(p).await;
    Problem::ContextNotFound.into()
}

/// 4.9.1.4: it does not go there after all.
async fn cancelled(p: &Procedure) -> Message {
    p.with_session(|session| session.mobility.target = None);
    end_forwarding(p).await;
    SmContextUpdated::NOTHING.into()
}

/// N4 Session Modification: downlink packets go to another gNB. A UPF that has lost the session gets it
/// again with that.
pub(crate) async fn switch(p: &Procedure, step: &'static str, gnb: Tunnel) -> Answer {
    let known = p.with_session(|session| {
        session.upf?;
        // What comes in between, such as a UE that is idle, comes after this.
        let before = session.downlink.replace(gnb);
        Some((before.is_some_and(|before| before != gnb), session.loss))
    });
    let Some((ends_another, loss)) = known.flatten() else {
        return Answer::Nothing;
    };
    if loss == Loss::Restarted {
        return Answer::Done;
    }
    let access = access(p);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let answer = p.ask_upf(step, kind, |w| {
        forwarding_rules::write_switch(w, gnb, ends_another, &access)
    });
    let answer = answer.await;
    // The UPF may have heard this after what came in between, where it was asked again.
    let is_crossed = p.with_session(|session| {
        let is_crossed = session.downlink != Some(gnb) && !matches!(answer, Answer::Refused(_));
        session.is_unsettled |= is_crossed;
        is_crossed
    });
    if is_crossed == Some(true) {
        p.with(|state| state.to_settle.push_back(p.session));
    }
    answer
}

/// A session whose packets go nowhere: they wait.
async fn deactivate(p: &Procedure) {
    if p.with_session(|session| session.downlink.is_some()) == Some(true) {
        downlink(p, "", Downlink::Wait).await;
    }
}

/// The UPF takes packets of the source here, and passes them on to the target; none if it does not.
async fn forward(p: &Procedure, target: Tunnel, qfis: &[u8]) -> Option<Tunnel> {
    // Those of a handover just before go no more.
    end_forwarding(p).await;
    let here = p.with(|state| state.lease_forwarding(p.session)).ok()?;
    let access = access(p);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let flows: Vec<u8> = qfis.iter().copied().filter(|qfi| *qfi != QFI).collect();
    let answer = p.ask_upf("11b", kind, |w| {
        forwarding_rules::write_forwarding(w, (here, target), &access, &flows)
    });
    let answer = answer.await;
    p.with_session(|session| {
        // One that does not answer may do it all the same.
        session.mobility.forwards = !matches!(answer, Answer::Refused(_));
        session.mobility.forwarded = flows;
    });
    match answer {
        Answer::Forwards(tunnel) => Some(here.unwrap_or(tunnel)),
        Answer::Done => here,
        Answer::Refused(_) => {
            p.with(|state| state.end_forwarding_lease(p.session));
            None
        }
        _ => None,
    }
}

/// 15: the UPF forwards no more.
pub(crate) async fn end_forwarding(p: &Procedure) {
    p.with(|state| state.forward_until(p.session, None));
    let forwards = p.with_session(|session| {
        let flows = std::mem::take(&mut session.mobility.forwarded);
        std::mem::take(&mut session.mobility.forwards).then_some(flows)
    });
    if let Some(flows) = forwards.flatten() {
        let kind = MessageType::SESSION_MODIFICATION_REQUEST;
        let answer = p.ask_upf("15", kind, |w| {
            forwarding_rules::write_end_of_forwarding(w, &flows)
        });
        // One that does not answer may do it still.
        if answer.await != Answer::Nothing {
            p.with(|state| state.end_forwarding_lease(p.session));
        }
    }
}

/// The same as a procedure.
pub(crate) async fn forwarding_is_over(p: Procedure) {
    end_forwarding(&p).await;
}

impl State {
    /// Answers the request that a handover's procedure is for; once.
    pub fn answer_mobility(&mut self, id: SessionId, message: Message) {
        let waiting = self.sessions.get_mut(id.0);
        if let Some(id) = waiting.and_then(|session| session.mobility.request.take()) {
            self.effects.push(sluice_sbi::Effect::Answer {
                id,
                message: message.into(),
            });
        }
    }

    /// The session is over: so are its handovers.
    pub fn end_mobility(&mut self, id: SessionId) {
        self.answer_mobility(id, Problem::ContextNotFound.into());
        self.forward_until(id, None);
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        for (id, _) in std::mem::take(&mut session.mobility.pending) {
            let message = Problem::ContextNotFound;
            self.effects.push(sluice_sbi::Effect::Answer {
                id,
                message: message.into(),
            });
        }
    }

    fn end_forwarding_later(&mut self, id: SessionId) {
        let until = self.now.instant.plus_ms(limits::FORWARDING_MS);
        let forwards = self.sessions.get(id.0).map(|s| s.mobility.forwards);
        if forwards == Some(true) {
            self.forward_until(id, Some(until));
        }
    }

    fn forward_until(&mut self, id: SessionId, until: Option<Instant>) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut session.mobility.until, until) {
            self.forwarding.remove(&(before, id));
        }
        self.forwarding.extend(until.map(|until| (until, id)));
    }

    /// A session whose UPF has forwarded for long enough.
    pub fn next_forwarded(&mut self) -> Option<SessionId> {
        let (until, id) = *self.forwarding.first()?;
        (until <= self.now.instant).then(|| {
            self.forward_until(id, None);
            id
        })
    }
}
