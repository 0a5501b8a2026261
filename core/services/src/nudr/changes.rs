//! Changes of stored data (TS 29.505, 5.2.18; DataChangeNotify): whoever has subscribed at the UDR is told, else the UDM.

use http::StatusCode;
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{DataChange, Message, NotifyDataChange};

use crate::body::{member, optional, read, respond, respond_empty, with_location};
use crate::calls::ask;
use crate::exchange::{Consumer, Producer, Refusal, Request};
use crate::names::Memory;
use crate::nudm::callbacks::tell_all;
use crate::nudr::{ROOT, path, provisioned_path};
use crate::problem::{refuse, refuse_member};
use crate::route::{Route, not_allowed, unknown};

/// Path at which a UDM that has not subscribed is told.
const AT_UDM: &str = "/nudm-callback/v1/data-change-notify";

/// Subscribers of whom everyone is told.
const ANY: &str = "any";

/// A notification of the UDR.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    let Message::NotifyDataChange(NotifyDataChange { supi, change }) = message else {
        return None;
    };
    let plmn = memory.own.plmn;
    let (resource, op, pointer) = match change {
        DataChange::Withdrawn => (format!("{ROOT}/{supi}"), "REMOVE", ""),
        DataChange::Access => (provisioned_path(supi, plmn, "am-data"), "REPLACE", ""),
        DataChange::SessionRates => {
            let path = provisioned_path(supi, plmn, "sm-data");
            (path, "REPLACE", "/sessionAmbr")
        }
    };
    let body = json!({
        "ueId": supi.to_string(),
        "notifyItems": [{
            "resourceId": format!("{}{resource}", memory.own.root),
            "changes": [{ "op": op, "path": pointer }],
        }],
    });
    let mut uris = memory.callbacks(&key(&supi.to_string(), ""));
    uris.extend(memory.callbacks(&key(ANY, "")));
    uris.sort();
    uris.dedup();
    Some(tell_all(uris, AT_UDM, &body))
}

fn key(whose: &str, id: &str) -> String {
    format!("data {whose} {id}")
}

/// A notification for the UDM.
pub(crate) fn accept_callback(route: &Route, request: &Request) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["data-change-notify"]) => accept_change(request),
        (_, ["data-change-notify"]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// DataChangeNotify
fn accept_change(request: &Request) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let supi = member(&body, "/ueId", "a SUPI", |value| {
        crate::values::supi(value.as_str()?)
    })?;
    let expected = "changes of a subscriber, or of its am-data, sm-data or SMF selection";
    let change = member(&body, "/notifyItems", expected, |items| {
        let changes = items
            .as_array()?
            .iter()
            .filter_map(|item| change(item, &supi));
        changes.reduce(worse)
    })?;
    let message = NotifyDataChange { supi, change };
    Ok(ask(message, |_, _| respond_empty(StatusCode::NO_CONTENT)))
}

/// The one of two changes after which more is otherwise.
fn worse(one: DataChange, other: DataChange) -> DataChange {
    let all = [DataChange::Withdrawn, DataChange::Access];
    let mut all = all.into_iter();
    all.find(|change| *change == one || *change == other)
        .unwrap_or(DataChange::SessionRates)
}

/// NotifyItem
fn change(item: &Value, supi: &Supi) -> Option<DataChange> {
    let resource = item.get("resourceId")?.as_str()?.trim_end_matches('/');
    let changes = item.get("changes")?.as_array()?;
    let is_removed = |change: &Value| change.get("op").and_then(Value::as_str) == Some("REMOVE");
    let is_rate = |change: &Value| {
        let path = change
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default();
        path.contains("sessionAmbr")
    };
    let is_all = [
        path(supi, ""),
        path(supi, "authentication-data/authentication-subscription"),
    ];
    let is_all = is_all
        .iter()
        .any(|all| resource.ends_with(all.trim_end_matches('/')));
    if is_all {
        return changes
            .iter()
            .any(is_removed)
            .then_some(DataChange::Withdrawn);
    }
    let resource = resource.rsplit('/').next()?;
    match resource {
        "sm-data" if !changes.is_empty() && changes.iter().all(is_rate) => {
            Some(DataChange::SessionRates)
        }
        "am-data" | "sm-data" | "smf-selection-subscription-data" => Some(DataChange::Access),
        _ => None,
    }
}

/// A request for subscriptions to changes of data. They are known as long as the program runs.
pub(crate) fn accept(
    route: &Route,
    rest: &[&str],
    request: &Request,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    match (route.method.as_str(), rest) {
        ("POST", []) => accept_subscribe(request, memory),
        ("DELETE", [name]) => {
            let (whose, id) = name.split_once('_').unwrap_or_default();
            let key = key(whose, id);
            if memory.callback(&key).is_none() {
                let detail = "there is no such subscription";
                let status = StatusCode::NOT_FOUND;
                return Err(refuse(status, "SUBSCRIPTION_NOT_FOUND", detail).into());
            }
            memory.forget_callback(&key);
            Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT)))
        }
        (_, [] | [_]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    }
}

/// SubscriptionDataSubscriptions: of a subscriber, or of all; which data is not looked at.
fn accept_subscribe(request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let mut body = read(request)?;
    let callback: String = member(&body, "/callbackReference", "a URI", |value| {
        let uri: http::Uri = value.as_str()?.parse().ok()?;
        uri.authority().is_some().then(|| uri.to_string())
    })?;
    let pointer = "/monitoredResourceUris";
    let is_list = member(&body, pointer, "a list of URIs", |value| {
        Some(!value.as_array()?.is_empty())
    })?;
    if !is_list {
        return Err(refuse_member(false, pointer, "a list of URIs").into());
    }
    let whose = optional(&body, "/ueId", "a SUPI", |value| {
        crate::values::supi(value.as_str()?)
    })?;
    let whose = whose.map_or_else(|| ANY.to_owned(), |supi| supi.to_string());
    let id = format!(
        "{:016x}",
        sluice_sbi::context_store::fingerprint(callback.as_bytes())
    );
    memory.keep_callback(&key(&whose, &id), &callback);
    let name = format!("{whose}_{id}");
    let uri = format!("{}{ROOT}/subs-to-notify/{name}", memory.own.root);
    body["subscriptionId"] = name.into();
    let response = respond(StatusCode::CREATED, &body);
    Ok(Producer::Done(with_location(response, &uri)))
}
