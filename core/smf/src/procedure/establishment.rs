//! PDU session establishment (TS 23.502, 4.3.2.2.1; TS 24.501, 6.4.1), up to the message for the UE
//! and its gNB; the gNB's answer is an update of its own.

use sluice_n1::{
    Ambr, EstablishmentAccept, EstablishmentRequest, PduAddress, SessionCause, SessionDownlink,
    SessionType, SessionUplink, Transaction, options, transaction,
};
use sluice_n4::AssociationId;
use sluice_sbi::{
    Container, CreateSmContext, CreateSmPolicy, GetSessionManagement, N2Sm, PccRule, PolicyTrigger,
    Problem, SmContextCreated, UpdateSmPolicy,
};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, MessageType};

use crate::back_off::BackOff;
use crate::context::session::{AtUpf, QFI, Qos, Session};
use crate::leases::lease::OwnAddresses;
use crate::limits;
use crate::procedure::Procedure;
use crate::procedure::registration;
use crate::procedure::release;
use crate::procedure::selection::{Selected, choose_type};
use crate::procedure::user_plane::security::Security;
use crate::procedure::user_plane::setup;
use crate::refusal_text::Why;
use crate::upf::n4::Answer;
use crate::upf::rules::{self, Establishment};
use crate::upf::upfs::{NO_UPF, NoUpf};

/// Why there is no session, for the UE.
struct Refusal {
    cause: SessionCause,
    allows_ssc_mode_1: bool,
    back_off: BackOff,
    why: Option<Why>,
}

impl From<SessionCause> for Refusal {
    fn from(cause: SessionCause) -> Self {
        Self {
            cause,
            allows_ssc_mode_1: false,
            back_off: match cause {
                SessionCause::INSUFFICIENT_RESOURCES => BackOff::AnyOfRange,
                _ => BackOff::None,
            },
            why: None,
        }
    }
}

impl From<NoUpf> for Refusal {
    fn from(none: NoUpf) -> Self {
        Self {
            cause: NO_UPF,
            allows_ssc_mode_1: false,
            back_off: if none.is_full {
                BackOff::AnyOfRange
            } else {
                BackOff::Shortest
            },
            why: Some(none.why),
        }
    }
}

impl Refusal {
    /// For the UE.
    fn message(&self, p: &Procedure) -> SessionDownlink {
        SessionDownlink::EstablishmentReject {
            cause: self.cause,
            allows_ssc_mode_1: self.allows_ssc_mode_1,
            back_off_s: p.with(|state| state.back_off_s(p.session, self.back_off)),
        }
    }
}

/// Results of steps 4 to 8.
struct Plan {
    own: OwnAddresses,
    upf: (AssociationId, usize),
    /// Why the session is of less than was asked for.
    cut: Option<SessionCause>,
    /// Requested protocol configuration options.
    options: Vec<u8>,
    /// Whether the UE requested an always-on session.
    always_on: bool,
}

/// The procedure. It ends with the session handed over to the AMF, or with none.
pub(crate) async fn run(p: Procedure, request: CreateSmContext) {
    // 3: Nsmf_PDUSession_CreateSMContext Request
    let of = request.n1.get().and_then(transaction);
    let procedure = of.map_or(0, |of: Transaction| of.procedure);
    let planned = plan(&p, &request, of).await;
    let plan = match planned {
        Ok(plan) => plan,
        Err(refusal) => return refuse_context(&p, refusal, procedure),
    };
    // 5: Nsmf_PDUSession_CreateSMContext Response
    p.with(|state| {
        let created = SmContextCreated {
            created: true,
            context: p.session.number().into(),
            n1: Container::NONE,
        };
        state.answer(p.session, created.into());
    });
    // 6: no secondary authentication
    // 7b: SM Policy Association Establishment
    policy(&p).await;
    if let Err(cause) = establish(&p, &plan).await {
        // The AMF has a context: the UE is told by a message of its own.
        p.failed(cause);
        p.with(|state| state.refused(p.session, cause, None));
        let reject = Refusal::from(cause).message(&p);
        let n1 = p.n1(&reject, procedure);
        p.say("11", &reject);
        p.transfer("11", n1, N2Sm::None, Container::NONE).await;
        if p.with(|state| state.is_given_up(p.session)) {
            let upf = plan.upf.1;
            clean_up(&p, upf, async |at| ask(&p, "10", (at, upf), plan.own).await).await;
        }
        return release::end(&p, "");
    }
    // 11: Namf_Communication_N1N2MessageTransfer
    // 9: SM Policy Association Modification
    tell_address(&p).await;
    let (n1, n2) = accept(&p, &plan, procedure);
    p.with_session(|session| {
        for rule in &mut session.flows.rules {
            rule.is_told = true;
        }
    });
    if !p.transfer("11", n1, N2Sm::Setup, n2).await {
        // The UE is gone, or idle before it had its session.
        p.failed("the UE is not connected any more");
        p.with(|state| state.counters.refused += 1);
        release::delete(&p, "").await;
        return release::end(&p, "");
    }
    p.with(|state| state.counters.established += 1);
}

