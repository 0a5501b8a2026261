//! Access tokens of a program's functions (Nnrf_AccessToken: TS 29.510, 5.4.2.2), one for each producer's type and service:
//! asked for once by all requests that need it, kept until it ends, and asked for anew before.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use serde_json::Value;
use sluice_sbi::{Nf, NfInstance, Refused};
use sluice_services::body::read_response;
use sluice_services::{Request, Response, Route};

use crate::guard::{needs_token, type_of};

/// Path of the token endpoint.
const ENDPOINT: &str = "/oauth2/token";

/// Seconds for which a token holds that does not say so.
const HOLDS_S: u64 = 60;

/// Part of a token's time after which another one is asked for.
const RENEWED_AFTER: (u32, u32) = (3, 4);

/// Time between two questions while there is no answer.
const AGAIN: Duration = Duration::from_secs(1);

/// Most requests that wait for tokens.
const WAITING: usize = 1_024;

/// When a refusal that goes on is told of again, and how long after the start none is: functions register meanwhile.
const TOLD_AGAIN: Duration = Duration::from_secs(60);
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// Token of a consumer for a service of producers of a type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    consumer: Nf,
    target: String,
    service: String,
}

impl Key {
    /// Function whose token it is.
    pub fn consumer(&self) -> Nf {
        self.consumer
    }
}

/// Request that waits for its token.
pub(crate) struct Waiting {
    pub id: u64,
    pub root: String,
    pub request: Request,
    pub until: Instant,
}

/// A token, and requests that wait for it.
#[derive(Default)]
struct Slot {
    held: Option<Held>,
    waiting: Vec<Waiting>,
    is_asked: bool,
    /// When the next question may leave.
    next: Option<Instant>,
    told: Option<Instant>,
}

struct Held {
    value: HeaderValue,
    renewed_at: Instant,
    ends_at: Instant,
}

/// Step with a request that is to leave.
pub(crate) enum Step {
    /// The request leaves.
    Leave(Waiting),
    /// The request leaves, and another token is asked for meanwhile.
    LeaveAndAsk(Waiting, Key),
    /// The request waits; the token is asked for.
    Ask(Key),
    /// The request waits for a token that was asked for.
    Wait,
    /// Too many wait.
    Full(u64),
}

/// Questions for tokens, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Questions that left.
    pub asked: u64,
    /// Questions that the NRF refused, or did not answer.
    pub refused: u64,
}

/// Tokens of a program.
pub struct Wallet {
    begun: Instant,
    slots: BTreeMap<Key, Slot>,
    waiting: usize,
    counters: Counters,
    /// When it was told that a producer does not take a token of a function.
    rejections: BTreeMap<Nf, Option<Instant>>,
    refused: Vec<Refused>,
}

impl Wallet {
    /// Without a token yet.
    pub fn new(now: Instant) -> Self {
        Self {
            begun: now,
            slots: BTreeMap::new(),
            waiting: 0,
            rejections: BTreeMap::new(),
            counters: Counters::default(),
            refused: Vec::new(),
        }
    }

    /// Questions.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Refusals that operators are to hear of, since the last call.
    pub(crate) fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Has a request of a function leave with its token, or wait for it.
    pub(crate) fn send(&mut self, consumer: Nf, mut waiting: Waiting, now: Instant) -> Step {
        let Some(service) = service_of(&waiting.request) else {
            return Step::Leave(waiting);
        };
        let (target, is_full) = (type_of(&service), self.waiting >= WAITING);
        let key = Key {
            consumer,
            target,
            service,
        };
        let slot = self.slots.entry(key.clone()).or_default();
        let held = slot.held.as_ref().filter(|held| now < held.ends_at);
        let may_ask = !slot.is_asked && slot.next.is_none_or(|next| next <= now);
        if let Some(held) = held {
            let asks = may_ask && held.renewed_at <= now;
            let value = held.value.clone();
            waiting.request.headers_mut().insert(AUTHORIZATION, value);
            slot.is_asked |= asks;
            return match asks {
                true => Step::LeaveAndAsk(waiting, key),
                false => Step::Leave(waiting),
            };
        }
        if is_full {
            return Step::Full(waiting.id);
        }
        self.waiting += 1;
        slot.waiting.push(waiting);
        if std::mem::replace(&mut slot.is_asked, true) {
            Step::Wait
        } else {
            Step::Ask(key)
        }
    }

