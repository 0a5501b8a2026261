//! Indirect communication (TS 29.500, 6.10; TS 23.501, annex E): requests go to an SCP, which finds their receiver.

use std::collections::BTreeMap;

use http::header::LOCATION;
use http::{HeaderName, HeaderValue, StatusCode, Uri};
use sluice_ids::Plmn;
use sluice_sbi::{Message, Nf};
use sluice_services::values::plmn_json;
use sluice_services::{Request, Response};

/// API root of the receiver (5.2.3.2.4).
const TARGET: HeaderName = HeaderName::from_static("3gpp-sbi-target-apiroot");
/// Name of a notification (5.2.3.2.3).
const CALLBACK: HeaderName = HeaderName::from_static("3gpp-sbi-callback");
/// Parameters of a discovery (5.2.3.2.7).
const TARGET_TYPE: HeaderName = HeaderName::from_static("3gpp-sbi-discovery-target-nf-type");
const REQUESTER_TYPE: HeaderName = HeaderName::from_static("3gpp-sbi-discovery-requester-nf-type");
const SERVICES: HeaderName = HeaderName::from_static("3gpp-sbi-discovery-service-names");
const REQUESTER_PLMNS: HeaderName =
    HeaderName::from_static("3gpp-sbi-discovery-requester-plmn-list");

/// What a resource is bound to (5.2.3.2.5), and how a request for it is routed by that (5.2.3.2.6).
const BINDING: HeaderName = HeaderName::from_static("3gpp-sbi-binding");
const ROUTING_BINDING: HeaderName = HeaderName::from_static("3gpp-sbi-routing-binding");
/// Most API roots whose bindings are kept.
const BINDINGS: usize = 1_024;

/// Bindings of resources of others, by their API roots: an SCP that does not reach a producer finds another one by them.
#[derive(Debug, Default)]
pub(crate) struct Bindings(BTreeMap<String, HeaderValue>);

impl Bindings {
    /// Takes that of a resource that was created.
    pub fn hear(&mut self, response: &Response) {
        let headers = response.headers();
        let root = headers.get(LOCATION).and_then(|uri| {
            let uri: Uri = uri.to_str().ok()?.parse().ok()?;
            Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
        });
        let (Some(root), Some(binding)) = (root, headers.get(BINDING)) else {
            return;
        };
        if self.0.len() >= BINDINGS {
            self.0.clear();
        }
        self.0.insert(root, binding.clone());
    }

    /// Tells the SCP that of a resource at this API root.
    pub fn tell(&self, request: &mut Request, root: &str) {
        if let Some(binding) = self.0.get(root) {
            let headers = request.headers_mut();
            headers.insert(ROUTING_BINDING, binding.clone());
        }
    }
}

/// A resource that was created is bound to the instance that has created it.
pub(crate) fn bind(response: &mut Response, instance: &str) {
    if response.status() != StatusCode::CREATED {
        return;
    }
    let text = format!("bl=nf-instance; nfinst={instance}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(BINDING, value);
    }
}

/// An SCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scp {
    /// API root.
    pub root: String,
    /// The SCP asks the NRF (model D); else this program does, and tells it the receiver (model C).
    pub discovers: bool,
}

/// Tells the SCP the receiver.
pub(crate) fn target(request: &mut Request, root: &str) {
    put(request, TARGET, root);
}

/// Has the SCP find an instance that serves what the path begins with.
pub(crate) fn discover(request: &mut Request, target: Nf, requester: Nf, plmn: Plmn) {
    let path = request.uri().path();
    let service = path.split('/').nth(1).unwrap_or_default().to_owned();
    put(request, TARGET_TYPE, &target.to_string());
    put(request, REQUESTER_TYPE, &requester.to_string());
    put(request, SERVICES, &service);
    put(request, REQUESTER_PLMNS, &format!("[{}]", plmn_json(plmn)));
}

/// Tells that the request is a notification, and which (annex B).
pub(crate) fn callback(request: &mut Request, name: &str) {
    put(request, CALLBACK, name);
}

/// Name of a notification; none of another message.
pub(crate) fn callback_of(message: &Message) -> Option<String> {
    let is_notification = matches!(
        message,
        Message::NotifyAccess(_)
            | Message::NotifyDataChange(_)
            | Message::NotifyDeregistration(_)
            | Message::NotifySmContext(_)
            | Message::NotifySmPolicy(_)
            | Message::NotifySubscription(_)
            | Message::NotifyTransferFailure(_)
    );
    let text = is_notification.then(|| message.to_string())?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}

fn put(request: &mut Request, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        request.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::Supi;
    use sluice_sbi::NotifyAccess;

    fn request() -> Request {
        let mut request = Request::default();
        *request.uri_mut() = "/nudm-sdm/v2/imsi-1/am-data".parse().expect("a path");
        request
    }

    #[test]
    fn the_receiver_is_told_or_what_it_is_to_serve() {
        let mut told = request();
        target(&mut told, "http://127.0.0.3:8000");
        assert_eq!(
            told.headers()["3gpp-Sbi-Target-apiRoot"],
            "http://127.0.0.3:8000"
        );
        let mut asked = request();
        let plmn = Plmn::new("001", "01").expect("a PLMN");
        discover(&mut asked, Nf::Udm, Nf::Amf, plmn);
        for (name, value) in [
            ("3gpp-Sbi-Discovery-target-nf-type", "UDM"),
            ("3gpp-Sbi-Discovery-requester-nf-type", "AMF"),
            ("3gpp-Sbi-Discovery-service-names", "nudm-sdm"),
            (
                "3gpp-Sbi-Discovery-requester-plmn-list",
                r#"[{"mcc":"001","mnc":"01"}]"#,
            ),
        ] {
            assert_eq!(asked.headers()[name], value, "{name}");
        }
    }

    #[test]
    fn a_resource_is_asked_for_by_what_it_is_bound_to() {
        let mut response = Response::default();
        bind(&mut response, "7");
        assert!(!response.headers().contains_key(BINDING));
        *response.status_mut() = StatusCode::CREATED;
        bind(&mut response, "54804518-4191-46b3-955c-ac631f953ed8");
        let location =
            HeaderValue::from_static("http://127.0.0.3:8000/nsmf-pdusession/v1/sm-contexts/7");
        response.headers_mut().insert(LOCATION, location);
        let mut bindings = Bindings::default();
        bindings.hear(&response);
        let (mut bound, mut other) = (request(), request());
        bindings.tell(&mut bound, "http://127.0.0.3:8000");
        bindings.tell(&mut other, "http://127.0.0.4:8000");
        assert_eq!(
            bound.headers()["3gpp-Sbi-Routing-Binding"],
            "bl=nf-instance; nfinst=54804518-4191-46b3-955c-ac631f953ed8"
        );
        assert!(!other.headers().contains_key(ROUTING_BINDING));
    }

    #[test]
    fn notifications_have_names() {
        let supi = Supi::from_imsi("001010000000001").expect("an IMSI");
        let name = callback_of(&NotifyAccess { supi }.into());
        assert_eq!(name.as_deref(), Some("Nudm_SDM_Notification"));
        assert_eq!(callback_of(&sluice_sbi::Done::ALL.into()), None);
    }
}