/// Step of a session whose UPF may answer late.
pub(crate) const CLEAN_UP: &str = "late answer";

/// A UPF that has not answered may have the session all the same. It is asked for it again, by the same F-SEID,
/// until it says so; then it deletes it. That it was asked stays stored until then.
pub(crate) async fn clean_up(
    p: &Procedure,
    upf: usize,
    ask: impl AsyncFn(AssociationId) -> Answer,
) {
    p.with(|state| state.notify(p.session, ""));
    p.with_session(|session| session.is_forgotten = true);
    let mut tries = 0;
    for _ in 0..limits::LATE_WAITS {
        if tries == limits::ORPHAN_TRIES {
            return;
        }
        p.pause(CLEAN_UP, limits::ORPHAN_MS).await;
        // It has answered late.
        if !p.with(|state| state.is_given_up(p.session)) {
            return;
        }
        let at = p.with(|state| {
            let at = state.associations.get(upf).copied().flatten()?;
            // Its answer may still come, whatever time has gone by.
            state.give_up_establishment(p.session, upf);
            let is_heard = state
                .endpoint
                .association(at)
                .is_some_and(|peer| peer.is_established() && !peer.is_lost());
            is_heard.then_some(at)
        });
        // One that does not answer at all is waited for.
        let Some(at) = at else {
            continue;
        };
        tries += 1;
        match ask(at).await {
            Answer::Established(at, _) => {
                return p.with(|state| state.established_late(p.session, at));
            }
            Answer::Refused(_) => return,
            // What it has answered meanwhile was about a request before this one.
            _ => p.with(|state| state.give_up_establishment(p.session, upf)),
        }
    }
}

/// 7b: Npcf_SMPolicyControl_Create. Without a PCF a session has its default flow alone.
async fn policy(p: &Procedure) {
    let request = p.with_session(|session| CreateSmPolicy {
        supi: session.supi,
        session: session.identity,
        slice: session.slice,
        dnn: session.dnn,
        context: p.session.number().into(),
        session_type: session.session_type as u8,
        ambr_down_bps: session.qos.ambr_bps.0.into(),
        ambr_up_bps: session.qos.ambr_bps.1.into(),
        five_qi: session.qos.five_qi,
        priority: session.qos.priority,
    });
    let Some(request) = request else { return };
    let Ok(decision) = p.call("7b", request).await else {
        return;
    };
    p.with_session(|session| session.flows.policy = Some(decision.policy.get()));
    let refused = p.with(|state| state.want(p.session, decision.rules.get()));
    p.with_session(|session| {
        let qos = session.qos;
        session.flows.begin(&qos);
    });
    if refused != 0 {
        p.with(|state| state.report_failed(p.session, refused));
    }
}

/// 9: Npcf_SMPolicyControl_Update, with the UE's address, by which applications name the session.
async fn tell_address(p: &Procedure) {
    let request = p.with_session(|session| {
        Some(UpdateSmPolicy {
            policy: session.flows.policy?.into(),
            trigger: PolicyTrigger::UeAddress,
            ipv4: session.address.ipv4.map_or([0; 4], |ipv4| ipv4.octets()),
            ipv6_prefix: session
                .upf
                .and_then(|upf| upf.ipv6_prefix)
                .unwrap_or_default(),
            rules: 0.into(),
            requested: PccRule::NONE,
        })
    });
    if let Some(request) = request.flatten() {
        // What it says is what it said before.
        let _ = p.call("9", request).await;
    }
}

fn refuse_context(p: &Procedure, refusal: Refusal, procedure: u8) {
    let (cause, why) = (refusal.cause, refusal.why.clone());
    p.failed(cause);
    let reject = refusal.message(p);
    let n1 = p.n1(&reject, procedure);
    p.say("5", &reject);
    p.with(|state| {
        state.refused(p.session, cause, why);
        let refused = SmContextCreated {
            created: false,
            context: 0.into(),
            n1,
        };
        state.answer(p.session, refused.into());
        state.remove(p.session);
    });
}

