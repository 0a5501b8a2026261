//! Nudm_UEContextManagement (TS 29.503, 6.2): which AMF has a UE, and which SMFs have its PDU sessions.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    DeregisterAmf, DeregisterSmf, Done, Message, Problem, RegisterAmf, RegisterSmf, SmfRegistration,
};

use crate::body::{
    member, optional, read, respond, respond_empty, send, send_empty, with_location,
};
use crate::calls::{ask, ask_on, call, cause, done};
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{refuse, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::asked::{Source, Then};
use crate::subscription::context::{AmfRegistration, forget_ue, session_id, smf, smf_json};
use crate::subscription::registered::smfs_json;
use crate::values::{guami, guami_json};

const AMF: &str = "amf-3gpp-access";
const SMFS: &str = "smf-registrations";

/// A request of an AMF or an SMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::RegisterAmf(request) => Some(register_amf(request, memory)),
        Message::DeregisterAmf(request) => Some(deregister_amf(request)),
        Message::RegisterSmf(RegisterSmf { registration }) => Some(register_smf(registration)),
        Message::DeregisterSmf(DeregisterSmf { supi, session }) => {
            let path = path(supi, &format!("{SMFS}/{session}"));
            let outgoing = send_empty(Method::DELETE, &path);
            Some(call(outgoing, |came, _| match came.response.status() {
                // One that is not there is deleted.
                StatusCode::NOT_FOUND => Ok(Done::ALL.into()),
                _ => done(&came.response),
            }))
        }
        _ => None,
    }
}

fn path(supi: &Supi, what: &str) -> String {
    format!("/nudm-uecm/v1/{supi}/registrations/{what}")
}

fn register_amf(request: &RegisterAmf, memory: &Memory) -> Consumer {
    let own = AmfRegistration::own(&request.supi, request.guami, request.network, memory);
    let mut body = own.json();
    body["initialRegistrationInd"] = request.is_initial.into();
    let outgoing = send(Method::PUT, &path(&request.supi, AMF), &body);
    call(outgoing, |came, _| {
        // A UE that is known and not found was not authenticated.
        let is_user = cause(&came.response).as_deref() == Some("USER_NOT_FOUND");
        match came.response.status() {
            StatusCode::NOT_FOUND if !is_user => Err(Problem::NotAuthenticated),
            _ => done(&came.response),
        }
    })
}

fn deregister_amf(request: &DeregisterAmf) -> Consumer {
    let body = json!({ "guami": guami_json(request.guami), "purgeFlag": true });
    let mut outgoing = send(Method::PATCH, &path(&request.supi, AMF), &body);
    let merge = HeaderValue::from_static("application/merge-patch+json");
    outgoing.request.headers_mut().insert(CONTENT_TYPE, merge);
    call(outgoing, |came, _| done(&came.response))
}

fn register_smf(registration: &SmfRegistration) -> Consumer {
    let what = format!("{SMFS}/{}", registration.session);
    let path = path(&registration.supi, &what);
    let outgoing = send(Method::PUT, &path, &smf_json(registration));
    call(outgoing, |came, _| done(&came.response))
}

/// A request for the UDM.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    take(route, request, memory).unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn take(route: &Route, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    match (route.method.as_str(), route.parts().as_slice()) {
        ("PUT", [ue, "registrations", AMF]) => accept_amf(ue, request, memory),
        ("PATCH", [ue, "registrations", AMF]) => accept_amf_change(ue, request),
        ("GET", [ue, "registrations"]) => accept_sets(ue, route),
        ("GET", [ue, "registrations", AMF]) => told(ue, |supi, then| Source::Udm.amf(supi, then)),
        ("GET", [ue, "registrations", SMFS]) => told(ue, smfs_of),
        ("GET", [ue, "registrations", SMFS, id]) => {
            let session = session_id(id).ok_or_else(no_such)?;
            told(ue, move |supi, then| Source::Udm.smf(supi, session, then))
        }
        ("PUT", [ue, "registrations", SMFS, id]) => accept_smf(ue, id, request),
        ("DELETE", [ue, "registrations", SMFS, id]) => accept_smf_gone(ue, id),
        (
            _,
            [_, "registrations"] | [_, "registrations", AMF | SMFS] | [_, "registrations", SMFS, _],
        ) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    }
}

/// A registration, or that there is none.
fn told(ue: &str, ask: impl FnOnce(Supi, Then) -> Producer) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let then: Then = Box::new(|found, _| {
        Producer::Done(match found {
            Ok(body) => respond(StatusCode::OK, &body),
            Err(problem) => tell(problem),
        })
    });
    Ok(ask(supi, then))
}

