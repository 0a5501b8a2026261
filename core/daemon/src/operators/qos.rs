//! QoS flows beside those of policies: started and stopped by operators (TS 23.502, 4.3.3.2, step 1b) and by applications
//! (TS 29.514).

use crate::daemon::Daemon;
use crate::operators::answers::{AppSession, AppSessionId, QosStarting, QosStopping, Rule};
use crate::operators::qos_rule::QosRule;
use crate::operators::request::told;
use serde_json::{Map, Value};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_pcf::{AppSessionContext, AppSessionProblem, FlowRefused};
use sluice_program::control::refusal;
use sluice_sbi::PccRule;

/// The SMF tells UE, gNB and UPF; an idle UE is paged. Whether they take the flow, `ue` and `flow` tell.
pub(crate) fn start(
    daemon: &mut Daemon,
    supi: &Supi,
    session: Option<u8>,
    wanted: &QosRule,
) -> Value {
    let rule = match wanted.rule() {
        Ok(rule) => rule,
        Err(what) => return refusal("invalid", &what),
    };
    let core = daemon.runtime.core_mut();
    match core.start_flow(system::now(), supi, session, rule) {
        Ok(()) => told(QosStarting {
            starting: wanted.name.clone(),
        }),
        Err(refused) => of_refused(refused),
    }
}

/// The same of its end.
pub(crate) fn stop(daemon: &mut Daemon, supi: &Supi, session: Option<u8>, name: &str) -> Value {
    let core = daemon.runtime.core_mut();
    match core.stop_flow(system::now(), supi, session, name) {
        Ok(()) => told(QosStopping {
            stopping: name.to_owned(),
        }),
        Err(refused) => of_refused(refused),
    }
}

fn of_refused(refused: FlowRefused) -> Value {
    let reason = match refused {
        FlowRefused::NoSession | FlowRefused::NoFlow => "not_found",
        FlowRefused::Rule(_) => "invalid",
        FlowRefused::NoRoom => "refused",
    };
    refusal(reason, refused.text())
}

/// Npcf_PolicyAuthorization_Create.
pub(crate) fn create_application(daemon: &mut Daemon, context: &AppSessionContext) -> Value {
    let core = daemon.runtime.core_mut();
    match core.create_app_session(system::now(), &context.asc_req_data) {
        Ok(id) => told(AppSessionId { id }),
        Err(problem) => of_problem(&problem),
    }
}

/// Npcf_PolicyAuthorization_Update.
pub(crate) fn update_application(
    daemon: &mut Daemon,
    id: u64,
    context: &AppSessionContext,
) -> Value {
    let core = daemon.runtime.core_mut();
    match core.update_app_session(system::now(), id, &context.asc_req_data) {
        Ok(()) => told(AppSessionId { id }),
        Err(problem) => of_problem(&problem),
    }
}

/// Npcf_PolicyAuthorization_Delete.
pub(crate) fn delete_application(daemon: &mut Daemon, id: u64) -> Value {
    match (daemon.runtime.core_mut()).delete_app_session(system::now(), id) {
        Ok(()) => told(AppSessionId { id }),
        Err(problem) => of_problem(&problem),
    }
}

/// What an application asked for.
pub(crate) fn application(daemon: &Daemon, id: u64) -> Value {
    match daemon.runtime.core().app_session(id) {
        Some(known) => told(AppSession {
            id,
            asc_req_data: match told(&known.request) {
                Value::Object(request) => request,
                _ => Map::new(),
            },
        }),
        None => of_problem(&AppSessionProblem::not_found()),
    }
}

fn of_problem(problem: &AppSessionProblem) -> Value {
    let reason = match problem.status {
        400 => "invalid",
        404 => "not_found",
        _ => "refused",
    };
    refusal(reason, &format!("{}: {}", problem.cause, problem.detail))
}

/// The rules of a session, as the PCF knows them.
pub(crate) fn rules(daemon: &Daemon, supi: &Supi, session: u8) -> Vec<Rule> {
    let view = daemon.runtime.core().pcf();
    let view = view.and_then(|pcf| pcf.view(supi, session));
    let rules = view.map(|view| view.rules).unwrap_or_default();
    let shown = |rule: &PccRule| Rule {
        name: rule.name.text().to_owned(),
        precedence: rule.precedence,
        five_qi: rule.five_qi,
        priority: rule.priority,
        guaranteed_down_bps: rule.guaranteed_down_bps.get(),
        guaranteed_up_bps: rule.guaranteed_up_bps.get(),
        maximum_down_bps: rule.maximum_down_bps.get(),
        maximum_up_bps: rule.maximum_up_bps.get(),
    };
    rules.iter().map(shown).collect()
}