/// 4 and 8: what the subscriber may have, of what there is.
async fn plan(
    p: &Procedure,
    request: &CreateSmContext,
    of: Option<Transaction>,
) -> Result<Plan, Refusal> {
    let wanted = read(request, of)?;
    p.with_session(|session| session.transaction = of.map_or(0, |of| of.procedure));
    if wanted.ssc_mode.is_some_and(|mode| mode != 1) {
        return Err(Refusal {
            cause: SessionCause::SSC_MODE_NOT_SUPPORTED,
            allows_ssc_mode_1: true,
            back_off: BackOff::None,
            why: None,
        });
    }
    let network = p.with(|state| state.config.network(&request.dnn).cloned());
    let network = network.ok_or(SessionCause::UNKNOWN_DNN)?;
    // 4: what the subscriber may do
    let CreateSmContext {
        supi, slice, dnn, ..
    } = *request;
    let subscription = p.call("4", GetSessionManagement { supi, slice, dnn }).await;
    let subscription = subscription.map_err(no_subscription)?;
    registration::subscribe(p).await?;
    let (kind, cut) = choose_type(wanted.session_type, &subscription, network.families)?;
    let ambr_bps = (
        subscription.ambr_down_bps.get(),
        subscription.ambr_up_bps.get(),
    );
    // The subscriber's policy comes before the data network's (TS 33.501, 6.6.1).
    let policy = subscription.up_security.get().or(network.up_security);
    let security = Security::new(policy, wanted.integrity, ambr_bps)?;
    // 8: a UPF that leads to the data network
    let selected = p.with(|state| state.select(request, &subscription, (kind, cut)));
    let Selected {
        kind,
        cut,
        own,
        upf,
    } = selected?;
    // What the UPF does not give
    let own = p.with(|state| state.lease(p.session, upf, kind, own));
    let own = own.map_err(|why| Refusal {
        why: Some(why),
        ..NO_UPF.into()
    })?;
    let place = p.with(|state| {
        let mut networks = state.config.networks.iter();
        networks.position(|network| network.dnn == dnn)
    });
    p.with_session(|session| {
        session.flows.place = place.map(|network| (upf.1, network));
        session.session_type = kind;
        session.security = security;
        session.qos = Qos {
            ambr_bps,
            five_qi: subscription.five_qi,
            priority: subscription.priority,
        };
    });
    Ok(Plan {
        own,
        upf,
        cut,
        options: wanted.options.unwrap_or_default(),
        always_on: wanted.always_on,
    })
}

fn read(
    request: &CreateSmContext,
    of: Option<Transaction>,
) -> Result<EstablishmentRequest, SessionCause> {
    let octets = request.n1.get().unwrap_or_default();
    // TS 24.501, 7.3.1 and 7.3.2: identities of the session and the procedure.
    if of.is_none_or(|of| of.session != request.session || !(1..=254).contains(&of.procedure)) {
        return Err(SessionCause::INVALID_MANDATORY_INFORMATION);
    }
    match SessionUplink::decode(octets)? {
        SessionUplink::EstablishmentRequest(wanted) => Ok(wanted),
        _ => Err(SessionCause::NOT_COMPATIBLE_WITH_STATE),
    }
}

pub(crate) fn by_problem(problem: Problem) -> SessionCause {
    match problem {
        Problem::DnnNotSupported | Problem::UserNotFound => SessionCause::NOT_SUBSCRIBED,
        _ => SessionCause::NETWORK_FAILURE,
    }
}

/// Refusal of a session whose subscription the UDM does not give.
fn no_subscription(problem: Problem) -> Refusal {
    let cause = by_problem(problem);
    let is_failure = cause == SessionCause::NETWORK_FAILURE;
    Refusal {
        why: is_failure.then(|| Why {
            why: format!("the UDM does not give the subscription: {problem}"),
            remedy: "look at sluice ctl --core flow, and whether UDM and UDR are there; the UE asks again",
        }),
        ..cause.into()
    }
}

/// N4 Session Establishment, at a UPF and its place in the configuration.
pub(crate) async fn ask(
    p: &Procedure,
    step: &'static str,
    (association, upf): (AssociationId, usize),
    own: OwnAddresses,
) -> Answer {
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let tag = p.with(|state| {
        let config = state.config.clone();
        // What is asked for is stored before the UPF hears of it.
        state.sessions.get_mut(p.session.0)?.asks = config.upfs.get(upf).map(|upf| upf.n4);
        let session = state.sessions.get(p.session.0).map(copy)?;
        let network = config.network(&session.dnn)?;
        let node_id = sluice_n4::NodeId::Ip(config.n4);
        let wanted = Establishment {
            node_id: node_id.as_wire(),
            f_seid: rules::f_seid(p.session.number(), config.n4),
            session: &session,
            own,
            access: config.upfs.get(upf)?.access_instance(),
            n3: config.upfs.get(upf)?.n3,
            network: config.upfs.get(upf)?.instance(&network.instance),
            charging_octets: network.charging_octets,
            restored: None,
        };
        state.ask_upf(association, None, kind, Seid(0), |w| {
            rules::write_establishment(w, &wanted)
        })
    });
    let answer = p.wait_for_upf(step, kind, tag).await;
    // One that does not answer may have it all the same.
    if answer != Answer::Nothing {
        p.with_session(|session| session.asks = None);
    }
    answer
}

