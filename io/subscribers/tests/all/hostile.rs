//! Files that are not what they should be: each is refused in words, and none makes it crash.

use proptest::prelude::*;
use rusqlite::Connection;
use sluice_subscribers::store::Format;
use sluice_subscribers::{Access, Error, Store};

use crate::kit::{NOW_S, Place, draft, table};

fn refused(place: &Place) -> Error {
    match place.open(Access::Change).and_then(|store| store.verify()) {
        Err(error) => error,
        Ok(number) => panic!("{number} subscribers"),
    }
}

#[test]
fn what_is_no_database_of_ours_is_refused_in_words() {
    let (place, store) = Place::new();
    drop(store);
    let path = place.database();
    let write = |octets: &[u8]| std::fs::write(&path, octets).unwrap();
    write(b"");
    assert!(refused(&place).to_string().contains("of another program"));
    write(b"imsi,k,opc\n");
    assert!(refused(&place).to_string().contains("is no database"));
    write(&[0; 8192]);
    assert!(refused(&place).to_string().contains("is no database"));
    std::fs::remove_file(&path).unwrap();
    assert!(refused(&place).to_string().contains("init"));
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(refused(&place), Error::Foreign(..)));
    std::fs::remove_dir(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE subscriber (imsi TEXT);")
        .unwrap();
    assert!(refused(&place).to_string().contains("of another program"));
}

#[test]
fn tables_triggers_and_versions_that_are_not_ours_are_refused() {
    for (change, expected) in [
        ("PRAGMA user_version = 99", "later release (version 99)"),
        ("PRAGMA user_version = 0", "never finished"),
        ("PRAGMA application_id = 7", "of another program"),
        ("CREATE TABLE more (x INTEGER)", "its tables are not ours"),
        ("CREATE VIEW more AS SELECT 1", "its tables are not ours"),
        (
            "CREATE TRIGGER more AFTER INSERT ON subscriber BEGIN DELETE FROM home_key; END",
            "its tables are not ours",
        ),
        ("DROP INDEX network_ipv4", "its tables are not ours"),
        ("DELETE FROM about", "another key"),
    ] {
        let (place, store) = Place::new();
        drop(store);
        let db = Connection::open(place.database()).unwrap();
        db.execute_batch(change).unwrap();
        drop(db);
        let told = refused(&place).to_string();
        assert!(told.contains(expected), "{change}: {told}");
    }
}

#[test]
fn rows_that_cannot_be_are_named() {
    for (change, expected) in [
        (
            "UPDATE subscriber SET keys = x'00'",
            "subscriber 001010000000001: its keys cannot",
        ),
        // Keys of one subscriber in the row of another.
        (
            "UPDATE subscriber SET keys = (SELECT keys FROM subscriber WHERE imsi LIKE '%2') WHERE imsi LIKE '%1'",
            "subscriber 001010000000001: its keys cannot",
        ),
        (
            "UPDATE subscriber SET sqn = -1",
            "sequence number is out of range",
        ),
        ("UPDATE subscriber SET ambr_up_bps = 0", "ue_ambr_up_bps"),
        ("UPDATE network SET arp = 99", "arp"),
        (
            "UPDATE network SET up_integrity = 'perhaps'",
            "up_integrity",
        ),
        (
            "UPDATE network SET up_integrity = 'required'",
            "up_confidentiality: missing",
        ),
        ("UPDATE network SET slice = 'x'", "slices[0].slice"),
        ("UPDATE network SET is_default = 0", "no default slice"),
        ("DELETE FROM network", "no slices"),
        (
            "UPDATE subscriber SET imsi = 'x' WHERE imsi LIKE '%1'",
            "no IMSI",
        ),
        ("UPDATE home_key SET profile = 'b'", "home network key 1"),
        ("UPDATE home_key SET public = x'00'", "home network key 1"),
        ("UPDATE home_key SET id = 300", "home network key 300"),
    ] {
        let (place, mut store) = Place::new();
        store.add(&draft(1), NOW_S).unwrap();
        store.add(&draft(2), NOW_S).unwrap();
        let profile = sluice_subscribers::store::HomeKeyProfile::A;
        store.new_home_key(profile, None, None).unwrap();
        drop(store);
        let db = Connection::open(place.database()).unwrap();
        db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}"))
            .unwrap();
        drop(db);
        let told = refused(&place);
        assert!(matches!(told, Error::Damaged(..)), "{change}: {told}");
        assert!(told.to_string().contains(expected), "{change}: {told}");
    }
}

