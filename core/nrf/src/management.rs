//! Nnrf_NFManagement (TS 29.510, 5.2.2 and 6.1): profiles as resources.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{NfInstance, Problem};
use sluice_services::body::{member, read, respond, respond_empty, with_location};
use sluice_services::nnrf::INSTANCES;
use sluice_services::problem::{refuse, refuse_member, tell};
use sluice_services::{Response, not_allowed, patch, unknown, values};

use crate::bootstrapping::HAL_JSON;
use crate::document::{Facts, shown};
use crate::nf_type::NfType;
use crate::profiles::{DOCUMENT_OCTETS, Profile};
use crate::query::{has_feature, optional};
use crate::serve::{Asked, Refusal, not_found};
use crate::{Event, Nrf};

/// Number of the feature Service-Map (6.1.9).
pub(crate) const SERVICE_MAP: u32 = 1;

/// Indication of a consumer that takes the changed members alone as the response (5.2.2.2.2).
const CHANGES_SUPPORTED: &str = "nfProfileChangesSupportInd";

/// Indication that a response has those alone.
const CHANGES: &str = "nfProfileChangesInd";

/// Members that an instance keeps for as long as it is registered.
const FIXED: [&str; 2] = ["/nfInstanceId", "/nfType"];

/// Paths that an operation may replace where they are not there: a profile need not tell them (5.2.2.3.2).
const MAY_BE_ABSENT: [&str; 2] = ["/load", "/nfStatus"];

/// Instance of a path.
fn instance_of(id: &str) -> Result<NfInstance, Refusal> {
    values::instance(id).ok_or_else(|| no_instance(id))
}

fn no_instance(id: &str) -> Refusal {
    not_found("CONTEXT_NOT_FOUND", &format!("{id} is not registered"))
}

impl Nrf {
    pub(crate) fn manage(&mut self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        let method = asked.route.method.as_str();
        match (method, asked.route.parts().as_slice()) {
            ("GET", ["nf-instances"]) => self.list(asked),
            ("OPTIONS", ["nf-instances"]) => Ok(respond_empty(StatusCode::NO_CONTENT)),
            ("GET", ["nf-instances", id]) => self.get(asked, id),
            ("PUT", ["nf-instances", id]) => self.put(asked, id),
            ("PATCH", ["nf-instances", id]) => self.patch(asked, id),
            ("DELETE", ["nf-instances", id]) => self.delete(asked, id),
            (_, ["nf-instances"] | ["nf-instances", _]) => Err(not_allowed().into()),
            (_, ["subscriptions", ..]) => self.subscriptions(asked),
            _ => Err(unknown().into()),
        }
    }

    fn list(&self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        let route = asked.route;
        let kind = optional(route, "nf-type", "an NF type", NfType::new)?;
        let whole = |text: &str| text.parse().ok().filter(|number: &usize| *number > 0);
        let number = |name| optional(route, name, "a number of at least 1", whole);
        let limit = number("limit")?.unwrap_or(usize::MAX);
        let size = number("page-size")?.unwrap_or(usize::MAX);
        let before = size.saturating_mul(number("page-number")?.unwrap_or(1) - 1);
        let collection = format!("{}{INSTANCES}", asked.root);
        let is_one = |one: &&Profile| kind.as_ref().is_none_or(|kind| one.kind() == kind);
        let all: Vec<&Profile> = self.profiles.all().filter(is_one).collect();
        let total = all.len();
        let items = all.into_iter().skip(before).take(limit.min(size));
        let items: Vec<Value> = items
            .map(|one| json!({ "href": format!("{collection}/{}", one.instance()) }))
            .collect();
        let body = json!({
            "_links": { "self": { "href": collection }, "item": items },
            "totalItemCount": total,
        });
        let mut response = respond(StatusCode::OK, &body);
        let hal = HeaderValue::from_static(HAL_JSON);
        response.headers_mut().insert(CONTENT_TYPE, hal);
        Ok(response)
    }

    fn get(&self, asked: &Asked<'_>, id: &str) -> Result<Response, Refusal> {
        let profile = self.profiles.get(instance_of(id)?);
        let profile = profile.ok_or_else(|| no_instance(id))?;
        let wants_map = has_feature(asked.route.query("requester-features"), SERVICE_MAP);
        let document = shown(profile.document(asked.root), wants_map);
        Ok(respond(StatusCode::OK, &document))
    }

    /// Document of a request, as long as it may be.
    fn body(&mut self, asked: &Asked<'_>) -> Result<Value, Refusal> {
        self.bounded(asked.request.body().len())?;
        read(asked.request)
    }

    fn bounded(&mut self, octets: usize) -> Result<(), Refusal> {
        if octets <= DOCUMENT_OCTETS {
            return Ok(());
        }
        self.counters.too_long += 1;
        let detail = format!("a document has at most {DOCUMENT_OCTETS} octets");
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Err(refuse(status, "INVALID_MSG_FORMAT", &detail).into())
    }

