//! Tests of the exact-match table.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn a_foreign_teid_of_our_form_is_announced() {
    let (mut w, r) = table(8, &[]).unwrap();
    w.insert(ExactKey::teid(0, 5), EntryId(1)).unwrap();
    w.insert(ExactKey::ue(0, 0xc0a8_0001), EntryId(1)).unwrap();
    assert!(!r.has_cp_teid_in_up_range());
    w.insert(ExactKey::teid(0, 0x8000_0005), EntryId(1))
        .unwrap();
    assert!(r.has_cp_teid_in_up_range());
    w.remove(ExactKey::teid(0, 0x8000_0005));
    assert!(!r.has_cp_teid_in_up_range());
}

#[test]
fn prefixes_of_pools_are_found_by_number_and_others_by_search() {
    let pool = |instance, base, len| PrefixPool {
        instance,
        base,
        len,
    };
    let (first, second) = (0x2001_0db8_0045_0000, 0x2001_0db8_0046_0000);
    let pools = [pool(1, first, 62), pool(2, second, 64)];
    let (mut w, r) = table(8, &pools).unwrap();
    let inside = [(1, first), (1, first + 3), (2, second)];
    let outside = [(1, first + 4), (2, first), (2, second + 1), (1, second)];
    for (at, (instance, prefix)) in inside.into_iter().chain(outside).enumerate() {
        let key = r.ue_prefix(instance, prefix);
        assert_eq!(r.pool_prefix(instance, prefix).is_some(), at < inside.len());
        assert!(r.get(key).is_none() && !r.knows(key));
        w.insert(key, EntryId(at as u32)).unwrap();
        assert_eq!(
            r.is_empty(),
            at < inside.len(),
            "nothing to be searched for"
        );
    }
    for (at, (instance, prefix)) in inside.into_iter().chain(outside).enumerate() {
        let key = r.ue_prefix(instance, prefix);
        assert_eq!(r.get(key), Some(EntryId(at as u32)));
        assert!(r.knows(key) && w.remove(key) && !w.remove(key));
        assert!(r.get(key).is_none() && !r.knows(key));
    }
    assert!(r.is_empty());
}

#[test]
fn a_pool_with_bits_behind_its_length_is_searched() {
    let pool = PrefixPool {
        instance: 0,
        base: 0x2001_0db8_0045_0001,
        len: 63,
    };
    let (_, r) = table(8, &[pool]).unwrap();
    assert!(r.pool_prefix(0, pool.base).is_none());
}

#[test]
fn a_full_probe_run_refuses() {
    let (mut w, _) = table(8, &[]).unwrap();
    let refused = (1..200)
        .filter(|&t| w.insert(ExactKey::teid(0, t), EntryId(t)).is_err())
        .count();
    assert_eq!(refused, 199 - 64);
}

fn marks(w: &ExactWriter) -> usize {
    let taken = |e: &&Entry| e.key.load(Ordering::Relaxed) != EMPTY;
    w.0.entries().iter().filter(taken).count()
}

#[test]
fn the_last_key_that_goes_touches_its_own_run_alone_and_leaves_no_mark() {
    let (mut w, r) = table(64, &[]).unwrap();
    for t in 1..60 {
        w.insert(ExactKey::teid(0, t), EntryId(t)).unwrap();
    }
    // Whatever the order, what is left are the live keys and marks between them.
    for t in (1..60).step_by(2).chain((2..60).step_by(2)) {
        assert!(w.remove(ExactKey::teid(0, t)));
        for left in 1..60 {
            let known = r.get(ExactKey::teid(0, left)).is_some();
            let gone = left % 2 == 1 && (t % 2 == 0 || left <= t)
                || left % 2 == 0 && t % 2 == 0 && left <= t;
            assert_eq!(known, !gone, "{left} after {t}");
        }
    }
    assert_eq!(marks(&w), 0);
}

#[test]
fn the_longest_prefix_behind_a_ue_leads_to_its_entry() {
    let (mut w, r) = table(64, &[]).unwrap();
    let ipv4 = |a: [u8; 4], len| RoutePrefix::ipv4(u32::from_be_bytes(a), len).unwrap();
    let ask = |a: [u8; 4]| r.route_ipv4(1, u32::from_be_bytes(a)).map(|e| e.0);
    assert_eq!(ask([172, 16, 3, 1]), None);
    w.insert_route(1, ipv4([172, 16, 0, 0], 12), EntryId(1))
        .unwrap();
    w.insert_route(1, ipv4([172, 16, 3, 0], 24), EntryId(2))
        .unwrap();
    w.insert_route(1, ipv4([172, 16, 3, 9], 32), EntryId(3))
        .unwrap();
    w.insert_route(1, ipv4([172, 16, 4, 9], 32), EntryId(4))
        .unwrap();
    assert_eq!(ask([172, 16, 3, 1]), Some(2));
    assert_eq!(ask([172, 16, 3, 9]), Some(3));
    assert_eq!(ask([172, 17, 3, 9]), Some(1));
    assert_eq!(ask([172, 32, 0, 0]), None);
    assert_eq!(
        r.route_ipv4(2, 0xac10_0301),
        None,
        "another network instance"
    );
    w.remove_route(1, ipv4([172, 16, 3, 9], 32));
    w.remove_route(1, ipv4([172, 16, 3, 0], 24));
    assert_eq!(ask([172, 16, 3, 9]), Some(1));
    assert_eq!(ask([172, 16, 4, 9]), Some(4), "one of its length is left");
    let ipv6 = RoutePrefix::ipv6(0x2001_0db8_0007_ff00, 56).unwrap();
    w.insert_route(1, ipv6, EntryId(5)).unwrap();
    let found = |upper| r.route_ipv6(1, upper).map(|e| e.0);
    assert_eq!(found(0x2001_0db8_0007_ffab), Some(5));
    assert_eq!(found(0x2001_0db8_0007_feab), None);
    assert_eq!(RoutePrefix::ipv4(1, 0), None);
    assert_eq!(RoutePrefix::ipv6(1, 65), None);
    for (prefix, _) in [
        (ipv4([172, 16, 0, 0], 12), 1),
        (ipv4([172, 16, 4, 9], 32), 4),
        (ipv6, 5),
    ] {
        w.remove_route(1, prefix);
    }
    assert!(r.is_empty() && marks(&w) == 0);
}

proptest! {
    #[test]
    fn behaves_like_a_map(ops in prop::collection::vec((any::<bool>(), 1u32..64, any::<u32>()), 1..400)) {
        let (mut w, r) = table(64, &[]).unwrap();
        let mut model = HashMap::new();
        for (add, teid, entry) in ops {
            let key = ExactKey::teid(3, teid);
            if add {
                w.insert(key, EntryId(entry)).unwrap();
                model.insert(teid, entry);
            } else {
                prop_assert_eq!(w.remove(key), model.remove(&teid).is_some());
            }
            for t in 1..64 {
                prop_assert_eq!(r.get(ExactKey::teid(3, t)), model.get(&t).copied().map(EntryId));
            }
            prop_assert_eq!(r.is_empty(), model.is_empty());
        }
    }
}
