//! Backups: they come back whole, and nothing is replaced by one that is damaged.

use std::os::unix::fs::PermissionsExt;

use sluice_security::Sqn;
use sluice_subscribers::store::{Format, HomeKeyProfile};
use sluice_subscribers::{Access, Error, Record, SqnState, Store, StoreKey};

use crate::kit::{NOW_S, Place, draft, supi, table};

fn all(store: &Store) -> Vec<Record> {
    let mut all = Vec::new();
    let read = store.each(|record| {
        all.push(record);
        Ok(())
    });
    read.unwrap();
    all
}

#[test]
pub fn a_backup_comes_back_as_it_was_but_sequence_numbers_go_on() {
    let (place, mut store) = Place::new();
    store
        .import(table(20).as_bytes(), Format::Csv, false, NOW_S)
        .unwrap();
    let key = store.new_home_key(HomeKeyProfile::B, None, None).unwrap();
    let backup = place.file("backup.db");
    assert_eq!(store.backup(&backup).unwrap(), 20);
    let mode = backup.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
    assert!(matches!(store.backup(&backup), Err(Error::Exists(_))));
    let before = all(&store);
    // What happens after it.
    store.remove(&supi(3)).unwrap();
    store.add(&draft(77), NOW_S).unwrap();
    store.remove_home_key(key.id).unwrap();
    store
        .new_home_key(HomeKeyProfile::A, Some(9), None)
        .unwrap();
    let ahead = SqnState::new(Sqn::new(1_000_000 << 5), NOW_S + 60);
    store.store_sqns(&[(supi(5), ahead)]).unwrap();
    let restored = store.restore(&backup, &place.key, NOW_S + 60).unwrap();
    assert_eq!((restored.subscribers, restored.damaged), (20, None));
    let mut after = all(&store);
    let at = after.iter().position(|one| one.supi == supi(5)).unwrap();
    assert_eq!(after[at].sqn.bound(NOW_S + 60), ahead.last);
    after[at].sqn = before[at].sqn;
    assert_eq!(after, before);
    assert_eq!(store.home_key_views().unwrap(), [key]);
    assert_eq!(store.verify().unwrap(), 20);
}

#[test]
pub fn a_backup_that_is_not_whole_or_not_ours_replaces_nothing() {
    let (place, mut store) = Place::new();
    store
        .import(table(200).as_bytes(), Format::Csv, false, NOW_S)
        .unwrap();
    let backup = place.file("backup.db");
    store.backup(&backup).unwrap();
    store.remove(&supi(0)).unwrap();
    let before = all(&store);
    let whole = std::fs::read(&backup).unwrap();
    let mut cut = whole.clone();
    cut.truncate(whole.len() / 2);
    let mut changed = whole.clone();
    let at = whole.len() / 2 - 1500;
    changed[at..at + 2900]
        .iter_mut()
        .for_each(|octet| *octet ^= 1);
    for damaged in [cut, changed, b"nothing".to_vec()] {
        std::fs::write(&backup, damaged).unwrap();
        let refused = store.restore(&backup, &place.key, NOW_S).unwrap_err();
        assert!(
            matches!(refused, Error::Damaged(..) | Error::Foreign(..)),
            "{refused}"
        );
        assert_eq!(all(&store), before);
    }
    std::fs::remove_file(&backup).unwrap();
    let (other, mut theirs) = Place::new();
    theirs.add(&draft(1), NOW_S).unwrap();
    theirs.backup(&backup).unwrap();
    drop(other);
    let wrong = StoreKey::new([1; 32]);
    assert!(matches!(
        store.restore(&backup, &wrong, NOW_S),
        Err(Error::WrongKey(_))
    ));
    assert_eq!(all(&store), before);
    let missing = place.file("none.db");
    assert!(matches!(
        store.restore(&missing, &place.key, NOW_S),
        Err(Error::Missing(_))
    ));
}

#[test]
fn a_damaged_or_missing_database_is_restored_and_the_damaged_one_kept() {
    let (place, mut store) = Place::new();
    store
        .import(table(200).as_bytes(), Format::Csv, false, NOW_S)
        .unwrap();
    let backup = place.file("backup.db");
    store.backup(&backup).unwrap();
    let before = all(&store);
    drop(store);
    let restore = || Store::restore_file(&place.database(), &backup, &place.key, NOW_S);
    let whole = std::fs::read(place.database()).unwrap();
    std::fs::write(place.database(), &whole[..whole.len() / 2]).unwrap();
    let restored = restore().unwrap();
    let kept = restored.damaged.unwrap();
    assert_eq!(std::fs::read(kept).unwrap().len(), whole.len() / 2);
    assert_eq!(all(&place.open(Access::Read).unwrap()), before);
    std::fs::remove_file(place.database()).unwrap();
    assert_eq!(restore().unwrap().damaged, None);
    let mut store = place.open(Access::Change).unwrap();
    assert_eq!(all(&store), before);
    store.remove(&supi(1)).unwrap();
    drop(store);
    // One that is whole is changed in place.
    assert_eq!(restore().unwrap().subscribers, 200);
    assert_eq!(all(&place.open(Access::Read).unwrap()), before);
    let names: Vec<_> = std::fs::read_dir(place.file("").parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !names.iter().any(|name| name.contains("restored")),
        "{names:?}"
    );
    let serving = place.open(Access::Serve).unwrap();
    assert!(matches!(restore(), Err(Error::Busy(_))));
    drop(serving);
}

#[test]
fn changes_of_a_lost_database_are_not_made_in_the_restored_one() {
    let (place, mut store) = Place::new();
    store
        .import(table(20).as_bytes(), Format::Csv, false, NOW_S)
        .unwrap();
    let backup = place.file("backup.db");
    store.backup(&backup).unwrap();
    let before = all(&store);
    store.remove(&supi(1)).unwrap();
    // What a core leaves that was killed: whoever closes in order clears it away.
    let log = place.database().with_file_name(format!(
        "{}-wal",
        place.database().file_name().unwrap().to_str().unwrap()
    ));
    let left = std::fs::read(&log).unwrap();
    assert!(!left.is_empty());
    drop(store);
    std::fs::remove_file(place.database()).unwrap();
    std::fs::write(&log, &left).unwrap();
    let restored = Store::restore_file(&place.database(), &backup, &place.key, NOW_S).unwrap();
    let kept = restored.damaged.unwrap();
    assert_eq!(std::fs::read(kept).unwrap(), left);
    assert!(std::fs::read(&log).map_or(true, |now| now != left));
    assert_eq!(all(&place.open(Access::Read).unwrap()), before);
}
