//! Shards: who may reach which element.

use super::*;

fn tables(lines_len: usize, exts_len: usize, shards: u32) -> Owned<[u64; 8], u32, [u64; 4]> {
    let lines = Arena::new("lines", lines_len).unwrap();
    let exts = Arena::new("exts", exts_len).unwrap();
    let records = Arena::new("records", exts_len).unwrap();
    let numbers = Arena::new("numbers", lines_len).unwrap();
    let shards = ShardCount::new(shards).unwrap();
    create(lines, exts, (records, numbers), shards)
}

#[test]
fn the_first_owner_reaches_every_element_and_none_beyond() {
    let mut owned = tables(100, 50, 16);
    assert_eq!((owned.owned_count(), owned.owned().count()), (16, 16));
    for i in 0..100 {
        owned.entry_mut(i).unwrap()[0] = u64::from(i);
    }
    *owned.ext_mut(49).unwrap() = 5;
    assert!((0..100).all(|i| owned.entry(i).unwrap()[0] == u64::from(i)));
    assert_eq!(owned.ext(49), Some(&5));
    assert!(owned.entry_mut(100).is_none() && owned.entry(u32::MAX).is_none());
    assert!(owned.ext_mut(50).is_none());
    owned.prefetch_entry(99);
    owned.prefetch_entry_read(u32::MAX);
    owned.prefetch_ext(50);
}

#[test]
fn a_shard_can_be_reached_by_one_owner_at_a_time() {
    let mut a = tables(64, 64, 16);
    let mut b = a.none_like();
    assert!((0..64).all(|i| b.entry_mut(i).is_none() && b.ext_mut(i).is_none()));
    let token = a.release(ShardId(3)).unwrap();
    assert_eq!(token.shard(), ShardId(3));
    assert!(a.release(ShardId(3)).is_none(), "only once");
    for i in 0..64 {
        assert_eq!(a.entry_mut(i).is_some(), i % 16 != 3);
        assert_eq!(a.ext_mut(i).is_some(), i % 16 != 3);
        assert!(b.entry_mut(i).is_none(), "the token is still on its way");
    }
    b.accept(token).unwrap();
    assert!((0..64).all(|i| b.entry_mut(i).is_some() == (i % 16 == 3)));
    assert_eq!(b.owned().collect::<Vec<_>>(), [ShardId(3)]);
    assert!(b.owns(ShardId(3)) && !a.owns(ShardId(3)) && !b.owns(ShardId(19)));
}

#[test]
fn records_and_their_numbers_go_with_their_shard() {
    let mut a = tables(64, 32, 16);
    let mut b = a.none_like();
    a.record_mut(19).unwrap()[3] = 7;
    *a.number_mut(3).unwrap() = 19;
    assert_eq!((a.number(3), a.record_count()), (Some(19), 32));
    assert!(a.record(32).is_none() && a.number(64).is_none() && b.record(19).is_none());
    let token = a.release(ShardId(3)).unwrap();
    assert!(a.record_mut(19).is_none() && a.number_mut(3).is_none() && a.number(3).is_none());
    b.accept(token).unwrap();
    let record = b.number(3).unwrap();
    assert_eq!(b.record(record).unwrap()[3], 7);
    assert!(b.record_mut(18).is_none() && b.number_mut(4).is_none());
}

#[test]
fn tokens_of_other_tables_are_refused() {
    let mut a = tables(16, 16, 16);
    let mut other = tables(16, 16, 16);
    let token = other.release(ShardId(1)).unwrap();
    let token = a.accept(token).unwrap_err();
    other.accept(token).unwrap();
    assert_eq!(other.owned_count(), 16);
}

#[test]
fn a_line_and_an_extension_are_lent_together_only_if_both_are_owned() {
    let mut a = tables(16, 16, 4);
    let (line, ext) = a.entry_and_ext_mut(5, 6).unwrap();
    (line[0], *ext) = (1, 2);
    assert_eq!((a.entry(5).unwrap()[0], a.ext(6)), (1, Some(&2)));
    let _gone = a.release(ShardId(2)).unwrap();
    assert!(a.entry_and_ext_mut(5, 6).is_none() && a.entry_and_ext_mut(6, 5).is_none());
    assert!(a.entry_and_ext_mut(5, 16).is_none());
}

#[test]
fn counts_of_shards_are_checked() {
    assert_eq!(ShardCount::new(0), Err(BadShardCount(0)));
    assert_eq!(ShardCount::new(48), Err(BadShardCount(48)));
    assert_eq!(ShardCount::new(1 << 17), Err(BadShardCount(1 << 17)));
    assert_eq!(ShardCount::default().get(), 4096);
    for shards in [1, 2, 64, 128, 1 << 16] {
        let mut owned = tables(130, 1, shards);
        assert_eq!(owned.owned_count(), shards);
        assert_eq!(owned.shard_of(129).0, (129 % shards) as u16);
        let last = ShardId((shards - 1) as u16);
        let token = owned.release(last).unwrap();
        assert_eq!(owned.owned_count(), shards - 1);
        owned.accept(token).unwrap();
    }
}

#[test]
fn what_one_thread_wrote_the_next_owner_reads() {
    let mut a = tables(64, 64, 8);
    let mut b = a.none_like();
    let (mut to_b, mut from_a) = crate::ring::spsc(8, 0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for shard in ShardCount::new(8).unwrap().all() {
                (0..64).for_each(|i| {
                    if let Some(line) = a.entry_mut(i) {
                        line[1] += 1;
                        a.record_mut(i).unwrap()[0] = u64::from(i);
                        *a.number_mut(i).unwrap() = i;
                    }
                });
                to_b.push(a.release(shard).unwrap()).unwrap();
            }
        });
        scope.spawn(move || {
            while b.owned_count() < 8 {
                from_a.drain(8).for_each(|token| {
                    let shard = token.shard();
                    b.accept(token).unwrap();
                    let line = b.entry_mut(u32::from(shard.0)).unwrap();
                    assert_eq!(line[1], u64::from(shard.0) + 1);
                    let number = b.number(u32::from(shard.0)).unwrap();
                    assert_eq!(b.record(number), Some(&[u64::from(shard.0), 0, 0, 0]));
                });
                std::thread::yield_now();
            }
        });
    });
}
