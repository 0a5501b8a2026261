//! Access tokens (Nnrf_AccessToken: TS 29.510, 5.4 and 6.3; RFC 6749, RFC 7515): claims that the NRF signs for a consumer.

use std::fmt;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{NfInstance, Problem};
use sluice_services::body::respond;
use sluice_services::problem::tell;
use sluice_services::{Response, not_allowed, values};

use crate::Nrf;
use crate::document::{Allowed, Facts};
use crate::nf_type::NfType;
use crate::query::Consumer;
use crate::serve::{Asked, Refusal};

/// Seconds for which a token holds.
const EXPIRES_IN_S: u64 = 1_000;

/// Most octets of a request.
const OCTETS: usize = 8 * 1_024;

const FORM: &str = "application/x-www-form-urlencoded";

/// Key that signs.
pub trait Sign: Send {
    /// Name of its algorithm, `ES256`.
    fn algorithm(&self) -> &'static str;

    /// Signature of octets as JWS has it (RFC 7518, 3.4: both numbers, 64 octets, for ES256); none if it cannot sign.
    fn sign(&self, octets: &[u8]) -> Option<Vec<u8>>;
}

/// Signing keys of an NRF.
pub struct Signer {
    /// Key for all producers, but for those of `other`.
    pub key: Box<dyn Sign>,
    /// Key for producers that check no other algorithm.
    pub other: Option<OtherKey>,
}

/// Key for some producers alone.
pub struct OtherKey {
    /// Key.
    pub key: Box<dyn Sign>,
    /// Types and instances of the producers, by their names and identities.
    pub targets: Vec<String>,
}

impl fmt::Debug for Signer {
    /// Nothing of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.key.algorithm())
    }
}

impl Signer {
    /// JWS in its compact form for one of these producers; none if the key cannot sign.
    fn token(&self, claims: &Value, producers: &[String]) -> Option<String> {
        let is_its = |one: &&OtherKey| {
            let mut targets = one.targets.iter();
            targets.any(|target| producers.iter().any(|one| one.eq_ignore_ascii_case(target)))
        };
        let other = self.other.as_ref().filter(is_its);
        let key = other.map_or(&self.key, |other| &other.key);
        let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
        let [header, claims] = [&header, claims].map(|one| base64url(one.to_string().as_bytes()));
        let signed = format!("{header}.{claims}");
        let signature = base64url(&key.sign(signed.as_bytes())?);
        Some(format!("{signed}.{signature}"))
    }
}

/// Octets in base64url without padding (RFC 4648, 5).
fn base64url(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in octets.chunks(3) {
        let octet = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = octet(0) << 16 | octet(1) << 8 | octet(2);
        for at in 0..=group.len() {
            let digit = bits >> (18 - 6 * at) & 0x3f;
            text.push(char::from(DIGITS[digit as usize]));
        }
    }
    text
}

/// Response that refuses a token (AccessTokenErr: 6.3.5.2.5).
fn error(name: &str, why: &str) -> Refusal {
    let body = json!({ "error": name, "error_description": why });
    uncached(respond(StatusCode::BAD_REQUEST, &body)).into()
}

/// Responses of this service are not kept by anybody on their way (RFC 6749, 5.1).
fn uncached(mut response: Response) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response
}

impl Nrf {
    /// Gives out tokens that are signed so from now on; without a signer it gives out none.
    pub fn sign_with(&mut self, signer: Option<Signer>) {
        self.signer = signer;
    }

    /// Whether services of the NRF itself take requests with tokens alone, which it then tells those that ask.
    pub fn require_tokens(&mut self, required: bool) {
        self.needs_tokens = required;
    }

    /// AccessTokenReq
    pub(crate) fn token(&mut self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        if asked.route.method != Method::POST {
            return Err(not_allowed().into());
        }
        let given = self.give_token(asked);
        match &given {
            Ok(_) => self.counters.tokens += 1,
            Err(_) => self.counters.tokens_refused += 1,
        }
        given
    }

