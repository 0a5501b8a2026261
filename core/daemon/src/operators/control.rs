//! Dispatch of operators' questions: those that only look are answered by `view`, those that change something by
//! functions of their own.

use crate::daemon::Daemon;
use crate::operators::answers;
use crate::operators::metrics;
use crate::operators::part::Part;
use crate::operators::qos;
use crate::operators::request::{Action, Ask, Request, UES_MAX, subscriber, told};
use crate::operators::view;
use crate::parts::programs::Programs;
use crate::reload;
use serde_json::{Value, json};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_n2::Overload;
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
    let functions = daemon.runtime.core().apart();
    let part = Part::of(request, functions, system::now()).and(told_by_others);
    match request {
        Request::Status => told(view::status(daemon, &part)),
        Request::Ues { from, count } => {
            let count = count.unwrap_or(UES_MAX).min(UES_MAX);
            match from.as_deref().map(subscriber).transpose() {
                Ok(from) => told(view::ues(daemon, from, count, &part)),
                Err(refused) => refused,
            }
        }
        Request::Ue { imsi } => of(imsi, |supi| {
            view::ue(daemon, supi, &part).map_or_else(|refused| refused, told)
        }),
        Request::Gnbs => told(view::gnbs(daemon)),
        Request::Nfs => part
            .nrf
            .map_or_else(|| not_reached(Nf::Nrf), |nrf| told(nrf.nfs)),
        Request::Procedures => told(view::procedures(daemon, part)),
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
        Request::UpdateGnbs => {
            let gnbs = daemon.runtime.core_mut().update_gnbs(system::now());
            told(answers::Told { told: gnbs })
        }
        Request::OverloadStart { action, percent } => overload(daemon, *action, *percent),
        Request::OverloadStop => {
            daemon.runtime.core_mut().overload(system::now(), None);
            told(answers::Overloaded {
                overload: None,
                gnbs: daemon.runtime.core().amf().gnbs().len(),
            })
        }
        Request::Deregister {
            imsi,
            registers_again,
        } => of(imsi, |supi| deregister(daemon, supi, *registers_again)),
        // What the core's own PCF is asked does not come here.
        Request::QosStart { .. }
        | Request::QosStop { .. }
        | Request::AppSessionCreate { .. }
        | Request::AppSessionUpdate { .. }
        | Request::AppSessionDelete { .. }
        | Request::AppSession { .. } => part.done.unwrap_or_else(|| not_reached(Nf::Pcf)),
    }
}

fn not_reached(nf: Nf) -> Value {
    let why = format!("the {nf} is not reached: its program is not there, or does not answer");
    refusal("refused", &why)
}

/// The UE is told with the next turn; whether it then answers, `ue` and `flow` tell.
fn deregister(daemon: &mut Daemon, supi: &Supi, registers_again: bool) -> Value {
    let core = daemon.runtime.core_mut();
    match core.deregister(system::now(), supi, registers_again) {
        true => told(answers::Deregistering {
            deregistering: supi.imsi().to_owned(),
        }),
        false => refusal("not_found", "no UE of this IMSI is registered"),
    }
}

/// gNBs are told with the next turn.
fn overload(daemon: &mut Daemon, action: Action, percent: Option<u8>) -> Value {
    if percent.is_some_and(|percent| !(1..=99).contains(&percent)) {
        let what = "percent: expected 1 to 99, or none for all";
        return refusal("invalid", what);
    }
    let overload = Overload {
        action: action.to_ngap(),
        percent,
    };
    let core = daemon.runtime.core_mut();
    core.overload(system::now(), Some(overload));
    let gnbs = core.amf().gnbs().len();
    told(answers::Overloaded {
        overload: Some(view::overload(overload)),
        gnbs,
    })
}

/// What is asked of one subscriber.
fn of(imsi: &str, answer: impl FnOnce(&Supi) -> Value) -> Value {
    match subscriber(imsi) {
        Ok(supi) => answer(&supi),
        Err(refused) => refused,
    }
}
