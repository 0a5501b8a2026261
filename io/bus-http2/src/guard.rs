//! Access to services (TS 33.501, 13.3 and 13.4; TS 29.500, 6.7.3): certificates hold for their NF instances, and services want
//! access tokens.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode};
use sluice_sbi::{Nf, Refused};
use sluice_sbi_http2::Peer;
use sluice_sbi_keys::{Audience, Claims, Verifier};
use sluice_services::problem::refuse;
use sluice_services::{Own, Request, Response, Route, values};

/// Peers that are remembered as told of, and when one that goes on is told of again.
const TOLD: usize = 256;
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// Cause of a refusal (TS 29.500, 5.2.7.2, has none of its own for tokens).
const CAUSE: &str = "UNAUTHORIZED";

/// NRF whose tokens are taken, if a key has signed them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Issuer {
    /// That of the core, once it is known.
    #[default]
    Own,
    /// Any that has a key: the name of another core's NRF is not known.
    Any,
    /// This instance.
    One(String),
}

/// Rules of a program for those that ask it.
#[derive(Debug, Default)]
pub struct Guard {
    /// Checks tokens, which every service then wants.
    verifier: Option<Verifier>,
    issuer: Issuer,
    /// Instances that pass on requests of others, by their certificates: an SCP, or a SEPP.
    relays: Vec<String>,
    /// A token whose audience is empty is for all producers, as those of free5GC's NRF are.
    takes_empty_audience: bool,
    counters: Counters,
    told: BTreeMap<(IpAddr, &'static str), Instant>,
    refused: Vec<Refused>,
}

/// Requests that were refused, by why, and tokens that were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Tokens that were checked and right.
    pub verified: u64,
    /// Requests with tokens that were known.
    pub known: u64,
    /// Requests without a token.
    pub missing: u64,
    /// Requests with a token that nobody who is trusted has signed, or that has no form.
    pub invalid: u64,
    /// Requests with a token of another issuer.
    pub issuer: u64,
    /// Requests with a token for another producer.
    pub audience: u64,
    /// Requests with a token for another service.
    pub scope: u64,
    /// Requests with a token of somebody else than the peer's certificate names.
    pub subject: u64,
    /// Requests in the name of an instance that the peer's certificate does not name.
    pub instance: u64,
}

/// Why a request is refused.
struct Why {
    status: StatusCode,
    /// Error of a token (RFC 6750, 3.1).
    error: Option<&'static str>,
    counter: fn(&mut Counters) -> &mut u64,
    kind: &'static str,
    detail: String,
    remedy: &'static str,
}

impl Why {
    fn unauthorized(detail: String) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            error: Some("invalid_token"),
            counter: |counters| &mut counters.invalid,
            kind: "invalid token",
            detail,
            remedy: "have it ask the NRF of this core for tokens, and name that NRF's public key in sbi.tokens.public",
        }
    }

    fn missing() -> Self {
        Self {
            error: None,
            counter: |counters| &mut counters.missing,
            kind: "no token",
            remedy: "have it ask the NRF of this core for tokens (POST /oauth2/token)",
            ..Self::unauthorized("the request has no access token".to_owned())
        }
    }

    fn issuer(issuer: &str) -> Self {
        Self {
            counter: |counters| &mut counters.issuer,
            kind: "token of another NRF",
            remedy: "name its NRF in sbi.tokens.issuer, if it is to give out tokens for this core",
            ..Self::unauthorized(format!(
                "the token is of {issuer}, which is not the NRF of this core"
            ))
        }
    }

    fn audience(kind: &str) -> Self {
        Self {
            counter: |counters| &mut counters.audience,
            kind: "token for another producer",
            remedy: "have it ask for tokens for the type, or the instance, that it asks",
            ..Self::unauthorized(format!("the token is not for this {kind}"))
        }
    }

    fn scope(service: &str) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            error: Some("insufficient_scope"),
            counter: |counters| &mut counters.scope,
            kind: "token for another service",
            detail: format!("the token is not for {service}"),
            remedy: "have it ask for tokens with the scope of the service that it asks",
        }
    }

    fn subject(subject: &str, names: &str) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            error: None,
            counter: |counters| &mut counters.subject,
            kind: "token of another instance",
            detail: format!("the token is of {subject}, and the certificate {names}"),
            remedy: "give each function a certificate that names its NF instance (sluice certificates), or name a relay \
                     in sbi.tokens.relays",
        }
    }

    fn instance(instance: &str, names: &str) -> Self {
        Self {
            counter: |counters| &mut counters.instance,
            kind: "another instance",
            detail: format!("the request is of {instance}, and the certificate {names}"),
            ..Self::subject("", "")
        }
    }
}

