//! Subscriptions to what happens to instances, and the notifications that follow (TS 29.510, 5.2.2.5 and 5.2.2.6).

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::{Value, json};
use sluice_ids::{Guami, Snssai};
use sluice_sbi::{NfInstance, Now, Problem};
use sluice_services::Request;
use sluice_services::body::JSON;
use sluice_services::nnrf::INSTANCES;

use crate::document::shown;
use crate::profiles::Profile;
use crate::query::Consumer;

/// Most subscriptions.
pub const SUBSCRIPTIONS: usize = 4_096;

/// Most notifications that wait to leave.
pub const NOTIFICATIONS: usize = 4_096;

/// Header that tells the kind of a callback (TS 29.500, 5.2.3.2.3), and the kind.
const CALLBACK: (&str, &str) = ("3gpp-sbi-callback", "Nnrf_NFManagement_NFStatusNotify");

/// Notification that is to leave.
#[derive(Debug)]
pub struct Notification {
    /// Absolute URI of the one that subscribed.
    pub uri: String,
    /// Request; its URI has path and query alone.
    pub request: Request,
}

/// Event of an instance (NotificationEventType: 6.1.6.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Registered,
    Deregistered,
    ProfileChanged,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Self::Registered => "NF_REGISTERED",
            Self::Deregistered => "NF_DEREGISTERED",
            Self::ProfileChanged => "NF_PROFILE_CHANGED",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        let mut all = [Self::Registered, Self::Deregistered, Self::ProfileChanged].into_iter();
        all.find(|event| event.name() == name)
    }
}

/// Instances that one subscribes to (SubscrCond: 6.1.6.2.35); all that is there has to be met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Condition {
    pub kind: Option<String>,
    pub instances: Vec<NfInstance>,
    pub services: Vec<String>,
    pub slices: Vec<Snssai>,
    pub guamis: Vec<Guami>,
    pub amf_set: Option<u64>,
    pub amf_region: Option<u64>,
    pub groups: Vec<String>,
}

impl Condition {
    fn is_met(&self, profile: &Profile) -> bool {
        let facts = &profile.facts;
        let has_kind = self.kind.as_ref();
        let has_kind = has_kind.is_none_or(|kind| profile.kind().name() == kind);
        let is_one = self.instances.is_empty() || self.instances.contains(&facts.instance);
        let mut services = facts.services.iter();
        let has_service =
            self.services.is_empty() || services.any(|one| self.services.contains(&one.name));
        let mut slices = facts.parts.iter().flat_map(|part| part.served.slices());
        let has_slice = self.slices.is_empty() || slices.any(|one| self.slices.contains(one));
        let amf = &facts.amf;
        let mut guamis = amf.guamis.iter();
        let is_amf = (self.guamis.is_empty() || guamis.any(|one| self.guamis.contains(one)))
            && self.amf_set.is_none_or(|set| amf.set == Some(set))
            && self.amf_region.is_none_or(|one| amf.region == Some(one));
        let mut groups = facts
            .subscribers
            .iter()
            .filter_map(|one| one.group.as_ref());
        let has_group = self.groups.is_empty() || groups.any(|one| self.groups.contains(one));
        has_kind && is_one && has_service && has_slice && is_amf && has_group
    }
}

/// Subscription.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    /// SubscriptionData, as it is told.
    pub data: Value,
    pub uri: String,
    pub condition: Condition,
    /// Events that are wanted; none are all.
    pub events: Vec<Event>,
    /// The one that subscribed; it hears of those alone that it may discover.
    pub consumer: Option<Consumer>,
    pub until_s: u64,
    /// Whether it takes services as a map by their identifiers.
    pub wants_map: bool,
}

impl Subscription {
    fn covers(&self, profile: Option<&Profile>) -> bool {
        profile.is_some_and(|profile| {
            let consumer = self.consumer.as_ref();
            let allowed = profile.allowed();
            let lets = match consumer {
                Some(consumer) => profile.facts.lets(consumer),
                None => allowed.types.is_empty() && allowed.slices.is_empty(),
            };
            lets && self.condition.is_met(profile)
        })
    }
}

