//! The management API: every operation of its document, and what it refuses.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Instant;

use crate::place::{Core, KEY, LIMIT, OPC, Place, Ran, run, ue, with_database};
use crate::schema::{asked_in_its_form, fault, operations};
use crate::{instances, qos, screen};
use serde_json::{Value, json};

/// An answer.
pub struct Http {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Http {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| {
            let (one, value) = line.split_once(':')?;
            one.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub fn api(place: &Place) -> String {
    format!("{}:9471", place.ip(1))
}

pub fn with_api(place: &Place, config: &str) -> String {
    format!("api: {{listen: {}}}\n{config}", api(place))
}

/// Sends octets and reads until the other side closes.
fn exchange(place: &Place, octets: &[u8]) -> String {
    let mut stream = TcpStream::connect(api(place)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut all = Vec::new();
    // What is refused may be refused before it is whole, and the connection reset behind the answer.
    let _ = stream.write_all(octets);
    let _ = stream.read_to_end(&mut all);
    String::from_utf8(all).unwrap()
}

pub fn ask(place: &Place, line: &str, headers: &str, body: &str) -> Http {
    let host = match headers.to_ascii_lowercase().contains("host:") {
        true => String::new(),
        false => format!("Host: {}\r\n", api(place)),
    };
    let request = format!(
        "{line} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let answer = exchange(place, request.as_bytes());
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{line}: {answer}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = match head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        true if head.contains("text/event-stream") => whole(body),
        true => panic!("answers but streams have a length: {head}"),
        false => body.to_owned(),
    };
    Http {
        status,
        head: head.to_owned(),
        body,
    }
}

/// The body of a stream that has ended, of its chunks (RFC 9112, 7.1).
fn whole(mut chunks: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        whole += &rest[..length];
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    whole
}

pub const JSON: &str = "Content-Type: application/json\r\n";
const CSV: &str = "Content-Type: text/csv; charset=utf-8\r\n";

fn hex(octets: [u8; 16]) -> String {
    octets.map(|octet| format!("{octet:02x}")).concat()
}

/// What is asked of each operation, in this order: request line, headers, body with `$K` and `$O` for keys.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    ("status", "GET /v1/status", "", ""),
    ("ues", "GET /v1/ues?from=001010000000001&count=10", "", ""),
    ("ue", "GET /v1/ues/001010000000003", "", ""),
    ("flow", "GET /v1/ues/001010000000003/flow", "", ""),
    ("gnbs", "GET /v1/gnbs", "", ""),
    ("nfs", "GET /v1/nfs", "", ""),
    ("gnbsUpdate", "POST /v1/gnbs/update", "", ""),
    (
        "overloadStart",
        "PUT /v1/overload",
        JSON,
        "{\"action\": \"reject_signalling\", \"percent\": 30}",
    ),
    ("status", "GET /v1/status", "", ""),
    ("overloadStop", "DELETE /v1/overload", "", ""),
    ("reload", "POST /v1/reload", "", ""),
    ("procedures", "GET /v1/procedures", "", ""),
    ("refusals", "GET /v1/refusals", "", ""),
    ("counters", "GET /v1/counters", "", ""),
    ("metrics", "GET /metrics", "", ""),
    ("openapi", "GET /openapi.json", "", ""),
    (
        "subscriberAdd",
        "POST /v1/subscribers",
        JSON,
        "{\"imsi\": \"001010000000007\", \"k\": \"$K\", \"opc\": \"$O\"}",
    ),
    (
        "subscriberShow",
        "GET /v1/subscribers/001010000000007",
        "",
        "",
    ),
    (
        "subscriberChange",
        "PATCH /v1/subscribers/001010000000007",
        JSON,
        "{\"set\": {\"ue_ambr_down_bps\": 5000000}}",
    ),
    (
        "subscriberImport",
        "POST /v1/subscribers/import?replace=true",
        CSV,
        "imsi,k,opc\n001010000000008,$K,$O\n",
    ),
    (
        "subscriberExport",
        "GET /v1/subscribers/export?format=json",
        "",
        "",
    ),
    (
        "subscriberList",
        "GET /v1/subscribers?imsi_prefix=00101&barred=false&limit=2",
        "",
        "",
    ),
    (
        "subscriberRemove",
        "DELETE /v1/subscribers/001010000000007",
        "",
        "",
    ),
    (
        "homeKeyNew",
        "POST /v1/home-network-keys",
        JSON,
        "{\"profile\": \"a\", \"id\": 7}",
    ),
    ("homeKeyList", "GET /v1/home-network-keys", "", ""),
    ("homeKeyRemove", "DELETE /v1/home-network-keys/7", "", ""),
    (
        "deregister",
        "DELETE /v1/ues/001010000000003?registers_again=false",
        "",
        "",
    ),
];

#[test]
fn every_operation_of_the_document_is_served_and_answers_in_its_form() {
    let place = Place::new();
    let core = Core::start_with(&place, &with_api(&place, &with_database(&place)));
    let mut first = ue("0000000003", KEY);
    first.follow_on = true;
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![first, ue("0000000009", KEY)]);
    ran.register(0);
    // A stranger, who is refused.
    ran.register(1);
    let document = ask(&place, "GET /openapi.json", "", "").json();
    let mut asked = BTreeSet::new();
    for (name, line, headers, body) in REQUESTS {
        let body = body.replace("$K", &hex(KEY)).replace("$O", &hex(OPC));
        let answer = asked_in_its_form(&place, &document, (name, line, headers, &body));
        assert!(
            !answer.body.contains("46464646"),
            "keys are never shown: {line}"
        );
        asked.insert((*name).to_owned());
    }
    asked.extend(qos::OPERATIONS.map(str::to_owned));
    asked.extend(instances::OPERATIONS.map(str::to_owned));
    asked.extend(screen::OPERATIONS.map(str::to_owned));
    let known: BTreeSet<_> = operations(&document).into_iter().map(|one| one.0).collect();
    assert_eq!(asked, known, "each operation is asked");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
    // What was done by HTTP is there for others.
    let left = core.ask("subscriber_list");
    let imsis: Vec<_> = left["subscribers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["imsi"])
        .collect();
    assert_eq!(imsis, ["001010000000003", "001010000000008"], "{left}");
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn both_doors_have_the_same_answers() {
    let place = Place::new();
    let core = Core::start_with(&place, &with_api(&place, &place.config()));
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    ran.wait("the end of the connection", |ran| ran.phones[0].1.is_none());
    let end = Instant::now() + LIMIT;
    while core.ask("ues")["connected"] != 0 {
        assert!(Instant::now() < end, "the UE stays connected");
        ran.turn();
    }
    for (path, cmd) in [
        ("/v1/ues", "ues"),
        ("/v1/gnbs", "gnbs"),
        ("/v1/procedures", "procedures"),
        ("/v1/refusals", "refusals"),
    ] {
        let answer = ask(&place, &format!("GET {path}"), "", "");
        assert_eq!(answer.json(), core.ask(cmd), "{path}");
        let head = ask(&place, &format!("HEAD {path}"), "", "");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
    }
    let imsi = "001010000000001";
    let answer = ask(&place, &format!("GET /v1/ues/{imsi}"), "", "");
    assert_eq!(answer.json(), core.ask_of("ue", imsi));
    // This core has no database.
    let refused = ask(&place, "GET /v1/subscribers", "", "");
    let told = refused.json();
    assert_eq!(
        (refused.status, &told["reason"]),
        (409, &json!("no_database")),
        "{told}"
    );
    let page = ask(&place, "GET /metrics", "", "");
    assert!(
        page.header("content-type")
            .unwrap()
            .contains("version=0.0.4")
    );
    for line in [
        "sluice_core_gnbs 1",
        "sluice_core_ues{state=\"registered\"} 1",
        "sluice_core_amf_events_total{event=\"registrations\"} 1",
    ] {
        assert!(
            page.body.lines().any(|one| one == line),
            "{line}\n{}",
            page.body
        );
    }
}

/// Request line, headers, body, status, reason, and a part of what is told.
const REFUSED: &[(&str, &str, &str, u16, &str, &str)] = &[
    ("GET /nothing", "", "", 404, "no_route", "/openapi.json"),
    ("GET /v1/ues/", "", "", 404, "no_route", ""),
    ("GET /v1/ues/1/2/3", "", "", 404, "no_route", ""),
    ("PUT /v1/subscribers", "", "", 405, "method", ""),
    ("GET /v1/ues/x", "", "", 400, "invalid", "'x' is no IMSI"),
    ("GET /v1/ues/%00%ff", "", "", 400, "invalid", ""),
    (
        "GET /v1/ues/001010000000009",
        "",
        "",
        404,
        "not_found",
        "no subscriber of this IMSI",
    ),
    ("GET /v1/ues?from=1", "", "", 400, "invalid", "no IMSI"),
    (
        "GET /v1/ues?count=0",
        "",
        "",
        400,
        "invalid",
        "count: expected a number from 1",
    ),
    (
        "GET /v1/ues?count=1&count=2",
        "",
        "",
        400,
        "invalid",
        "count is given twice",
    ),
    (
        "GET /v1/ues?a=b",
        "",
        "",
        400,
        "invalid",
        "no parameter 'a'; expected from, count",
    ),
    (
        "GET /v1/gnbs?a=b",
        "",
        "",
        400,
        "invalid",
        "no parameter 'a'; expected after, count",
    ),
    ("GET /v1/gnbs", "", "{}", 400, "invalid", "there is a body"),
    (
        "DELETE /v1/ues/001010000000001",
        "",
        "",
        404,
        "not_found",
        "no UE of this IMSI",
    ),
    (
        "POST /v1/subscribers",
        "",
        "{}",
        415,
        "media_type",
        "application/json",
    ),
    (
        "POST /v1/subscribers",
        CSV,
        "{}",
        415,
        "media_type",
        "application/json",
    ),
    ("POST /v1/subscribers", JSON, "{", 400, "invalid", "EOF"),
    (
        "POST /v1/subscribers",
        JSON,
        "[]",
        400,
        "invalid",
        "no JSON object",
    ),
    (
        "POST /v1/subscribers",
        JSON,
        "{\"imsi\": \"1\"}",
        422,
        "problems",
        "",
    ),
    (
        "POST /v1/subscribers",
        JSON,
        "{\"kk\": \"465b5ce8b199b49faa5f0a2ee238a6bc\"}",
        422,
        "problems",
        "unknown field",
    ),
    (
        "PATCH /v1/subscribers/001010000000003",
        JSON,
        "{\"set\": \"465b5ce8b199b49faa5f0a2ee238a6bc\"}",
        400,
        "invalid",
        "hexadecimal digits",
    ),
    (
        "GET /v1/subscribers/001010000000009",
        "",
        "",
        404,
        "not_found",
        "",
    ),
    (
        "GET /v1/subscribers/export?format=xml",
        "",
        "",
        400,
        "invalid",
        "csv or json",
    ),
    (
        "DELETE /v1/home-network-keys/x",
        "",
        "",
        400,
        "invalid",
        "1 to 255",
    ),
    (
        "POST /v1/home-network-keys",
        JSON,
        "{\"profile\": \"c\"}",
        400,
        "invalid",
        "",
    ),
    (
        "PUT /v1/overload",
        JSON,
        "{\"percent\": 100}",
        400,
        "invalid",
        "1 to 99",
    ),
    (
        "PUT /v1/overload",
        JSON,
        "{\"percent\": 300}",
        400,
        "invalid",
        "",
    ),
    (
        "PUT /v1/overload",
        JSON,
        "{\"action\": \"x\"}",
        400,
        "invalid",
        "reject_data",
    ),
    (
        "GET /v1/gnbs",
        "Host: attacker.example\r\n",
        "",
        403,
        "forbidden",
        "localhost",
    ),
    (
        "GET /v1/gnbs",
        "Origin: https://attacker.example\r\n",
        "",
        403,
        "forbidden",
        "browsers",
    ),
];

#[test]
fn what_is_refused_is_refused_with_a_problem() {
    let place = Place::new();
    let core = Core::start_with(&place, &with_api(&place, &with_database(&place)));
    let document = ask(&place, "GET /openapi.json", "", "").json();
    let form = json!({ "$ref": "#/components/schemas/Problem" });
    for (line, headers, body, status, reason, told) in REFUSED {
        let answer = ask(&place, line, headers, body);
        let media_type = answer.header("content-type");
        assert_eq!(
            media_type,
            Some("application/problem+json"),
            "{line}: {}",
            answer.head
        );
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["reason"]),
            (*status, &json!(reason)),
            "{line}: {problem}"
        );
        assert_eq!(problem["status"], *status);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{line}: {detail}");
        assert!(!answer.body.contains("b199b49f"), "{line}: {problem}");
        assert_eq!(fault(&document, &form, &problem), None, "{line}: {problem}");
    }
    let other = ask(&place, "PUT /v1/subscribers", "", "");
    assert_eq!(other.header("allow"), Some("GET, HEAD, POST"));
    // Too long: told before it is read, and after.
    let long = format!(
        "POST /v1/subscribers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}Content-Length: 1000000000\r\n\r\n"
    );
    assert!(exchange(&place, long.as_bytes()).starts_with("HTTP/1.1 413 "));
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let long = format!(
        "POST /v1/subscribers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n{chunk}1\r\n \r\n"
    );
    assert!(exchange(&place, long.as_bytes()).starts_with("HTTP/1.1 413 "));
    // No HTTP at all, and a head without end.
    assert!(exchange(&place, b"\x16\x03\x01\x02\x00\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(1 << 20));
    assert!(exchange(&place, endless.as_bytes()).starts_with("HTTP/1.1 431 "));
    let status = core.ask("status");
    assert_eq!(status["gnbs"], 0, "it goes on: {status}");
}

#[test]
fn clients_that_say_nothing_keep_nobody_away() {
    let place = Place::new();
    let _core = Core::start_with(&place, &with_api(&place, &place.config()));
    let silent: Vec<_> = (0..80)
        .map(|_| TcpStream::connect(api(&place)).unwrap())
        .collect();
    let answer = ask(&place, "GET /v1/gnbs", "", "");
    assert_eq!(answer.status, 200);
    drop(silent);
    // Many at a time are answered, or told to come again.
    let asks = (0..40).map(|_| {
        let (address, request) = (
            api(&place),
            "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        );
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer[9..12].parse::<u16>().unwrap()
        })
    });
    let asks: Vec<_> = asks.collect();
    let told: Vec<_> = asks.into_iter().map(|ask| ask.join().unwrap()).collect();
    assert!(told.contains(&200), "{told:?}");
    assert!(
        told.iter().all(|status| [200, 503].contains(status)),
        "{told:?}"
    );
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let place = Place::new();
    let file = place.folder.path().join("token");
    let token = "0123456789abcdef0123456789abcdef";
    let section = format!(
        "api: {{listen: {}, token_file: {}}}\n",
        api(&place),
        file.display()
    );
    let config = format!("{section}{}", place.config());
    let checked = |told: &str| {
        let checked = run(&place.file(&config), &["--check"]);
        let error = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.code(), Some(3), "{error}");
        assert!(
            error.contains(told) && !error.contains("0123456789"),
            "{error}"
        );
    };
    checked("core.yaml:1: api.token_file:");
    fs::write(&file, "0123456789").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    checked("can be read by others (mode 640)");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    checked("holds no token; expected 16 to 512 characters");
    fs::write(&file, format!("{token}\n")).unwrap();
    let core = Core::start_with(&place, &config);
    let refused = ask(&place, "GET /v1/status", "", "");
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, Some("Bearer realm=\"sluice\""))
    );
    assert!(!refused.body.contains(token));
    // Strangers hear not even which paths there are.
    for line in ["GET /nothing", "PUT /v1/status", "GET /openapi.json"] {
        assert_eq!(ask(&place, line, "", "").status, 401, "{line}");
    }
    let header = format!("Host: core.example\r\nAuthorization: Bearer {token}\r\n");
    assert_eq!(ask(&place, "GET /v1/status", &header, "").status, 200);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains(token), "{log}");
}