impl Guard {
    /// Wants tokens that these keys have signed.
    pub fn require(&mut self, verifier: Verifier, issuer: Issuer, relays: Vec<String>) {
        self.verifier = Some(verifier);
        (self.issuer, self.relays) = (issuer, relays);
    }

    /// Takes tokens with an empty audience for any producer, by their scope alone.
    pub fn take_empty_audience(&mut self) {
        self.takes_empty_audience = true;
    }

    /// Whether services want tokens.
    pub fn requires_tokens(&self) -> bool {
        self.verifier.is_some()
    }

    /// Requests that were refused, and tokens.
    pub fn counters(&self) -> Counters {
        let (verified, known) = self.verifier.as_ref().map_or((0, 0), Verifier::counts);
        Counters {
            verified,
            known,
            ..self.counters
        }
    }

    /// Refusals that operators are to hear of, since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        let trouble = self.verifier.as_mut().and_then(Verifier::take_trouble);
        self.refused.extend(trouble.map(|why| Refused {
            who: "sbi.tokens.public".to_owned(),
            supi: None,
            request: "Reading of keys",
            cause: "the keys of before go on".to_owned(),
            why: why.to_string(),
            remedy: "write public keys of the NRF there (PEM), of P-256 or RSA",
        }));
        std::mem::take(&mut self.refused)
    }

    /// Takes a request, or gives the response that refuses it.
    pub(crate) fn check(
        &mut self,
        request: &Request,
        peer: &Peer,
        own: &Own,
        now_unix_s: u64,
    ) -> Result<(), Box<Response>> {
        if self.verifier.is_none() && peer.instances.is_none() {
            return Ok(());
        }
        let subject = Subject::of(request);
        let may = self.may_ask(request, &subject, peer, own, now_unix_s);
        may.map_err(|why| Box::new(self.refuse(why, &subject, peer)))
    }

    fn may_ask(
        &mut self,
        request: &Request,
        subject: &Subject,
        peer: &Peer,
        own: &Own,
        now_unix_s: u64,
    ) -> Result<(), Why> {
        if let Some(instance) = &subject.instance {
            return self.may_be(instance, peer);
        }
        let (Some(verifier), Some(service)) = (&mut self.verifier, &subject.service) else {
            return Ok(());
        };
        let token = bearer(request).ok_or_else(Why::missing)?;
        let claims = verifier.check(token, now_unix_s);
        let claims: Rc<Claims> = claims.map_err(|wrong| Why::unauthorized(wrong.to_string()))?;
        let own_nrf = own.instances.get(&Nf::Nrf).map(ToString::to_string);
        let issuer = match &self.issuer {
            Issuer::Own => own_nrf.as_ref(),
            Issuer::Any => None,
            Issuer::One(nrf) => Some(nrf),
        };
        if issuer.is_some_and(|nrf| *nrf != claims.issuer) {
            return Err(Why::issuer(&claims.issuer));
        }
        let kind = type_of(service);
        let is_empty = claims.audience == Audience::Type(String::new());
        let is_taken = is_empty && self.takes_empty_audience;
        if !is_for(&claims, if is_taken { "" } else { &kind }, own) {
            return Err(Why::audience(&kind));
        }
        if !claims.has_scope(service) {
            return Err(Why::scope(service));
        }
        let Some(names) = &peer.instances else {
            return Ok(());
        };
        let is_named = |id: &String| *id == claims.subject || self.relays.contains(id);
        match names.iter().any(is_named) {
            true => Ok(()),
            false => Err(Why::subject(&claims.subject, &named(names))),
        }
    }

    /// Whether a peer may speak in the name of an instance. Without a certificate that names one nobody knows.
    fn may_be(&self, instance: &str, peer: &Peer) -> Result<(), Why> {
        let Some(names) = &peer.instances else {
            return Ok(());
        };
        let is_old = names.is_empty() && !self.requires_tokens();
        let is_named = |id: &String| id == instance || self.relays.contains(id);
        if is_old || names.iter().any(is_named) {
            return Ok(());
        }
        Err(Why::instance(instance, &named(names)))
    }

    fn refuse(&mut self, why: Why, subject: &Subject, peer: &Peer) -> Response {
        *(why.counter)(&mut self.counters) += 1;
        self.tell(&why, subject, peer);
        let mut response = refuse(why.status, CAUSE, &why.detail);
        let challenge = challenge(&why, subject.service.as_deref().unwrap_or("nnrf-nfm"));
        if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        response
    }

    /// Operators hear of each peer and reason once in a while.
    fn tell(&mut self, why: &Why, subject: &Subject, peer: &Peer) {
        let (now, key) = (Instant::now(), (peer.address.ip(), why.kind));
        self.told
            .retain(|_, told| now.duration_since(*told) < TOLD_AGAIN);
        if self.told.len() >= TOLD || self.told.contains_key(&key) {
            return;
        }
        self.told.insert(key, now);
        let first = peer.instances.as_ref().and_then(|all| all.first());
        let who = match first {
            Some(instance) => format!("{instance} at {}", peer.address.ip()),
            None => peer.address.ip().to_string(),
        };
        let error = why
            .error
            .map(|error| format!(" {error}"))
            .unwrap_or_default();
        self.refused.push(Refused {
            who,
            supi: None,
            request: "Service request",
            cause: format!("{}{error}", why.status.as_u16()),
            why: format!("{}: {}", subject.path, why.detail),
            remedy: why.remedy,
        });
    }
}

