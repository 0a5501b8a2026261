//! Registration (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1).

use sluice_ids::Snssai;
use sluice_n1::{
    Cause, Downlink, MobileIdentity, RegistrationAccept, RegistrationKind, RegistrationRequest,
    RejectedIn,
};
use sluice_n2::SessionSetup;
use sluice_sbi::{
    AccessAndMobility, GetAccessAndMobility, Identity, Problem, RegisterAmf, SdmSubscription,
    SelectSlices, SlicesSelected, SubscribeSdm, Wake,
};

use crate::context::state::describe;
use crate::context::ue::{Registered, Ue, UeId, Undo};
use crate::key_names::KeyNames;
use crate::limits;
use crate::procedure::am_policy;
use crate::procedure::authentication;
use crate::procedure::common;
use crate::procedure::context_transfer;
use crate::procedure::initial_context;
use crate::procedure::release;
use crate::procedure::security_mode;
use crate::procedure::user_plane::{self, Resumed};
use crate::procedure::{Event, Kind, Procedure};
use crate::refusal::Refusal;
use crate::refusal_text;

/// A Registration Request as it came.
pub(crate) struct Request {
    pub message: RegistrationRequest,
    /// The MAC was right, so the UE is the one of its 5G-GUTI.
    pub is_verified: bool,
    /// The message had a wrong MAC, or one of unknown keys.
    pub is_suspect: bool,
    /// The message as it came, if another AMF may know its keys.
    pub nas: Vec<u8>,
    /// Names of keys of the UE whose connection it came by.
    pub key_names: KeyNames,
}

/// The procedure. It ends with the UE registered, or refused and disconnected.
pub(crate) async fn run(p: Procedure, request: Request) {
    let is_initial = request.message.kind == RegistrationKind::Initial;
    let shown = refusal_text::identity(&request.message.identity);
    match register(&p, request).await {
        Ok(follow_on) => {
            p.with(|state| state.counters.registrations += 1);
            let are_news = p.with_ue(|ue| std::mem::take(&mut ue.news.names));
            if is_initial || are_news {
                common::tell_names_and_time(&p);
            }
            // A UE that has nothing more to say becomes idle.
            if !follow_on {
                release::run(&p, sluice_n2::Cause::NORMAL_RELEASE).await;
            }
        }
        Err(refusal) => refuse(&p, &refusal, shown).await,
    }
}

async fn refuse(p: &Procedure, refusal: &Refusal, shown: String) {
    p.with(|state| {
        let told = refusal.message();
        let cause = told.map_or_else(|| "without a cause".to_owned(), |told| describe(&told));
        let reason = refusal_text::refusal(refusal);
        p.failed(&cause);
        state.refused(p.ue, Some(shown), "Registration", cause, reason);
        state.undo(p.ue);
    });
    match (refusal.message(), refusal) {
        (Some(message), _) => {
            let message = p.with(|state| state.with_back_off(p.ue, message));
            p.send("", &message);
        }
        (None, Refusal::Silent(why)) => p.with(|state| state.line("AMF", "AMF", "", *why, p.ue)),
        (None, _) => {}
    }
    release::run(p, refusal.release()).await;
}

