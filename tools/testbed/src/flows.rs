//! Flows that operators and applications want, with the answer of an SMF that has it at once.

use sluice_ids::Supi;
use sluice_pcf::{AppSessionProblem, AppSessionRequest, FlowRefused};
use sluice_sbi::{Now, PccRule};
use sluice_wiring::Core;

pub fn start(
    core: &mut Core,
    now: Now,
    supi: &Supi,
    session: Option<u8>,
    rule: PccRule,
) -> Result<(), FlowRefused> {
    let mut flows = core.flows();
    flows.start(now, supi, session, rule)?;
    let started = flows.has_started(supi, session, rule.name.text());
    started.expect("the SMF has answered")
}

pub fn create_app_session(
    core: &mut Core,
    now: Now,
    request: &AppSessionRequest,
) -> Result<u64, AppSessionProblem> {
    let mut flows = core.flows();
    let app = flows.create_app_session(now, request)?;
    let has = flows.has_app_session(app).expect("the SMF has answered");
    has.map(|()| app)
}
