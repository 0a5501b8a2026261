use super::*;
use crate::cli::Cli;
use clap::Parser;
use std::os::unix::fs::PermissionsExt;

/// Runs a command on a database in this folder; its exit code.
fn sluice(folder: &Path, line: &str) -> Exit {
    let (group, rest) = line.split_once(' ').unwrap();
    let file = folder.join("subscribers.db");
    let words = ["sluice", "ctl", group, "--file", file.to_str().unwrap()];
    let words = words.into_iter().chain(rest.split_whitespace());
    let command = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    command.ctl().expect("a question to the database")
}

const KEYS: &str = "--k 465b5ce8b199b49faa5f0a2ee238a6bc --op cdc202d5123e20f62b6d676ac72cb318";

#[test]
fn a_subscriber_is_added_changed_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |line: &str| sluice(folder.path(), line);
    assert_eq!(run("subscribers list"), Exit::Lacking);
    assert_eq!(run("subscribers init"), Exit::Done);
    let mode = at("subscribers.db.key")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    let key = std::fs::read(at("subscribers.db.key")).unwrap();
    assert_eq!(run("subscribers init"), Exit::Failed);
    assert_eq!(std::fs::read(at("subscribers.db.key")).unwrap(), key);
    let add = format!("subscribers add 001010000000001 {KEYS} --ipv4 10.45.0.7 --ue-ambr-down 2G");
    assert_eq!(run(&add), Exit::Done);
    assert_eq!(run(&add), Exit::Usage);
    assert_eq!(
        run("subscribers add 001010000000002 --k 12 --opc 34"),
        Exit::Usage
    );
    assert_eq!(
        run("subscribers change 001010000000001 --types ipv4 --barred yes"),
        Exit::Done
    );
    assert_eq!(
        run("subscribers change 001010000000001 --slice 2 --dnn ims --five-qi 5"),
        Exit::Done
    );
    assert_eq!(
        run("subscribers change 001010000000001 --slice 2 --remove-network"),
        Exit::Done
    );
    assert_eq!(run("subscribers show 001010000000001"), Exit::Done);
    assert_eq!(run("subscribers show 001010000000009"), Exit::Failed);
    assert_eq!(
        run("subscribers list --barred yes --ipv4 10.45.0.7"),
        Exit::Done
    );
}

#[test]
fn files_go_out_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |line: &str| {
        let line = line.replace('@', &format!("{}/", folder.path().display()));
        sluice(folder.path(), &line)
    };
    assert_eq!(run("subscribers init"), Exit::Done);
    let add = format!("subscribers add 001010000000001 {KEYS}");
    assert_eq!(run(&add), Exit::Done);
    assert_eq!(run("hnkey new --profile a"), Exit::Done);
    assert_eq!(run("hnkey list"), Exit::Done);
    assert_eq!(
        run("subscribers export --with-keys --output @out.csv"),
        Exit::Done
    );
    let table = std::fs::read_to_string(at("out.csv")).unwrap();
    let opc = "cd63cb71954a9f4e48a5994e37a02baf";
    assert!(table.contains(opc) && table.lines().count() == 2, "{table}");
    assert_eq!(
        at("out.csv").metadata().unwrap().permissions().mode() & 0o7777,
        0o600
    );
    assert_eq!(run("subscribers export --output @out.csv"), Exit::Failed);
    assert_eq!(run("subscribers export --output @out.json"), Exit::Done);
    assert!(
        !std::fs::read_to_string(at("out.json"))
            .unwrap()
            .contains(opc)
    );
    assert_eq!(run("subscribers backup @copy.db"), Exit::Done);
    assert_eq!(run("subscribers remove 001010000000001"), Exit::Done);
    assert_eq!(run("hnkey remove 1"), Exit::Done);
    assert_eq!(run("hnkey remove 1"), Exit::Usage);
    assert_eq!(run("subscribers import @out.csv"), Exit::Done);
    assert_eq!(run("subscribers import @out.csv"), Exit::Usage);
    assert_eq!(run("subscribers import @out.csv --replace"), Exit::Done);
    assert_eq!(run("subscribers import @out.txt"), Exit::Usage);
    std::fs::remove_file(at("subscribers.db")).unwrap();
    assert_eq!(run("subscribers restore @copy.db"), Exit::Done);
    assert_eq!(run("hnkey remove 1"), Exit::Done);
    std::fs::set_permissions(at("subscribers.db.key"), PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(run("subscribers list"), Exit::Lacking);
}

