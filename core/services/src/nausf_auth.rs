//! Nausf_UEAuthentication (TS 29.509, 6.1): authentications as resources, confirmed by RES* or by packets of EAP.

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    AuthMethod, AuthResult, Authenticate, Challenge, Confirm, Confirmed, Container, EapOutcome,
    EapResponse, Identity, Message, Problem, Slot,
};
use zerocopy::FromZeros;

use crate::body::{member, read, read_response, respond, send, with_location};
use crate::calls::{ask, ask_on, call, is_bare_refusal};
use crate::deviations::Deviation;
use crate::exchange::{Came, Consumer, Outgoing, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{problem_of, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::authentication::{method, method_text, refused};
use crate::values::{
    array, base64_octets, base64_text, hex, identity, identity_text, network, network_text,
    resynchronisation_json, supi_text,
};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nausf-auth";

const COLLECTION: &str = "/nausf-auth/v1/ue-authentications";
const CONFIRMATION: &str = "5g-aka-confirmation";
const EAP_SESSION: &str = "eap-session";

/// Part of an authentication that is asked for, and the name of its link.
fn part(method: AuthMethod) -> (&'static str, &'static str) {
    match method {
        AuthMethod::FiveGAka => (CONFIRMATION, "5g-aka"),
        AuthMethod::EapAkaPrime => (EAP_SESSION, EAP_SESSION),
    }
}

/// A request of an AMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::Authenticate(request) => Some(authenticate(request)),
        Message::Confirm(request) => Some(confirm(request, memory)),
        Message::EapResponse(request) => Some(respond_eap(request, memory)),
        _ => None,
    }
}

fn authenticate(request: &Authenticate) -> Consumer {
    let mut info = json!({
        "supiOrSuci": identity_text(&request.identity),
        "servingNetworkName": network_text(&request.network),
    });
    let resynchronisation = resynchronisation_json(&request.resynchronisation);
    let resynchronises = resynchronisation.is_some();
    if let Some(resynchronisation) = resynchronisation {
        info["resynchronizationInfo"] = resynchronisation;
    }
    let outgoing = send(Method::POST, COLLECTION, &info);
    call(outgoing, move |came, memory| {
        if came.response.status() != StatusCode::CREATED {
            return Err(refused(&came.response, resynchronises, memory));
        }
        challenged(came, memory).ok_or(Problem::Protocol)
    })
}

/// UEAuthenticationCtx
fn challenged(came: &Came, memory: &mut Memory) -> Option<Slot> {
    let context = read_response(&came.response);
    let method = method(context.get("authType")?)?;
    let href =
        href(&context, part(method).1, memory).or_else(|| by_location(came, method, memory))?;
    let mut challenge = Challenge {
        context: number(&href, memory).into(),
        instance: came.from,
        method,
        rand: [0; 16],
        autn: [0; 16],
        hxres_star: [0; 16],
        eap: Container::NONE,
    };
    let data = context.get("5gAuthData")?;
    match method {
        AuthMethod::FiveGAka => {
            challenge.rand = array(data.get("rand")?)?;
            challenge.autn = array(data.get("autn")?)?;
            challenge.hxres_star = array(data.get("hxresStar")?)?;
        }
        AuthMethod::EapAkaPrime => challenge.eap = packet(data)?,
    }
    Some(challenge.into())
}

/// EapPayload; an empty one is none.
fn packet(value: &Value) -> Option<Container> {
    let octets = base64_octets(value.as_str()?)?;
    match octets.is_empty() {
        true => Some(Container::NONE),
        false => Container::new(&octets),
    }
}

/// URI of the part of an authentication whose context has no link to it.
fn by_location(came: &Came, method: AuthMethod, memory: &mut Memory) -> Option<String> {
    let location = came.response.headers().get(LOCATION)?.to_str().ok()?;
    memory.deviations.count(Deviation::Location);
    let location = location.trim_end_matches('/');
    Some(format!("{location}/{}", part(method).0))
}

/// Link of a context, which is an object, or an array with one of free5GC.
fn href(context: &Value, name: &str, memory: &mut Memory) -> Option<String> {
    let link = context.get("_links")?.get(name)?;
    let link = match link {
        Value::Array(all) => {
            memory.deviations.count(Deviation::LinkArray);
            all.first()?
        }
        link => link,
    };
    link.get("href")?.as_str().map(str::to_owned)
}

/// Number of an authentication: that of our own AUSF, which stands in the URI, or one that stands for it.
fn number(href: &str, memory: &mut Memory) -> u64 {
    let own = || {
        let (_, path) = href.split_once(COLLECTION)?;
        let id = path.strip_prefix('/')?.split('/').next()?;
        number_of(id)
    };
    own().unwrap_or_else(|| memory.keep(href))
}

/// Number of an authentication of our own AUSF.
fn number_of(id: &str) -> Option<u64> {
    let number = u64::from_str_radix(id, 16)
        .ok()
        .filter(|_| id.len() == 16)?;
    (!Memory::is_handle(number)).then_some(number)
}