    /// Question for a token.
    pub(crate) fn question(&mut self, key: &Key, instance: NfInstance) -> Request {
        self.counters.asked += 1;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials")
            .append_pair("nfInstanceId", &instance.to_string())
            .append_pair("nfType", &key.consumer.to_string())
            .append_pair("targetNfType", &key.target)
            .append_pair("scope", &key.service);
        let mut request = Request::new(Bytes::from(form.finish()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = http::Uri::from_static(ENDPOINT);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
        request
    }

    /// The NRF has given a token, and these requests leave with it; or it has not, and they fail with what it says.
    pub(crate) fn heard(
        &mut self,
        key: &Key,
        answer: Result<&Response, String>,
        now: Instant,
    ) -> Result<Vec<Waiting>, (Vec<Waiting>, String)> {
        let slot = self.slots.entry(key.clone()).or_default();
        slot.is_asked = false;
        let mut waiting = std::mem::take(&mut slot.waiting);
        self.waiting -= waiting.len();
        let read = answer.and_then(|response| held(response, now));
        match read {
            Ok(held) => {
                for one in &mut waiting {
                    let value = held.value.clone();
                    one.request.headers_mut().insert(AUTHORIZATION, value);
                }
                slot.held = Some(held);
                Ok(waiting)
            }
            Err(why) => {
                slot.next = Some(now + AGAIN);
                self.counters.refused += 1;
                self.tell(key, &why, now);
                Err((waiting, why))
            }
        }
    }

    /// A producer does not take a token of this function: it asks for others.
    pub(crate) fn rejected(&mut self, consumer: Nf, response: &Response, now: Instant) {
        let its = self.slots.iter_mut();
        let its = its.filter(|(key, _)| key.consumer == consumer);
        its.for_each(|(_, slot)| slot.held = None);
        let told = self.rejections.entry(consumer).or_insert(None);
        if told.is_some_and(|told| now < told + TOLD_AGAIN) {
            return;
        }
        *told = Some(now);
        let body = read_response(response);
        let detail = ["detail", "error"]
            .into_iter()
            .find_map(|name| body.get(name)?.as_str());
        self.refused.push(Refused {
            who: consumer.to_string(),
            supi: None,
            request: "Service request",
            cause: response.status().as_u16().to_string(),
            why: format!("a producer does not take its token: {}", detail.unwrap_or("it does not say why")),
            remedy: "look whether the producer has the public key of the NRF that gives out the tokens",
        });
    }

    fn tell(&mut self, key: &Key, why: &str, now: Instant) {
        let slot = self.slots.entry(key.clone()).or_default();
        let is_told = slot.told.is_some_and(|told| now < told + TOLD_AGAIN);
        let registers = key.service.starts_with("nnrf-") && now < self.begun + BEGINS_WITHIN;
        if is_told || registers {
            return;
        }
        slot.told = Some(now);
        self.refused.push(Refused {
            who: key.consumer.to_string(),
            supi: None,
            request: "Access token",
            cause: why.split(':').next().unwrap_or_default().to_owned(),
            why: format!("for {} of the {}: {why}", key.service, key.target),
            remedy: "look whether the NRF has a key (sbi.tokens.key), and whether both functions are registered there",
        });
    }
}

/// Service of a request that wants a token, which may be behind a prefix of the API root (TS 29.501, 4.4.1).
pub(crate) fn service_of(request: &Request) -> Option<String> {
    let route = Route::of(request)?;
    let is_instance = route
        .segments
        .first()
        .is_some_and(|one| one == "nf-instances");
    let changes = [Method::PUT, Method::PATCH, Method::DELETE].contains(&route.method);
    // Whoever registers has none yet.
    let registers = route.service == "nnrf-nfm" && is_instance && changes;
    let segments: Vec<&str> = request.uri().path().split('/').collect();
    let is_version = |text: &str| {
        text.strip_prefix('v')
            .is_some_and(|n| n.parse::<u8>().is_ok())
    };
    let mut pairs = segments.windows(2).filter_map(|pair| match pair {
        [name, version] if name.starts_with('n') && is_version(version) => Some(*name),
        _ => None,
    });
    let service = pairs.next().filter(|name| needs_token(name))?;
    (!registers).then(|| service.to_owned())
}

/// Token of an answer.
fn held(response: &Response, now: Instant) -> Result<Held, String> {
    let body = read_response(response);
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    if response.status() != StatusCode::OK {
        let status = response.status().as_u16();
        return Err(match (text("error"), text("error_description")) {
            ("", _) => format!("status {status}"),
            (error, "") => error.to_owned(),
            (error, why) => format!("{error}: {why}"),
        });
    }
    let value = HeaderValue::from_str(&format!("Bearer {}", text("access_token")));
    let mut value = value
        .ok()
        .filter(|_| !text("access_token").is_empty())
        .ok_or("no token in the answer")?;
    value.set_sensitive(true);
    let holds = body.get("expires_in").and_then(Value::as_u64);
    let holds = Duration::from_secs(holds.unwrap_or(HOLDS_S).min(86_400));
    let (part, whole) = RENEWED_AFTER;
    Ok(Held {
        value,
        renewed_at: now + holds * part / whole,
        // Whoever checks it hears of it later, and by another clock.
        ends_at: now + holds - holds / 20,
    })
}

#[cfg(test)]
mod tests;
