//! Npcf_AMPolicyControl (TS 29.507, 5): associations of an AMF about a UE.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{AmPolicy, CreateAmPolicy, DeleteAmPolicy, Message, Nf, Problem, Slot};

use crate::body::{member, optional, read, read_response, respond, send, with_location};
use crate::exchange::{Came, Consumer, Producer, Refusal, Request};
use crate::location::{area, location_json};
use crate::names::Memory;
use crate::nsmf::is_done;
use crate::problem::{problem_of, tell};
use crate::resources::{Collection, done, forget_gone, location, number_of};
use crate::route::{Route, not_allowed, unknown};
use crate::values::{guami, guami_json, plmn_json, supi, supi_text};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "npcf-am-policy-control";

const POLICIES: Collection = Collection("/npcf-am-policy-control/v1/policies");

/// A request of an AMF.
pub(super) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::CreateAmPolicy(request) => Some(create(request, memory)),
        Message::DeleteAmPolicy(request) => Some(delete(request, memory)),
        _ => None,
    }
}

/// PolicyAssociationRequest
fn create(request: &CreateAmPolicy, memory: &Memory) -> Consumer {
    let supi = supi_text(&request.supi);
    let callback = format!("{}/namf-callback/v1/am-policy/{supi}", memory.own.root);
    let body = json!({
        "notificationUri": callback,
        "supi": supi,
        "accessType": "3GPP_ACCESS",
        "ratType": "NR",
        "userLoc": location_json(request.area),
        "servingPlmn": plmn_json(request.guami.plmn),
        "guami": guami_json(request.guami),
        "suppFeat": "0",
    });
    let outgoing = send(Method::POST, POLICIES.0, &body);
    Consumer::Send(
        outgoing.into(),
        Box::new(|came, memory| {
            let answer = created(&came, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// PolicyAssociation
fn created(came: &Came, memory: &mut Memory) -> Result<Slot, Problem> {
    let response = &came.response;
    if response.status() != StatusCode::CREATED {
        return Err(problem_of(response));
    }
    let uri = location(response).ok_or(Problem::Protocol)?;
    let rfsp = read_response(response).get("rfsp").and_then(Value::as_u64);
    let rfsp = rfsp.filter(|rfsp| (1..=256).contains(rfsp));
    Ok(AmPolicy {
        policy: POLICIES.number(uri, memory).into(),
        rfsp: (rfsp.unwrap_or_default() as u16).into(),
    }
    .into())
}

fn delete(request: &DeleteAmPolicy, memory: &Memory) -> Consumer {
    let number = request.policy.get();
    let Some(outgoing) = POLICIES.request(Method::DELETE, number, "", memory) else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            forget_gone(number, &came.response, memory);
            Consumer::Done(is_done(&came, memory))
        }),
    )
}

/// A request for the PCF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["policies"]) => accept_create(request, memory),
        ("DELETE", ["policies", id]) => accept_delete(id),
        (_, ["policies"] | ["policies", _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_create(request: &Request, memory: &Memory) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let text = |value: &Value| value.as_str().map(drop);
    member(&body, "/notificationUri", "a URI", text)?;
    member(&body, "/suppFeat", "hexadecimal digits", text)?;
    let supi = |value: &Value| value.as_str().and_then(supi);
    let supi = member(&body, "/supi", "imsi-...", supi)?;
    let guami = optional(&body, "/guami", "a Guami", guami)?;
    let guami = guami.unwrap_or(memory.own.guami);
    let message = CreateAmPolicy {
        supi,
        guami,
        area: area(&body, "userLoc", guami.plmn)?,
    };
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        Producer::Done(match answer {
            Message::AmPolicy(policy) => {
                let mut association = json!({ "request": body, "suppFeat": "0" });
                let rfsp = policy.rfsp.get();
                if rfsp > 0 {
                    association["rfsp"] = rfsp.into();
                }
                let uri = POLICIES.uri(policy.policy.get(), memory);
                with_location(respond(StatusCode::CREATED, &association), &uri)
            }
            Message::Failure(failure) => tell(failure.problem),
            _ => tell(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Pcf, message.into(), ask))
}

fn accept_delete(id: &str) -> Result<Producer, Refusal> {
    let policy = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let message = DeleteAmPolicy {
        policy: policy.into(),
    };
    let ask = Box::new(|answer: &Message, _: &mut Memory| done(answer));
    Ok(Producer::Ask(Nf::Pcf, message.into(), ask))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::tests::memory;
    use crate::tests::round_trip::{asks, carry, has, request, trip};
    use sluice_ids::{Supi, Tac, Tai};
    use sluice_sbi::Done;

    fn creation() -> CreateAmPolicy {
        let guami = memory().own.guami;
        CreateAmPolicy {
            supi: Supi::from_imsi("001010000000001").expect("a SUPI"),
            guami,
            area: Tai {
                plmn: guami.plmn,
                tac: Tac([0, 0, 1]),
            },
        }
    }

    #[test]
    fn associations_survive() {
        for rfsp in [0, 1, 256] {
            let policy = AmPolicy {
                policy: 3.into(),
                rfsp: rfsp.into(),
            };
            let trip = trip(creation(), &mut memory(), &mut memory(), |_| policy.into());
            assert_eq!(*trip.asked[0], creation().into());
            assert_eq!(*trip.answer, policy.into());
            assert_eq!(trip.line(), "POST /npcf-am-policy-control/v1/policies");
            // Required by PolicyAssociationRequest and PolicyAssociation.
            has(&trip.sent(), &["/notificationUri", "/suppFeat", "/supi"]);
            has(&trip.came(), &["/suppFeat"]);
        }
        let delete = DeleteAmPolicy { policy: 3.into() };
        let trip = trip(delete, &mut memory(), &mut memory(), |_| Done::ALL.into());
        assert_eq!(
            (*trip.asked[0], *trip.answer),
            (delete.into(), Done::ALL.into())
        );
        let line = "DELETE /npcf-am-policy-control/v1/policies/0000000000000003";
        assert_eq!((trip.line().as_str(), trip.status().as_u16()), (line, 204));
    }

    /// PCF of free5GC: the identity of an association is text, and one without policy has no rfsp.
    #[test]
    fn an_association_of_another_pcf_is_kept() {
        let mut amf = memory();
        let uri = "http://127.0.0.7:8000/npcf-am-policy-control/v1/policies/imsi-001010000000001-1";
        let (answer, ..) = carry(creation(), &mut amf, |_| {
            with_location(
                respond(StatusCode::CREATED, &json!({ "suppFeat": "00" })),
                uri,
            )
        });
        let Message::AmPolicy(policy) = *answer else {
            panic!("{answer:?}");
        };
        assert_eq!(policy.rfsp.get(), 0);
        let delete = DeleteAmPolicy {
            policy: policy.policy,
        };
        let gone = |_: &Request| crate::body::respond_empty(StatusCode::NO_CONTENT);
        let (answer, requests, _) = carry(delete, &mut amf, gone);
        assert_eq!(*answer, Done::ALL.into());
        let path = "/npcf-am-policy-control/v1/policies/imsi-001010000000001-1";
        assert_eq!(requests[0].1.uri(), path);
        let (answer, ..) = carry(delete, &mut amf, gone_again);
        assert_eq!(*answer, Problem::ContextNotFound.into());
    }

    fn gone_again(_: &Request) -> crate::exchange::Response {
        panic!("nobody is asked about an association that is gone")
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        let whole = json!({ "notificationUri": "http://a/b", "suppFeat": "1", "supi": "imsi-001010000000001" });
        let path = "/npcf-am-policy-control/v1/policies";
        for name in ["notificationUri", "suppFeat", "supi"] {
            let mut body = whole.clone();
            body[name] = Value::Null;
            let refused = asks(&request(Method::POST, path, &body), &mut memory());
            let refused = read_response(&refused.expect_err("refused"));
            assert_eq!(refused["invalidParams"][0]["param"], format!("/{name}"));
        }
        let get = request(Method::GET, path, &json!({}));
        assert_eq!(
            asks(&get, &mut memory()).expect_err("refused").status(),
            405
        );
    }
}
