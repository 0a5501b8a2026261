//! Query of a discovery (TS 29.510, 6.2.3.2.3.1), of a message or of query parameters.

use http::StatusCode;
use serde_json::Value;
use sluice_ids::{Dnn, Guami, Plmn, Snssai, Tai};
use sluice_sbi::{NfInstance, NfQuery};
use sluice_services::problem::refuse;
use sluice_services::{Response, Route, values};

use crate::nf_type::NfType;

/// The consumer that asks, as far as it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Consumer {
    pub kind: NfType,
    pub slices: Vec<Snssai>,
    pub plmns: Vec<Plmn>,
}

/// Question; an empty list is of no matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Query {
    pub consumer: Consumer,
    pub target: NfType,
    pub slices: Vec<Snssai>,
    pub dnn: Option<Dnn>,
    pub area: Option<Tai>,
    pub plmns: Vec<Plmn>,
    pub services: Vec<String>,
    pub instance: Option<NfInstance>,
    pub guami: Option<Guami>,
    pub amf_set: Option<u64>,
    pub amf_region: Option<u64>,
    pub supi: Option<String>,
    pub routing_indicator: Option<String>,
    pub groups: Vec<String>,
    pub preferred: Preferred,
    /// Most instances that are wanted.
    pub limit: usize,
    /// Whether services are wanted as a map by their identifiers (feature Service-Map: 6.2.9).
    pub wants_map: bool,
}

/// Wishes: who meets them comes first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Preferred {
    pub locality: Option<String>,
    pub area: Option<Tai>,
    pub instances: Vec<String>,
}

/// Number of the feature Service-Map in discoveries (6.2.9).
const SERVICE_MAP: u32 = 6;

/// Whether hexadecimal digits have the bit of a feature (SupportedFeatures: TS 29.571, 5.2.2).
pub(crate) fn has_feature(digits: Option<&str>, feature: u32) -> bool {
    let digit = (feature - 1) / 4;
    let digits = digits.unwrap_or_default().chars().rev();
    let digit = digits.skip(digit as usize).find_map(|c| c.to_digit(16));
    digit.is_some_and(|digit| digit >> ((feature - 1) % 4) & 1 == 1)
}

impl From<&NfQuery> for Query {
    fn from(query: &NfQuery) -> Self {
        let requester = &query.requester;
        let consumer = Consumer {
            kind: requester.kind.into(),
            slices: requester.slice().into_iter().collect(),
            plmns: requester.plmn().into_iter().collect(),
        };
        Self {
            slices: query.slice().into_iter().collect(),
            dnn: query.dnn(),
            area: query.area(),
            ..Self::new(consumer, query.target.into())
        }
    }
}

impl Query {
    fn new(consumer: Consumer, target: NfType) -> Self {
        Self {
            consumer,
            target,
            slices: Vec::new(),
            dnn: None,
            area: None,
            plmns: Vec::new(),
            services: Vec::new(),
            instance: None,
            guami: None,
            amf_set: None,
            amf_region: None,
            supi: None,
            routing_indicator: None,
            groups: Vec::new(),
            preferred: Preferred::default(),
            limit: usize::MAX,
            wants_map: false,
        }
    }

    /// Of query parameters; those that are not known are of no matter.
    ///
    /// # Errors
    /// A response that refuses one by name.
    pub(crate) fn read(route: &Route) -> Result<Self, Box<Response>> {
        let target = mandatory(route, "target-nf-type")?;
        let kind = mandatory(route, "requester-nf-type")?;
        if route.query("complex-query").is_some() {
            return Err(incorrect("complex-query", "none: it is not served"));
        }
        let consumer = Consumer {
            kind,
            slices: list(route, "requester-snssais", values::slice)?,
            plmns: list(route, "requester-plmn-list", values::plmn)?,
        };
        let text = |name: &str| route.query(name).map(str::to_owned);
        let preferred = Preferred {
            locality: text("preferred-locality"),
            area: object(route, "preferred-tai", values::tai)?,
            instances: strings(route, "preferred-nf-instances"),
        };
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let whole = |text: &str| text.parse().ok().filter(|number| *number > 0);
        let limit = optional(route, "limit", "a number of at least 1", whole)?;
        Ok(Self {
            slices: list(route, "snssais", values::slice)?,
            dnn: optional(route, "dnn", "a name", Dnn::new)?,
            area: object(route, "tai", values::tai)?,
            plmns: list(route, "target-plmn-list", values::plmn)?,
            services: strings(route, "service-names"),
            instance: optional(route, "target-nf-instance-id", "a UUID", values::instance)?,
            guami: object(route, "guami", values::guami)?,
            amf_set: optional(route, "amf-set-id", "hexadecimal digits", hexadecimal)?,
            amf_region: optional(route, "amf-region-id", "hexadecimal digits", hexadecimal)?,
            supi: text("supi"),
            routing_indicator: text("routing-indicator"),
            groups: strings(route, "group-id-list"),
            preferred,
            limit: limit.unwrap_or(usize::MAX),
            wants_map: has_feature(route.query("requester-features"), SERVICE_MAP),
            ..Self::new(consumer, target)
        })
    }
}

/// Type of network functions that has to be told.
fn mandatory(route: &Route, name: &str) -> Result<NfType, Box<Response>> {
    let refuse = |cause, detail: &str| {
        let detail = format!("{name}: {detail}");
        Box::new(refuse(StatusCode::BAD_REQUEST, cause, &detail))
    };
    let text = route.query(name);
    let text = text.ok_or_else(|| refuse("MANDATORY_QUERY_PARAM_MISSING", "it is missing"))?;
    let wrong = || refuse("MANDATORY_QUERY_PARAM_INCORRECT", "expected an NF type");
    NfType::new(text).ok_or_else(wrong)
}

fn incorrect(name: &str, expected: &str) -> Box<Response> {
    let detail = format!("{name}: expected {expected}");
    let cause = "OPTIONAL_QUERY_PARAM_INCORRECT";
    refuse(StatusCode::BAD_REQUEST, cause, &detail).into()
}

pub(crate) fn optional<T>(
    route: &Route,
    name: &str,
    expected: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Box<Response>> {
    let text = route.query(name);
    let one = text.map(|text| read(text).ok_or_else(|| incorrect(name, expected)));
    one.transpose()
}

/// Parameter in JSON.
fn object<T>(
    route: &Route,
    name: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, Box<Response>> {
    optional(route, name, "an object in JSON", |text| {
        read(&serde_json::from_str(text).ok()?)
    })
}

/// List in JSON.
fn list<T>(
    route: &Route,
    name: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Box<Response>> {
    let all = object(route, name, |value| {
        value.as_array()?.iter().map(read).collect()
    })?;
    Ok(all.unwrap_or_default())
}

/// Names between commas, or in several parameters of the same name.
fn strings(route: &Route, name: &str) -> Vec<String> {
    let all = route.query.iter().filter(|(one, _)| one == name);
    let names = all.flat_map(|(_, value)| value.split(','));
    let names = names.map(|one| one.trim_matches(['[', ']', '"', ' ']).to_owned());
    names.filter(|one| !one.is_empty()).collect()
}
