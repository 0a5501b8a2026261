//! Subscription data as JSON: the objects that Nudm and Nudr carry alike (TS 29.503, 6; TS 29.505, 5.4).

use serde_json::Value;
use sluice_ids::Supi;
use sluice_sbi::Problem;

use crate::exchange::{Refusal, Response};
use crate::problem::{refuse, tell};

pub(crate) mod asked;
pub(crate) mod authentication;
pub(crate) mod context;
pub(crate) mod provisioned;
pub(crate) mod registered;
pub(crate) mod sdm_resource;

/// Subscriber of a path; of other kinds of identities none is known.
pub(crate) fn supi(segment: &str) -> Result<Supi, Refusal> {
    crate::values::supi(segment).ok_or_else(|| tell(Problem::UserNotFound).into())
}

/// Response to a request for data that is refused: 404 with the causes of the TS (TS 29.503, 6.1.7.3).
pub(crate) fn refuse_data(problem: Problem) -> Response {
    match problem {
        Problem::DnnNotSupported => {
            let status = http::StatusCode::NOT_FOUND;
            refuse(status, "DATA_NOT_FOUND", "there is no such data")
        }
        problem => tell(problem),
    }
}

/// Query parameters with their values, percent-encoded.
pub(crate) fn query(parameters: &[(&str, &Value)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        match value {
            Value::String(text) => query.append_pair(name, text),
            value => query.append_pair(name, &value.to_string()),
        };
    }
    query.finish()
}