/// Whether the UE has more to say.
async fn register(p: &Procedure, request: Request) -> Result<bool, Refusal> {
    // 1 to 14a: Registration Request, from a UE in an area of ours that is who it says, and UDM is told where it is
    let message = prove(p, request).await?;
    let supi = p.with_ue(|ue| ue.supi).ok_or(Refusal::Authentication)?;
    // 14b: what it may do
    let subscription = p.call("14b", GetAccessAndMobility { supi }).await?;
    // 14c: ... also when that changes
    subscribe(p, supi).await?;
    // 14b: ... and which slices it may use here (4.2.2.2.3, 4a and 4b)
    let slices = p.call("14b", asked(p, &message, &subscription)?).await?;
    // 15 and 16: AM Policy Association Establishment (4.16.1)
    am_policy::establish(p, supi).await;
    // 17: sessions that the UE has no more, and user planes that it wants.
    // One that begins anew has none.
    let has = message.session_status.or_else(|| lost_sessions(p));
    let resumed = if message.kind == RegistrationKind::Initial {
        p.with(|state| state.keep_sessions(p.ue, 0, "17"));
        p.with_ue(|ue| ue.paged_for.clear());
        Resumed {
            status: has.map(|_| 0),
            ..Resumed::default()
        }
    } else {
        user_plane::resume(p, "17", has, message.uplink_data).await
    };
    let Resumed {
        status,
        reactivation,
        setups,
    } = resumed;
    let mut accept = admit(p, &message, &subscription, &slices)?;
    (accept.session_status, accept.reactivation) = (status, reactivation);
    // 18 to 20: no slices of others
    // 21 and 22: stored, accepted, completed
    p.commit().await?;
    // From here on the UE is registered, whatever becomes of the message that tells it.
    p.with_ue(|ue| ue.undo.clear());
    // 10: ... which the AMF of before hears not before it is certain
    p.with(|state| state.take_in(p.ue));
    accept_and_wait(p, accept, setups).await?;
    Ok(message.follow_on)
}

/// 1 to 14a: the request of a UE that may register, whole.
async fn prove(p: &Procedure, request: Request) -> Result<RegistrationRequest, Refusal> {
    let Request {
        mut message,
        is_verified,
        is_suspect,
        nas,
        key_names,
    } = request;
    if message.kind == RegistrationKind::Emergency {
        return Err(Refusal::Registration(Cause::PROTOCOL_ERROR));
    }
    let is_served = p.with_connection(|c| c.location.tai);
    let is_served = is_served.is_some_and(|tai| p.with(|s| s.config.areas.contains(&tai)));
    if !is_served {
        return Err(Refusal::Registration(Cause::NO_SUITABLE_CELLS));
    }
    // 4 and 5: another AMF that has named it has its keys
    let is_brought = !is_verified && context_transfer::run(p, &mut message, &nas).await?;
    let is_known = is_verified || is_brought;
    // 6 to 9: who it is, and keys; not again for a UE whose MAC was right
    if !is_known {
        secure(p, &mut message, is_suspect, key_names).await?;
    }
    // 11 to 13: no equipment register, one UDM
    // 14a: UDM is told where the UE is
    let is_initial = message.kind == RegistrationKind::Initial && !is_brought;
    match tell_udm(p, is_initial).await {
        // Its keys are good, but the home network has no record of why: it proves once more who it is.
        Err(Refusal::Problem(Problem::NotAuthenticated)) if is_known => {
            secure(p, &mut message, is_suspect, key_names).await?;
            tell_udm(p, is_initial).await?;
        }
        told => told?,
    }
    // Another AMF that has asked for the context does not have the UE.
    p.with(|state| state.stays(p.ue));
    Ok(message)
}

/// Sessions that the UE had at another AMF, and has not told: none of them is left.
fn lost_sessions(p: &Procedure) -> Option<u16> {
    let brought = p.with_ue(|ue| ue.brought);
    brought.map(|one| one.sessions).filter(|all| *all != 0)
}

/// 14a: UDM is told where the UE is.
async fn tell_udm(p: &Procedure, is_initial: bool) -> Result<(), Refusal> {
    let supi = p.with_ue(|ue| ue.supi).ok_or(Refusal::Authentication)?;
    let guami = p.with(|state| state.config.guami);
    let network = authentication::serving_network(p);
    let is_new = |ue: &mut Ue| {
        let is_told = |undo: &Undo| matches!(undo, Undo::Registration(_));
        ue.registered.is_none() && !ue.undo.iter().any(is_told)
    };
    if p.with_ue(is_new) {
        p.on_abort(Undo::Registration(supi));
    }
    let here = RegisterAmf {
        supi,
        guami,
        network,
        is_initial,
    };
    p.call("14a", here).await?;
    Ok(())
}

