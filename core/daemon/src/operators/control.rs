//! Dispatch of operators' questions: those that only look are answered by `view`, those that change something by
//! functions of their own.

use crate::daemon::Daemon;
use crate::operators::counters::SbiPart;
use crate::operators::metrics;
use crate::operators::mobility::{self, AmfPart};
use crate::operators::part::Part;
use crate::operators::qos;
use crate::operators::request::{Ask, Request, not_reached, subscriber, told};
use crate::operators::view;
use crate::parts::contexts;
use crate::parts::programs::Programs;
use crate::parts::subscriber_sync::SubscriberSync;
use crate::reload;
use serde_json::{Value, json};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_program::control::{Asked, refusal};
use sluice_sbi::Nf;

/// Answers a question with what other programs have told; one to the core's own PCF once its SMF has answered.
pub(crate) fn reply(daemon: &mut Daemon, asked: Asked<Ask>, request: &Request, told: Part) {
    let is_own = !daemon.in_force.running.wiring.is_apart(Nf::Pcf);
    let flows = &mut daemon.runtime.core_mut().flows();
    match is_own.then(|| qos::begin(request, flows)).flatten() {
        Some(qos::Begun::Answered(answer)) => asked.answer(answer),
        Some(qos::Begun::Asked(of_smf)) => {
            daemon.asked.push((asked, of_smf));
            reply_as_smf_answered(daemon);
        }
        None => {
            let answer = answer(request, daemon, told);
            asked.answer(answer);
        }
    }
}

/// Answers questions that programs or the SMF have answered since the last call.
pub(crate) fn reply_to_answered(daemon: &mut Daemon) {
    reply_as_smf_answered(daemon);
    let answered = daemon.programs.as_mut().map(Programs::take_answered);
    for (asked, request, part) in answered.unwrap_or_default() {
        reply(daemon, asked, &request, part);
    }
}

fn reply_as_smf_answered(daemon: &mut Daemon) {
    let flows = daemon.runtime.core_mut().flows();
    let is_answered = |(_, of_smf): &mut (Asked<Ask>, qos::Asked)| of_smf.answer(&flows).is_some();
    let answered = daemon.asked.extract_if(.., is_answered);
    for (asked, of_smf) in answered.collect::<Vec<_>>() {
        asked.answer(of_smf.answer(&flows).unwrap_or_default());
    }
}

/// Answers with what other programs have told; what the core then wants sent leaves with its next turn.
fn answer(request: &Request, daemon: &mut Daemon, told_by_others: Part) -> Value {
    if let Some(done) = mobility_act(request, daemon) {
        return done;
    }
    let mut part = own_part(request, daemon).and(told_by_others);
    match request {
        Request::Status => told(view::status(daemon, &part)),
        Request::Ues { from, .. } => match from.as_deref().map(subscriber).transpose() {
            Ok(_) => of_amf(part.amf, |amf| told(view::ues(amf, part.smf.as_ref()))),
            Err(refused) => refused,
        },
        Request::Ue { imsi } => of(imsi, |supi| {
            of_amf(part.amf.take(), |amf| {
                view::ue(daemon, supi, amf.ue, &part).map_or_else(|refused| refused, told)
            })
        }),
        Request::Gnbs { after, count } => of_amf(part.amf, |amf| {
            told(view::gnbs(amf, after.as_deref(), *count))
        }),
        Request::Nfs => match part.nrf {
            Some(mut nrf) => {
                let programs = daemon.programs.as_ref();
                nrf.nfs.instances = programs
                    .map(|all| all.instances(&part.instances))
                    .unwrap_or_default();
                told(nrf.nfs)
            }
            None => not_reached(Nf::Nrf),
        },
        Request::Drain { function, instance } => drain(daemon, function, *instance, true),
        Request::Undrain { function, instance } => drain(daemon, function, *instance, false),
        Request::Procedures => told(view::procedures(part)),
        Request::Flow { imsi } => of(imsi, |supi| told(view::flow(daemon, supi, part))),
        Request::Trace { imsi: None, ends } => daemon.tracing(None, *ends),
        Request::Trace {
            imsi: Some(imsi),
            ends,
        } => of(imsi, |supi| daemon.tracing(Some(*supi), *ends)),
        Request::Refusals => told(daemon.refusals.view()),
        Request::Counters => told(view::counters(daemon, &part)),
        Request::Metrics => json!({ "text": metrics::text(daemon, &part) }),
        // A program could not go on with the file.
        Request::Reload => part.done.unwrap_or_else(|| reload::answer(daemon)),
        // What the core's own AMF is asked does not come here.
        Request::UpdateGnbs
        | Request::OverloadStart { .. }
        | Request::OverloadStop
        | Request::Deregister { .. } => part.done.unwrap_or_else(|| not_reached(Nf::Amf)),
        // What the core's own PCF is asked does not come here.
        Request::QosStart { .. }
        | Request::QosStop { .. }
        | Request::AppSessionCreate { .. }
        | Request::AppSessionUpdate { .. }
        | Request::AppSessionDelete { .. }
        | Request::AppSession { .. } => part.done.unwrap_or_else(|| not_reached(Nf::Pcf)),
    }
}

/// Takes an instance of a function out, or in again.
fn drain(daemon: &mut Daemon, function: &str, instance: u8, drains: bool) -> Value {
    let Some(programs) = &mut daemon.programs else {
        let why =
            "no function has a program of its own: wiring.transport of core.yaml gives them some";
        return refusal("refused", why);
    };
    let core = daemon.runtime.core_mut();
    match programs.drain(core, function, instance, drains) {
        Ok(done) => told(done),
        Err(why) => refusal("refused", &why),
    }
}

/// Has the core's own AMF act; none if it is another program's, or the question is not for it.
fn mobility_act(request: &Request, daemon: &mut Daemon) -> Option<Value> {
    daemon.runtime.core().amf()?;
    mobility::act(request, daemon.runtime.core_mut().mobility())
}

/// Part of an answer that the core's own functions have.
fn own_part(request: &Request, daemon: &Daemon) -> Part {
    let (runtime, core) = (&daemon.runtime, daemon.runtime.core());
    let mut part = Part::of(request, core.apart(), system::now()).with_amf(
        request,
        core.amf(),
        runtime.n2(),
        runtime.load(),
    );
    let is_up = daemon.subscribers.as_ref().and_then(SubscriberSync::is_up);
    part = part.with_udr(request, core.udr(), is_up);
    let (_, last_failure) = core.contexts_failed();
    let contexts = core.contexts_state();
    part.contexts = contexts.map(|state| contexts::state(state, last_failure));
    part.n4 = runtime.n4().map(|n4| n4.counters().into());
    let services = daemon.programs.as_ref().and_then(Programs::services);
    part.sbi = services.map(SbiPart::of);
    part
}

/// Answer that an AMF has a part of.
fn of_amf(amf: Option<AmfPart>, answer: impl FnOnce(AmfPart) -> Value) -> Value {
    amf.map_or_else(|| not_reached(Nf::Amf), answer)
}

/// What is asked of one subscriber.
fn of(imsi: &str, answer: impl FnOnce(&Supi) -> Value) -> Value {
    match subscriber(imsi) {
        Ok(supi) => answer(&supi),
        Err(refused) => refused,
    }
}
