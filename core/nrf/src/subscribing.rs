//! Nnrf_NFManagement (TS 29.510, 5.2.2.5 and 5.2.2.7): subscriptions as resources.

use http::StatusCode;
use serde_json::Value;
use sluice_services::body::{member, optional, read, respond, respond_empty, with_location};
use sluice_services::problem::{refuse_member, tell};
use sluice_services::{Response, not_allowed, patch, unknown, values};

use crate::bootstrapping::SUBSCRIPTIONS;
use crate::management::SERVICE_MAP;
use crate::nf_type::NfType;
use crate::query::{Consumer, has_feature};
use crate::serve::{Asked, Refusal, not_found};
use crate::subscriptions::{Condition, Event, Subscription};
use crate::{Nrf, date_time};

/// Seconds of a subscription that does not say for how long it is.
const SUBSCRIBED_S: u64 = 24 * 3_600;

/// Most seconds of a subscription.
const SUBSCRIBED_MOST_S: u64 = 30 * SUBSCRIBED_S;

/// Most octets of the data of a subscription.
const OCTETS: usize = 8 * 1_024;

impl Nrf {
    pub(crate) fn subscriptions(&mut self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        let parts = asked.route.parts();
        match (asked.route.method.as_str(), parts.as_slice()) {
            ("POST", ["subscriptions"]) => self.subscribe(asked),
            ("PATCH", ["subscriptions", id]) => self.prolong(asked, id),
            ("DELETE", ["subscriptions", id]) => {
                let gone = self.subscriptions.remove(asked.now, id);
                gone.ok_or_else(|| no_subscription(id))?;
                Ok(respond_empty(StatusCode::NO_CONTENT))
            }
            (_, ["subscriptions"] | ["subscriptions", _]) => Err(not_allowed().into()),
            _ => Err(unknown().into()),
        }
    }

    fn subscribe(&mut self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        let subscription = subscription_of(asked)?;
        let mut data = subscription.data.clone();
        let added = self.subscriptions.add(asked.now, subscription);
        let id = added.map_err(|problem| {
            self.counters.no_room += 1;
            tell(problem)
        })?;
        self.counters.subscriptions += 1;
        data["subscriptionId"] = id.as_str().into();
        let uri = format!("{}{SUBSCRIPTIONS}/{id}", asked.root);
        Ok(with_location(respond(StatusCode::CREATED, &data), &uri))
    }

    /// Another end of a subscription (5.2.2.5.6): the one that is asked for, or the latest that there may be.
    fn prolong(&mut self, asked: &Asked<'_>, id: &str) -> Result<Response, Refusal> {
        let operations = read(asked.request)?;
        let known = self.subscriptions.get_mut(asked.now, id);
        let one = known.ok_or_else(|| no_subscription(id))?;
        if patch::paths(&operations).any(|path| path != "/validityTime") {
            let what = "no other member of a subscription can be changed";
            return Err(refuse_member(false, "/validityTime", what).into());
        }
        let mut data = one.data.clone();
        patch::apply(&mut data, &operations).map_err(patch::wrong)?;
        let asked_s = until_of(&data)?;
        (one.until_s, one.data) = (limited(asked.now.unix_s, asked_s), data);
        one.data["validityTime"] = date_time::text(one.until_s).into();
        if asked_s == Some(one.until_s) {
            return Ok(respond_empty(StatusCode::NO_CONTENT));
        }
        Ok(respond(StatusCode::OK, &one.data))
    }
}

fn no_subscription(id: &str) -> Refusal {
    let what = format!("there is no subscription {id}, or its time is over");
    not_found("SUBSCRIPTION_NOT_FOUND", &what)
}

/// Second until which it is wanted, if it says so.
fn until_of(data: &Value) -> Result<Option<u64>, Refusal> {
    let until = |value: &Value| date_time::unix_s(value.as_str()?);
    optional(data, "/validityTime", "a point in time", until)
}

/// The same, as far as there may be.
fn limited(now_s: u64, until_s: Option<u64>) -> u64 {
    let until_s = until_s.unwrap_or(now_s + SUBSCRIBED_S);
    until_s.min(now_s + SUBSCRIBED_MOST_S)
}