/// 14c: Nudm_SDM_Subscribe, once. A UE whose AMF gets no answer is registered all the same; it is tried again the next time.
async fn subscribe(p: &Procedure, supi: sluice_ids::Supi) -> Result<(), Refusal> {
    let wanted = p.with(|state| {
        let ue = state.ues.get_mut(p.ue.0)?;
        let instance = state.instance?;
        let was_subscribed = std::mem::replace(&mut ue.is_subscribed, true);
        (!was_subscribed).then(|| SdmSubscription::access_and_mobility(supi, instance))
    });
    let Some(subscription) = wanted else {
        return Ok(());
    };
    match p.call("14c", SubscribeSdm { subscription }).await {
        Ok(_) => Ok(()),
        Err(problem @ Problem::UserNotFound) => Err(problem.into()),
        Err(problem) => {
            p.with_ue(|ue| ue.is_subscribed = false);
            let what = format!("the registration goes on without a subscription: {problem}");
            p.with(|state| state.line("AMF", "AMF", "14c", what, p.ue));
            Ok(())
        }
    }
}

/// 6 to 9: identity, authentication, security mode. The message is the whole one afterwards, if that came again.
async fn secure(
    p: &Procedure,
    message: &mut RegistrationRequest,
    is_suspect: bool,
    mut key_names: KeyNames,
) -> Result<(), Refusal> {
    let known = known_by(p, &message.identity);
    if let Some(known) = known {
        key_names = key_names.and(p.with(|state| state.key_names(known)));
    }
    key_names.add(message.ngksi);
    let identity = match message.identity {
        MobileIdentity::Suci(suci) => Some(Identity::from(suci)),
        // A name of ours whose MAC was wrong: we ask the subscriber that we know by it.
        MobileIdentity::Guti(_) => p.with(|state| {
            let known = known.and_then(|ue| state.ues.get(ue.0));
            known.and_then(|ue| ue.supi).map(Identity::from)
        }),
        _ => None,
    };
    // 6 and 7: a name that nobody knows
    let is_shown = identity.is_none() || matches!(message.identity, MobileIdentity::Suci(_));
    let identity = match identity {
        Some(identity) => identity,
        None => common::identify(p).await?.into(),
    };
    // 8 and 9
    let new = authentication::run(p, identity, key_names, is_shown).await?;
    let capability = message.capability.or_else(|| {
        p.with(|state| {
            let known = state
                .find_supi(&new.supi)
                .and_then(|ue| state.ues.get(ue.0));
            known.and_then(|ue| ue.capability)
        })
    });
    let capability =
        capability.ok_or(Refusal::Registration(Cause::SECURITY_CAPABILITIES_MISMATCH))?;
    let supi = new.supi;
    let whole = security_mode::run(p, new.into(), capability, is_suspect).await?;
    p.with_ue(|ue| ue.capability = Some(capability));
    // Not before: what was there stays if the UE rejects the new keys (TS 24.501, 5.4.2.5).
    take_over(p, supi);
    if let Some(whole) = whole {
        *message = RegistrationRequest {
            kind: message.kind,
            ..whole
        };
    }
    Ok(())
}

/// The UE that we know by what this one calls itself.
fn known_by(p: &Procedure, identity: &MobileIdentity) -> Option<UeId> {
    p.with(|state| match identity {
        MobileIdentity::Guti(guti) => state.find(guti),
        MobileIdentity::Suci(suci) => state.find_supi(&authentication::shown(suci)?),
        _ => None,
    })
}