/// Challenge of a response (RFC 6750, 3); none of one to whom no other token would help.
fn challenge(why: &Why, service: &str) -> Option<String> {
    let (service, detail) = (quotable(service), quotable(&why.detail));
    let realm = format!("Bearer realm=\"{service}\"");
    match why.error {
        Some("insufficient_scope") => Some(format!(
            "{realm}, error=\"insufficient_scope\", scope=\"{service}\""
        )),
        Some(error) => Some(format!(
            "{realm}, error=\"{error}\", error_description=\"{detail}\""
        )),
        None if why.status == StatusCode::UNAUTHORIZED => Some(realm),
        None => None,
    }
}

/// Text as it may stand in quotes of a header.
fn quotable(text: &str) -> String {
    let is_plain = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    text.chars().filter(is_plain).collect()
}

/// Part of a sentence on the instances of a certificate.
fn named(names: &[String]) -> String {
    match names {
        [] => "names no instance".to_owned(),
        [one] => format!("names {one}"),
        [one, rest @ ..] => format!("names {one} and {} more", rest.len()),
    }
}

/// Token of a request.
fn bearer(request: &Request) -> Option<&str> {
    let text = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

/// Type of the producers of a service: `UDM` of `nudm-sdm`.
pub(crate) fn type_of(service: &str) -> String {
    let name = service.strip_prefix('n').unwrap_or(service);
    let name = name.split('-').next().unwrap_or_default();
    name.to_ascii_uppercase()
}

/// Whether a token is for the function of this type.
fn is_for(claims: &Claims, kind: &str, own: &Own) -> bool {
    let plmn = claims.producer_plmn.as_ref();
    let is_of_plmn = plmn.is_none_or(|plmn| *plmn == own.plmn.to_string());
    let is_it = match &claims.audience {
        Audience::Type(audience) => audience == kind,
        Audience::Instances(all) => {
            let mut its = own.instances.iter();
            let its = its.find(|(nf, _)| nf.to_string() == kind);
            its.is_some_and(|(_, id)| all.contains(&id.to_string()))
        }
    };
    is_it && is_of_plmn
}

/// Subject of a request: what it is about.
struct Subject {
    path: String,
    /// Service that wants a token.
    service: Option<String>,
    /// Instance in whose name it is, which needs no token: a registration, or a request for a token.
    instance: Option<String>,
}

impl Subject {
    /// Of a request, as its path is decoded by whoever serves it.
    fn of(request: &Request) -> Self {
        let path = request.uri().path();
        let route = Route::of(request);
        let first = match &route {
            Some(route) => route.service.as_str(),
            None => path.split('/').nth(1).unwrap_or_default(),
        };
        let rest = route.as_ref().map(Route::parts).unwrap_or_default();
        let changes = [Method::PUT, Method::PATCH, Method::DELETE].contains(request.method());
        let instance = match (first, rest.as_slice()) {
            ("nnrf-nfm", ["nf-instances", id]) if changes => Some(normal(id)),
            ("oauth2", _) => client(request),
            _ => None,
        };
        Self {
            path: path.chars().take(128).collect(),
            service: needs_token(first).then(|| first.to_owned()),
            instance,
        }
    }
}

/// An identity as certificates have it here.
fn normal(id: &str) -> String {
    let instance = values::instance(id).map(|id| id.to_string());
    instance.unwrap_or_else(|| id.to_owned())
}

/// Whether requests whose path begins so want a token: all but the NRF's beginnings, and callbacks, whose URIs were given
/// to those alone that are to call (TS 33.501, 13.4.1.1).
pub(crate) fn needs_token(first: &str) -> bool {
    let is_open = matches!(first, "" | "oauth2" | "bootstrapping");
    !is_open && !first.ends_with("-callback")
}

/// Instance that asks for a token; none if it does not say, which the NRF refuses.
fn client(request: &Request) -> Option<String> {
    let mut form = form_urlencoded::parse(request.body());
    let id = form.find(|(name, _)| name == "nfInstanceId");
    id.map(|(_, id)| normal(&id))
}

#[cfg(test)]
mod tests;
