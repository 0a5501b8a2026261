//! The user plane of a session that is there: what its gNB is told, and where its downlink packets go.

pub(crate) mod security;
pub(crate) mod unprotected;

use sluice_n1::SessionType;
use sluice_n2::{PacketType, SetupRequest, Tunnel};
use sluice_sbi::Container;
use sluice_wire::pfcp::MessageType;
use sluice_wire::pfcp::value::UpFunctionFeatures;

use crate::context::session::{Loss, Reaching, Session};
use crate::limits;
use crate::procedure::Procedure;
use crate::upf::n4::Answer;
use crate::upf::rules::{self, Access, Downlink};

/// PDU Session Resource Setup Request Transfer of an established session.
pub(crate) fn setup(session: &Session) -> Option<Container> {
    let uplink = session.upf?.uplink;
    Container::new(&request(session, uplink).encode())
}

fn request(session: &Session, uplink: Tunnel) -> SetupRequest {
    SetupRequest {
        ambr_bps: session.qos.ambr_bps,
        uplink,
        packets: match session.session_type {
            SessionType::Ipv6 => PacketType::Ipv6,
            SessionType::Ipv4v6 => PacketType::Ipv4v6,
            _ => PacketType::Ipv4,
        },
        security: session.security.indication(),
        flows: session.flows.at_setup(&session.qos),
    }
}

/// The session's UPF towards gNBs.
pub(crate) fn access(p: &Procedure) -> Access {
    let upf = p.with(|state| {
        let session = state.sessions.get(p.session.0)?;
        let association = session.upf?.association;
        let is_its = |one: &Option<_>| *one == Some(association);
        let index = state.associations.iter().position(is_its)?;
        let upf = state.config.upfs.get(index)?;
        Some(Access {
            instance: upf.access_instance(),
            n3: upf.n3,
            sends_end_markers: state.has_feature(association, UpFunctionFeatures::EMPU),
        })
    });
    upf.unwrap_or(Access {
        instance: None,
        n3: [true, false],
        sends_end_markers: false,
    })
}

/// N4 Session Modification: whether the downlink is what it is to be. What is wanted is stored before the UPF hears
/// of it.
pub(crate) async fn downlink(p: &Procedure, step: &'static str, wanted: Downlink) -> bool {
    let gnb = match wanted {
        Downlink::Forward(gnb) => Some(gnb),
        Downlink::Wait | Downlink::Drop => None,
    };
    // What comes in between, such as a UE that is idle, comes after this.
    let before = p.with_session(|session| std::mem::replace(&mut session.downlink, gnb));
    // One that is away gets the session with its downlink when it is back.
    if p.with_session(|session| session.loss == Loss::Restarted) == Some(true) {
        if wanted != Downlink::Drop {
            p.with_session(|session| session.flows.is_out_of_reach = false);
            p.with(|state| state.reach(p.session, None));
        }
        return true;
    }
    let access = access(p);
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let answer = p
        .ask_upf(step, kind, |w| rules::write_downlink(w, wanted, &access))
        .await;
    let is_done = answer == Answer::Done;
    if !is_done {
        p.failed("the UPF refused it, or did not answer");
    }
    p.with_session(|session| {
        if is_done || gnb.is_none() {
            session.flows.is_out_of_reach = false;
        } else if session.downlink == gnb {
            session.downlink = before.flatten();
        }
        // The UPF may have heard this after what came in between, where it was asked again.
        session.is_unsettled |= session.downlink != gnb && is_done;
    });
    if wanted == Downlink::Wait {
        p.with(|state| {
            let has_upf = state
                .sessions
                .get(p.session.0)
                .is_some_and(|session| session.upf.is_some());
            // A UPF that goes on sending to the gNB would never tell of packets: it is asked again.
            let again = state.now.instant.plus_ms(limits::RECONCILIATION_MS);
            let is_unsure = answer == Answer::Nothing && has_upf;
            let again = is_unsure.then_some((Reaching::Dropping, again));
            state.reach(p.session, again);
        });
    }
    is_done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::session::Qos;
    use sluice_ids::{Dnn, Snssai, Supi, UpProtection, UpSecurity};

    /// Numbers of the IEs of a transfer whose values are shorter than 128 octets (TS 38.413, 9.4.5; X.691).
    fn ies(transfer: &[u8]) -> Vec<u16> {
        let (mut ids, mut rest) = (Vec::new(), &transfer[3..]);
        while let [high, low, _, len, value @ ..] = rest {
            ids.push(u16::from_be_bytes([*high, *low]));
            rest = &value[usize::from(*len)..];
        }
        ids
    }

    /// Session AMBR, tunnel, type and flows; the Security Indication (138) of a session with a policy alone.
    #[test]
    fn a_gnb_is_told_a_policy_where_there_is_one() {
        let supi = Supi::from_imsi("001010000000001").expect("digits");
        let mut session = Session::new(supi, 1, Snssai::new(1, None), Dnn::NONE);
        session.qos = Qos {
            ambr_bps: (2_000, 1_000),
            five_qi: 9,
            priority: 8,
        };
        let uplink = Tunnel {
            ipv4: Some([192, 0, 2, 1].into()),
            ipv6: None,
            teid: 7,
        };
        let told = |session: &Session| ies(&request(session, uplink).encode());
        assert_eq!(told(&session), [130, 139, 134, 136]);
        session.security.policy = Some(UpSecurity {
            integrity: UpProtection::NotNeeded,
            confidentiality: UpProtection::Preferred,
        });
        assert_eq!(told(&session), [130, 139, 134, 138, 136]);
    }
}