    /// NFRegister (5.2.2.2), or NFUpdate by a whole profile (5.2.2.3.1).
    fn put(&mut self, asked: &Asked<'_>, id: &str) -> Result<Response, Refusal> {
        let mut document = self.body(asked)?;
        let expected = "the UUID of the path";
        let same = |value: &Value| {
            let own = values::instance(value.as_str()?)?;
            (values::instance(id)? == own).then_some(own)
        };
        let instance = member(&document, "/nfInstanceId", expected, same)?;
        let facts = Facts::read(&document)?;
        let members = document.as_object_mut();
        let members = members.ok_or_else(|| refuse_member(false, "/", "an object"))?;
        let takes_changes = members.remove(CHANGES_SUPPORTED) == Some(true.into());
        members.remove(CHANGES);
        let heart_beat_s = self.config.heart_beat_s;
        let profile = Profile::of_document(asked.now, facts, &document, heart_beat_s);
        let taken = self.register(asked.now, profile);
        let was_there = *taken.as_ref().unwrap_or(&false);
        let failure = self.counted(taken.map(|_| ()), |counters| &mut counters.registrations);
        if failure.is_some() {
            return Err(tell(Problem::NoResources).into());
        }
        let kept = self
            .profiles
            .get(instance)
            .map(|one| one.document(asked.root));
        let kept = kept.unwrap_or_default();
        let mut body = if takes_changes { changes(&kept) } else { kept };
        if self.needs_tokens {
            tell_tokens(&mut body);
        }
        if was_there {
            return Ok(respond(StatusCode::OK, &body));
        }
        let uri = format!("{}{INSTANCES}/{instance}", asked.root);
        Ok(with_location(respond(StatusCode::CREATED, &body), &uri))
    }

    /// NFUpdate (5.2.2.3): a heart-beat, or other members.
    fn patch(&mut self, asked: &Asked<'_>, id: &str) -> Result<Response, Refusal> {
        let instance = instance_of(id)?;
        let operations = self.body(asked)?;
        let Some(before) = self.profiles.get(instance).cloned() else {
            self.counters.unknown += 1;
            return Err(no_instance(id));
        };
        let fixed = patch::paths(&operations).find(|path| FIXED.contains(path));
        if let Some(path) = fixed {
            let detail = format!("{path} cannot be changed");
            let status = StatusCode::FORBIDDEN;
            return Err(refuse(status, "MODIFICATION_NOT_ALLOWED", &detail).into());
        }
        let mut document = before.document(asked.root);
        // One that is heard of again stands as it says itself.
        if before.facts.is_registered {
            document["nfStatus"] = "REGISTERED".into();
        }
        patch::apply_to(&mut document, &operations, &MAY_BE_ABSENT).map_err(patch::wrong)?;
        let (facts, document) = self.patched(&document, instance)?;
        let heart_beat_s = before.heart_beat_s() as u16;
        let profile = Profile::of_document(asked.now, facts, &document, heart_beat_s);
        let is_beat = patch::paths(&operations).all(|path| matches!(path, "/nfStatus" | "/load"));
        let is_changed = !is_beat || profile.status != before.status;
        let taken = self.profiles.register(profile);
        let failure = self.counted(taken.map(|_| ()), |counters| &mut counters.heart_beats);
        if failure.is_some() {
            return Err(tell(Problem::NoResources).into());
        }
        if is_changed {
            self.tell(asked.now, Event::ProfileChanged, instance, Some(&before));
        }
        if is_beat {
            return Ok(respond_empty(StatusCode::NO_CONTENT));
        }
        let kept = self
            .profiles
            .get(instance)
            .map(|one| one.document(asked.root));
        Ok(respond(StatusCode::OK, &kept.unwrap_or_default()))
    }

    /// Document of a patch, if it is one that can be registered.
    fn patched(
        &mut self,
        document: &Value,
        instance: NfInstance,
    ) -> Result<(Facts, Value), Refusal> {
        let text = document.to_string();
        self.bounded(text.len())?;
        // What was put together may be deeper than what can be read.
        let document: Value = serde_json::from_str(&text).map_err(|e| {
            refuse(
                StatusCode::BAD_REQUEST,
                "INVALID_MSG_FORMAT",
                &e.to_string(),
            )
        })?;
        let facts = Facts::read(&document)?;
        if facts.instance != instance {
            return Err(refuse_member(false, "/nfInstanceId", "that of the path").into());
        }
        Ok((facts, document))
    }

    fn delete(&mut self, asked: &Asked<'_>, id: &str) -> Result<Response, Refusal> {
        let gone = self.deregister(asked.now, instance_of(id)?);
        let failure = self.counted(gone, |counters| &mut counters.deregistrations);
        match failure {
            None => Ok(respond_empty(StatusCode::NO_CONTENT)),
            Some(_) => Err(no_instance(id)),
        }
    }
}

/// Tells whoever registers that services need tokens, as free5GC's functions want to hear it.
fn tell_tokens(document: &mut Value) {
    let mut custom = document.get("customInfo").cloned().unwrap_or_default();
    if custom.is_null() || custom.is_object() {
        custom["oauth2"] = true.into();
        document["customInfo"] = custom;
    }
}

/// Mandatory members, and those that the NRF has changed (5.2.2.2.2).
fn changes(document: &Value) -> Value {
    let mut changes = json!({ CHANGES: true });
    for name in ["nfInstanceId", "nfType", "nfStatus", "heartBeatTimer"] {
        if let Some(value) = document.get(name) {
            changes[name] = value.clone();
        }
    }
    changes
}