/// Notifications of one event.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told {
    pub queued: u64,
    pub lost: u64,
}

/// Subscriptions, and notifications that wait.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_id: BTreeMap<String, Subscription>,
    last: u64,
    waiting: Vec<Notification>,
}

impl Subscriptions {
    /// Keeps a subscription, and gives its identifier.
    pub fn add(&mut self, now: Now, mut subscription: Subscription) -> Result<String, Problem> {
        if self.by_id.len() >= SUBSCRIPTIONS {
            self.by_id.retain(|_, one| one.until_s > now.unix_s);
        }
        if self.by_id.len() >= SUBSCRIPTIONS {
            return Err(Problem::NoResources);
        }
        self.last += 1;
        // Another one after a restart, and without hyphens (6.1.6.2.16).
        let id = format!("{:x}x{:x}", now.unix_s, self.last);
        subscription.data["subscriptionId"] = id.as_str().into();
        self.by_id.insert(id.clone(), subscription);
        Ok(id)
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// That of an identifier, unless its time is over.
    pub fn get_mut(&mut self, now: Now, id: &str) -> Option<&mut Subscription> {
        let one = self.by_id.get_mut(id);
        one.filter(|one| one.until_s > now.unix_s)
    }

    pub fn remove(&mut self, now: Now, id: &str) -> Option<Subscription> {
        let one = self.by_id.remove(id);
        one.filter(|one| one.until_s > now.unix_s)
    }

    /// Notifications that wait.
    pub fn take(&mut self) -> Vec<Notification> {
        std::mem::take(&mut self.waiting)
    }

    /// Notifies those that subscribed of an event of an instance, as it was and as it is.
    pub fn tell(
        &mut self,
        now: Now,
        root: &str,
        event: Event,
        before: Option<&Profile>,
        after: Option<&Profile>,
    ) -> Told {
        let mut told = Told::default();
        self.by_id.retain(|_, one| one.until_s > now.unix_s);
        let mut bodies: BTreeMap<(bool, Option<&str>), Bytes> = BTreeMap::new();
        for one in self.by_id.values() {
            let condition_event = match (one.covers(before), one.covers(after)) {
                (false, false) => continue,
                (false, true) if event == Event::ProfileChanged => Some("NF_ADDED"),
                (true, false) if event == Event::ProfileChanged => Some("NF_REMOVED"),
                _ => None,
            };
            if !one.events.is_empty() && !one.events.contains(&event) {
                continue;
            }
            if self.waiting.len() >= NOTIFICATIONS {
                told.lost += 1;
                continue;
            }
            let body = bodies
                .entry((one.wants_map, condition_event))
                .or_insert_with(|| {
                    let profile = after.or(before);
                    body(root, event, profile, one.wants_map, condition_event)
                });
            self.waiting.extend(notification(&one.uri, body.clone()));
            told.queued += 1;
        }
        told
    }
}

/// NotificationData
fn body(
    root: &str,
    event: Event,
    profile: Option<&Profile>,
    wants_map: bool,
    condition_event: Option<&str>,
) -> Bytes {
    let id = profile.map(|profile| profile.instance().to_string());
    let mut data = json!({
        "event": event.name(),
        "nfInstanceUri": format!("{root}{INSTANCES}/{}", id.unwrap_or_default()),
    });
    if let Some(profile) = profile.filter(|_| event != Event::Deregistered) {
        data["nfProfile"] = shown(profile.document(root), wants_map);
    }
    if let Some(condition_event) = condition_event {
        data["conditionEvent"] = condition_event.into();
    }
    Bytes::from(data.to_string())
}

/// Notification to a URI, which was seen to be one.
fn notification(uri: &str, body: Bytes) -> Option<Notification> {
    let parsed: http::Uri = uri.parse().ok()?;
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = parsed.path_and_query()?.as_str().parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(CALLBACK.0, HeaderValue::from_static(CALLBACK.1));
    Some(Notification {
        uri: uri.to_owned(),
        request,
    })
}