fn confirm(request: &Confirm, memory: &Memory) -> Consumer {
    let res_star = match request.is_null {
        true => Value::Null,
        false => hex(&request.res_star).into(),
    };
    let (number, body) = (request.context.get(), json!({ "resStar": res_star }));
    let outgoing = match to_part(Method::PUT, number, CONFIRMATION, &body, memory) {
        Ok(outgoing) => outgoing,
        Err(problem) => return Consumer::Done(problem.into()),
    };
    call(outgoing, move |came, memory| {
        memory.forget(number);
        // Open5GS refuses a wrong RES* instead of answering that it is wrong.
        if is_bare_refusal(&came.response) {
            memory.deviations.count(Deviation::Status);
            return Err(Problem::AuthenticationRejected);
        }
        confirmed(&came.response)
    })
}

/// Request to a part of an authentication: of our own AUSF by its number, else of the URI that the number stands for.
fn to_part(
    method: Method,
    number: u64,
    part: &str,
    body: &Value,
    memory: &Memory,
) -> Result<Outgoing, Problem> {
    let path = format!("{COLLECTION}/{number:016x}/{part}");
    let outgoing = send(method, &path, body);
    match Memory::is_handle(number) {
        true => {
            let uri = memory.uri(number).ok_or(Problem::ContextNotFound)?;
            outgoing.at(uri).ok_or(Problem::ContextNotFound)
        }
        false => Ok(outgoing),
    }
}

/// ConfirmationDataResponse
fn confirmed(response: &Response) -> Result<Slot, Problem> {
    if response.status() != StatusCode::OK {
        return Err(problem_of(response));
    }
    let body = read_response(response);
    match body.get("authResult").and_then(result) {
        Some(AuthResult::Success) => {}
        Some(_) => return Err(Problem::AuthenticationRejected),
        None => return Err(Problem::Protocol),
    }
    let read = || {
        let supi = crate::values::supi(body.get("supi")?.as_str()?)?;
        let kseaf = array(body.get("kseaf")?)?;
        Some(Confirmed { supi, kseaf }.into())
    };
    read().ok_or(Problem::Protocol)
}

/// AuthResult
fn result(value: &Value) -> Option<AuthResult> {
    let all = [
        AuthResult::Success,
        AuthResult::Failure,
        AuthResult::Ongoing,
    ];
    let text = value.as_str()?;
    all.into_iter().find(|one| result_text(*one) == text)
}

/// AuthResult
fn result_text(result: AuthResult) -> &'static str {
    match result {
        AuthResult::Success => "AUTHENTICATION_SUCCESS",
        AuthResult::Failure => "AUTHENTICATION_FAILURE",
        AuthResult::Ongoing => "AUTHENTICATION_ONGOING",
    }
}

fn respond_eap(request: &EapResponse, memory: &Memory) -> Consumer {
    let packet = request.eap.get().unwrap_or_default();
    let (number, body) = (
        request.context.get(),
        json!({ "eapPayload": base64_text(packet) }),
    );
    let outgoing = match to_part(Method::POST, number, EAP_SESSION, &body, memory) {
        Ok(outgoing) => outgoing,
        Err(problem) => return Consumer::Done(problem.into()),
    };
    call(outgoing, move |came, memory| {
        if came.response.status() != StatusCode::OK {
            memory.forget(number);
            return Err(problem_of(&came.response));
        }
        let outcome = outcome(&came.response, number, memory);
        if outcome.is_none_or(|outcome| outcome.context.get() != number) {
            memory.forget(number);
        }
        outcome.map(Slot::from).ok_or(Problem::Protocol)
    })
}

/// EapSession. Without a result the exchange goes on (TS 29.509, 6.1.6.2.6); members of a success that is none are empty
/// strings with free5GC.
fn outcome(response: &Response, number: u64, memory: &mut Memory) -> Option<EapOutcome> {
    let session = read_response(response);
    let result = match session.get("authResult") {
        None | Some(Value::Null) => AuthResult::Ongoing,
        Some(value) => result(value)?,
    };
    let mut outcome = EapOutcome {
        context: 0.into(),
        result,
        supi: Supi::new_zeroed(),
        kseaf: [0; 32],
        eap: packet(session.get("eapPayload")?)?,
    };
    match result {
        AuthResult::Success => {
            outcome.supi = crate::values::supi(session.get("supi")?.as_str()?)?;
            outcome.kseaf = array(session.get("kSeaf")?)?;
        }
        AuthResult::Ongoing => {
            let next = href(&session, EAP_SESSION, memory);
            let next = next.map_or(number, |href| self::number(&href, memory));
            outcome.context = next.into();
        }
        AuthResult::Failure => {}
    }
    Some(outcome)
}

