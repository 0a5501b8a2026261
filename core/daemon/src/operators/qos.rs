//! QoS flows beside those of policies: started and stopped by operators (TS 23.502, 4.3.3.2, step 1b) and by applications
//! (TS 29.514), in the program that has the PCF.

use crate::operators::answers::{AppSession, AppSessionId, QosStarting, QosStopping, Rule};
use crate::operators::request::{Request, subscriber, told};
use serde_json::{Map, Value};
use sluice_core_host::Functions;
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_pcf::{AppSessionProblem, FlowRefused, Pcf};
use sluice_program::control::refusal;
use sluice_sbi::{Now, PccRule};
use sluice_wiring::{Apart, Flows};
use std::collections::BTreeMap;

/// Question to the SMF, and the answer to the operator if it has room.
pub(crate) struct Asked {
    of: Of,
    answer: Value,
}

enum Of {
    Flow(Supi, Option<u8>, String),
    App(u64),
}

/// Outcome of a question to the PCF.
pub(crate) enum Begun {
    /// The SMF need not be waited for.
    Answered(Value),
    /// In the hands of the SMF.
    Asked(Asked),
}

/// Does what is asked of a PCF; none of a question to somebody else. The SMF tells UE, gNB and UPF; an idle UE is
/// paged. Whether they take a flow, `ue` and `flow` tell.
pub(crate) fn begin<F>(request: &Request, flows: &mut Flows<'_, F>) -> Option<Begun>
where
    F: Functions + AsRef<Apart> + AsMut<Apart>,
{
    let now = system::now();
    let begun = match request {
        Request::QosStart { .. } | Request::QosStop { .. } => operator(now, request, flows),
        Request::AppSessionCreate { context } => {
            let created = flows.create_app_session(now, &context.asc_req_data);
            created.map(app_asked).map_err(|it| of_problem(&it))
        }
        Request::AppSessionUpdate { id, context } => {
            let updated = flows.update_app_session(now, *id, &context.asc_req_data);
            let updated = updated.map(|()| app_asked(*id));
            updated.map_err(|it| of_problem(&it))
        }
        Request::AppSessionDelete { id } => {
            let deleted = flows.delete_app_session(now, *id);
            let deleted = deleted.map(|()| Begun::Answered(told(AppSessionId { id: *id })));
            deleted.map_err(|it| of_problem(&it))
        }
        Request::AppSession { id } => Ok(Begun::Answered(application(flows, *id))),
        _ => return None,
    };
    Some(begun.unwrap_or_else(Begun::Answered))
}

fn app_asked(id: u64) -> Begun {
    Begun::Asked(Asked {
        of: Of::App(id),
        answer: told(AppSessionId { id }),
    })
}

/// A flow that an operator starts or stops.
fn operator<F>(now: Now, request: &Request, flows: &mut Flows<'_, F>) -> Result<Begun, Value>
where
    F: Functions + AsRef<Apart> + AsMut<Apart>,
{
    match request {
        Request::QosStart {
            imsi,
            session,
            rule: wanted,
        } => {
            let supi = subscriber(imsi)?;
            let rule = wanted.rule().map_err(|what| refusal("invalid", &what))?;
            let started = flows.start(now, &supi, *session, rule);
            started.map_err(of_refused)?;
            let starting = wanted.name.clone();
            Ok(Begun::Asked(Asked {
                of: Of::Flow(supi, *session, starting.clone()),
                answer: told(QosStarting { starting }),
            }))
        }
        Request::QosStop {
            imsi,
            session,
            name,
        } => {
            let supi = subscriber(imsi)?;
            let stopped = flows.stop(now, &supi, *session, name);
            stopped.map_err(of_refused)?;
            let stopping = name.clone();
            Ok(Begun::Answered(told(QosStopping { stopping })))
        }
        _ => Err(refusal("internal", "no flow is asked for")),
    }
}

impl Asked {
    /// The answer, once the SMF has given its own.
    pub fn answer<F>(&self, flows: &Flows<'_, F>) -> Option<Value>
    where
        F: Functions + AsRef<Apart> + AsMut<Apart>,
    {
        let had_room = match &self.of {
            Of::Flow(supi, session, name) => {
                let started = flows.has_started(supi, *session, name)?;
                started.map_err(of_refused)
            }
            Of::App(app) => flows.has_app_session(*app)?.map_err(|it| of_problem(&it)),
        };
        Some(had_room.map_or_else(|refused| refused, |()| self.answer.clone()))
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

/// What an application asked for.
fn application<F>(flows: &Flows<'_, F>, id: u64) -> Value
where
    F: Functions + AsRef<Apart> + AsMut<Apart>,
{
    match flows.app_session(id) {
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

/// The rules of a UE's sessions, as the PCF knows them.
pub(crate) fn rules(pcf: &Pcf, supi: &Supi) -> BTreeMap<u8, Vec<Rule>> {
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
    let of_session =
        |(session, rules): (u8, &[PccRule])| (session, rules.iter().map(shown).collect());
    pcf.rules_of(supi).map(of_session).collect()
}
