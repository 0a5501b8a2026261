//! Nnrf_NFDiscovery (TS 29.510, 5.3 and 6.2): searches by query parameters.

use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use sluice_services::body::respond;
use sluice_services::nnrf::{NoProfile, services_of, with_roots};
use sluice_services::problem::refuse;
use sluice_services::{Response, not_allowed, unknown};

use crate::Nrf;
use crate::document::shown;
use crate::matching::Forbidden;
use crate::profiles::Profile;
use crate::query::Query;
use crate::serve::{Asked, Refusal};

impl Nrf {
    pub(crate) fn search(&mut self, asked: &Asked<'_>) -> Result<Response, Refusal> {
        match (asked.route.method.as_str(), asked.route.parts().as_slice()) {
            ("GET", ["nf-instances"]) => {}
            (_, ["nf-instances"]) => return Err(not_allowed().into()),
            _ => return Err(unknown().into()),
        }
        let query = Query::read(asked.route)?;
        let validity_s = self.config.validity_s;
        let found = self.find(&query).map_err(|Forbidden| {
            let detail = format!("no {} is for the one that asks", query.target);
            Box::new(refuse(StatusCode::FORBIDDEN, "UNAUTHORIZED", &detail))
        })?;
        let mut result = json!({ "validityPeriod": validity_s });
        match found {
            Ok(found) => {
                let found = found.into_iter();
                let found = found.map(|one| document_for(one, &query, asked.root));
                let found = found.map(|one| match asked.route.is_of_free5gc {
                    true => with_roots(one),
                    false => one,
                });
                result["nfInstances"] = found.collect();
            }
            Err(reason) => {
                result["nfInstances"] = json!([]);
                result["noProfileMatchInfo"] = NoProfile(reason).info(asked.route.query("tai"));
            }
        }
        let mut response = respond(StatusCode::OK, &result);
        if let Ok(age) = HeaderValue::from_str(&format!("max-age={validity_s}")) {
            response.headers_mut().insert(CACHE_CONTROL, age);
        }
        Ok(response)
    }
}

/// Document of an instance for the one that asks, with the services alone that are for it, and that it asks for.
fn document_for(profile: &Profile, query: &Query, root: &str) -> Value {
    let mut document = profile.document(root);
    let is_for = |service: &Value| {
        let name = service.get("serviceName").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let is_asked = query.services.is_empty() || query.services.iter().any(|one| one == name);
        is_asked && profile.facts.has_service(name, &query.consumer)
    };
    debug_assert_eq!(services_of(&document).len(), profile.facts.services.len());
    if let Some(Value::Array(list)) = document.get_mut("nfServices") {
        list.retain(is_for);
    }
    if let Some(Value::Object(map)) = document.get_mut("nfServiceList") {
        map.retain(|_, service| is_for(service));
    }
    shown(document, query.wants_map)
}
