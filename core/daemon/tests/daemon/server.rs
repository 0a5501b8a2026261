//! Subscribers at a PostgreSQL server: several cores serve them, what others change acts at once, and what becomes
//! of UEs while the server is lost.

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_host::postgres::Postgres;
use sluice_n1::{Cause, Downlink};
use sluice_security::Sqn;
use sluice_subscribers::draft::Text;
use sluice_subscribers::{Access, Location, ServerAddress, Store, StoreKey};
use sluice_ue::UeState;

use crate::place::{Core, KEY, LIMIT, OPC, Place, Ran, run, ue};

const RING: &str = "wiring: {transport: ring}\n";

/// A database of a server with two subscribers, and its key.
struct Database {
    server: Postgres,
    url: String,
    key: StoreKey,
    key_file: String,
}

impl Database {
    fn new(place: &Place) -> Result<Self, String> {
        let server = Postgres::start()?;
        let url = server.url(&server.new_database()?);
        let key_file = place.folder.path().join("database.key");
        let key = StoreKey::create(&key_file).unwrap();
        let database = Self {
            server,
            url,
            key,
            key_file: key_file.display().to_string(),
        };
        let mut store = Store::create_at(&database.location(), &database.key).unwrap();
        let hex = |octets: [u8; 16]| octets.map(|o| format!("{o:02x}")).concat();
        for imsi in ["001010000000003", "001010000000004"] {
            let subscriber = json!({ "imsi": imsi, "k": hex(KEY), "opc": hex(OPC) });
            let draft = sluice_subscribers::json::draft_of(subscriber).unwrap();
            store.add(&draft, 1_790_000_000).unwrap();
        }
        Ok(database)
    }

    fn location(&self) -> Location {
        Location::Server(ServerAddress::read(&self.url).unwrap())
    }

    fn open(&self) -> Store {
        Store::open_at(&self.location(), &self.key, Access::Change).unwrap()
    }

    fn config(&self, place: &Place) -> String {
        let config = place.config();
        let (rest, _) = config.split_once("subscribers:").unwrap();
        let (url, key_file) = (&self.url, &self.key_file);
        format!("{rest}subscriber_database: {{postgresql: '{url}', key_file: {key_file}}}\n")
    }

    /// The last sequence number of a subscriber.
    fn sqn(&self, imsi: &str) -> Sqn {
        let supi = sluice_ids::Supi::from_imsi(imsi).unwrap();
        self.open().get(&supi).unwrap().unwrap().sqn.last
    }
}

/// The server asks for a password from now on, and has one for the role `other`.
fn ask_for_password(database: &Database) {
    let data = database
        .server
        .sql("postgres", "SHOW data_directory")
        .unwrap();
    let rules = "VALUES ('local all other scram-sha-256'), ('local all all trust')";
    let file = format!("{}/pg_hba.conf", data.trim());
    for statement in [
        "CREATE ROLE other SUPERUSER LOGIN PASSWORD 'right'",
        &format!("COPY ({rules}) TO '{file}'"),
        "SELECT pg_reload_conf()",
    ] {
        database.server.sql("postgres", statement).unwrap();
    }
}