#[test]
fn a_damaged_file_is_noticed_and_never_crashes() {
    let (place, mut store) = Place::new();
    store
        .import(table(300).as_bytes(), Format::Csv, false, NOW_S)
        .unwrap();
    drop(store);
    let whole = std::fs::read(place.database()).unwrap();
    let mut noticed = 0;
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.clone();
        let end = (at + 64).min(damaged.len());
        damaged[at..end].iter_mut().for_each(|octet| *octet ^= 0x55);
        std::fs::write(place.database(), &damaged).unwrap();
        let verified = place.open(Access::Change).and_then(|store| store.verify());
        noticed += u32::from(verified.is_err());
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(place.file(&format!("subscribers.db{suffix}")));
        }
    }
    // What hits free room between rows is no damage.
    assert!(noticed >= 40, "{noticed}");
    for length in [whole.len() / 2, 4096, 100, 17] {
        std::fs::write(place.database(), &whole[..length]).unwrap();
        let verified = place.open(Access::Change).and_then(|store| store.verify());
        assert!(verified.is_err(), "{length}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "imsi",
        "k",
        "opc",
        "op",
        "dnn",
        "slice",
        "slices",
        "networks",
        ",",
        ";",
        "\"",
        "\n",
        "\r\n",
        "[",
        "]",
        "{",
        "}",
        ":",
        "001010000000001",
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "1-00000a",
        "internet",
        "yes",
        "null",
        "-1",
        "1e999",
        "\u{feff}",
        "\0",
        "ä",
        "\\u0000",
        "10.0.0.1",
        "=cmd()",
        "'; DROP TABLE subscriber; --",
    ]);
    prop::collection::vec(
        prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => any::<String>()],
        0..40,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_text_is_imported_as_a_whole_or_refused_in_few_words(text in any_text(), csv in any::<bool>()) {
        thread_local! {
            static PLACE: std::cell::RefCell<(Place, Store)> = std::cell::RefCell::new(Place::new());
        }
        PLACE.with_borrow_mut(|(_, store)| {
            let format = if csv { Format::Csv } else { Format::Json };
            let text = if csv && !text.starts_with("imsi") { format!("imsi,k,opc\n{text}") } else { text };
            match store.import(text.as_bytes(), format, false, NOW_S) {
                Ok(done) => prop_assert!(done.replaced.is_empty()),
                Err(Error::Problems(problems)) => {
                    prop_assert!(problems.to_string().len() < 20 * 700, "{problems}");
                    prop_assert!(!problems.to_string().contains("465b5ce8b199b49faa5f0a2ee238a6bc"));
                    prop_assert_eq!(store.number().unwrap(), 0);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
            Ok(())
        })?;
    }
}

#[test]
fn deep_long_and_foreign_files_are_refused() {
    let (_place, mut store) = Place::new();
    let mut told = |octets: &[u8], format| {
        let refused = store.import(octets, format, false, NOW_S).unwrap_err();
        let text = refused.to_string();
        assert!(refused.is_of_request() && text.len() < 10_000, "{text}");
        text
    };
    let deep = "[".repeat(1_000_000);
    told(deep.as_bytes(), Format::Json);
    let deep = format!("[{}", "{\"slices\":[".repeat(100_000));
    told(deep.as_bytes(), Format::Json);
    let many = format!(
        "[{{\"imsi\":\"001010000000001\",\"slices\":[{}{{}}]}}]",
        "{},".repeat(100_000)
    );
    assert!(told(many.as_bytes(), Format::Json).contains("at most 16"));
    let wide = format!("imsi{}\n", ",x".repeat(100_000));
    told(wide.as_bytes(), Format::Csv);
    let long = format!("imsi,k\n\"{}", "0".repeat(10_000_000));
    told(long.as_bytes(), Format::Csv);
    assert!(told(b"imsi\n\n\xff\n", Format::Csv).starts_with("line 3: octets that are no text"));
    told(b"PK\x03\x04", Format::Csv);
}
