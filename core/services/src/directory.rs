//! Directory of a carrier: which instances a type has, and at which API root each serves what (TS 29.510, 6.2; TS 29.501,
//! 4.4.1).

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use http::header::CACHE_CONTROL;
use http::{Method, StatusCode};
use serde_json::Value;
use sluice_sbi::{Nf, NfQuery, Requester};

use crate::body::{read_response, send_empty};
use crate::exchange::{Request, Response};
use crate::nnrf::services_of;

/// Seconds for which a result holds that does not say so.
const VALIDITY_S: u32 = 60;

/// Instances of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Instances that are registered, as the NRF has them.
    pub instances: Vec<FoundInstance>,
    /// Seconds for which that may be taken to be so.
    pub validity_s: u32,
}

/// An instance, and where it serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundInstance {
    /// Identity, a UUID.
    pub id: String,
    /// The one with the lowest is taken first.
    pub priority: u16,
    /// Weight among those of a priority.
    pub capacity: u16,
    /// Percent of what it can take.
    pub load: u8,
    /// API root of each service by its name, `http://127.0.0.1:7777`, with its prefix if it has one.
    pub roots: BTreeMap<String, String>,
}

impl FoundInstance {
    /// API root of a service; that of another one where the profile does not name it.
    pub fn root(&self, service: &str) -> Option<&str> {
        let own = self.roots.get(service).map(String::as_str);
        own.or_else(|| self.any_root())
    }

    /// API root of its first service.
    pub fn any_root(&self) -> Option<&str> {
        self.roots.values().next().map(String::as_str)
    }
}

/// Request for all instances of a type that are for this consumer.
pub fn query(target: Nf, requester: Requester) -> Request {
    let all = NfQuery::new(requester, target, None, None, None);
    crate::nnrf::query(&all).request
}

/// Request that a server answers if it is there, whatever the answer is.
pub fn look() -> Request {
    send_empty(Method::GET, "/").request
}

/// Instances of a response, which may be none; no list of a response that tells a problem.
pub fn read(response: &Response) -> Option<Found> {
    let body = read_response(response);
    let instances = match response.status() {
        StatusCode::OK if body.is_object() => instances_of(&body),
        StatusCode::NOT_FOUND => Vec::new(),
        _ => return None,
    };
    Some(Found {
        instances: instances.into_iter().filter_map(instance_of).collect(),
        validity_s: validity_s(response, &body),
    })
}

/// Profiles of a SearchResult; none where it has null in the place of a list.
pub(crate) fn instances_of(body: &Value) -> Vec<&Value> {
    let list = body.get("nfInstances").and_then(Value::as_array);
    list.into_iter().flatten().collect()
}

/// Seconds for which a result holds: by itself, or by its Cache-Control.
pub(crate) fn validity_s(response: &Response, body: &Value) -> u32 {
    let own = body.get("validityPeriod").and_then(Value::as_u64);
    let max_age = || {
        let header = response.headers().get(CACHE_CONTROL)?.to_str().ok()?;
        let mut directives = header.split(',');
        let age = directives.find_map(|one| one.trim().strip_prefix("max-age="))?;
        age.parse().ok()
    };
    let seconds = own.or_else(max_age).unwrap_or(VALIDITY_S.into());
    seconds.try_into().unwrap_or(u32::MAX)
}

/// Instance of a profile; none if it has no identity.
fn instance_of(profile: &Value) -> Option<FoundInstance> {
    let number = |name: &str| profile.get(name).and_then(Value::as_u64);
    let number = |name, default| {
        number(name).map_or(default, |number| number.try_into().unwrap_or(u16::MAX))
    };
    let mut roots = BTreeMap::new();
    for service in services_of(profile) {
        let name = service.get("serviceName").and_then(Value::as_str);
        let status = service.get("nfServiceStatus").and_then(Value::as_str);
        let is_there = status.is_none_or(|status| status == "REGISTERED");
        if let (Some(name), Some(root), true) = (name, root_of(profile, service), is_there) {
            roots.entry(name.to_owned()).or_insert(root);
        }
    }
    Some(FoundInstance {
        id: profile.get("nfInstanceId")?.as_str()?.to_owned(),
        priority: number("priority", 0),
        capacity: number("capacity", 100),
        load: number("load", 0).min(100) as u8,
        roots,
    })
}