fn smfs_of(supi: Supi, then: Then) -> Producer {
    let on_smfs = |smfs: Result<Vec<SmfRegistration>, Problem>, memory: &mut Memory| {
        let found = smfs.and_then(|smfs| match smfs.is_empty() {
            true => Err(Problem::ContextNotFound),
            false => Ok(smfs_json(&smfs)),
        });
        then(found, memory)
    };
    Source::Udm.smfs(supi, Box::new(on_smfs))
}

/// RegistrationDataSets: of those that are asked for, what there is.
fn accept_sets(ue: &str, route: &Route) -> Result<Producer, Refusal> {
    let Some(names) = route.query("registration-dataset-names") else {
        let detail = "registration-dataset-names is missing";
        let cause = "MANDATORY_QUERY_PARAM_MISSING";
        return Err(refuse(StatusCode::BAD_REQUEST, cause, detail).into());
    };
    let is_wanted = |name: &str| names.split(',').any(|one| one == name);
    let wants_smfs = is_wanted("SMF_PDU_SESSIONS");
    let wants_amf = is_wanted("AMF_3GPP");
    told(ue, move |supi, then| {
        let on_amf: Then = Box::new(move |amf, memory| {
            let mut sets = match amf {
                Ok(amf) if wants_amf => json!({ "amf3Gpp": amf }),
                Ok(_) | Err(Problem::ContextNotFound) => json!({}),
                Err(problem) => return then(Err(problem), memory),
            };
            if !wants_smfs {
                return then(Ok(sets), memory);
            }
            let on_smfs: Then = Box::new(move |smfs, memory| match smfs {
                Ok(smfs) => {
                    sets["smfRegistration"] = smfs;
                    then(Ok(sets), memory)
                }
                Err(Problem::ContextNotFound) => then(Ok(sets), memory),
                Err(problem) => then(Err(problem), memory),
            });
            smfs_of(supi, on_smfs)
        });
        Source::Udm.amf(supi, on_amf)
    })
}

fn accept_amf(ue: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let body = read(request)?;
    let registration = AmfRegistration::read(&body)?;
    let pointer = "/initialRegistrationInd";
    let is_initial = optional(&body, pointer, "true or false", Value::as_bool)?;
    let guami = registration.guami;
    if registration.is_purged {
        return Ok(purge(DeregisterAmf { supi, guami }));
    }
    // The repository is told the names, too.
    let before = registration.keep(&supi, memory);
    let message = RegisterAmf {
        supi,
        guami,
        network: registration.network,
        is_initial: is_initial == Some(true),
    };
    Ok(ask_on(message, move |answer, memory| {
        if let Err(problem) = answer {
            before.restore(memory);
            return Producer::Done(tell(problem));
        }
        let uri = format!("{}{}", memory.own.root, path(&supi, AMF));
        let body = registration.json();
        Producer::Done(match before.was_registered() {
            true => respond(StatusCode::OK, &body),
            false => with_location(respond(StatusCode::CREATED, &body), &uri),
        })
    }))
}

/// Amf3GppAccessRegistrationModification: that the UE is gone. Of its other members none is kept here.
fn accept_amf_change(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let body = read(request)?;
    let guami = member(&body, "/guami", "a GUAMI", guami)?;
    let purged = optional(&body, "/purgeFlag", "true or false", Value::as_bool)?;
    match purged {
        Some(true) => Ok(purge(DeregisterAmf { supi, guami })),
        _ => Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT))),
    }
}

fn purge(message: DeregisterAmf) -> Producer {
    let DeregisterAmf { supi, guami } = message;
    ask_on(message, move |answer, memory| {
        Producer::Done(match answer {
            Ok(_) => {
                forget_ue(&supi, guami, memory);
                respond_empty(StatusCode::NO_CONTENT)
            }
            // TS 29.503, 5.3.2.4.2
            Err(Problem::ContextNotFound) => {
                let detail = "another AMF has the UE";
                refuse(StatusCode::FORBIDDEN, "INVALID_GUAMI", detail)
            }
            Err(problem) => tell(problem),
        })
    })
}

fn accept_smf(ue: &str, id: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let registration = smf(&read(request)?, supi, id)?;
    Ok(ask(RegisterSmf { registration }, move |_, memory| {
        let what = format!("{SMFS}/{}", registration.session);
        let uri = format!("{}{}", memory.own.root, path(&supi, &what));
        let response = respond(StatusCode::CREATED, &smf_json(&registration));
        with_location(response, &uri)
    }))
}

fn no_such() -> Response {
    let detail = "there is no such session";
    refuse(StatusCode::NOT_FOUND, "CONTEXT_NOT_FOUND", detail)
}

fn accept_smf_gone(ue: &str, id: &str) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let session = session_id(id).ok_or_else(no_such)?;
    Ok(ask(DeregisterSmf { supi, session }, |_, _| {
        respond_empty(StatusCode::NO_CONTENT)
    }))
}