/// The UE has proved who it is and has new keys: what we knew of the subscriber before is gone
/// (TS 24.501, 5.5.1.2.8 a).
pub(crate) fn take_over(p: &Procedure, supi: sluice_ids::Supi) {
    p.with(|state| {
        let old = state.find_supi(&supi).filter(|old| *old != p.ue);
        let kept = old.and_then(|old| state.ues.get(old.0));
        let kept = kept.map(|ue| {
            let radio = (ue.radio_capability.clone(), ue.paging_capability.clone());
            (ue.imeisv, radio)
        });
        if let Some(old) = old {
            release::command(state, old, sluice_n2::Cause::FROM_5GC);
            state.disconnect(old);
            state.remove(old);
        }
        state.own_supi(p.ue, supi);
        state.not_unauthenticated(p.ue);
        if let Some(ue) = state.ues.get_mut(p.ue.0) {
            ue.supi = Some(supi);
            let (imeisv, (radio_capability, paging_capability)) = kept.unwrap_or_default();
            ue.imeisv = ue.imeisv.or(imeisv);
            if ue.radio_capability.is_none() {
                ue.radio_capability = radio_capability;
                ue.paging_capability = paging_capability;
            }
        }
    });
}

/// Query to the NSSF: requested slices, subscribed slices, and those of both that the gNB supports.
fn asked(
    p: &Procedure,
    message: &RegistrationRequest,
    subscription: &AccessAndMobility,
) -> Result<SelectSlices, Refusal> {
    let tai = p.with_connection(|c| c.location.tai);
    let tai = tai.ok_or(Refusal::Authentication)?;
    let requested = message.requested_nssai.as_deref().unwrap_or_default();
    let subscribed: Vec<(Snssai, bool)> = subscription.subscribed().collect();
    let is_its = |slice: &Snssai| {
        requested.contains(slice) || subscribed.iter().any(|(one, _)| one == slice)
    };
    let mut offered = offered(p);
    offered.retain(is_its);
    let asked = SelectSlices::new(tai, requested, &subscribed, &offered);
    let instance = p.with(|state| state.instance);
    Ok(instance.map_or(asked, |instance| asked.of_amf(instance)))
}

/// Registers the UE: 5G-GUTI, slices, and areas of its context.
fn admit(
    p: &Procedure,
    message: &RegistrationRequest,
    subscription: &AccessAndMobility,
    slices: &SlicesSelected,
) -> Result<RegistrationAccept, Refusal> {
    let allowed = slices.allowed().to_vec();
    let cause = |is_of_area| match is_of_area {
        true => RejectedIn::Area,
        false => RejectedIn::Plmn,
    };
    let rejected = slices.rejected();
    let rejected = rejected.map(|(slice, is_of_area)| (slice, cause(is_of_area)));
    let rejected: Vec<(Snssai, RejectedIn)> = rejected.collect();
    if allowed.is_empty() {
        return Err(Refusal::Registration(Cause::NO_NETWORK_SLICES));
    }
    let is_new = p.with_ue(|ue| ue.guti.is_none());
    let is_paged = p.with_ue(|ue| std::mem::take(&mut ue.is_paged));
    let renames = is_new || is_paged || message.kind != RegistrationKind::Periodic;
    p.with(|state| {
        let guti = renames.then(|| state.new_guti());
        let ambr_bps = (
            subscription.ambr_down_bps.get(),
            subscription.ambr_up_bps.get(),
        );
        if let Some(guti) = guti {
            state.rename(p.ue, guti);
        }
        // A UE that begins anew may be another one, and one that says so has another radio (TS 23.502, 4.2.2.2.2 and
        // TS 24.501, 5.5.1.3.4).
        if message.kind == RegistrationKind::Initial || message.has_new_radio {
            state.forget_radio(p.ue);
        }
        if let Some(ue) = state.ues.get_mut(p.ue.0) {
            ue.drx = message.drx;
            ue.capability = message.capability.or(ue.capability);
            ue.news.registration = false;
            ue.registered = Some(Registered {
                allowed_nssai: allowed.clone(),
                ambr_bps,
            });
        }
        let config = &state.config;
        Ok(RegistrationAccept {
            guti,
            equivalent_plmns: config.equivalent_plmns.clone(),
            areas: config.areas.clone(),
            allowed_nssai: allowed,
            rejected_nssai: rejected,
            configured_nssai: subscription.subscribed().map(|(slice, _)| slice).collect(),
            ims_voice: config.ims_voice,
            session_status: None,
            reactivation: None,
            t3512_s: Some(config.t3512_s),
            t3502_s: Some(config.t3502_s),
            drx: message.drx,
        })
    })
}

