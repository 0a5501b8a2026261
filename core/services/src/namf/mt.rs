//! Namf_MT (TS 29.518, 6.3): how voice reaches a UE, and UEs that are to be connected.

use http::StatusCode;
use serde_json::{Value, json};
use sluice_sbi::{Problem, QueryUe, ReachUe};

use crate::body::{member, read, respond};
use crate::calls::{ask, ask_on};
use crate::exchange::{Producer, Refusal, Request};
use crate::problem::{refuse, refuse_member, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::values::supi;

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "namf-mt";

const REACHABLE: &str = "REACHABLE";
const INFO_CLASS: &str = "info-class";

/// A request for the AMF.
pub(crate) fn accept(route: &Route, request: &Request) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("GET", ["ue-contexts", ue]) => provide(ue, route),
        ("PUT", ["ue-contexts", ue, "ue-reachind"]) => reach(ue, request),
        (_, ["ue-contexts", _] | ["ue-contexts", _, "ue-reachind"]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn find(ue: &str) -> Result<sluice_ids::Supi, Refusal> {
    supi(ue).ok_or_else(|| tell(Problem::ContextNotFound).into())
}

/// UeContextInfo of the only class, TADS, which is all there is.
fn provide(ue: &str, route: &Route) -> Result<Producer, Refusal> {
    let supi = find(ue)?;
    if route.query(INFO_CLASS).is_some_and(|class| class != "TADS") {
        return Err(refuse_member(false, INFO_CLASS, "TADS").into());
    }
    Ok(ask(QueryUe { supi }, |info, _| {
        let info = json!({
            "supportVoPS": info.has_ims_voice,
            "accessType": "3GPP_ACCESS",
            "ratType": "NR",
        });
        respond(StatusCode::OK, &info)
    }))
}

/// EnableUeReachabilityReqData
fn reach(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = find(ue)?;
    let body = read(request)?;
    let is_it = |value: &Value| (value == REACHABLE).then_some(());
    member(&body, "/reachability", REACHABLE, is_it)?;
    Ok(ask_on(ReachUe { supi }, |answer, _| {
        Producer::Done(match answer {
            Ok(_) => respond(StatusCode::OK, &json!({ "reachability": REACHABLE })),
            Err(Problem::NotReached) => {
                let detail = "the UE does not answer its paging";
                refuse(StatusCode::GATEWAY_TIMEOUT, "UE_NOT_REACHABLE", detail)
            }
            Err(problem) => tell(problem),
        })
    }))
}
