//! Publication: what readers hold, when old values end, and threads that read while one writes.

use std::sync::Arc;

use super::*;

#[test]
fn a_reader_keeps_the_old_value_until_its_quiescent_point() {
    let old = Arc::new(1);
    let mut published = Published::new(old.clone());
    let mut reader = published.reader();
    let held = reader.enter();
    published.publish(Arc::new(2));
    assert_eq!((published.reclaim(), **held), (1, 1));
    assert_eq!(**reader.enter(), 2, "a new look finds the new value");
    assert_eq!(published.reclaim(), 1);
    reader.quiescent();
    assert_eq!((published.reclaim(), Arc::strong_count(&old)), (0, 1));
    assert_eq!(**published.current(), 2);
}

#[test]
fn the_slowest_reader_decides() {
    let mut published = Published::new(0);
    let (mut fast, mut slow) = (published.reader(), published.reader());
    for value in 1..=3 {
        published.publish(value);
        fast.quiescent();
    }
    assert_eq!(published.reclaim(), 3);
    slow.quiescent();
    published.publish(4);
    assert_eq!(
        published.reclaim(),
        1,
        "both have still to pass the last one"
    );
    fast.quiescent();
    slow.quiescent();
    assert_eq!(published.reclaim(), 0);
}

#[test]
fn a_reader_that_is_offline_or_gone_holds_nothing_up() {
    let mut published = Published::new(0);
    let (mut sleeper, leaver) = (published.reader(), published.reader());
    sleeper.offline();
    sleeper.quiescent();
    drop(leaver);
    published.publish(1);
    assert_eq!(published.reclaim(), 0);
    assert_eq!(*sleeper.enter(), 1, "entering comes back online");
    published.publish(2);
    assert_eq!(published.reclaim(), 1);
    sleeper.offline();
    assert_eq!(published.reclaim(), 0);
    sleeper.online();
    published.publish(3);
    assert_eq!(published.reclaim(), 1);
}

#[test]
fn a_reader_may_outlive_the_writer() {
    let value = Arc::new(());
    let mut published = Published::new(value.clone());
    let reader = published.reader();
    let held = reader.enter();
    published.publish(value.clone());
    drop(published);
    assert_eq!(Arc::strong_count(held), 3, "the old, the new and ours");
    drop(reader);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn threads_read_whole_values_while_the_writer_replaces_them() {
    let rounds: u64 = if cfg!(miri) { 30 } else { 20_000 };
    let mut published = Published::new(vec![0; 4]);
    let readers = [published.reader(), published.reader()];
    std::thread::scope(|scope| {
        for mut reader in readers {
            scope.spawn(move || {
                let mut last = 0;
                while last < rounds {
                    let value = reader.enter();
                    assert!(value.iter().all(|&v| v == value[0]) && value[0] >= last);
                    last = value[0];
                    if last % 7 == 0 {
                        reader.offline();
                    } else {
                        reader.quiescent();
                    }
                    std::thread::yield_now();
                }
            });
        }
        for round in 1..=rounds {
            published.publish(vec![round; 4]);
            published.reclaim();
        }
    });
    assert_eq!(published.reclaim(), 0);
}