/// Slices that the UE's gNB offers in the area that the UE is in.
fn offered(p: &Procedure) -> Vec<Snssai> {
    p.with(|state| {
        let Some((_, connection)) = state.connection(p.ue) else {
            return Vec::new();
        };
        let tai = connection.location.tai;
        let gnb = state.gnbs.get(&connection.association);
        let mut areas = gnb.into_iter().flat_map(|gnb| &gnb.areas);
        let area = areas.find(|area| area.tac == tai.tac);
        let mut plmns = area.into_iter().flat_map(|area| &area.plmns);
        let of_plmn = plmns.find(|plmn| plmn.plmn == tai.plmn);
        of_plmn.map(|plmn| plmn.slices.clone()).unwrap_or_default()
    })
}

/// 21 and 22: Registration Accept, inside of Initial Context Setup if the gNB has no context of the
/// UE; Registration Complete if the UE got a new name.
async fn accept_and_wait(
    p: &Procedure,
    accept: RegistrationAccept,
    setups: Vec<SessionSetup>,
) -> Result<(), Refusal> {
    let renames = accept.guti.is_some();
    let message = Downlink::RegistrationAccept(Box::new(accept));
    let mut needs_context = p.with_connection(|c| !c.has_context).unwrap_or_default();
    let mut needs_complete = renames;
    let mut renews = false;
    if needs_context {
        p.with(|state| initial_context::request(state, p.ue, "21", Some(&message), setups))?;
    } else {
        // A UE that was authenticated on this connection has new keys, and its gNB those of before.
        let has_new_keys = |ue: &mut Ue| ue.security.as_ref().is_some_and(|s| s.chain.is_none());
        if p.with_ue(has_new_keys) {
            p.with(|state| initial_context::renew_key(state, p.ue, "21"))?;
            (renews, needs_context) = (true, true);
        }
        p.send("21", &message);
        p.with(|state| state.ask_for_sessions(p.ue, "21", setups));
    }
    let mut sends = 1;
    let mut at = p.deadline(limits::NAS_TIMER_MS);
    while needs_context || needs_complete {
        match p.wait_until("22", Kind::Accept, at).await {
            Wake::Event(Event::Nas(_)) => needs_complete = false,
            Wake::Event(Event::Context(Ok(()))) => {
                needs_context = false;
                p.with(|state| state.takes_keys(p.ue));
            }
            // A gNB that prepares a handover takes no new key: it is told again when that was refused.
            Wake::Event(Event::Context(Err(cause))) if !renews || !cause.is_handover() => {
                return Err(Refusal::Silent("the gNB cannot set up the UE's context"));
            }
            Wake::Event(Event::Context(Err(_))) => {}
            // The same request again: its timer begins anew, and nothing is counted (5.5.1.2.8 d).
            Wake::Event(Event::Again) => {
                at = p.deadline(limits::NAS_TIMER_MS);
                p.send("21", &message);
            }
            // T3550; after the last time the UE is registered under either name (5.5.1.2.8 d)
            Wake::Deadline | Wake::Event(_) => {
                if sends == limits::NAS_SENDS {
                    return Err(Refusal::Silent("no Registration Complete"));
                }
                sends += 1;
                at = p.deadline(limits::NAS_TIMER_MS);
                if needs_complete {
                    p.send("21", &message);
                }
                if needs_context && renews {
                    p.with(|state| initial_context::renew_key(state, p.ue, "21"))?;
                }
            }
        }
    }
    if renames {
        p.with(|state| state.forget_old_name(p.ue));
    }
    Ok(())
}