/// A request for the AUSF.
pub(crate) fn accept(route: &Route, request: &Request, _memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["ue-authentications"]) => accept_authenticate(route, request),
        ("PUT", ["ue-authentications", id, CONFIRMATION]) => accept_confirm(id, request),
        ("POST", ["ue-authentications", id, EAP_SESSION]) => accept_eap(id, request),
        (_, ["ue-authentications"] | ["ue-authentications", _, CONFIRMATION | EAP_SESSION]) => {
            Err(not_allowed().into())
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_authenticate(route: &Route, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let text = |value: &Value| value.as_str().and_then(identity);
    let identity: Identity = member(&body, "/supiOrSuci", "imsi-... or suci-0-...", text)?;
    let expected = "5G:mncNNN.mccNNN.3gppnetwork.org";
    let text = |value: &Value| value.as_str().and_then(network);
    let network = member(&body, "/servingNetworkName", expected, text)?;
    let resynchronisation = crate::values::resynchronisation(&body)?;
    let message = Authenticate {
        identity,
        network,
        resynchronisation,
    };
    let wants_array = route.is_of_free5gc;
    Ok(ask(message, move |challenge, memory| {
        let mut link = json!({ "href": link(&challenge, memory) });
        // free5GC's AMF reads no other.
        if wants_array {
            memory.deviations.count(Deviation::LinkArray);
            link = json!([link]);
        }
        created(&challenge, &network_text(&network), link, memory)
    }))
}

/// URI at which the answer of the UE is taken.
fn link(challenge: &Challenge, memory: &Memory) -> String {
    let (part, _) = part(challenge.method);
    format!("{}/{part}", uri(challenge.context.get(), memory))
}

fn created(challenge: &Challenge, network: &str, link: Value, memory: &Memory) -> Response {
    let uri = uri(challenge.context.get(), memory);
    let data = match challenge.method {
        AuthMethod::FiveGAka => json!({
            "rand": hex(&challenge.rand),
            "autn": hex(&challenge.autn),
            "hxresStar": hex(&challenge.hxres_star),
        }),
        AuthMethod::EapAkaPrime => base64_text(challenge.eap.get().unwrap_or_default()).into(),
    };
    let (_, name) = part(challenge.method);
    let body = json!({
        "authType": method_text(challenge.method),
        "5gAuthData": data,
        "_links": { name: link },
        "servingNetworkName": network,
    });
    with_location(with_links(respond(StatusCode::CREATED, &body)), &uri)
}

/// URI of an authentication.
fn uri(context: u64, memory: &Memory) -> String {
    format!("{}{COLLECTION}/{context:016x}", memory.own.root)
}

/// The same with the type of a body that has links.
fn with_links(mut response: Response) -> Response {
    let hal = HeaderValue::from_static("application/3gppHal+json");
    response.headers_mut().insert(CONTENT_TYPE, hal);
    response
}

fn accept_confirm(id: &str, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let context = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let res_star: Option<[u8; 16]> = match body.get("resStar") {
        Some(Value::Null) => None,
        _ => Some(member(
            &body,
            "/resStar",
            "32 hexadecimal digits, or null",
            array,
        )?),
    };
    let message = Confirm {
        context: context.into(),
        // The number of the instance is the carrier's to know: it asks its own.
        instance: 0,
        res_star: res_star.unwrap_or_default(),
        is_null: res_star.is_none(),
    };
    Ok(ask_on(message, |answer, _| {
        Producer::Done(match answer {
            Ok(confirmed) => respond(
                StatusCode::OK,
                &json!({
                    "authResult": result_text(AuthResult::Success),
                    "supi": supi_text(&confirmed.supi),
                    "kseaf": hex(&confirmed.kseaf),
                }),
            ),
            Err(Problem::AuthenticationRejected) => respond(
                StatusCode::OK,
                &json!({ "authResult": result_text(AuthResult::Failure) }),
            ),
            Err(problem) => tell(problem),
        })
    }))
}

fn accept_eap(id: &str, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let context = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let eap = member(&body, "/eapPayload", "a packet of EAP in base64", packet)?;
    let message = EapResponse {
        context: context.into(),
        // The number of the instance is the carrier's to know: it asks its own.
        instance: 0,
        eap,
    };
    Ok(ask(message, |outcome, memory| {
        eap_session(&outcome, memory)
    }))
}

/// EapSession
fn eap_session(outcome: &EapOutcome, memory: &Memory) -> Response {
    let packet = outcome.eap.get().unwrap_or_default();
    let mut body = json!({
        "eapPayload": base64_text(packet),
        "authResult": result_text(outcome.result),
    });
    match outcome.result {
        AuthResult::Success => {
            body["supi"] = supi_text(&outcome.supi).into();
            body["kSeaf"] = hex(&outcome.kseaf).into();
        }
        AuthResult::Ongoing => {
            let href = format!("{}/{EAP_SESSION}", uri(outcome.context.get(), memory));
            body["_links"] = json!({ EAP_SESSION: { "href": href } });
            return with_links(respond(StatusCode::OK, &body));
        }
        AuthResult::Failure => {}
    }
    respond(StatusCode::OK, &body)
}

#[cfg(test)]
mod tests;
