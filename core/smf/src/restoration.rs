//! Restoration of sessions after their UPF was restarted (TS 23.527, 4.3): it gets them again, with the
//! tunnels and addresses that they had, so that neither UE nor gNB notices.

use sluice_n1::SessionCause;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::MessageType;

use crate::establishment::copy;
use crate::n4::Answer;
use crate::procedure::Procedure;
use crate::release;
use crate::rules::{self, Downlink, Establishment, Restored};
use crate::session::{AtUpf, Loss, OwnAddresses};

/// The procedure. A session that cannot be restored is released, and the UE asks for it again.
pub(crate) async fn run(p: Procedure) {
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let Some(before) = p.with_session(|session| session.upf).flatten() else {
        return;
    };
    let tag = ask(&p, before);
    let restored = match p.wait_for_upf("", kind, tag).await {
        Answer::Established(at, _) if at.uplink.teid == 0 || at.uplink == before.uplink => {
            Some(AtUpf {
                uplink: before.uplink,
                ipv6_prefix: before.ipv6_prefix,
                ..at
            })
        }
        // Another tunnel: the gNB does not know it.
        Answer::Established(at, _) => {
            p.with(|state| state.forget_at_upf(at));
            None
        }
        _ => None,
    };
    let Some(at) = restored else {
        p.with_session(|session| {
            session.loss = Loss::Gone;
            // Its SEID of before the restart may be another session's by now.
            session.upf = None;
        });
        return release::by_network(p, SessionCause::REACTIVATION_REQUESTED).await;
    };
    p.with(|state| {
        if let Some(session) = state.sessions.get_mut(p.session.0) {
            session.upf = Some(at);
            session.loss = Loss::None;
        }
        state.counters.restored += 1;
        // Whatever was done for its packets is over: the next one is reported anew.
        state.reach(p.session, None);
    });
}

/// N4 Session Establishment, with what the session had. None if it cannot be sent.
fn ask(p: &Procedure, before: AtUpf) -> Option<u64> {
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    p.with(|state| {
        let config = state.config.clone();
        let known = state.sessions.get(p.session.0)?;
        let own = OwnAddresses {
            ipv4: known.address.ipv4,
            ipv6_prefix: before.ipv6_prefix,
        };
        let downlink = known.downlink.map_or(Downlink::Wait, Downlink::Forward);
        let session = copy(known);
        let network = config.network(&session.dnn)?;
        let is_its = |one: &Option<_>| *one == Some(before.association);
        let upf = state.associations.iter().position(is_its)?;
        let node_id = sluice_n4::NodeId::Ip(config.n4);
        let wanted = Establishment {
            node_id: node_id.as_wire(),
            f_seid: rules::f_seid(p.session.number(), config.n4),
            session: &session,
            own,
            access: config.upfs.get(upf)?.access.as_deref(),
            n3: config.upfs.get(upf)?.n3,
            network: &network.instance,
            charging_octets: network.charging_octets,
            restored: Some(Restored {
                uplink: before.uplink,
                downlink,
            }),
        };
        state.ask_upf(before.association, None, kind, Seid(0), |w| {
            rules::write_establishment(w, &wanted)
        })
    })
}
