//! Nnrf_NFDiscovery (TS 29.510, 5.3), consumer: who does what is asked for.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{Guami, Tai};
use sluice_sbi::{
    DiscoverNfs, Found, Nf, NfQuery, NfsDiscovered, NfsFound, NoMatch, Problem, Requester, Slot,
};

use super::DISCOVERY;
use crate::body::{read_response, send_empty};
use crate::deviations::Deviation;
use crate::directory::instances_of;
use crate::exchange::{Consumer, Outgoing, Response, To};
use crate::names::Own;
use crate::problem::problem_of;
use crate::values::{guami_json, instance, plmn_json, slice_json, tai, tai_json};

/// Reason that no instance meets all parameters of the query (NoProfileMatchReason: 6.2.6.3.10).
const NO_COMBINATION: &str = "QUERY_PARAMS_COMBINATION_NO_MATCH";

/// Parameter of a query: the tracking area that is to be served.
const TAI: &str = "tai";

/// Why none is found, as an NRF tells it (NoProfileMatchInfo: TS 29.510, 6.2.6.2.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoProfile(pub NoMatch);

impl NoProfile {
    /// NoProfileMatchInfo; `tai` is the parameter of the query that names an area, which is told where it alone is not met.
    pub fn info(self, tai: Option<&str>) -> Value {
        let reason = match self.0 {
            NoMatch::Suspended => "TARGET_NF_SUSPENDED",
            NoMatch::NotServed | NoMatch::NotInArea => NO_COMBINATION,
            NoMatch::NotRegistered | NoMatch::Matched => "UNSPECIFIED",
        };
        let mut info = json!({ "reason": reason });
        if let (NoMatch::NotInArea, Some(tai)) = (self.0, tai) {
            let parameter = json!({ "name": TAI, "value": tai });
            info["queryParamCombinationList"] = json!([{ "queryParams": [parameter] }]);
        }
        info
    }

    fn of(info: Option<&Value>) -> Self {
        let reason = info.and_then(|info| info.get("reason")?.as_str());
        Self(match reason {
            Some("TARGET_NF_SUSPENDED" | "TARGET_NF_UNDISCOVERABLE") => NoMatch::Suspended,
            Some(NO_COMBINATION) if info.is_some_and(names_area_alone) => NoMatch::NotInArea,
            Some(NO_COMBINATION) => NoMatch::NotServed,
            _ => NoMatch::NotRegistered,
        })
    }
}

/// Whether some combination that is not met has the area and nothing else.
fn names_area_alone(info: &Value) -> bool {
    let combinations = info
        .get("queryParamCombinationList")
        .and_then(Value::as_array);
    let mut combinations = combinations.into_iter().flatten();
    combinations.any(|one| {
        let parameters = one.get("queryParams").and_then(Value::as_array);
        let is_area = |one: &Value| one.get("name").and_then(Value::as_str) == Some(TAI);
        parameters.is_some_and(|all| !all.is_empty() && all.iter().all(is_area))
    })
}

/// free5GC's NRF finds none whose profile does not list the area that is asked for, although such a profile is for all. It
/// is asked without the area then.
pub(super) fn discover(request: &DiscoverNfs) -> Consumer {
    let query_ = request.query;
    Consumer::Send(
        query(&query_).into(),
        Box::new(move |came, _| match query_.area() {
            Some(area) if is_none_for_no_reason(&came.response) => anywhere(&query_, area),
            _ => Consumer::Done(found(&came.response, |_| true)),
        }),
    )
}

/// The same question without the area; those that list other areas are left out.
fn anywhere(query_: &NfQuery, area: Tai) -> Consumer {
    let anywhere = NfQuery::new(
        query_.requester,
        query_.target,
        query_.slice(),
        query_.dnn(),
        None,
    );
    let outgoing = query(&anywhere);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            let answer = found(&came.response, |profile| serves_in(profile, area));
            if answer
                .answer_to::<DiscoverNfs>()
                .is_ok_and(|one| !one.found.all().is_empty())
            {
                memory.deviations.count(Deviation::Area);
            }
            Consumer::Done(answer)
        }),
    )
}