#[test]
fn a_core_whose_password_a_server_refuses_is_not_started_again() {
    let place = Place::new();
    let mut database = match Database::new(&place) {
        Ok(database) => database,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    ask_for_password(&database);
    let url = database.url.replace("user=sluice", "user=other");
    let end = Instant::now() + LIMIT;
    for password in ["&password=wrong", ""] {
        database.url = format!("{url}{password}");
        for arguments in [&["--check"][..], &[]] {
            let file = place.file(&database.config(&place));
            let mut refused = run(&file, arguments);
            // The server takes its rules a moment later.
            while refused.status.code() == Some(0) && Instant::now() < end {
                refused = run(&file, arguments);
            }
            let told = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{told}");
            assert!(
                told.contains("subscriber_database.postgresql") && told.contains("password"),
                "{told}"
            );
        }
    }
    database.url = format!("{url}&password=right");
    let core = Core::start_with(&place, &database.config(&place));
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn cores_share_a_server_and_what_others_change_acts_at_once() {
    let places = [Place::new(), Place::new()];
    let database = match Database::new(&places[0]) {
        Ok(database) => database,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let imsi = "001010000000003";
    let mut before = database.sqn(imsi);
    let mut cores = Vec::new();
    // The UDR of the second one has a program of its own.
    for (place, wiring) in places.iter().zip(["", RING]) {
        let config = format!("{wiring}{}", database.config(place));
        let core = Core::start_with(place, &config);
        let mut ran = Ran::connect(place, [0, 0, 7], vec![ue("0000000003", KEY)]);
        ran.register(0);
        assert_eq!(ran.phones[0].0.state(), UeState::Registered);
        // Each number is another, and was stored before it was told.
        let after = database.sqn(imsi);
        assert!(after > before, "{after:?} after {before:?}");
        before = after;
        cores.push((core, ran));
    }
    let supi = sluice_ids::Supi::from_imsi(imsi).unwrap();
    let bar = |barred: &'static str| {
        let changed = database.open().change(&supi, 1_790_000_000, |draft| {
            let barred = Text::new(barred);
            Ok(sluice_subscribers::Draft { barred, ..draft })
        });
        changed.unwrap();
    };
    bar("yes");
    for (core, ran) in &mut cores {
        let is_gone = || core.ask_of("ue", imsi).get("error").is_some();
        ran.wait("the barred UE is gone", |_| is_gone());
    }
    bar("no");
    // Through one of the cores; the other finds out.
    let (first, rest) = cores.split_first_mut().unwrap();
    let (other, ran) = &mut rest[0];
    until("the UE may register again", || {
        ran.register(0);
        ran.phones[0].0.state() == UeState::Registered
    });
    let told = first
        .0
        .try_ask(json!({ "cmd": "subscriber_remove", "imsi": imsi }));
    assert_eq!(told.unwrap()["removed"], imsi);
    ran.wait("the removed UE is gone", |_| {
        other.ask_of("ue", imsi).get("error").is_some()
    });
    for (core, _) in cores {
        let (code, log) = core.stop();
        assert_eq!(code, Some(0), "{log}");
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn while_the_server_is_lost_ues_are_refused_by_congestion_and_then_registered() {
    lost_and_found("");
}

#[test]
fn while_the_server_of_a_udr_of_another_program_is_lost_ues_are_refused_by_congestion() {
    lost_and_found(RING);
}

fn lost_and_found(wiring: &str) {
    let place = Place::new();
    let database = match Database::new(&place) {
        Ok(database) => database,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let config = format!("{wiring}{}", database.config(&place));
    let core = Core::start_with(&place, &config);
    let ues = vec![ue("0000000003", KEY), ue("0000000004", KEY)];
    let mut ran = Ran::connect(&place, [0, 0, 7], ues);
    ran.register(0);
    assert_eq!(ran.phones[0].0.state(), UeState::Registered);
    database.server.stop().unwrap();
    ran.register(1);
    let refused = ran.phones[1].0.refused();
    let congestion = Downlink::RegistrationReject(Cause::CONGESTION.into());
    assert_eq!(refused, Some(&congestion), "{:?}", core.ask("refusals"));
    assert_eq!(core.ask("status")["subscriber_database_up"], false);
    // Who is registered stays so, and operators are told why nothing can be changed.
    assert!(core.ask_of("ue", "001010000000003").get("error").is_none());
    let show = json!({ "cmd": "subscriber_show", "imsi": "001010000000003" });
    let told = core.try_ask(show).unwrap();
    assert_eq!(told["kind"], "lacking", "{told}");
    let told = told["error"].as_str().unwrap();
    assert!(told.contains("cannot be reached"), "{told}");
    database.server.go_on().unwrap();
    until("the UE is registered after all", || {
        ran.register(1);
        ran.phones[1].0.state() == UeState::Registered
    });
    assert_eq!(core.ask("status")["subscriber_database_up"], true);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let lost = log.matches("are not authenticated until").count();
    assert!(lost == 1 && log.contains("answers again"), "{log}");
    if !wiring.is_empty() {
        return;
    }
    // A core that cannot reach it does not start.
    database.server.stop().unwrap();
    let refused = run(&place.file(&config), &[]);
    assert_eq!(refused.status.code(), Some(4));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("subscriber_database.postgresql"), "{told}");
}
