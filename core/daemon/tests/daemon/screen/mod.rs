//! The screen: users by the API, and the pages in headless Chromium, with an emulated gNB and UEs behind the core.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::api::{Http, JSON, api, ask};
use crate::place::{Core, KEY, LIMIT, Place, Ran, ue, with_database};
use crate::schema::asked_in_its_form;
use crate::upf::Upf;
use serde_json::{Value, json};
use sluice_web::{Role, UsersFile};

/// Operations that are asked here, and not with all others: they need users, or have no end of their own.
pub const OPERATIONS: [&str; 8] = [
    "session",
    "logIn",
    "logOut",
    "userList",
    "userSet",
    "userRemove",
    "events",
    "ueEvents",
];

const PASSWORD: &str = "correct horse battery";
/// For all that a browser does, on a busy machine.
const BROWSER_LIMIT: Duration = Duration::from_secs(900);

/// A configuration with users, of whom ada is an admin and oli an operator.
fn with_users(place: &Place, config: &str) -> String {
    let file = UsersFile(place.folder.path().join("users"));
    for (name, role) in [("ada", Role::Admin), ("oli", Role::Operator)] {
        file.set(name, Some(role), Some(PASSWORD)).unwrap();
    }
    let (listen, file) = (api(place), file.0.display());
    format!("api: {{listen: {listen}, users_file: {file}}}\n{config}")
}

fn log_in(place: &Place, user: &str, password: &str) -> Http {
    let body = json!({ "user": user, "password": password }).to_string();
    ask(place, "POST /v1/session", JSON, &body)
}

/// Headers of a browser that is logged in: those to look, and those to change.
fn headers(place: &Place, user: &str) -> (String, String) {
    let answer = log_in(place, user, PASSWORD);
    assert_eq!(answer.status, 201, "{}", answer.body);
    let set = answer.header("set-cookie").unwrap();
    assert!(
        set.contains("; HttpOnly; SameSite=Strict") && !set.contains("Secure"),
        "{set}"
    );
    let cookie = set.split(';').next().unwrap();
    let csrf = answer.json()["csrf"].as_str().unwrap().to_owned();
    let look = format!("Cookie: {cookie}\r\n");
    let change = format!(
        "{look}X-CSRF-Token: {csrf}\r\nOrigin: http://{}\r\n",
        api(place)
    );
    (look, change)
}

#[test]
fn users_log_in_and_change_what_their_role_permits() {
    let place = Place::new();
    let core = Core::start_with(&place, &with_users(&place, &place.config()));
    let (look, change) = headers(&place, "ada");
    let document = ask(&place, "GET /openapi.json", &look, "").json();
    let mut asked = BTreeSet::new();
    let with_body = format!("{change}{JSON}");
    let vic = json!({ "role": "viewer", "password": PASSWORD }).to_string();
    let log_in_of_vic = json!({ "user": "vic", "password": PASSWORD }).to_string();
    let imsi = "/v1/ues/001010000000001/events?events=1";
    for (name, line, headers, body) in [
        ("session", "GET /v1/session", &look, ""),
        ("userList", "GET /v1/users", &look, ""),
        ("userSet", "PUT /v1/users/vic", &with_body, &*vic),
        (
            "logIn",
            "POST /v1/session",
            &JSON.to_owned(),
            &*log_in_of_vic,
        ),
        ("userRemove", "DELETE /v1/users/vic", &change, ""),
        ("events", "GET /v1/events?events=1", &look, ""),
        ("ueEvents", &format!("GET {imsi}"), &look, ""),
    ] {
        let answer = asked_in_its_form(&place, &document, (name, line, headers, body));
        assert!(!answer.body.contains(PASSWORD) && !answer.body.contains("argon2"));
        asked.insert(name);
    }
    let events = ask(&place, "GET /v1/events?events=1", &look, "");
    let data = events.body.strip_prefix("event: status\ndata: ").unwrap();
    let status: Value = serde_json::from_str(data.trim()).unwrap();
    assert_eq!(status["usage"]["uplink_octets"], 0, "{status}");
    roles_and_origins(&place);
    let gone = asked_in_its_form(
        &place,
        &document,
        ("logOut", "DELETE /v1/session", &change, ""),
    );
    assert_eq!(gone.json()["user"], Value::Null);
    asked.insert("logOut");
    assert_eq!(ask(&place, "GET /v1/ues", &look, "").status, 401);
    assert_eq!(asked, BTreeSet::from(OPERATIONS));
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("oli: gnbsUpdate /v1/gnbs/update"), "{log}");
    assert!(!log.contains(PASSWORD), "{log}");
}