/// API root of a service: of its own end point or name, else of those of the profile.
fn root_of(profile: &Value, service: &Value) -> Option<String> {
    let text = |of: &Value, name: &str| {
        let text = of.get(name)?.as_str().filter(|text| !text.is_empty())?;
        Some(text.to_owned())
    };
    let prefix = text(service, "apiPrefix").unwrap_or_default();
    // free5GC has the whole root as the prefix.
    if prefix.contains("://") {
        return Some(prefix.trim_end_matches('/').to_owned());
    }
    let scheme = text(service, "scheme").unwrap_or_else(|| "http".to_owned());
    let end_points = service.get("ipEndPoints").and_then(Value::as_array);
    let end_point = end_points.and_then(|all| all.first());
    let port = end_point.and_then(|one| one.get("port")?.as_u64());
    let first = |name: &str| {
        let list = profile.get(name)?.as_array()?;
        list.first()?.as_str().map(str::to_owned)
    };
    let v4 = |text: String| text.parse::<Ipv4Addr>().ok().map(|ip| ip.to_string());
    let v6 = |text: String| text.parse::<Ipv6Addr>().ok().map(|ip| format!("[{ip}]"));
    let of_end_point = |name| end_point.and_then(|one| text(one, name));
    let host = of_end_point("ipv4Address").and_then(v4);
    let host = host.or_else(|| of_end_point("ipv6Address").and_then(v6));
    let host = host.or_else(|| text(service, "fqdn"));
    let host = host.or_else(|| first("ipv4Addresses").and_then(v4));
    let host = host.or_else(|| first("ipv6Addresses").and_then(v6));
    let host = host.or_else(|| text(profile, "fqdn"))?;
    let authority = match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    let prefix = prefix.trim_matches('/');
    let separator = if prefix.is_empty() { "" } else { "/" };
    let root = format!("{scheme}://{authority}{separator}{prefix}");
    root.parse::<http::Uri>().is_ok().then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::respond;
    use serde_json::json;

    fn roots(profile: &Value) -> Vec<(String, String)> {
        let mut profile = profile.clone();
        profile["nfInstanceId"] = "7d6a81ab-1233-4efa-ac85-386132f3da5f".into();
        let result = json!({ "validityPeriod": 30, "nfInstances": [profile] });
        let found = read(&respond(StatusCode::OK, &result)).expect("a result");
        assert_eq!(found.validity_s, 30);
        found.instances[0].roots.clone().into_iter().collect()
    }

    fn of_service(profile: &Value, service: &Value) -> Option<String> {
        let mut profile = profile.clone();
        let mut service = service.clone();
        service["serviceName"] = "nudm-sdm".into();
        profile["nfServices"] = json!([service]);
        roots(&profile).pop().map(|(_, root)| root)
    }

    #[test]
    fn the_root_of_a_service_is_that_of_its_first_address() {
        let none = json!({});
        let host = json!({ "ipv4Addresses": ["127.0.0.1"], "fqdn": "udm.example" });
        let point = |point: Value| json!({ "scheme": "https", "ipEndPoints": [point] });
        let v4 = json!({ "ipv4Address": "127.0.0.3", "port": 8000 });
        for (profile, service, root) in [
            (&host, point(v4.clone()), Some("https://127.0.0.3:8000")),
            (
                &none,
                point(json!({ "ipv6Address": "::1" })),
                Some("https://[::1]"),
            ),
            // The port alone, with the addresses of the profile.
            (
                &host,
                point(json!({ "port": 9 })),
                Some("https://127.0.0.1:9"),
            ),
            (
                &host,
                json!({ "fqdn": "sdm.example" }),
                Some("http://sdm.example"),
            ),
            (
                &json!({ "fqdn": "udm.example" }),
                json!({}),
                Some("http://udm.example"),
            ),
            // A prefix, and the whole root in its place, as free5GC has it.
            (
                &host,
                json!({ "apiPrefix": "/a/b/" }),
                Some("http://127.0.0.1/a/b"),
            ),
            (
                &none,
                json!({ "apiPrefix": "http://127.0.0.3:8000" }),
                Some("http://127.0.0.3:8000"),
            ),
            (&none, json!({}), None),
            (&host, json!({ "nfServiceStatus": "SUSPENDED" }), None),
            (&none, point(json!({ "ipv4Address": "no address" })), None),
        ] {
            assert_eq!(of_service(profile, &service).as_deref(), root, "{service}");
        }
    }

    #[test]
    fn services_of_a_map_are_read_too() {
        let service = json!({ "serviceName": "nudr-dr", "ipEndPoints": [{ "ipv4Address": "127.0.0.20", "port": 7777 }] });
        let profile = json!({ "nfServiceList": { "29578552": service } });
        let expected = ("nudr-dr".to_owned(), "http://127.0.0.20:7777".to_owned());
        assert_eq!(roots(&profile), [expected]);
    }

    #[test]
    fn none_is_no_problem_and_a_problem_is_no_list() {
        let null = respond(StatusCode::OK, &json!({ "nfInstances": null }));
        let missing = respond(StatusCode::NOT_FOUND, &json!({}));
        for response in [null, missing] {
            assert_eq!(
                read(&response).map(|found| found.instances),
                Some(Vec::new())
            );
        }
        let refused = respond(StatusCode::FORBIDDEN, &json!({}));
        assert_eq!(read(&refused), None);
        let mut held = respond(StatusCode::OK, &json!({ "nfInstances": [] }));
        let age = http::HeaderValue::from_static("private, max-age=5");
        held.headers_mut().insert(CACHE_CONTROL, age);
        assert_eq!(read(&held).map(|found| found.validity_s), Some(5));
    }
}