/// 10a and 10b: N4 Session Establishment.
async fn establish(p: &Procedure, plan: &Plan) -> Result<(), SessionCause> {
    match ask(p, "10", plan.upf, plan.own).await {
        Answer::Established(at, told) => {
            p.with_session(|session| {
                session.upf = Some(AtUpf {
                    ipv6_prefix: plan.own.ipv6_prefix.or(at.ipv6_prefix),
                    uplink: session.lease.tunnel.unwrap_or(at.uplink),
                    ..at
                });
                session.address = address(session.session_type, plan.own, told);
            });
            let is_whole = p.with_session(|session| is_whole(session)).unwrap_or(false);
            if is_whole {
                return Ok(());
            }
            // It forgot to choose an address, or a tunnel.
            release::delete(p, "").await;
            Err(SessionCause::INSUFFICIENT_RESOURCES)
        }
        Answer::Refused(
            Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED
            | Cause::NO_RESOURCES_AVAILABLE
            | Cause::PFCP_ENTITY_IN_CONGESTION,
        ) => Err(SessionCause::INSUFFICIENT_RESOURCES),
        Answer::Nothing => {
            p.with(|state| state.give_up_establishment(p.session, plan.upf.1));
            Err(SessionCause::NETWORK_FAILURE)
        }
        _ => Err(SessionCause::NETWORK_FAILURE),
    }
}

/// Parts of a session that the rules need.
pub(crate) fn copy(session: &Session) -> Session {
    Session {
        transaction: session.transaction,
        session_type: session.session_type,
        qos: session.qos,
        flows: session.flows.clone(),
        address: session.address,
        lease: session.lease,
        ..Session::new(session.supi, session.identity, session.slice, session.dnn)
    }
}

fn address(kind: SessionType, own: OwnAddresses, told: PduAddress) -> PduAddress {
    // The interface identifier that goes with a prefix of the subscriber's own.
    const OURS: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 1];
    PduAddress {
        ipv4: own.ipv4.or(told.ipv4).filter(|_| kind != SessionType::Ipv6),
        interface_identifier: told
            .interface_identifier
            .or(own.ipv6_prefix.map(|_| OURS))
            .filter(|_| kind != SessionType::Ipv4),
    }
}

fn is_whole(session: &Session) -> bool {
    let PduAddress {
        ipv4,
        interface_identifier,
    } = session.address;
    let (v4, v6) = (ipv4.is_some(), interface_identifier.is_some());
    if session.upf.is_none_or(|upf| upf.uplink.teid == 0) {
        return false;
    }
    match session.session_type {
        SessionType::Ipv4 => v4,
        SessionType::Ipv6 => v6,
        _ => v4 && v6,
    }
}

/// The accept for the UE, and the request for its gNB.
fn accept(p: &Procedure, plan: &Plan, procedure: u8) -> (Container, Container) {
    let message = p.with(|state| {
        let session = state.sessions.get(p.session.0)?;
        let network = state.config.network(&session.dnn)?;
        let (down_bps, up_bps) = session.qos.ambr_bps;
        let (rules, flows) = session.flows.told();
        Some(SessionDownlink::EstablishmentAccept(Box::new(
            EstablishmentAccept {
                session_type: session.session_type,
                cause: plan.cut,
                ssc_mode: 1,
                qfi: QFI,
                five_qi: session.qos.five_qi,
                rules,
                flows,
                ambr: Ambr { down_bps, up_bps },
                address: session.address,
                slice: session.slice,
                // No session is: the UE is told so where it asks (TS 24.501, 6.4.1.3).
                always_on: plan.always_on.then_some(false),
                options: options::answer(&plan.options, &network.settings),
                dnn: session.dnn.labels().to_vec(),
            },
        )))
    });
    let n1 = match &message {
        Some(message) => {
            p.say("11", message);
            p.n1(message, procedure)
        }
        None => Container::NONE,
    };
    let n2 = p.with_session(|session| setup(session)).flatten();
    (n1, n2.unwrap_or(Container::NONE))
}
