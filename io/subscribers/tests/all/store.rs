//! Who may open a database, what it keeps, and that keys do not lie in it as they are.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use sluice_security::Sqn;
use sluice_subscribers::draft::{NetworkDraft, SliceDraft, Text};
use sluice_subscribers::store::{Filter, HomeKeyProfile};
use sluice_subscribers::{Access, Draft, Error, Location, SqnState, Store, StoreKey};

use crate::kit::{NOW_S, Place, contains, draft, imsi, k, opc, supi};

#[test]
pub fn what_was_added_is_there_after_it_was_closed() {
    let (place, mut store) = Place::new();
    let added = store.add(&draft(1), NOW_S).unwrap();
    drop(store);
    let mut store = place.open(Access::Serve).unwrap();
    assert_eq!(store.get(&supi(1)).unwrap(), Some(added));
    assert_eq!(store.get(&supi(2)).unwrap(), None);
    assert_eq!(store.verify().unwrap(), 1);
    assert!(store.remove(&supi(1)).unwrap());
    assert!(!store.remove(&supi(1)).unwrap());
    assert_eq!(store.number().unwrap(), 0);
    if let Location::File(path) = &place.location {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
    let again = Store::create_at(&place.location, &place.key).unwrap_err();
    assert!(matches!(again, Error::Exists(_)), "{again}");
}

#[test]
fn no_octet_of_a_key_lies_in_the_files() {
    let (place, mut store) = Place::new();
    for number in 1..=50 {
        store.add(&draft(number), NOW_S).unwrap();
    }
    let private = "0f".repeat(32);
    store
        .new_home_key(HomeKeyProfile::A, None, Some(&private))
        .unwrap();
    let check = |octets: &[u8]| {
        assert!(contains(octets, imsi(7).as_bytes()));
        assert!(!contains(octets, &[0x0f; 32]) && !contains(octets, private.as_bytes()));
        assert!(!contains(octets, &[9; 32]), "the store's own key");
        for number in 1..=50 {
            for digits in [k(number), opc(number)] {
                let key: Vec<u8> = (0..16)
                    .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
                    .collect();
                assert!(!contains(octets, digits.as_bytes()), "digits of {number}");
                assert!(
                    !contains(octets, &key[..8]) && !contains(octets, &key[8..]),
                    "{number}"
                );
            }
        }
    };
    // While it is open, with its log of changes, and closed.
    check(&place.all_octets());
    store.backup(&place.file("backup.db")).unwrap();
    drop(store);
    check(&place.all_octets());
    // What is removed is overwritten.
    let mut store = place.open(Access::Change).unwrap();
    std::fs::remove_file(place.file("backup.db")).unwrap();
    for number in 1..=50 {
        assert!(store.remove(&supi(number)).unwrap());
    }
    drop(store);
    assert!(!contains(&place.all_octets(), imsi(7).as_bytes()));
}

#[test]
pub fn another_key_file_is_noticed_before_anything_is_done() {
    let (place, mut store) = Place::new();
    store.add(&draft(1), NOW_S).unwrap();
    drop(store);
    for access in [Access::Read, Access::Change, Access::Serve] {
        let wrong = StoreKey::new([8; 32]);
        let refused = Store::open_at(&place.location, &wrong, access).unwrap_err();
        assert!(matches!(refused, Error::WrongKey(_)), "{refused}");
        assert!(refused.to_string().contains("expected the key file"));
    }
    assert_eq!(place.open(Access::Read).unwrap().number().unwrap(), 1);
}

#[test]
fn a_served_database_is_nobody_elses() {
    let (place, store) = Place::new();
    drop(store);
    let serving = place.open(Access::Serve).unwrap();
    let (path, key) = (place.database(), place.key.clone());
    let others = [Access::Read, Access::Change, Access::Serve].map(|access| {
        let (path, key) = (path.clone(), key.clone());
        std::thread::spawn(move || Store::open(&path, &key, access).map(|_| ()))
    });
    for other in others {
        let refused = other.join().unwrap().unwrap_err();
        assert!(matches!(refused, Error::Busy(_)), "{refused}");
        assert!(refused.to_string().contains("without --file"), "{refused}");
    }
    drop(serving);
    place.open(Access::Serve).unwrap();
}

#[test]
pub fn readers_see_one_moment_while_another_writes() {
    let (place, mut store) = Place::new();
    store.add(&draft(0), NOW_S).unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let reader = place.open(Access::Read).unwrap();
            std::thread::spawn(move || {
                let mut most = 0;
                while most < 40 {
                    // All or nothing of what is written ten at a time.
                    let mut number = 0;
                    let mut last = None;
                    let read = reader.each(|record| {
                        number += 1;
                        assert!(last < Some(record.supi));
                        last = Some(record.supi);
                        Ok(())
                    });
                    read.unwrap();
                    assert_eq!(number % 10, 1, "{number}");
                    assert!(number >= most, "{number} after {most}");
                    most = number;
                }
            })
        })
        .collect();
    for ten in 0..4 {
        let mut text = "imsi,k,opc\n".to_owned();
        for number in ten * 10 + 1..=ten * 10 + 10 {
            text += &format!("{},{},{}\n", imsi(number), k(number), opc(number));
        }
        let format = sluice_subscribers::store::Format::Csv;
        store.import(text.as_bytes(), format, false, NOW_S).unwrap();
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
pub fn a_change_is_checked_as_a_whole_and_its_refusal_changes_nothing() {
    let (_place, mut store) = Place::new();
    let with = |number, ipv4: &str| Draft {
        slices: vec![SliceDraft {
            slice: Text::new("1"),
            default: Text::new("yes"),
            networks: vec![NetworkDraft {
                dnn: Text::new("Internet"),
                ipv4: Text::new(ipv4),
                ..NetworkDraft::default()
            }],
        }],
        ..draft(number)
    };
    store.add(&with(1, "10.0.0.1"), NOW_S).unwrap();
    let twice = store.add(&with(2, "10.0.0.1"), NOW_S).unwrap_err();
    let expected = "imsi 001010000000002: ipv4: 10.0.0.1 in internet is that of imsi 001010000000001; \
                    expected an address that no other has";
    assert_eq!(twice.to_string(), expected);
    store.add(&with(2, "10.0.0.2"), NOW_S).unwrap();
    let before = store.get(&supi(2)).unwrap();
    let refused = store.change(&supi(2), NOW_S, |mut draft| {
        draft.slices[0].networks[0].ipv4 = Text::new("10.0.0.1");
        Ok(draft)
    });
    assert!(refused.unwrap_err().to_string().contains("is that of imsi"));
    let refused = store.change(&supi(2), NOW_S, |mut draft| {
        draft.imsi = Text::new(imsi(3));
        Ok(draft)
    });
    assert!(refused.unwrap_err().to_string().contains("another one"));
    assert_eq!(store.get(&supi(2)).unwrap(), before);
    let again = store.add(&draft(2), NOW_S).unwrap_err();
    assert!(
        again.to_string().contains("there is one already"),
        "{again}"
    );
    assert!(matches!(
        store.change(&supi(9), NOW_S, Ok),
        Err(Error::NotFound(_))
    ));
    // The same address in another data network is another UE's.
    let mut other = with(4, "10.0.0.1");
    other.slices[0].networks[0].dnn = Text::new("ims");
    store.add(&other, NOW_S).unwrap();
}

#[test]
pub fn sequence_numbers_are_kept_where_time_does_not_tell_them() {
    let (place, mut store) = Place::new();
    let added = store.add(&draft(1), NOW_S).unwrap();
    assert_eq!(added.sqn, SqnState::new(Sqn::default(), NOW_S));
    let state = SqnState {
        last: Sqn::new(77 << 5 | 3),
        difference_s: -1_600_000_000,
    };
    // Of somebody who is gone: no error.
    store
        .store_sqns(&[(supi(1), state), (supi(2), state)])
        .unwrap();
    drop(store);
    let mut store = place.open(Access::Change).unwrap();
    assert_eq!(store.get(&supi(1)).unwrap().unwrap().sqn, state);
    // A change of something else leaves them.
    let changed = store.change(&supi(1), NOW_S + 50, |mut draft| {
        draft.barred = Text::new("yes");
        Ok(draft)
    });
    let changed = changed.unwrap();
    assert!(changed.profile.barred && changed.sqn == state);
}

/// 25 subscribers; each fifth is barred and has another slice.
fn some() -> (Place, Store) {
    let (place, mut store) = Place::new();
    for number in 0..25 {
        let mut one = draft(number);
        if number % 5 == 0 {
            one.barred = Text::new("yes");
            one.slices = vec![SliceDraft {
                slice: Text::new("2-00000a"),
                default: Text::new("yes"),
                networks: vec![NetworkDraft {
                    dnn: Text::new("ims"),
                    ipv6_prefix: Text::new(format!("2001:db8:0:{number:x}::/64")),
                    ..NetworkDraft::default()
                }],
            }];
        }
        store.add(&one, NOW_S).unwrap();
    }
    (place, store)
}

#[test]
pub fn pages_follow_each_other() {
    let (_place, store) = some();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store
            .list(&Filter::default(), after.as_deref(), 10)
            .unwrap();
        assert_eq!(page.number, 25);
        seen.extend(
            page.records
                .iter()
                .map(|record| record.supi.imsi().to_owned()),
        );
        after = page.next_after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..25).map(imsi).collect::<Vec<_>>());
    for limit in [0, 1001] {
        let refused = store.list(&Filter::default(), None, limit).unwrap_err();
        assert!(refused.is_of_request());
    }
}

