//! Refusals of the management API: problem details (RFC 9457).

use serde_json::{Value, json};

/// Media type of refusals (RFC 9457, 6.1).
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request is not done.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// A word that programs tell reasons by, one of [`REASONS`].
    pub reason: &'static str,
    /// What is wrong, in words.
    pub detail: String,
    /// Single faults of what was written, as far as there are any.
    pub problems: Option<Value>,
}

/// Reasons, with the status and the title of each.
pub const REASONS: &[(&str, u16, &str)] = &[
    ("invalid", 400, "Bad Request"),
    ("unauthorized", 401, "Unauthorized"),
    ("forbidden", 403, "Forbidden"),
    ("not_found", 404, "Not Found"),
    ("no_route", 404, "Not Found"),
    ("method", 405, "Method Not Allowed"),
    ("slow", 408, "Request Timeout"),
    ("exists", 409, "Conflict"),
    ("no_database", 409, "Conflict"),
    ("refused", 409, "Conflict"),
    ("too_large", 413, "Content Too Large"),
    ("media_type", 415, "Unsupported Media Type"),
    ("problems", 422, "Unprocessable Content"),
    ("too_many", 429, "Too Many Requests"),
    ("failed", 500, "Internal Server Error"),
    ("busy", 503, "Service Unavailable"),
    ("lacking", 503, "Service Unavailable"),
    ("timeout", 504, "Gateway Timeout"),
    ("full", 507, "Insufficient Storage"),
];

impl Problem {
    /// Of a reason.
    pub fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
            problems: None,
        }
    }

    /// What was written is wrong.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new("invalid", detail)
    }

    /// What an answer of the core says, if it is a refusal.
    pub fn of_answer(answer: &Value) -> Option<Self> {
        let detail = answer.get("error")?.as_str().unwrap_or_default();
        let told = answer.get("reason").and_then(Value::as_str);
        let known = REASONS.iter().find(|(reason, ..)| Some(*reason) == told);
        // Whoever refuses without a word of ours refuses for what is now, not for what was written.
        let reason = known.map_or("refused", |(reason, ..)| reason);
        Some(Self {
            reason,
            detail: detail.to_owned(),
            problems: answer.get("problems").cloned(),
        })
    }

    /// HTTP's status code and what that is called.
    pub fn status(&self) -> (u16, &'static str) {
        let mut known = REASONS.iter();
        let known = known.find(|(reason, ..)| *reason == self.reason);
        known.map_or((500, "Internal Server Error"), |(_, code, title)| {
            (*code, *title)
        })
    }

    /// The body.
    pub fn to_json(&self) -> Value {
        let (status, title) = self.status();
        let mut object = json!({
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": self.detail,
            "reason": self.reason,
        });
        if let Some(problems) = &self.problems {
            object["problems"] = problems.clone();
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_core_become_problems_by_their_reason() {
        let of = |answer: Value| Problem::of_answer(&answer);
        assert_eq!(of(json!({ "ues": [] })), None);
        let missing = of(json!({ "error": "no such UE", "reason": "not_found" })).unwrap();
        assert_eq!(missing.status(), (404, "Not Found"));
        assert_eq!(missing.to_json()["detail"], "no such UE");
        let other = of(json!({ "error": "not now" })).unwrap();
        assert_eq!((other.reason, other.status().0), ("refused", 409));
        let unknown = of(json!({ "error": "x", "reason": "a word of tomorrow" })).unwrap();
        assert_eq!(unknown.reason, "refused");
        let told = json!({ "error": "2 problems", "reason": "problems", "problems": { "number": 2, "told": [] } });
        assert_eq!(of(told).unwrap().to_json()["problems"]["number"], 2);
    }

    #[test]
    fn each_reason_stands_once() {
        let mut words: Vec<_> = REASONS.iter().map(|(reason, ..)| *reason).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), REASONS.len());
    }
}
