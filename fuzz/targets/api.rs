//! Requests of the core's management API: any parameters and bodies become a question to the core, or a
//! problem that repeats no key.

use sluice_core_daemon::api::access::{Access, Shown};
use sluice_core_daemon::api::problem::{Problem, REASONS};
use sluice_core_daemon::api::readers::Given;
use sluice_core_daemon::api::route::By;
use sluice_core_daemon::api::routes::ROUTES;
use std::net::SocketAddr;

/// Hexadecimal digits in a row that may be a key of a SIM.
const KEY_DIGITS: usize = 32;

/// Lines: the number of an operation, its parameter, what stands behind `?`, the media type, header
/// Host, header Authorization; the body is what follows.
pub fn api_request(data: &[u8]) {
    let mut rest = data;
    let mut line = || {
        let end = rest.iter().position(|octet| *octet == b'\n');
        let (line, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.get(1..).unwrap_or_default();
        String::from_utf8_lossy(line).into_owned()
    };
    let number: usize = line().trim().parse().unwrap_or_default();
    let route = &ROUTES[number % ROUTES.len()];
    let parameter = line();
    let (query, media_type, host, authorization) = (line(), line(), line(), line());
    permit(&host, &authorization);
    let path: Vec<_> = route
        .parameters()
        .map(|name| (name.to_owned(), parameter.clone()))
        .collect();
    let given = Given {
        path: &path,
        query: &query,
        media_type: Some(&media_type),
        body: rest,
    };
    match route.read(&given) {
        Ok(None) => assert!(matches!(route.by, By::Own(_))),
        Ok(Some(ask)) => assert!(!format!("{ask:?}").is_empty()),
        Err(problem) => {
            is_known(&problem);
            let told = problem.to_json().to_string();
            let digits = longest_key(&told);
            // What the operator wrote as a parameter may be repeated; bodies have the keys.
            assert!(
                digits < KEY_DIGITS || longest_key(&query) >= KEY_DIGITS,
                "{told}"
            );
        }
    }
}

fn permit(host: &str, authorization: &str) {
    let listen: SocketAddr = ([127, 0, 0, 1], 9471).into();
    for token in [None, Some("0123456789abcdef".to_owned().into())] {
        let has_token = token.is_some();
        let access = Access {
            token,
            door: None,
            listen,
        };
        let shown = Shown {
            authorization: Some(authorization),
            host: Some(host),
            ..Shown::default()
        };
        match access.permit(shown) {
            Ok(_) if has_token => assert!(authorization.contains("0123456789abcdef")),
            Ok(_) => assert!(!host.contains('/')),
            Err(problem) => is_known(&problem),
        }
    }
}

fn is_known(problem: &Problem) {
    let known = REASONS.iter().any(|(reason, ..)| *reason == problem.reason);
    assert!(known && problem.status().0 >= 400, "{}", problem.reason);
    assert!(!problem.detail.is_empty());
}

fn longest_key(text: &str) -> usize {
    let runs = text.split(|c: char| !c.is_ascii_hexdigit());
    runs.map(str::len).max().unwrap_or_default()
}