/// SubscriptionData
fn subscription_of(asked: &Asked<'_>) -> Result<Subscription, Refusal> {
    let mut data = read(asked.request)?;
    if asked.request.body().len() > OCTETS || !data.is_object() {
        let expected = format!("an object of at most {OCTETS} octets");
        return Err(refuse_member(false, "/", &expected).into());
    }
    let uri = |value: &Value| {
        let text = value.as_str()?;
        let uri: http::Uri = text.parse().ok()?;
        let is_right = matches!(uri.scheme_str()?, "http" | "https") && uri.host().is_some();
        is_right.then(|| text.to_owned())
    };
    let event = |value: &Value| Event::of(value.as_str()?);
    let features = |value: &Value| value.as_str().map(str::to_owned);
    let features = optional(&data, "/requesterFeatures", "hexadecimal digits", features)?;
    let wants_map = has_feature(features.as_deref(), SERVICE_MAP);
    let until_s = limited(asked.now.unix_s, until_of(&data)?);
    let subscription = Subscription {
        uri: member(&data, "/nfStatusNotificationUri", "an absolute URI", uri)?,
        condition: condition_of(&data)?,
        events: list(&data, "/reqNotifEvents", "events", event)?,
        consumer: consumer_of(&data)?,
        until_s,
        wants_map,
        data: Value::Null,
    };
    data["validityTime"] = date_time::text(until_s).into();
    if let Some(members) = data.as_object_mut() {
        members.remove("requesterFeatures");
    }
    if wants_map {
        data["nrfSupportedFeatures"] = "1".into();
    }
    Ok(Subscription {
        data,
        ..subscription
    })
}

fn list<T>(
    data: &Value,
    pointer: &str,
    expected: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Refusal> {
    let all = optional(data, pointer, expected, |value| {
        value.as_array()?.iter().map(read).collect()
    })?;
    Ok(all.unwrap_or_default())
}

fn consumer_of(data: &Value) -> Result<Option<Consumer>, Refusal> {
    let kind = |value: &Value| NfType::new(value.as_str()?);
    let Some(kind) = optional(data, "/reqNfType", "an NF type", kind)? else {
        return Ok(None);
    };
    Ok(Some(Consumer {
        kind,
        slices: list(data, "/reqSnssais", "slices", values::slice)?,
        plmns: list(data, "/reqPlmnList", "PLMNs", values::plmn)?,
    }))
}

/// SubscrCond; all instances where there is none.
///
/// # Errors
/// A condition that is not served, or none with which something is asked for: all instances would be another matter.
fn condition_of(data: &Value) -> Result<Condition, Refusal> {
    let Some(condition) = data.get("subscrCond").filter(|one| !one.is_null()) else {
        return Ok(Condition::default());
    };
    // free5GC has empty strings and nulls for what is not asked for.
    let text = |name: &str| {
        let text = condition.get(name)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let string = |value: &Value| value.as_str().map(str::to_owned);
    let id = |value: &Value| values::instance(value.as_str()?);
    let mut met = Condition {
        kind: text("nfType"),
        instances: list(condition, "/nfInstanceIdList", "UUIDs", id)?,
        services: list(condition, "/serviceNameList", "names", string)?,
        slices: list(condition, "/snssaiList", "slices", values::slice)?,
        guamis: list(condition, "/guamiList", "GUAMIs", values::guami)?,
        amf_set: text("amfSetId").and_then(|digits| u64::from_str_radix(&digits, 16).ok()),
        amf_region: text("amfRegionId").and_then(|digits| u64::from_str_radix(&digits, 16).ok()),
        groups: list(condition, "/nfGroupIdList", "names", string)?,
    };
    met.services.extend(text("serviceName"));
    met.groups.extend(text("nfGroupId"));
    if let Some(text) = text("nfInstanceId") {
        let id = values::instance(&text);
        let wrong = || refuse_member(false, "/subscrCond/nfInstanceId", "a UUID");
        met.instances.push(id.ok_or_else(wrong)?);
    }
    if met == Condition::default() {
        let expected = "nfType, serviceName, serviceNameList, nfInstanceId, nfInstanceIdList, snssaiList, guamiList, \
                        amfSetId, amfRegionId, or nfGroupId";
        return Err(refuse_member(false, "/subscrCond", expected).into());
    }
    Ok(met)
}
