//! Flows that operators and applications want, with the answer of an SMF that has it at once.

use sluice_ids::Supi;
use sluice_pcf::{AppSessionProblem, AppSessionRequest, FlowRefused};
use sluice_sbi::{Now, PccRule};
use sluice_wiring::Core;

use crate::apart;

pub fn start(
    core: &mut Core,
    now: Now,
    supi: &Supi,
    session: Option<u8>,
    rule: PccRule,
) -> Result<(), FlowRefused> {
    core.flows().start(now, supi, session, rule)?;
    apart::carry(core, now);
    let started = core.flows().has_started(supi, session, rule.name.text());
    started.expect("the SMF has answered")
}

pub fn create_app_session(
    core: &mut Core,
    now: Now,
    request: &AppSessionRequest,
) -> Result<u64, AppSessionProblem> {
    let app = core.flows().create_app_session(now, request)?;
    apart::carry(core, now);
    let has = core
        .flows()
        .has_app_session(app)
        .expect("the SMF has answered");
    has.map(|()| app)
}