    fn give_token(&self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        let request = asked.request;
        let (Some(signer), Some(issuer)) = (&self.signer, self.instance) else {
            return Err(error("invalid_request", "this NRF gives out no tokens"));
        };
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok());
        let is_form = kind.is_some_and(|kind| kind.starts_with(FORM));
        if !is_form || request.body().len() > OCTETS {
            return Err(error("invalid_request", "the body is no form"));
        }
        let form: Vec<(String, String)> = form_urlencoded::parse(request.body())
            .into_owned()
            .collect();
        let member = |name: &str| {
            let one = form.iter().find(|(one, _)| one == name);
            one.map(|(_, value)| value.as_str())
        };
        match member("grant_type") {
            Some("client_credentials") => {}
            Some(_) => {
                return Err(error(
                    "unsupported_grant_type",
                    "expected client_credentials",
                ));
            }
            None => return Err(error("invalid_request", "grant_type is missing")),
        }
        let client = self.client(member("nfInstanceId"), member("nfType"))?;
        let scope = member("scope").filter(|scope| !scope.is_empty());
        let scope = scope.ok_or_else(|| error("invalid_scope", "scope is missing"))?;
        let audience = self.audience(scope, &client.1, &member)?;
        let producers = self.producers(&member);
        let claims = json!({
            "iss": issuer.to_string(),
            "sub": client.0.to_string(),
            "aud": audience,
            "scope": scope,
            "exp": asked.now.unix_s + EXPIRES_IN_S,
        });
        let token = signer.token(&claims, &producers);
        let token = token.ok_or_else(|| Box::new(tell(Problem::NoResources)))?;
        let body = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": EXPIRES_IN_S,
            "scope": scope,
        });
        Ok(uncached(respond(StatusCode::OK, &body)))
    }

    /// The one that asks, which is registered as what it says.
    fn client(
        &self,
        id: Option<&str>,
        kind: Option<&str>,
    ) -> Result<(NfInstance, Consumer), Refusal> {
        let wrong = || error("invalid_client", "no such instance is registered");
        let id = id.ok_or_else(|| error("invalid_request", "nfInstanceId is missing"))?;
        let profile = values::instance(id).and_then(|id| self.profiles.get(id));
        let profile = profile.ok_or_else(wrong)?;
        if kind.is_some_and(|kind| kind != profile.kind().name()) {
            return Err(wrong());
        }
        let slices = profile.parts().iter().flat_map(|part| part.served.slices());
        let consumer = Consumer {
            kind: profile.kind().clone(),
            slices: slices.copied().collect(),
            plmns: profile.plmns().to_vec(),
        };
        Ok((profile.instance(), consumer))
    }

    /// Type and instance of the producers of a token, as far as they are known.
    fn producers<'a>(&self, member: &impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
        let kind = member("targetNfType").map(str::to_owned);
        let instance = member("targetNfInstanceId");
        let profile = instance.and_then(|id| self.profiles.get(values::instance(id)?));
        let of_profile = profile.map(|profile| profile.kind().name().to_owned());
        let instance = instance.map(str::to_owned);
        kind.into_iter().chain(instance).chain(of_profile).collect()
    }

    /// Audience of a token: an instance, or a type that has one with all of these services for the one that asks.
    fn audience<'a>(
        &self,
        scope: &str,
        consumer: &Consumer,
        member: &impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Value, Refusal> {
        let invalid = |why: &str| error("invalid_scope", why);
        let instance = member("targetNfInstanceId");
        let kind = member("targetNfType").and_then(NfType::new);
        if instance.is_none() && kind.is_none() {
            return Err(error("invalid_request", "targetNfType is missing"));
        }
        // Services of the NRF itself are for all, as it is registered nowhere (6.3.5.2.2).
        let is_own = |service: &str| service.starts_with("nnrf-");
        let is_nrf = kind == Some(NfType::from(sluice_sbi::Nf::Nrf));
        let is_served = if is_nrf && scope.split(' ').all(is_own) {
            true
        } else {
            let mut producers = self.profiles.all().filter(|one| {
                let id = one.instance().to_string();
                instance.is_none_or(|instance| instance == id)
                    && kind.as_ref().is_none_or(|kind| one.kind() == kind)
            });
            producers.any(|one| {
                let consumer = &everywhere(consumer, &one.facts);
                let mut services = scope.split(' ');
                one.facts.lets(consumer)
                    && services.all(|service| {
                        // A scope of one operation begins with the name of its service.
                        let service = service.split(':').next().unwrap_or_default();
                        one.facts.has_service(service, consumer)
                    })
            })
        };
        if !is_served {
            return Err(invalid("no instance has these services for this client"));
        }
        Ok(match (instance, kind) {
            (Some(instance), _) => json!([instance]),
            (None, kind) => kind.map_or(Value::Null, |kind| kind.name().into()),
        })
    }
}

/// A consumer whose profile has no slices, or no PLMNs, is of all that the producer knows (6.1.6.2.2).
fn everywhere(consumer: &Consumer, producer: &Facts) -> Consumer {
    let mut consumer = consumer.clone();
    let services = producer.services.iter().map(|service| &service.allowed);
    let all: Vec<&Allowed> = services.chain([&producer.allowed]).collect();
    if consumer.slices.is_empty() {
        consumer.slices = all.iter().flat_map(|one| &one.slices).copied().collect();
    }
    if consumer.plmns.is_empty() {
        consumer.plmns = all.iter().flat_map(|one| &one.plmns).copied().collect();
    }
    consumer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_digits_of_base64url() {
        // RFC 4648, 10, and both digits that differ from base64.
        for (octets, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64url(octets.as_bytes()), text);
        }
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }
}
