//! The same tests with a database of a PostgreSQL server, and what is otherwise with one.

use sluice_subscribers::store::HomeKeyProfile;
use sluice_subscribers::{Access, Error, Location, ServerAddress, Store, StoreKey};

use crate::kit::{NOW_S, contains, draft, k, on_a_server, opc, server};

macro_rules! the_same {
    ($($module:ident { $($test:ident)* })*) => {
        $(mod $module {
            $(#[test]
            fn $test() {
                crate::kit::on_a_server(crate::$module::$test);
            })*
        })*
    };
}

the_same! {
    store {
        what_was_added_is_there_after_it_was_closed
        another_key_file_is_noticed_before_anything_is_done
        readers_see_one_moment_while_another_writes
        a_change_is_checked_as_a_whole_and_its_refusal_changes_nothing
        sequence_numbers_are_kept_where_time_does_not_tell_them
        pages_follow_each_other
        filters_find_who_fits_all_of_them
        home_network_keys_are_made_shown_and_opened
    }
    operations {
        a_subscriber_is_added_changed_shown_and_removed
        a_user_plane_security_policy_is_set_and_taken_away_as_a_whole
        a_change_that_cannot_be_is_refused
        lists_imports_exports_and_keys_are_operations_as_well
    }
    transfer {
        some_thousands_come_in_at_once_and_go_out_again
        all_or_nothing_and_errors_by_line
        addresses_are_had_once_and_may_change_places
        who_is_replaced_keeps_its_sequence_numbers_unless_its_keys_are_others
        keys_leave_only_if_they_are_asked_for
    }
    backup {
        a_backup_comes_back_as_it_was_but_sequence_numbers_go_on
        a_backup_that_is_not_whole_or_not_ours_replaces_nothing
    }
}

fn key() -> StoreKey {
    StoreKey::new([9; 32])
}

fn location(url: &str) -> Location {
    Location::Server(ServerAddress::read(url).unwrap())
}

#[test]
fn no_key_lies_in_the_tables() {
    let Some(server) = server() else { return };
    let database = server.new_database().unwrap();
    let mut store = Store::create_at(&location(&server.url(&database)), &key()).unwrap();
    for number in 1..=20 {
        store.add(&draft(number), NOW_S).unwrap();
    }
    let private = "0f".repeat(32);
    let new = store.new_home_key(HomeKeyProfile::A, None, Some(&private));
    new.unwrap();
    let all = "SELECT * FROM subscriber; SELECT * FROM home_key; SELECT * FROM about";
    let text = server.sql(&database, all).unwrap();
    assert!(text.contains("001010000000007") && text.lines().count() >= 22);
    assert!(!contains(text.as_bytes(), private.as_bytes()));
    for number in 1..=20 {
        for digits in [k(number), opc(number)] {
            assert!(!text.contains(&digits[..16]) && !text.contains(&digits[16..]));
        }
    }
}

#[test]
fn what_is_no_database_of_ours_is_refused_in_words() {
    let Some(server) = server() else { return };
    let refused = |database: &str, access| {
        let opened = Store::open_at(&location(&server.url(database)), &key(), access);
        opened.map(|_| ()).unwrap_err().to_string()
    };
    let database = server.new_database().unwrap();
    assert!(refused(&database, Access::Serve).contains("init"));
    assert!(refused("nobody_has_it", Access::Read).contains("does not exist"));
    let run = |statements: &str| server.sql(&database, statements).unwrap();
    run("CREATE TABLE about (x TEXT)");
    assert!(refused(&database, Access::Change).contains("not ours"));
    let at = location(&server.url(&database));
    assert!(matches!(
        Store::create_at(&at, &key()),
        Err(Error::Exists(_))
    ));
    run("DROP TABLE about");
    Store::create_at(&at, &key()).unwrap();
    for (change, expected) in [
        (
            "UPDATE about SET version = 99",
            "later release (version 99)",
        ),
        (
            "UPDATE about SET version = 1, program = 'another'",
            "not ours",
        ),
        ("DELETE FROM about", "not ours"),
    ] {
        run(change);
        let told = refused(&database, Access::Change);
        assert!(told.contains(expected), "{change}: {told}");
    }
    let nobody = location("postgresql://core:s3cret@127.0.0.1:1/db");
    let told = Store::open_at(&nobody, &key(), Access::Read).unwrap_err();
    assert!(matches!(told, Error::Lost(..)), "{told}");
    let told = told.to_string();
    assert!(
        told.contains("core@127.0.0.1:1/db cannot be reached: "),
        "{told}"
    );
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn rows_that_cannot_be_are_named() {
    let Some(server) = server() else { return };
    for (change, expected) in [
        (
            "UPDATE subscriber SET keys = ''",
            "subscriber 001010000000001: its keys cannot",
        ),
        (
            "UPDATE subscriber SET sqn = -1",
            "sequence number is out of range",
        ),
        ("UPDATE network SET arp = 99", "arp"),
        ("DELETE FROM network", "no slices"),
        ("UPDATE home_key SET public = ''", "home network key 1"),
    ] {
        let database = server.new_database().unwrap();
        let at = location(&server.url(&database));
        let mut store = Store::create_at(&at, &key()).unwrap();
        store.add(&draft(1), NOW_S).unwrap();
        store.new_home_key(HomeKeyProfile::A, None, None).unwrap();
        server.sql(&database, change).unwrap();
        let told = store.verify().unwrap_err();
        assert!(matches!(told, Error::Damaged(..)), "{change}: {told}");
        assert!(told.to_string().contains(expected), "{change}: {told}");
    }
}

#[test]
fn a_server_that_was_lost_is_found_again() {
    // Not the one that others share.
    let server = match sluice_host::postgres::Postgres::start() {
        Ok(server) => server,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let database = server.new_database().unwrap();
    let mut store = Store::create_at(&location(&server.url(&database)), &key()).unwrap();
    store.add(&draft(1), NOW_S).unwrap();
    server.stop().unwrap();
    for _ in 0..3 {
        let lost = store.add(&draft(2), NOW_S).unwrap_err();
        assert!(matches!(lost, Error::Lost(..)), "{lost}");
        assert!(matches!(store.number(), Err(Error::Lost(..))));
    }
    server.go_on().unwrap();
    // By itself, without being told.
    assert_eq!(store.number().unwrap(), 1);
    server.stop().unwrap();
    server.go_on().unwrap();
    // Also where the loss is noticed by a change first.
    store.add(&draft(2), NOW_S).unwrap();
    assert_eq!(store.number().unwrap(), 2);
}

#[test]
fn a_transaction_that_loses_its_server_changes_nothing() {
    on_a_server(|| {
        let (place, mut store) = crate::kit::Place::new();
        let server = server().unwrap();
        store.add(&draft(1), NOW_S).unwrap();
        let lost = store.change(&crate::kit::supi(1), NOW_S, |mut draft| {
            // Its own connection is ended in the middle of the change.
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE state = 'idle in transaction' AND datname = ";
            let Location::Server(address) = &place.location else {
                panic!("a server");
            };
            let name = address.to_string();
            let database = name.rsplit('/').next().unwrap();
            let told = server
                .sql("postgres", &format!("{end}'{database}'"))
                .unwrap();
            assert_eq!(told.trim(), "t");
            draft.barred = sluice_subscribers::draft::Text::new("yes");
            Ok(draft)
        });
        assert!(matches!(lost, Err(Error::Lost(..))), "{lost:?}");
        let record = store.get(&crate::kit::supi(1)).unwrap().unwrap();
        assert!(!record.profile.barred);
    });
}
