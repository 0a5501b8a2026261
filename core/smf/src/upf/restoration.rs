//! Restoration of sessions after their UPF was restarted (TS 23.527, 4.3): it gets them again, with the
//! tunnels and addresses that they had, so that neither UE nor gNB notices.

use sluice_n1::SessionCause;
use sluice_n2::Tunnel;
use sluice_n4::AssociationId;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::MessageType;

use crate::context::session::{AtUpf, Loss, Session};
use crate::leases::lease::OwnAddresses;
use crate::procedure::Procedure;
use crate::procedure::establishment::{clean_up, copy};
use crate::procedure::release;
use crate::upf::n4::Answer;
use crate::upf::rules::{self, Downlink, Establishment, Restored};

/// Request to a restarted UPF: the same each time, so that the UPF recognises it.
struct Wanted {
    session: Session,
    own: OwnAddresses,
    downlink: Downlink,
    uplink: Tunnel,
    upf: usize,
}

/// The procedure. A session that cannot be restored is released, and the UE asks for it again.
pub(crate) async fn run(p: Procedure) {
    let Some(before) = p.with_session(|session| session.upf).flatten() else {
        return;
    };
    let wanted = wanted(&p, before);
    let answer = match &wanted {
        Some(wanted) => ask(&p, wanted, before.association).await,
        None => Answer::Nothing,
    };
    let restored = match answer {
        Answer::Established(at, _) if at.uplink.teid == 0 || at.uplink == before.uplink => {
            Some(AtUpf {
                uplink: before.uplink,
                ipv6_prefix: before.ipv6_prefix,
                ..at
            })
        }
        // Another tunnel: the gNB does not know it.
        Answer::Established(at, _) => {
            p.with(|state| state.forget_at_upf(Some(p.session), at));
            None
        }
        // It may have the session all the same.
        Answer::Nothing => {
            if let Some(wanted) = &wanted {
                p.with(|state| state.give_up_establishment(p.session, wanted.upf));
            }
            None
        }
        _ => None,
    };
    match restored {
        Some(at) => restore(&p, at, wanted.map(|wanted| wanted.downlink)),
        None => give_up(&p, wanted).await,
    }
}

/// Records that the UPF has the session again, with its downlink at the time of the request.
fn restore(p: &Procedure, at: AtUpf, downlink: Option<Downlink>) {
    p.with(|state| {
        if let Some(session) = state.sessions.get_mut(p.session.0) {
            session.upf = Some(at);
            session.loss = Loss::None;
            session.may_be_at = None;
            // It was given each rule of its that it is to have, as a whole.
            for rule in &mut session.flows.rules {
                rule.has_downlink = rule.is_at_upf;
            }
            // The UE has gone to another gNB meanwhile, or is idle.
            let is_to_be = session.downlink.map_or(Downlink::Wait, Downlink::Forward);
            session.is_unsettled |= downlink != Some(is_to_be);
        }
        state.counters.restored += 1;
        // Whatever was done for its packets is over: the next one is reported anew.
        state.reach(p.session, None);
    });
}

/// gNB and UE release the session. What the UPF may have of it is deleted.
async fn give_up(p: &Procedure, wanted: Option<Wanted>) {
    p.failed("the UPF refused it, or did not answer");
    p.with(|state| {
        let is_late = state.is_given_up(p.session);
        let upf = wanted.as_ref().filter(|_| is_late).map(|one| one.upf);
        let asks = upf
            .and_then(|upf| state.config.upfs.get(upf))
            .map(|upf| upf.n4);
        if let Some(session) = state.sessions.get_mut(p.session.0) {
            session.loss = Loss::Gone;
            // Its SEID of before the restart may be another session's by now.
            session.upf = None;
            session.asks = asks;
        }
    });
    release::tell(p, SessionCause::REACTIVATION_REQUESTED).await;
    if let Some(wanted) = wanted
        && p.with(|state| state.is_given_up(p.session))
    {
        clean_up(p, wanted.upf, async |at| ask(p, &wanted, at).await).await;
    }
    release::end(p, "11");
}

fn wanted(p: &Procedure, before: AtUpf) -> Option<Wanted> {
    p.with(|state| {
        let known = state.sessions.get_mut(p.session.0)?;
        known.flows.are_gone_at_upf();
        let is_its = |one: &Option<_>| *one == Some(before.association);
        let mut session = copy(known);
        session.flows.rules.retain(|rule| rule.is_at_upf);
        Some(Wanted {
            session,
            own: OwnAddresses {
                ipv4: known.address.ipv4,
                ipv6_prefix: before.ipv6_prefix,
            },
            downlink: known.downlink.map_or(Downlink::Wait, Downlink::Forward),
            uplink: before.uplink,
            upf: state.associations.iter().position(is_its)?,
        })
    })
}

/// N4 Session Establishment, with what the session had.
async fn ask(p: &Procedure, wanted: &Wanted, at: AssociationId) -> Answer {
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let tag = p.with(|state| {
        let config = state.config.clone();
        let network = config.network(&wanted.session.dnn)?;
        let node_id = sluice_n4::NodeId::Ip(config.n4);
        let upf = config.upfs.get(wanted.upf)?;
        let wanted = Establishment {
            node_id: node_id.as_wire(),
            f_seid: rules::f_seid(p.session.number(), config.n4),
            session: &wanted.session,
            own: wanted.own,
            access: upf.access_instance(),
            n3: upf.n3,
            network: upf.instance(&network.instance),
            charging_octets: network.charging_octets,
            restored: Some(Restored {
                uplink: wanted.uplink,
                downlink: wanted.downlink,
            }),
        };
        state.ask_upf(at, None, kind, Seid(0), |w| {
            rules::write_establishment(w, &wanted)
        })
    });
    p.wait_for_upf("", kind, tag).await
}
