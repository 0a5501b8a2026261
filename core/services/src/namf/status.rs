//! Namf_Communication (TS 29.518, 5.2.2.5): that the AMF goes or comes is told.

use http::StatusCode;
use serde_json::{Value, json};
use sluice_sbi::{Done, NotifyAmfStatus, Problem, SubscribeAmfStatus, UnsubscribeAmfStatus};

use crate::body::{member, optional, read, respond, with_location};
use crate::calls::ask_on;
use crate::exchange::{Consumer, Producer, Refusal, Request};
use crate::names::Memory;
use crate::problem::tell;
use crate::resources::Collection;
use crate::route::{not_allowed, unknown};
use crate::subscriber::{Subscribers, not_found, uri};
use crate::values::{guami, guami_json};

static SUBSCRIBERS: Subscribers = Subscribers(Collection("/namf-comm/v1/subscriptions"));

/// Most GUAMIs of a subscription: those of an AMF set.
const GUAMIS: usize = 64;

/// A request about a subscription; `rest` is behind `subscriptions` in its path.
pub(super) fn accept(
    method: &str,
    rest: &[&str],
    request: &Request,
    memory: &Memory,
) -> Result<Producer, Refusal> {
    match (method, rest) {
        ("POST", []) => subscribe(0, request),
        ("PUT", [id]) => {
            let (id, _) = SUBSCRIBERS.find(id, memory)?;
            subscribe(id, request)
        }
        ("DELETE", [id]) => SUBSCRIBERS.end(id, |id| UnsubscribeAmfStatus { id: id.into() }),
        (_, [] | [_]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    }
}

/// SubscriptionData
fn subscribe(known: u64, request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let uri = member(&body, "/amfStatusUri", "a URI", uri)?;
    let guamis = |value: &Value| {
        let all: Option<Vec<Value>> = value
            .as_array()?
            .iter()
            .map(|one| guami(one).map(guami_json))
            .collect();
        all.filter(|all| (1..=GUAMIS).contains(&all.len()))
    };
    let guamis = optional(&body, "/guamiList", "a list of GUAMIs", guamis)?;
    let mut document = json!({ "amfStatusUri": uri });
    if let Some(guamis) = guamis {
        document["guamiList"] = guamis.into();
    }
    let message = SubscribeAmfStatus { id: known.into() };
    Ok(ask_on(message, move |answer, memory| {
        Producer::Done(match answer {
            Ok(subscribed) => {
                let id = subscribed.id.get();
                SUBSCRIBERS.keep(id, &document, memory);
                match known {
                    0 => {
                        let created = respond(StatusCode::CREATED, &document);
                        with_location(created, &SUBSCRIBERS.uri(id, memory))
                    }
                    _ => respond(StatusCode::OK, &document),
                }
            }
            Err(Problem::ContextNotFound) => not_found(),
            Err(problem) => tell(problem),
        })
    }))
}

/// AmfStatusChangeNotification
pub(super) fn notify(notice: &NotifyAmfStatus, memory: &mut Memory) -> Consumer {
    let id = notice.id.get();
    let document = SUBSCRIBERS.document(id, memory).unwrap_or_default();
    let wanted = document.get("guamiList").and_then(Value::as_array);
    let is_wanted = |all: &Vec<Value>| all.iter().any(|one| guami(one) == Some(notice.guami));
    if wanted.is_some_and(|all| !is_wanted(all)) {
        return Consumer::Done(Done::ALL.into());
    }
    let change = match notice.is_available {
        true => "AMF_AVAILABLE",
        false => "AMF_UNAVAILABLE",
    };
    let info = json!({ "guamiList": [guami_json(notice.guami)], "statusChange": change });
    let body = json!({ "amfStatusInfoList": [info] });
    let uri = document.get("amfStatusUri").and_then(Value::as_str);
    SUBSCRIBERS.notify(id, uri, &body)
}
