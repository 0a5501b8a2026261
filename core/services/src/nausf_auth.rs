//! Nausf_UEAuthentication (TS 29.509, 6.1): authentications as resources, confirmed by RES* or by packets of EAP.

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{
    AuthMethod, Authenticate, Challenge, Confirm, Confirmed, Identity, Message, Nf, Problem, Slot,
};

use crate::body::{member, read, read_response, respond, send, with_location};
use crate::deviations::Deviation;
use crate::exchange::{Came, Consumer, Outgoing, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{problem_of, tell};
use crate::routes::{Route, not_allowed, unknown};
use crate::values::{array, hex, identity, identity_text, network, network_text};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nausf-auth";

const COLLECTION: &str = "/nausf-auth/v1/ue-authentications";
const CONFIRMATION: &str = "5g-aka-confirmation";

/// A request of an AMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::Authenticate(request) => Some(authenticate(request)),
        Message::Confirm(request) => Some(confirm(request, memory)),
        _ => None,
    }
}

fn authenticate(request: &Authenticate) -> Consumer {
    let mut info = json!({
        "supiOrSuci": identity_text(&request.identity),
        "servingNetworkName": network_text(&request.network),
    });
    let resynchronisation = request.resynchronisation;
    if resynchronisation.wanted {
        info["resynchronizationInfo"] = json!({
            "rand": hex(&resynchronisation.rand),
            "auts": hex(&resynchronisation.auts),
        });
    }
    let outgoing = send(Method::POST, COLLECTION, &info);
    Consumer::Send(
        outgoing.into(),
        Box::new(|came, memory| {
            let answer = challenged(&came, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// UEAuthenticationCtx
fn challenged(came: &Came, memory: &mut Memory) -> Result<Slot, Problem> {
    if came.response.status() != StatusCode::CREATED {
        return Err(problem_of(&came.response));
    }
    let context = read_response(&came.response);
    let data = context.get("5gAuthData").ok_or(Problem::Protocol)?;
    let field = |name| data.get(name).and_then(array).ok_or(Problem::Protocol);
    let href = href(&context, "5g-aka", memory).ok_or(Problem::Protocol)?;
    let challenge = Challenge {
        context: number(&href, memory).into(),
        instance: came.from,
        method: AuthMethod::FiveGAka,
        rand: field("rand")?,
        autn: field("autn")?,
        hxres_star: field("hxresStar")?,
        eap: sluice_sbi::Container::NONE,
    };
    Ok(challenge.into())
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
    let number = request.context.get();
    let path = format!("{COLLECTION}/{number:016x}/{CONFIRMATION}");
    let outgoing = send(Method::PUT, &path, &json!({ "resStar": res_star }));
    let outgoing: Option<Outgoing> = match Memory::is_handle(number) {
        true => memory.uri(number).and_then(|uri| outgoing.at(uri)),
        false => Some(outgoing),
    };
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            memory.forget(number);
            Consumer::Done(confirmed(&came.response).unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// ConfirmationDataResponse
fn confirmed(response: &Response) -> Result<Slot, Problem> {
    if response.status() != StatusCode::OK {
        return Err(problem_of(response));
    }
    let body = read_response(response);
    match body.get("authResult").and_then(Value::as_str) {
        Some("AUTHENTICATION_SUCCESS") => {}
        Some(_) => return Err(Problem::AuthenticationRejected),
        None => return Err(Problem::Protocol),
    }
    let supi = body.get("supi").and_then(Value::as_str);
    let supi = supi
        .and_then(crate::values::supi)
        .ok_or(Problem::Protocol)?;
    let kseaf = body.get("kseaf").and_then(array).ok_or(Problem::Protocol)?;
    Ok(Confirmed { supi, kseaf }.into())
}

/// A request for the AUSF.
pub(crate) fn accept(route: &Route, request: &Request, _memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["ue-authentications"]) => accept_authenticate(request),
        ("PUT", ["ue-authentications", id, CONFIRMATION]) => accept_confirm(id, request),
        (_, ["ue-authentications"] | ["ue-authentications", _, CONFIRMATION]) => {
            Err(not_allowed().into())
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_authenticate(request: &Request) -> Result<Producer, Refusal> {
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
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        Producer::Done(match answer {
            Message::Challenge(challenge) => created(challenge, &network_text(&network), memory),
            Message::Failure(failure) => tell(failure.problem),
            _ => tell(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Ausf, message.into(), ask))
}

fn created(challenge: &Challenge, network: &str, memory: &Memory) -> Response {
    let uri = format!(
        "{}{COLLECTION}/{:016x}",
        memory.own.root,
        challenge.context.get()
    );
    let body = json!({
        "authType": "5G_AKA",
        "5gAuthData": {
            "rand": hex(&challenge.rand),
            "autn": hex(&challenge.autn),
            "hxresStar": hex(&challenge.hxres_star),
        },
        "_links": { "5g-aka": { "href": format!("{uri}/{CONFIRMATION}") } },
        "servingNetworkName": network,
    });
    let mut response = with_location(respond(StatusCode::CREATED, &body), &uri);
    let hal = HeaderValue::from_static("application/3gppHal+json");
    response.headers_mut().insert(CONTENT_TYPE, hal);
    debug_assert!(response.headers().contains_key(LOCATION));
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
    let ask = Box::new(|answer: &Message, _: &mut Memory| {
        Producer::Done(match answer {
            Message::Confirmed(confirmed) => respond(
                StatusCode::OK,
                &json!({
                    "authResult": "AUTHENTICATION_SUCCESS",
                    "supi": crate::values::supi_text(&confirmed.supi),
                    "kseaf": hex(&confirmed.kseaf),
                }),
            ),
            Message::Failure(failure) if failure.problem == Problem::AuthenticationRejected => {
                respond(
                    StatusCode::OK,
                    &json!({ "authResult": "AUTHENTICATION_FAILURE" }),
                )
            }
            Message::Failure(failure) => tell(failure.problem),
            _ => tell(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Ausf, message.into(), ask))
}
