//! Nnssf_NSSelection (TS 29.531, 6.1): which slices a UE may use.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Snssai;
use sluice_sbi::{
    Message, Nf, NfInstance, OFFERED, Problem, REQUESTED, SLICES, SelectSlices, SlicesSelected,
    Slot,
};

use crate::body::{member, optional, read_response, respond, send_empty};
use crate::calls::ask;
use crate::exchange::{Came, Consumer, Producer, Refusal};
use crate::location::nowhere;
use crate::names::Memory;
use crate::problem::{problem_of, refuse, refuse_member, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::values::{instance, slice, slice_json, tai, tai_json};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nnssf-nsselection";

const INFORMATION: &str = "network-slice-information";
const REGISTRATION: &str = "slice-info-request-for-registration";
const PDU_SESSION: &str = "slice-info-request-for-pdu-session";
/// Member with what the gNB offers, which no member of SliceInfoForRegistration tells (TS 29.500, 6.6.3).
const VENDOR: &str = "vendorSpecific-000000";

/// A request of an AMF.
pub(crate) fn begin(message: &Message, memory: &Memory) -> Option<Consumer> {
    match message {
        Message::SelectSlices(request) => Some(select(request, memory)),
        _ => None,
    }
}

/// SliceInfoForRegistration
fn select(request: &SelectSlices, memory: &Memory) -> Consumer {
    let subscribed = request.subscribed().map(|(slice, is_default)| {
        json!({ "subscribedSnssai": slice_json(slice), "defaultIndication": is_default })
    });
    let subscribed: Vec<Value> = subscribed.collect();
    let mut info = json!({ VENDOR: { "offeredNssai": slices_json(request.offered()) } });
    // Lists have one member at least.
    if !subscribed.is_empty() {
        info["subscribedNssai"] = subscribed.into();
    }
    if !request.requested().is_empty() {
        info["requestedNssai"] = slices_json(request.requested());
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("nf-type", "AMF");
    query.append_pair("nf-id", &memory.instance(Nf::Amf).to_string());
    query.append_pair(REGISTRATION, &info.to_string());
    query.append_pair("tai", &tai_json(request.tai).to_string());
    let path = format!("/{SERVICE}/v2/{INFORMATION}?{}", query.finish());
    Consumer::Send(
        send_empty(Method::GET, &path).into(),
        Box::new(|came, _| {
            let answer = selected(&came);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

fn slices_json(slices: &[Snssai]) -> Value {
    slices.iter().map(|one| slice_json(*one)).collect()
}

/// AuthorizedNetworkSliceInfo
fn selected(came: &Came) -> Result<Slot, Problem> {
    if came.response.status() != StatusCode::OK {
        return Err(problem_of(&came.response));
    }
    let body = read_response(&came.response);
    let of_access = body.get("allowedNssaiList").and_then(Value::as_array);
    let of_access = of_access.into_iter().flatten();
    let of_access = of_access.filter(|one| one["accessType"] != "NON_3GPP_ACCESS");
    let allowed = of_access.filter_map(|one| one.get("allowedSnssaiList")?.as_array());
    let allowed = allowed.flatten();
    let allowed: Option<Vec<Snssai>> = allowed
        .map(|one| slice(one.get("allowedSnssai")?))
        .collect();
    let rejected = |name| body.get(name).map_or(Some(Vec::new()), list);
    let in_plmn = rejected("rejectedNssaiInPlmn").ok_or(Problem::Protocol)?;
    let in_area = rejected("rejectedNssaiInTa").ok_or(Problem::Protocol)?;
    let in_plmn = in_plmn.into_iter().map(|one| (one, false));
    let rejected: Vec<_> = in_plmn
        .chain(in_area.into_iter().map(|one| (one, true)))
        .collect();
    let allowed = allowed.ok_or(Problem::Protocol)?;
    Ok(SlicesSelected::new(&allowed, &rejected).into())
}

/// List of S-NSSAIs; null is none.
fn list(value: &Value) -> Option<Vec<Snssai>> {
    match value {
        Value::Null => Some(Vec::new()),
        value => value.as_array()?.iter().map(slice).collect(),
    }
}

/// A request for the NSSF.
pub(crate) fn accept(route: &Route, memory: &Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("GET", [INFORMATION]) => accept_select(route, memory),
        (_, [INFORMATION]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_select(route: &Route, memory: &Memory) -> Result<Producer, Refusal> {
    if route.query(PDU_SESSION).is_some() {
        return accept_for_session(route, memory);
    }
    let (amf, parameters) = parameters(route, REGISTRATION, memory)?;
    let info = member(
        &parameters,
        &format!("/{REGISTRATION}"),
        "a SliceInfoForRegistration",
        |one| one.is_object().then(|| one.clone()),
    )?;
    let area = optional(&parameters, "/tai", "a Tai", tai)?;
    let requested = slices(&info, "/requestedNssai", REQUESTED)?;
    let subscribed = |value: &Value| {
        let one = |one: &Value| {
            let is_default = one.get("defaultIndication").and_then(Value::as_bool);
            Some((
                slice(one.get("subscribedSnssai")?)?,
                is_default.unwrap_or_default(),
            ))
        };
        let all: Option<Vec<_>> = value.as_array()?.iter().map(one).collect();
        all.filter(|all| all.len() <= SLICES)
    };
    let expected = "a list of up to 16 SubscribedSnssai";
    let subscribed = optional(&info, "/subscribedNssai", expected, subscribed)?.unwrap_or_default();
    let offered = format!("/{VENDOR}/offeredNssai");
    let offered = match info.pointer(&offered) {
        Some(_) => slices(&info, &offered, OFFERED)?,
        // An AMF that says nothing of its gNB asks for those that it offers.
        None => {
            let of_subscription = subscribed.iter().map(|(slice, _)| *slice);
            requested.iter().copied().chain(of_subscription).collect()
        }
    };
    let area = area.unwrap_or(nowhere(memory.own.plmn));
    let message = SelectSlices::new(area, &requested, &subscribed, &offered).of_amf(amf);
    let ask = Box::new(|answer: &Message, _: &mut Memory| {
        Producer::Done(match answer {
            Message::SlicesSelected(selected) => respond(StatusCode::OK, &authorized(selected)),
            Message::Failure(failure) => tell(failure.problem),
            _ => tell(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Nssf, message.into(), ask))
}

/// The AMF that asks, and the parameters that have JSON: the information on what it asks for, and the area.
fn parameters(
    route: &Route,
    info: &'static str,
    memory: &Memory,
) -> Result<(NfInstance, Value), Refusal> {
    for name in ["nf-type", "nf-id", info] {
        route
            .query(name)
            .ok_or_else(|| refuse_member(true, name, "a query parameter"))?;
    }
    let amf = route.query("nf-id").and_then(instance);
    let json = |name: &str| {
        let text = route.query(name)?;
        Some(serde_json::from_str::<Value>(text).unwrap_or_default())
    };
    let parameters = json!({ info: json(info), "tai": json("tai") });
    Ok((amf.unwrap_or(memory.instance(Nf::Amf)), parameters))
}

/// SliceInfoForPDUSession: whether the slice may be used there, and the NRF that knows its SMFs.
fn accept_for_session(route: &Route, memory: &Memory) -> Result<Producer, Refusal> {
    let (amf, parameters) = parameters(route, PDU_SESSION, memory)?;
    let asked = member(
        &parameters,
        &format!("/{PDU_SESSION}/sNssai"),
        "an S-NSSAI",
        slice,
    )?;
    let roaming = member(
        &parameters,
        &format!("/{PDU_SESSION}/roamingIndication"),
        "a RoamingIndication",
        |value| value.as_str().map(str::to_owned),
    )?;
    if roaming == "HOME_ROUTED_ROAMING" {
        let detail = "sessions are not routed to another network";
        return Err(refuse(StatusCode::FORBIDDEN, "SNSSAI_NOT_SUPPORTED", detail).into());
    }
    let area = optional(&parameters, "/tai", "a Tai", tai)?;
    let area = area.unwrap_or(nowhere(memory.own.plmn));
    let message = SelectSlices::new(area, &[asked], &[(asked, true)], &[asked]).of_amf(amf);
    Ok(ask(message, move |selected, memory| {
        match selected.allowed().contains(&asked) {
            true => respond(StatusCode::OK, &of_session(memory)),
            false => {
                let detail = format!("slice {asked} is not served there");
                refuse(StatusCode::FORBIDDEN, "SNSSAI_NOT_SUPPORTED", &detail)
            }
        }
    }))
}

/// AuthorizedNetworkSliceInfo for a PDU session.
fn of_session(memory: &Memory) -> Value {
    match memory.nrf.as_str() {
        "" => json!({}),
        nrf => json!({ "nsiInformation": { "nrfId": format!("{nrf}/nnrf-disc/v1/nf-instances") } }),
    }
}

fn slices(body: &Value, pointer: &str, most: usize) -> Result<Vec<Snssai>, Refusal> {
    let expected = format!("a list of up to {most} Snssai");
    let read = |value: &Value| list(value).filter(|all| all.len() <= most);
    Ok(optional(body, pointer, &expected, read)?.unwrap_or_default())
}

/// AuthorizedNetworkSliceInfo
fn authorized(selected: &SlicesSelected) -> Value {
    let mut body = json!({});
    let allowed = selected.allowed().iter();
    let allowed: Vec<Value> = allowed
        .map(|one| json!({ "allowedSnssai": slice_json(*one) }))
        .collect();
    if !allowed.is_empty() {
        let of_access = json!({ "allowedSnssaiList": allowed, "accessType": "3GPP_ACCESS" });
        body["allowedNssaiList"] = json!([of_access]);
    }
    for (name, in_area) in [("rejectedNssaiInPlmn", false), ("rejectedNssaiInTa", true)] {
        let of_it = selected.rejected().filter(|(_, one)| *one == in_area);
        let of_it: Vec<Snssai> = of_it.map(|(one, _)| one).collect();
        if !of_it.is_empty() {
            body[name] = slices_json(&of_it);
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::tests::memory;
    use crate::tests::round_trip::{asks, carry, has, request, trip};
    use sluice_ids::{Tac, Tai};

    fn first() -> Snssai {
        Snssai::new(1, None)
    }

    fn request_of(requested: &[Snssai], offered: &[Snssai]) -> SelectSlices {
        let area = Tai {
            plmn: memory().own.plmn,
            tac: Tac([0, 0, 1]),
        };
        let subscribed = [(first(), true), (Snssai::new(2, Some([1, 2, 3])), false)];
        SelectSlices::new(area, requested, &subscribed, offered)
    }

    #[test]
    fn selections_survive() {
        let second = Snssai::new(2, Some([1, 2, 3]));
        for (requested, offered, allowed, rejected) in [
            (
                &[first(), second][..],
                &[first()][..],
                &[first()][..],
                &[(Snssai::new(3, None), false), (second, true)][..],
            ),
            (&[], &[], &[], &[]),
        ] {
            let message = request_of(requested, offered);
            let selected = SlicesSelected::new(allowed, rejected);
            let trip = trip(message, &mut memory(), &mut memory(), |_| selected.into());
            assert_eq!(*trip.asked[0], message.into());
            assert_eq!(*trip.answer, selected.into());
            let uri = trip.requests[0].1.uri();
            assert_eq!(
                uri.path(),
                "/nnssf-nsselection/v2/network-slice-information"
            );
            let query = uri.query().expect("a query");
            // Required parameters.
            assert!(query.starts_with("nf-type=AMF&nf-id="), "{query}");
            if !allowed.is_empty() {
                has(
                    &trip.came(),
                    &["/allowedNssaiList/0/allowedSnssaiList/0/allowedSnssai/sst"],
                );
                has(&trip.came(), &["/allowedNssaiList/0/accessType"]);
            }
        }
    }

    /// NSSF of free5GC: with instances of slices (6.1.6.2.7), and null for lists.
    #[test]
    fn the_nssf_of_free5gc_is_understood() {
        let (answer, ..) = carry(request_of(&[first()], &[first()]), &mut memory(), |_| {
            let nsi = json!([{ "nrfId": "http://127.0.0.10:8000/nnrf-nfm/v1/nf-instances", "nsiId": "22" }]);
            let allowed =
                json!([{ "allowedSnssai": { "sst": 1, "sd": "" }, "nsiInformationList": nsi }]);
            let list = json!([{ "allowedSnssaiList": allowed, "accessType": "3GPP_ACCESS" }]);
            let body = json!({ "allowedNssaiList": list, "rejectedNssaiInPlmn": null });
            respond(StatusCode::OK, &body)
        });
        assert_eq!(*answer, SlicesSelected::new(&[first()], &[]).into());
    }

    /// AMF of free5GC: it asks for each session.
    #[test]
    fn a_session_is_sent_to_the_nrf_of_its_slice() {
        let mut memory = memory();
        memory.nrf = "http://127.0.0.1:7778".to_owned();
        let path = |info: &Value| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query
                .append_pair("nf-type", "AMF")
                .append_pair("nf-id", "11111111-1111-4111-8111-111111111111");
            query.append_pair(PDU_SESSION, &info.to_string());
            format!("/{SERVICE}/v2/{INFORMATION}?{}", query.finish())
        };
        let info = |sst: u8, roaming: &str| {
            path(&json!({ "sNssai": { "sst": sst }, "roamingIndication": roaming }))
        };
        let mut asked = |path: &str| {
            let get = crate::tests::through::request("GET", path, &Value::Null);
            let response = crate::tests::through::asked(&get, &mut memory, |_, message| {
                let Message::SelectSlices(asked) = message else {
                    panic!("{message}");
                };
                let served = |one: &&Snssai| **one == first();
                let allowed: Vec<Snssai> =
                    asked.requested().iter().filter(served).copied().collect();
                SlicesSelected::new(&allowed, &[]).into()
            });
            assert_eq!(crate::judge::faults(&get, &response), [""; 0]);
            (response.status().as_u16(), read_response(&response))
        };
        let (status, body) = asked(&info(1, "NON_ROAMING"));
        let nrf = "http://127.0.0.1:7778/nnrf-disc/v1/nf-instances";
        assert_eq!(
            (status, &body["nsiInformation"]["nrfId"]),
            (200, &json!(nrf))
        );
        for refused in [info(9, "NON_ROAMING"), info(1, "HOME_ROUTED_ROAMING")] {
            let (status, body) = asked(&refused);
            assert_eq!(
                (status, &body["cause"]),
                (403, &json!("SNSSAI_NOT_SUPPORTED"))
            );
        }
        let (status, body) = asked(&path(&json!({ "sNssai": { "sst": 1 } })));
        let param = "/slice-info-request-for-pdu-session/roamingIndication";
        assert_eq!(
            (status, &body["invalidParams"][0]["param"]),
            (400, &json!(param))
        );
    }

    /// AMF of free5GC: it says nothing of what the gNB offers.
    #[test]
    fn a_request_of_another_amf_is_read() {
        let info = json!({
            "subscribedNssai": [
                { "subscribedSnssai": { "sst": 1 }, "defaultIndication": true },
                { "subscribedSnssai": { "sst": 2, "sd": "010203" } },
            ],
            "requestedNssai": [{ "sst": 1 }],
        });
        let path = |info: &Value| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query
                .append_pair("nf-type", "AMF")
                .append_pair("nf-id", "1");
            query.append_pair(REGISTRATION, &info.to_string());
            query.append_pair(
                "tai",
                r#"{"plmnId":{"mcc":"001","mnc":"01"},"tac":"000001"}"#,
            );
            format!(
                "/nnssf-nsselection/v2/network-slice-information?{}",
                query.finish()
            )
        };
        let get = request(Method::GET, &path(&info), &json!({}));
        let asked = asks(&get, &mut memory()).expect("asked");
        let second = Snssai::new(2, Some([1, 2, 3]));
        assert_eq!(
            *asked,
            request_of(&[first()], &[first(), first(), second]).into()
        );
        for (wrong, param) in [
            (json!([]), "/slice-info-request-for-registration"),
            (
                json!({ "requestedNssai": vec![json!({ "sst": 1 }); 9] }),
                "/requestedNssai",
            ),
            (json!({ "subscribedNssai": [{}] }), "/subscribedNssai"),
        ] {
            let get = request(Method::GET, &path(&wrong), &json!({}));
            let refused = asks(&get, &mut memory()).expect_err("refused");
            assert_eq!(read_response(&refused)["invalidParams"][0]["param"], param);
        }
        let get = request(
            Method::GET,
            "/nnssf-nsselection/v2/network-slice-information",
            &json!({}),
        );
        let refused = asks(&get, &mut memory()).expect_err("refused");
        assert_eq!(
            read_response(&refused)["invalidParams"][0]["param"],
            "nf-type"
        );
    }
}
