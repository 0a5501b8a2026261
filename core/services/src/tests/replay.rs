//! Requests that other cores sent, where the folder with their recordings is there: each is taken, or refused with a reason.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use sluice_sbi::{Problem, Slot};

use super::through::memory;
use crate::exchange::{Producer, Request};
use crate::judge::recorded;
use crate::routes::accept;

/// Recordings, and how many requests of each are for services of ours.
const RECORDINGS: [&str; 3] = [
    "sbi-free5gc.txt",
    "sbi-open5gs.txt",
    "sbi-open5gs-direct.txt",
];

/// Services whose requests are documents for the NRF, and those that nobody here serves.
const OTHERS: [&str; 12] = [
    "nnrf-nfm",
    "nnrf-disc",
    "oauth2",
    "nbsf-management",
    "npcf-ue-policy-control",
    "npcf-policyauthorization",
    "nnssf-nssaiavailability",
    "namf-evts",
    "nsmf-event-exposure",
    "nudm-ee",
    "nudm-pp",
    "nchf-convergedcharging",
];

/// A request of a recording, and the status of the answer that it had.
struct Recorded {
    name: String,
    request: Request,
    status: u16,
}

/// One exchange from its heading on; none with parts that are no JSON, which stand there in another form.
fn read(exchange: &str) -> Option<Recorded> {
    let mut lines = exchange.lines();
    let name = lines.next()?.trim().to_owned();
    let mut request = Request::new(Bytes::new());
    let mut body = String::new();
    for line in lines.by_ref().take_while(|line| !line.starts_with("-- ")) {
        let Some(header) = line.strip_prefix("> ") else {
            // "(the same 507 octets as ...)" stands for a body that is not repeated.
            if line.starts_with("(") && line != "(no body)" {
                return None;
            }
            if !line.starts_with(['#', '(']) {
                body.push_str(line);
            }
            continue;
        };
        let (header, value) = header.split_at(header.get(1..)?.find(':')? + 1);
        let value = value.trim_start_matches(':').trim();
        match header {
            ":method" => *request.method_mut() = Method::from_bytes(value.as_bytes()).ok()?,
            ":path" => *request.uri_mut() = value.parse().ok()?,
            "content-type" if value.starts_with("multipart") => return None,
            header if header.starts_with(':') => {}
            header => {
                let header = HeaderName::from_bytes(header.as_bytes()).ok()?;
                let value = HeaderValue::from_str(value).ok()?;
                request.headers_mut().insert(header, value);
            }
        }
    }
    *request.body_mut() = body.into();
    let status = lines.find_map(|line| line.strip_prefix("< :status: "))?;
    Some(Recorded {
        name,
        request,
        status: status.trim().parse().ok()?,
    })
}

/// Whether a function was asked, and the status that its refusal had.
fn answer(request: &Request) -> (bool, u16, String) {
    let mut memory = memory(7777);
    let (mut step, mut is_taken) = (accept(request, &mut memory), false);
    for _ in 0..32 {
        match step {
            Producer::Done(response) => {
                let body = String::from_utf8_lossy(response.body()).into_owned();
                return (is_taken, response.status().as_u16(), body);
            }
            Producer::Ask(_, _, then) => {
                is_taken = true;
                let answer: Slot = Problem::UserNotFound.into();
                step = then(&answer, &mut memory);
            }
        }
    }
    panic!("{} {} asks without end", request.method(), request.uri());
}

/// Requests that others answered well, and that nothing here serves.
const UNSERVED: [&str; 6] = [
    "GET /nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access",
    "PATCH /nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions/1",
    "PUT /nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/sdm-subscriptions/1",
    "GET /npcf-am-policy-control/v1/policies/imsi-001010000000001-1",
    // An authentication is forgotten by its time.
    "DELETE /nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
    "PUT /nudm-ueau/v1/imsi-001010000000001/auth-events",
];

#[test]
fn requests_of_other_cores_are_taken_or_refused_with_a_reason() {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for recording in RECORDINGS {
        let Some(text) = recorded(recording) else {
            println!("skipped: there is no {recording}");
            return;
        };
        for one in text.split("\n### ").skip(1).filter_map(read) {
            let request = &one.request;
            let service = request.uri().path().split('/').nth(1).unwrap_or_default();
            if OTHERS.contains(&service) || service.ends_with("-callback") {
                continue;
            }
            let (is_taken, status, why) = answer(request);
            let line = format!("{} {}", request.method(), request.uri());
            let is_known = UNSERVED.iter().any(|begin| line.starts_with(begin))
                || line.contains("slice-info-request-for-pdu-session")
                || line.starts_with("DELETE /nudr-dr/") && line.ends_with("/authentication-status");
            if is_taken {
                *taken.entry(service.to_owned()).or_default() += 1;
            } else if one.status < 300 && status >= 300 && status != 404 && !is_known {
                // Resources of theirs are not there.
                wrong.push(format!("{recording} {}: {line}: {status} {why}", one.name));
            }
            assert!(status < 500 || is_taken, "{line}: {status}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for service in [
        "nausf-auth",
        "nudm-ueau",
        "nudm-sdm",
        "nudm-uecm",
        "nudr-dr",
    ] {
        assert!(taken.get(service) > Some(&3), "{service}: {taken:?}");
    }
}
