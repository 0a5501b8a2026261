//! Callbacks of Nudm (TS 29.503, 5.2.2.5 and 5.3.2.3): AMFs and SMFs are told that a subscriber is gone, or may do otherwise.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    Message, NotifyAccess, NotifyDeregistration, NotifySubscription, Problem, Removal, SdmData,
};

use crate::body::{member, read, respond_empty, send};
use crate::calls::{ask, call, done};
use crate::exchange::{Consumer, Outgoing, Producer, Refusal, Request};
use crate::names::Memory;
use crate::nudm::{AMF_CALLBACK, SMF_CALLBACK};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::context::{deregistration_key, sdm_keys};

const DEREGISTRATION: &str = "dereg-notify";
const SDM: &str = "sdmsubscription-notify";

/// Function and last segment of the path at which an AMF hears that a UE is not to be there any more.
pub(crate) const AMF_DEREGISTRATION: (&str, &str) = (AMF_CALLBACK, DEREGISTRATION);

/// The same of changes of data.
pub(crate) fn of_data(data: SdmData) -> (&'static str, &'static str) {
    match data {
        SdmData::AccessAndMobility => (AMF_CALLBACK, SDM),
        SdmData::SessionManagement => (SMF_CALLBACK, SDM),
    }
}

/// URI at which a function of this program is told.
pub(crate) fn own_uri(root: &str, supi: &Supi, of: (&str, &str)) -> String {
    format!("{root}{}", path(supi, of))
}

fn path(supi: &Supi, (function, last): (&str, &str)) -> String {
    format!("/{function}/v1/{supi}/{last}")
}

/// A notification of the UDM.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::NotifyDeregistration(notice) => Some(deregistered(notice, memory)),
        Message::NotifyAccess(NotifyAccess { supi }) => {
            Some(changed(supi, SdmData::AccessAndMobility, memory))
        }
        Message::NotifySubscription(NotifySubscription { supi }) => {
            Some(changed(supi, SdmData::SessionManagement, memory))
        }
        _ => None,
    }
}

/// DeregistrationData for the AMF that is named; where it has told no URI, for the one that is found.
fn deregistered(notice: &NotifyDeregistration, memory: &mut Memory) -> Consumer {
    let NotifyDeregistration { supi, removal, amf } = notice;
    let key = deregistration_key(supi, *amf);
    let uri = memory.callback(&key).map(str::to_owned);
    let is_elsewhere = matches!(removal, Removal::InitialRegistration | Removal::AreaChange);
    if is_elsewhere {
        memory.forget_callback(&key);
        // The one that is found is perhaps the one that has the UE now.
        if uri.is_none() && *amf != memory.own.guami {
            return Consumer::Done(Problem::ContextNotFound.into());
        }
    }
    let body = json!({ "deregReason": reason_text(*removal), "accessType": "3GPP_ACCESS" });
    let path = path(supi, AMF_DEREGISTRATION);
    tell_all(uri.into_iter().collect(), &path, &body)
}

/// ModificationNotification: all of the resource is otherwise.
fn changed(supi: &Supi, data: SdmData, memory: &Memory) -> Consumer {
    let resource = match data {
        SdmData::AccessAndMobility => "am-data",
        SdmData::SessionManagement => "sm-data",
    };
    let resource = format!("{}/nudm-sdm/v2/{supi}/{resource}", memory.own.root);
    let body = json!({ "notifyItems": [{
        "resourceId": resource,
        "changes": [{ "op": "REPLACE", "path": "" }],
    }] });
    let uris = memory.callbacks(&sdm_keys(supi, data));
    tell_all(uris, &path(supi, of_data(data)), &body)
}

/// Tells all; where nobody has told a URI, the function at this path. The call is answered as the only one answers; of
/// several nobody waits for another.
pub(crate) fn tell_all(uris: Vec<String>, path: &str, body: &Value) -> Consumer {
    let outgoing = |uri: &String| send(Method::POST, path, body).at(uri);
    let mut all: Vec<Outgoing> = uris.iter().filter_map(outgoing).collect();
    if all.len() > 1 {
        return Consumer::Tell(all);
    }
    let only = all.pop().unwrap_or_else(|| send(Method::POST, path, body));
    call(only, |came, _| done(&came.response))
}

/// A notification for the AMF or the SMF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &Memory) -> Producer {
    let function = route.service.as_str();
    let taken = match (function, route.method.as_str(), route.parts().as_slice()) {
        (AMF_CALLBACK, "POST", [ue, DEREGISTRATION]) => accept_deregistration(ue, request, memory),
        (AMF_CALLBACK | SMF_CALLBACK, "POST", [ue, SDM]) => accept_change(function, ue, request),
        (AMF_CALLBACK, _, [_, DEREGISTRATION]) | (_, _, [_, SDM]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// DeregistrationReason
fn reason_text(removal: Removal) -> &'static str {
    match removal {
        Removal::SubscriptionWithdrawn => "SUBSCRIPTION_WITHDRAWN",
        Removal::InitialRegistration => "UE_INITIAL_REGISTRATION",
        Removal::AreaChange => "UE_REGISTRATION_AREA_CHANGE",
        Removal::MobilityToEps => "5GS_TO_EPS_MOBILITY",
        Removal::RegistrationInEps => "5GS_TO_EPS_MOBILITY_UE_INITIAL_REGISTRATION",
        Removal::ReregistrationRequired => "REREGISTRATION_REQUIRED",
        Removal::SmfContextTransferred => "SMF_CONTEXT_TRANSFERRED",
        Removal::DuplicatePduSession => "DUPLICATE_PDU_SESSION",
        Removal::DisasterConditionTerminated => "DISASTER_CONDITION_TERMINATED",
    }
}

/// DeregistrationReason
fn reason(value: &Value) -> Option<Removal> {
    let text = value.as_str()?;
    Removal::ALL
        .into_iter()
        .find(|one| reason_text(*one) == text)
}

/// DeregistrationData
fn accept_deregistration(
    ue: &str,
    request: &Request,
    memory: &Memory,
) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let body = read(request)?;
    let removal = member(&body, "/deregReason", "a DeregistrationReason", reason)?;
    let amf = memory.own.guami;
    let message = NotifyDeregistration { supi, removal, amf };
    Ok(ask(message, |_, _| respond_empty(StatusCode::NO_CONTENT)))
}

/// ModificationNotification
fn accept_change(function: &str, ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let body = read(request)?;
    member(&body, "/notifyItems", "a list", |items| {
        items
            .as_array()
            .filter(|items| !items.is_empty())
            .map(|_| ())
    })?;
    let respond = |_, _: &mut Memory| respond_empty(StatusCode::NO_CONTENT);
    Ok(match function {
        AMF_CALLBACK => ask(NotifyAccess { supi }, respond),
        _ => ask(NotifySubscription { supi }, respond),
    })
}