/// The core's own page alone, with the CSRF token, and as far as the role goes.
fn roles_and_origins(place: &Place) {
    let (looks, changes) = headers(place, "oli");
    for (line, headers, body, status) in [
        ("GET /v1/ues", &*looks, "", 200),
        ("POST /v1/gnbs/update", &*changes, "", 200),
        ("POST /v1/gnbs/update", &*looks, "", 403),
        ("POST /v1/reload", &*changes, "", 403),
        ("GET /v1/users", &*looks, "", 403),
        ("GET /v1/ues", "", "", 401),
        ("GET /v1/ues", "Cookie: sluice_session=00\r\n", "", 401),
        ("GET /v1/events", "", "", 401),
        ("GET /nothing", "", "", 401),
        (
            "GET /v1/session",
            "Origin: http://attacker.example\r\n",
            "",
            403,
        ),
        (
            "POST /v1/session",
            "Origin: http://attacker.example\r\n",
            "",
            403,
        ),
    ] {
        let answer = ask(place, line, headers, body);
        assert_eq!(answer.status, status, "{line}: {}", answer.body);
    }
}

#[test]
fn the_rate_of_log_ins_is_bounded() {
    let place = Place::new();
    let _core = Core::start_with(&place, &with_users(&place, &place.config()));
    assert_eq!(log_in(&place, "oli", "another one").status, 401);
    while log_in(&place, "eve", PASSWORD).status == 401 {}
    assert_eq!(log_in(&place, "eve", PASSWORD).status, 429);
    assert_eq!(log_in(&place, "oli", PASSWORD).status, 201);
}

#[test]
fn a_core_without_users_shows_its_page_and_lets_it_change_nothing() {
    let place = Place::new();
    let config = format!("api: {{listen: {}}}\n{}", api(&place), place.config());
    let _core = Core::start_with(&place, &config);
    let page = ask(&place, "GET /", "", "");
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'self';"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let session = ask(&place, "GET /v1/session", "", "").json();
    assert_eq!(
        (&session["log_in"], &session["role"]),
        (&json!("open"), &json!("viewer"))
    );
    let origin = format!("Origin: http://{}\r\n", api(&place));
    assert_eq!(ask(&place, "POST /v1/gnbs/update", &origin, "").status, 403);
    assert_eq!(ask(&place, "POST /v1/gnbs/update", "", "").status, 200);
    assert_eq!(log_in(&place, "ada", PASSWORD).status, 409);
}

#[test]
fn a_users_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let config = with_users(&place, &place.config());
    let file = place.folder.path().join("users");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for arguments in [&["--check"][..], &[]] {
        let refused = crate::place::run(&place.file(&config), arguments);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{error}");
        assert!(
            error.contains("core.yaml:1: api.users_file:") && error.contains("mode 644"),
            "{error}"
        );
    }
}

/// A program of the search path.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let at = |name: &&str| {
        folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|p| p.is_file())
    };
    names.iter().find_map(at)
}

/// Chromium, and the folder of the pages' sources with what drives it; or what is missing.
fn browser() -> Result<(PathBuf, PathBuf), &'static str> {
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/app");
    let chromium = program(&["chromium", "chromium-browser"]).ok_or("chromium is not there")?;
    program(&["node"]).ok_or("node is not there")?;
    if !sluice_web::assets::is_built() {
        return Err("the screen was not built (scripts/screen.sh)");
    }
    match app.join("node_modules/puppeteer-core").is_dir() {
        true => Ok((chromium, app)),
        false => Err("puppeteer-core is not installed (scripts/screen.sh)"),
    }
}

#[test]
fn an_operator_works_with_the_screen_in_a_browser() {
    let (chromium, app) = match browser() {
        Ok(found) => found,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let place = Place::new();
    let _upf = Upf::start(&place, false);
    let config = with_users(&place, &with_database(&place));
    let core = Core::start_with(&place, &config);
    let phones = ["0000000003", "0000000007", "0000000009"].map(|msin| {
        let mut phone = ue(msin, KEY);
        phone.follow_on = true;
        phone
    });
    let mut ran = Ran::connect(&place, [0, 0, 7], phones.into());
    ran.register(0);
    // A stranger, who is refused.
    ran.come(2);
    ran.wait("the refusal", |ran| ran.phones[2].1.is_none());
    let mut child = Command::new("node")
        .arg("test/screen.mjs")
        .arg(&chromium)
        .args([format!("http://{}", api(&place)), PASSWORD.to_owned()])
        .current_dir(app)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (to, from) = mpsc::channel();
    let reads = thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
    let (end, mut said) = (Instant::now() + BROWSER_LIMIT, String::new());
    let status = loop {
        ran.turn();
        for line in from.try_iter() {
            println!("{line}");
            if line == "do: register 001010000000007" {
                ran.come(1);
            }
            said += &line;
            said += "\n";
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            let _ = child.kill();
        }
    };
    reads.join().unwrap();
    said.extend(from.try_iter());
    assert!(status.success() && said.contains("all is well"), "{said}");
    let end = Instant::now() + LIMIT;
    let gone = || core.ask_of("ue", "001010000000007").get("error").is_some();
    while !gone() {
        assert!(Instant::now() < end, "the UE was not deregistered");
        ran.turn();
    }
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("ada: subscriberAdd /v1/subscribers"), "{log}");
}