#[test]
pub fn filters_find_who_fits_all_of_them() {
    let (_place, store) = some();
    let filter = |fields: serde_json::Value| serde_json::from_value::<Filter>(fields).unwrap();
    for (fields, number) in [
        (json!({"barred": true}), 5),
        (json!({"barred": false, "dnn": "IMS"}), 0),
        (json!({"dnn": "ims", "slice": "2-00000A"}), 5),
        (json!({"imsi_prefix": "0010100000001"}), 0),
        (json!({"imsi_prefix": "00101000000001"}), 10),
        (json!({"ipv6_prefix": "2001:db8:0:5::/64"}), 1),
    ] {
        let found = store.list(&filter(fields.clone()), None, 100).unwrap();
        assert_eq!(found.number, number, "{fields}");
    }
    for fields in [
        json!({"imsi_prefix": "1' OR 1=1"}),
        json!({"dnn": "a b"}),
        json!({"slice": "x"}),
        json!({"ipv4": "10"}),
    ] {
        let refused = store.list(&filter(fields.clone()), None, 10).unwrap_err();
        assert!(refused.is_of_request(), "{fields}");
    }
}

#[test]
pub fn home_network_keys_are_made_shown_and_opened() {
    let (place, mut store) = Place::new();
    let a = store.new_home_key(HomeKeyProfile::A, None, None).unwrap();
    let b = store
        .new_home_key(HomeKeyProfile::B, Some(7), None)
        .unwrap();
    assert_eq!((a.id, a.scheme, a.public.len()), (1, 1, 64));
    assert_eq!((b.id, b.scheme, b.public.len()), (7, 2, 66));
    // The vector of TS 33.501, C.4.3.1.
    let private = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
    let given = store
        .new_home_key(HomeKeyProfile::A, None, Some(private))
        .unwrap();
    let public = "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650";
    assert_eq!((given.id, given.public.as_str()), (2, public));
    for (id, private) in [(Some(0), None), (Some(7), None), (None, Some("00"))] {
        let refused = store
            .new_home_key(HomeKeyProfile::B, id, private)
            .unwrap_err();
        assert!(refused.is_of_request(), "{refused}");
    }
    let zeros = "0".repeat(64);
    assert!(
        store
            .new_home_key(HomeKeyProfile::B, None, Some(&zeros))
            .is_err()
    );
    drop(store);
    let mut store = place.open(Access::Change).unwrap();
    assert_eq!(store.home_key_views().unwrap(), [a, given, b.clone()]);
    let keys = store.home_keys().unwrap();
    assert_eq!(keys.keys().copied().collect::<Vec<_>>(), [1, 2, 7]);
    assert_eq!(format!("{:?}", keys[&7]), "HomeKey(B)");
    // A phone that conceals for the public key that was shown is known.
    let home = sluice_ids::Plmn::new("001", "01").unwrap();
    let public = keys[&7].public();
    let hex: String = public
        .octets()
        .iter()
        .map(|octet| format!("{octet:02x}"))
        .collect();
    assert_eq!(hex, b.public);
    let suci = sluice_security::suci::conceal(home, "0000000001", 7, &public, [5; 32]).unwrap();
    let found = sluice_security::suci::deconceal(&suci, |id| keys.get(&id));
    assert_eq!(found.ok(), Some(supi(1)));
    assert!(store.remove_home_key(7).unwrap() && !store.remove_home_key(7).unwrap());
}
