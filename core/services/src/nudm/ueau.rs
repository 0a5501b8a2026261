//! Nudm_UEAuthentication (TS 29.503, 6.3): authentication vectors, and how authentications ended.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    AuthMethod, AuthenticationData, AuthenticationOutcome, GetAuthenticationData, Identity,
    Message, Nf, Problem, Slot,
};

use crate::body::{member, read, read_response, respond, send, with_location};
use crate::calls::{ask, call, done, is_bare_refusal};
use crate::deviations::Deviation;
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::tell;
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::authentication::{AuthEvent, method, method_text, refused};
use crate::values::{
    array, hex, identity, identity_text, network, network_text, nf_instance, resynchronisation,
    resynchronisation_json, supi_text,
};

/// A request of an AUSF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::GetAuthenticationData(request) => Some(get(request, memory)),
        Message::AuthenticationOutcome(outcome) => Some(tell_outcome(*outcome, memory)),
        _ => None,
    }
}

fn get(request: &GetAuthenticationData, memory: &Memory) -> Consumer {
    let mut info = json!({
        "servingNetworkName": network_text(&request.network),
        "ausfInstanceId": memory.instance(Nf::Ausf).to_string(),
    });
    let resynchronisation = resynchronisation_json(&request.resynchronisation);
    let resynchronises = resynchronisation.is_some();
    if let Some(resynchronisation) = resynchronisation {
        info["resynchronizationInfo"] = resynchronisation;
    }
    let identity = request.identity;
    let path = format!(
        "/nudm-ueau/v1/{}/security-information/generate-auth-data",
        identity_text(&identity)
    );
    call(send(Method::POST, &path, &info), move |came, memory| {
        if came.response.status() != StatusCode::OK {
            return Err(refused(&came.response, resynchronises, memory));
        }
        let result = read_response(&came.response);
        let vector = vector(&result, identity.get().ok());
        vector.map(Slot::from).ok_or(Problem::Protocol)
    })
}

/// AuthenticationInfoResult; its SUPI may be missing where it was told (TS 29.503, 6.3.6.2.3). Members of the other method
/// may be there, and empty.
fn vector(result: &Value, told: Option<Supi>) -> Option<AuthenticationData> {
    let supi = result.get("supi").and_then(Value::as_str);
    let supi = supi.and_then(crate::values::supi).or(told)?;
    let vector = result.get("authenticationVector")?;
    let method = method(result.get("authType")?)?;
    let mut data = AuthenticationData {
        supi,
        rand: array(vector.get("rand")?)?,
        autn: array(vector.get("autn")?)?,
        method,
        xres_star: [0; 16],
        kausf: [0; 32],
        xres: [0; 8],
        prime_keys: [0; 32],
    };
    match method {
        AuthMethod::FiveGAka => {
            data.xres_star = array(vector.get("xresStar")?)?;
            data.kausf = array(vector.get("kausf")?)?;
        }
        AuthMethod::EapAkaPrime => {
            data.xres = array(vector.get("xres")?)?;
            let halves = ["ckPrime", "ikPrime"].map(|name| vector.get(name).and_then(array));
            let [Some(ck), Some(ik)]: [Option<[u8; 16]>; 2] = halves else {
                return None;
            };
            let (first, second) = data.prime_keys.split_at_mut(16);
            first.copy_from_slice(&ck);
            second.copy_from_slice(&ik);
        }
    }
    Some(data)
}

fn tell_outcome(outcome: AuthenticationOutcome, memory: &Memory) -> Consumer {
    let event = AuthEvent {
        network: outcome.network,
        method: outcome.method,
        success: outcome.success,
        unix_s: outcome.unix_s.get(),
    };
    let path = format!("/nudm-ueau/v1/{}/auth-events", supi_text(&outcome.supi));
    let event = event.json(memory.instance(Nf::Ausf));
    call(send(Method::POST, &path, &event), move |came, memory| {
        // Open5GS takes no event of an authentication that failed, and answers 400.
        if !outcome.success && is_bare_refusal(&came.response) {
            memory.deviations.count(Deviation::Status);
            return Ok(sluice_sbi::Done::ALL.into());
        }
        done(&came.response)
    })
}

/// A request for the UDM.
pub(crate) fn accept(route: &Route, request: &Request, _memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", [ue, "security-information", "generate-auth-data"]) => accept_get(ue, request),
        ("POST", [ue, "auth-events"]) => accept_outcome(ue, request),
        (_, [_, "security-information", "generate-auth-data"] | [_, "auth-events"]) => {
            Err(not_allowed().into())
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_get(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let identity: Identity = identity(ue).ok_or_else(|| tell(Problem::UserNotFound))?;
    member(&body, "/ausfInstanceId", "a UUID", nf_instance)?;
    let expected = "5G:mncNNN.mccNNN.3gppnetwork.org";
    let text = |value: &Value| value.as_str().and_then(network);
    let message = GetAuthenticationData {
        identity,
        network: member(&body, "/servingNetworkName", expected, text)?,
        resynchronisation: resynchronisation(&body)?,
    };
    Ok(ask(message, |data, _| {
        respond(StatusCode::OK, &result(&data))
    }))
}

/// AuthenticationInfoResult
fn result(data: &AuthenticationData) -> Value {
    let (ck, ik) = data.prime_keys.split_at(16);
    let vector = match data.method {
        AuthMethod::FiveGAka => json!({
            "avType": "5G_HE_AKA",
            "rand": hex(&data.rand),
            "autn": hex(&data.autn),
            "xresStar": hex(&data.xres_star),
            "kausf": hex(&data.kausf),
        }),
        AuthMethod::EapAkaPrime => json!({
            "avType": "EAP_AKA_PRIME",
            "rand": hex(&data.rand),
            "autn": hex(&data.autn),
            "xres": hex(&data.xres),
            "ckPrime": hex(ck),
            "ikPrime": hex(ik),
        }),
    };
    json!({
        "authType": method_text(data.method),
        "authenticationVector": vector,
        "supi": supi_text(&data.supi),
    })
}

fn accept_outcome(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let supi = crate::subscription::supi(ue)?;
    let event = AuthEvent::read(&body)?;
    let message = AuthenticationOutcome {
        supi,
        network: event.network,
        method: event.method,
        success: event.success,
        unix_s: event.unix_s.into(),
    };
    Ok(ask(message, move |_, memory| {
        event_created(&supi, &body, memory)
    }))
}

/// The last event of a subscriber is kept, whatever it is.
fn event_created(supi: &Supi, event: &Value, memory: &Memory) -> Response {
    let uri = format!("{}/nudm-ueau/v1/{supi}/auth-events/last", memory.own.root);
    with_location(respond(StatusCode::CREATED, event), &uri)
}
