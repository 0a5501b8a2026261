//! Services that functions of each type produce (NFService: TS 29.510, 6.1.6.2.3), and those of a profile.

use serde_json::{Map, Value, json};
use sluice_sbi::Nf;

use crate::directory::root_of;

/// Name and version of each service that our functions of a type serve.
const SERVED: &[(Nf, &[(&str, &str)])] = &[
    (
        Nf::Amf,
        &[("namf-comm", "v1"), ("namf-evts", "v1"), ("namf-mt", "v1")],
    ),
    (Nf::Ausf, &[("nausf-auth", "v1")]),
    (
        Nf::Udm,
        &[("nudm-ueau", "v1"), ("nudm-sdm", "v2"), ("nudm-uecm", "v1")],
    ),
    (Nf::Udr, &[("nudr-dr", "v2")]),
    (
        Nf::Smf,
        &[("nsmf-pdusession", "v1"), ("nsmf-event-exposure", "v1")],
    ),
    (
        Nf::Nssf,
        &[
            ("nnssf-nsselection", "v2"),
            ("nnssf-nssaiavailability", "v1"),
        ],
    ),
    (
        Nf::Pcf,
        &[
            ("npcf-am-policy-control", "v1"),
            ("npcf-smpolicycontrol", "v1"),
            ("npcf-policyauthorization", "v1"),
        ],
    ),
    (Nf::Nrf, &[("nnrf-nfm", "v1"), ("nnrf-disc", "v1")]),
];

/// Name and version of each service that our functions of this type serve.
pub fn served(nf: Nf) -> &'static [(&'static str, &'static str)] {
    let mut all = SERVED.iter();
    all.find(|(one, _)| *one == nf)
        .map_or(&[], |(_, services)| services)
}

/// The same as members of a profile, at this API root if there is one.
pub(crate) fn services_json(nf: Nf, root: Option<&str>) -> Value {
    let service = |(name, version): &(&str, &str)| {
        let mut service = json!({
            "serviceInstanceId": name,
            "serviceName": name,
            "versions": [{ "apiVersionInUri": version, "apiFullVersion": format!("{}.0.0", &version[1..]) }],
            "scheme": root.and_then(|root| root.split_once("://")).map_or("http", |(scheme, _)| scheme),
            "nfServiceStatus": "REGISTERED",
        });
        if let Some(end_point) = root.and_then(end_point) {
            service["ipEndPoints"] = json!([end_point.json()]);
            if end_point.address.is_none() {
                service["fqdn"] = end_point.fqdn.into();
            }
        }
        service
    };
    served(nf).iter().map(service).collect()
}

/// Host and port of an API root.
pub(crate) struct EndPoint {
    /// Member and address, of a host that is one.
    address: Option<(&'static str, String)>,
    fqdn: String,
    port: u16,
}

impl EndPoint {
    fn json(&self) -> Value {
        let mut end_point = Map::new();
        if let Some((member, address)) = &self.address {
            end_point.insert((*member).to_owned(), address.as_str().into());
        }
        end_point.insert("transport".to_owned(), "TCP".into());
        end_point.insert("port".to_owned(), self.port.into());
        end_point.into()
    }

    /// Member of the whole profile that tells the host, and its value.
    pub(crate) fn of_profile(&self) -> (&'static str, Value) {
        match &self.address {
            Some(("ipv6Address", address)) => ("ipv6Addresses", json!([address])),
            Some((_, address)) => ("ipv4Addresses", json!([address])),
            None => ("fqdn", self.fqdn.as_str().into()),
        }
    }
}

/// End point of an API root, `https://[::1]:443`; none if that is not one.
pub(crate) fn end_point(root: &str) -> Option<EndPoint> {
    let uri: http::Uri = root.parse().ok()?;
    let default = match uri.scheme_str()? {
        "https" => 443,
        _ => 80,
    };
    let fqdn = uri.host()?.to_owned();
    let host = fqdn.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse().ok().map(|address| match address {
        core::net::IpAddr::V4(address) => ("ipv4Address", address.to_string()),
        core::net::IpAddr::V6(address) => ("ipv6Address", address.to_string()),
    });
    let port = uri.port_u16().unwrap_or(default);
    Some(EndPoint {
        address,
        fqdn,
        port,
    })
}

/// Services of a profile, of its list (nfServices) or of its map by identifiers (nfServiceList).
pub fn services_of(profile: &Value) -> Vec<&Value> {
    let list = profile.get("nfServices").and_then(Value::as_array);
    let map = profile.get("nfServiceList").and_then(Value::as_object);
    let of_list = list.into_iter().flatten();
    let of_map = map.into_iter().flat_map(Map::values);
    of_list.chain(of_map).collect()
}

/// A profile whose services tell their whole API roots as `apiPrefix`, where they tell none: free5GC's consumers know no
/// other.
pub fn with_roots(profile: Value) -> Value {
    let mut whole = profile.clone();
    let put = |service: &mut Value| {
        if service.get("apiPrefix").is_none()
            && let Some(root) = root_of(&profile, service)
        {
            service["apiPrefix"] = root.into();
        }
    };
    let list = whole.get_mut("nfServices").and_then(Value::as_array_mut);
    list.into_iter().flatten().for_each(put);
    let map = whole
        .get_mut("nfServiceList")
        .and_then(Value::as_object_mut);
    map.into_iter().flat_map(Map::values_mut).for_each(put);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_services_at_a_root() {
        for nf in Nf::ALL {
            let services = services_json(nf, Some("http://127.0.0.1:7777"));
            let services = services.as_array().expect("a list");
            assert!(!services.is_empty(), "{nf}");
            for service in services {
                // Mandatory members (TS 29.510, 6.1.6.2.3).
                for member in ["serviceInstanceId", "serviceName", "versions", "scheme"] {
                    assert!(!service[member].is_null(), "{nf} {member}");
                }
                assert_eq!(service["nfServiceStatus"], "REGISTERED");
                let end_point = &service["ipEndPoints"][0];
                assert_eq!(end_point["ipv4Address"], "127.0.0.1");
                assert_eq!(end_point["port"], 7777);
            }
        }
        assert_eq!(
            services_json(Nf::Udr, None)[0]["versions"][0]["apiFullVersion"],
            "2.0.0"
        );
    }

    #[test]
    fn a_root_has_an_end_point() {
        let of = |root| end_point(root).map(|one| (one.of_profile(), one.port));
        let v6 = Some((("ipv6Addresses", json!(["::1"])), 443));
        assert_eq!(of("https://[::1]"), v6);
        let name = Some((("fqdn", "nrf.example".into()), 8000));
        assert_eq!(of("http://nrf.example:8000"), name);
        assert_eq!(of("nothing"), None);
    }

    #[test]
    fn roots_are_told_as_prefixes_where_there_is_none() {
        let root = "http://127.0.0.1:7777";
        let mut profile = json!({ "nfServices": services_json(Nf::Udm, Some(root)) });
        profile["nfServices"][1]["apiPrefix"] = "/own".into();
        profile["nfServiceList"] = json!({ "1": services_json(Nf::Udr, Some(root))[0] });
        let whole = with_roots(profile);
        assert_eq!(whole["nfServices"][0]["apiPrefix"], root);
        assert_eq!(whole["nfServices"][1]["apiPrefix"], "/own");
        assert_eq!(whole["nfServiceList"]["1"]["apiPrefix"], root);
    }
}