fn is_none_for_no_reason(response: &Response) -> bool {
    let body = read_response(response);
    response.status() == StatusCode::OK
        && body.is_object()
        && body.get("noProfileMatchInfo").is_none()
        && instances_of(&body).is_empty()
}

/// Whether a profile does not leave an area out.
fn serves_in(profile: &Value, area: Tai) -> bool {
    let lists = profile
        .pointer("/smfInfo/taiList")
        .and_then(Value::as_array);
    lists.is_none_or(|all| all.is_empty() || all.iter().any(|one| tai(one) == Some(area)))
}

/// GET of the instances that do it.
pub fn query(query: &NfQuery) -> Outgoing {
    let requester = &query.requester;
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    parameters.append_pair("target-nf-type", &query.target.to_string());
    parameters.append_pair("requester-nf-type", &requester.kind.to_string());
    let mut json = |name, value: Option<Value>| {
        if let Some(value) = value {
            parameters.append_pair(name, &value.to_string());
        }
    };
    json("snssais", query.slice().map(|one| json!([slice_json(one)])));
    json(TAI, query.area().map(tai_json));
    json(
        "requester-snssais",
        requester.slice().map(|one| json!([slice_json(one)])),
    );
    json(
        "requester-plmn-list",
        requester.plmn().map(|one| json!([plmn_json(one)])),
    );
    if let Some(dnn) = query.dnn() {
        parameters.append_pair("dnn", &dnn.to_string());
    }
    send_empty(Method::GET, &format!("{DISCOVERY}?{}", parameters.finish()))
}

/// GET of the AMF with this GUAMI, for another AMF.
pub(crate) fn amf_of(guami: Guami, own: &Own) -> Outgoing {
    let requester = Requester::new(Nf::Amf, own.slice, Some(own.plmn));
    let amfs = query(&NfQuery::new(requester, Nf::Amf, None, None, None));
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    parameters.append_pair("guami", &guami_json(guami).to_string());
    parameters.append_pair("service-names", crate::namf::SERVICE);
    let path = format!("{}&{}", amfs.request.uri(), parameters.finish());
    Outgoing {
        to: To::Nrf,
        ..send_empty(Method::GET, &path)
    }
}

/// SearchResult, and of it the instances that `may` be taken.
fn found(response: &Response, may: impl Fn(&Value) -> bool) -> Slot {
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return discovered(NfsFound::none(NoMatch::NotRegistered)),
        StatusCode::FORBIDDEN => return Problem::DiscoveryForbidden.into(),
        _ => return problem_of(response).into(),
    }
    let body = read_response(response);
    if !body.is_object() {
        return Problem::Protocol.into();
    }
    let number = |profile: &Value, name: &str, default: u16| {
        let number = profile.get(name).and_then(Value::as_u64);
        number.map_or(default, |number| number.try_into().unwrap_or(u16::MAX))
    };
    let one = |profile: &Value| {
        Some(Found {
            instance: instance(profile.get("nfInstanceId")?.as_str()?)?,
            priority: number(profile, "priority", 0).into(),
            capacity: number(profile, "capacity", 100).into(),
            load: number(profile, "load", 0).min(100) as u8,
        })
    };
    let profiles = instances_of(&body).into_iter().filter(|one| may(one));
    let mut all: Vec<Found> = profiles.filter_map(one).collect();
    all.sort_by_key(|one| (one.priority.get(), one.load));
    discovered(match all.as_slice() {
        [] => {
            let info = body.get("noProfileMatchInfo");
            NfsFound::none(NoProfile::of(info).0)
        }
        all => NfsFound::new(crate::directory::validity_s(response, &body), all),
    })
}

fn discovered(found: NfsFound) -> Slot {
    NfsDiscovered { found }.into()
}
