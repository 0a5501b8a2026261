//! Requests of other functions by HTTP: which service of the NRF each is of (TS 29.510, 6).

use http::{Method, StatusCode};
use sluice_sbi::{Effect, Now};
use sluice_services::problem::refuse;
use sluice_services::{Request, Response, Route, not_allowed, unknown};

use crate::{Nrf, bootstrapping};

/// Response that refuses.
pub(crate) type Refusal = Box<Response>;

/// Request under way.
pub(crate) struct Asked<'a> {
    pub now: Now,
    pub route: &'a Route,
    pub request: &'a Request,
    /// API root of the URIs of the response.
    pub root: &'a str,
}

impl Nrf {
    /// Serves a request. Notifications that follow from it wait for [`Nrf::take_notifications`].
    pub fn serve(&mut self, now: Now, request: &Request, effects: &mut Vec<Effect>) -> Response {
        self.watch(now, effects);
        let root = self.root_of(request);
        if request.uri().path() == bootstrapping::PATH {
            return if request.method() == Method::GET {
                bootstrapping::bootstrap(&root, self.needs_tokens, self.config.validity_s)
            } else {
                not_allowed()
            };
        }
        let Some(route) = Route::of(request) else {
            return unknown();
        };
        let asked = Asked {
            now,
            route: &route,
            request,
            root: &root,
        };
        let response = match (route.service.as_str(), route.version.as_str()) {
            ("nnrf-nfm", "v1") => self.manage(&asked),
            ("nnrf-disc", "v1") => self.search(&asked),
            ("oauth2", "token") if route.segments.is_empty() => self.token(&asked),
            _ => Ok(unknown()),
        };
        response.unwrap_or_else(|refusal| *refusal)
    }

    /// API root that was told, else that by which the request came.
    fn root_of(&self, request: &Request) -> String {
        if !self.root.is_empty() {
            return self.root.clone();
        }
        let host = || request.headers().get(http::header::HOST)?.to_str().ok();
        let authority = request.uri().authority().map(|one| one.as_str());
        let scheme = request.uri().scheme_str().unwrap_or("http");
        let root = authority.or_else(host);
        root.map(|authority| format!("{scheme}://{authority}"))
            .unwrap_or_default()
    }
}

/// Response to a request of a resource that is not known.
pub(crate) fn not_found(cause: &str, what: &str) -> Refusal {
    refuse(StatusCode::NOT_FOUND, cause, what).into()
}