#[test]
fn a_servers_database_takes_the_place_of_a_file() {
    let server = match sluice_host::postgres::Postgres::start() {
        Ok(server) => server,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let url = server.url(&server.new_database().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let key_file = at("key");
    let parsed = |words: &[&str], rest: &str| {
        let words = ["sluice", "ctl"].into_iter().chain(words.iter().copied());
        Cli::try_parse_from(words.chain(rest.split_whitespace()))
    };
    let run = |line: &str| {
        let (group, rest) = line.split_once(' ').unwrap();
        let rest = rest.replace('@', &format!("{}/", folder.path().display()));
        let words = [group, "--database", &url, "--key-file", &key_file];
        let command = parsed(&words, &rest).unwrap_or_else(|error| panic!("{line}: {error}"));
        command.ctl().expect("a question to the database")
    };
    assert_eq!(run("subscribers list"), Exit::Lacking);
    assert_eq!(run("subscribers init"), Exit::Done);
    assert_eq!(run("subscribers init"), Exit::Failed);
    let add = format!("subscribers add 001010000000001 {KEYS} --ipv4 10.45.0.7");
    assert_eq!(run(&add), Exit::Done);
    assert_eq!(run(&add), Exit::Usage);
    assert_eq!(run("hnkey new --profile b"), Exit::Done);
    assert_eq!(run("subscribers backup @copy.db"), Exit::Done);
    assert_eq!(
        run("subscribers export --with-keys --output @out.csv"),
        Exit::Done
    );
    assert_eq!(run("subscribers remove 001010000000001"), Exit::Done);
    assert_eq!(run("subscribers import @out.csv"), Exit::Done);
    assert_eq!(run("subscribers import @out.csv"), Exit::Usage);
    assert_eq!(run("hnkey remove 1"), Exit::Done);
    assert_eq!(run("subscribers restore @copy.db"), Exit::Done);
    assert_eq!(run("hnkey remove 1"), Exit::Done);
    assert_eq!(run("subscribers show 001010000000001"), Exit::Done);
    server.stop().unwrap();
    assert_eq!(run("subscribers show 001010000000001"), Exit::Lacking);
    // One place, with its key file.
    for words in [
        &["subscribers", "--database", &url][..],
        &["subscribers", "--database", "mysql://x", "--key-file", "k"],
        &[
            "subscribers",
            "--database",
            &url,
            "--file",
            "x",
            "--key-file",
            "k",
        ],
        &["subscribers", "--key-file", "k"],
    ] {
        assert!(parsed(words, "list").is_err(), "{words:?}");
    }
}

#[test]
fn answers_read_like_sentences_and_have_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    let database = DatabasePlace {
        location: Location::File(folder.path().join("db")),
        key_file: folder.path().join("key"),
    };
    init(&database).unwrap();
    let place = Place::Database(database);
    let operate = |place: &Place<'_>, operation| {
        operate(place, operation).unwrap_or_else(|failure| panic!("{failure}"))
    };
    let subscriber = sluice_subscribers::json::draft(
        r#"{"imsi": "001010000000001", "k": "465b5ce8b199b49faa5f0a2ee238a6bc",
            "opc": "cd63cb71954a9f4e48a5994e37a02baf",
            "slices": [{"slice": "1", "networks": [{"dnn": "internet", "ipv4": "10.45.0.7"}]}, {"slice": "2"}]}"#,
    );
    let subscriber = subscriber.unwrap();
    let answer = operate(&place, Operation::SubscriberAdd { subscriber });
    let show = SubscribersCommand::Show {
        imsi: String::new(),
    };
    assert_eq!(
        print::subscribers(&show, &answer),
        "001010000000001\nUE AMBR  1 Gbit/s down, 1 Gbit/s up\nslice 1, default\n  \
         internet: ipv4 ipv6 ipv4v6 (default ipv4v6), AMBR 1 Gbit/s down, 1 Gbit/s up, 5QI 9, ARP 8, 10.45.0.7\nslice 2"
    );
    let list = Operation::SubscriberList {
        filter: Default::default(),
        after: None,
        limit: None,
    };
    let answer = operate(&place, list);
    let list =
        Cli::try_parse_from(["sluice", "ctl", "subscribers", "--file", "x", "list"]).unwrap();
    let text = print::subscribers(list.subscribers().unwrap(), &answer);
    assert_eq!(text, "001010000000001  1/internet 10.45.0.7, 2\n1 of 1");
    let key = Operation::HomeKeyNew {
        profile: sluice_subscribers::store::HomeKeyProfile::A,
        id: None,
        private: Secret::new("c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d"),
    };
    let answer = operate(&place, key);
    let text = print::home_keys(&answer);
    let public = "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650";
    assert!(
        text.ends_with(&format!("\n  1  profile A (scheme 1)  {public}")),
        "{text}"
    );
}
