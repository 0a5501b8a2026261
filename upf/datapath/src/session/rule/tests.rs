//! Tests of a rule's counters and grants.

use super::*;

#[test]
fn counting_leaves_the_constants_alone_and_the_other_way_round() {
    let mut usage = UsageAndWay::new(0xfedc).with_local(0xab);
    for _ in 0..3 {
        usage.add(u32::MAX);
    }
    usage.subtract(5);
    let expected = (3 * u64::from(u32::MAX) - 5, 2, 0xab, 0xfedc);
    let read = |u: &UsageAndWay| (u.bytes(), u.packets(), u.local(), u.way());
    assert_eq!(read(&usage), expected);
    usage.clear();
    assert_eq!(read(&usage), (0, 0, 0xab, 0xfedc));
}

#[test]
fn a_grant_ends_with_the_packet_that_would_use_it_up() {
    let mut usage = UsageAndWay::new(7).with_local(0xff);
    assert!(usage.has_room(u32::MAX) && !usage.is_granted());
    usage = usage.awaiting_grants();
    assert!(usage.is_granted() && !usage.has_room(0) && usage.left() == 0);
    usage.grant(100);
    assert!(usage.has_room(99) && !usage.has_room(100));
    usage.add(60);
    assert_eq!((usage.left(), usage.packets()), (40, 1));
    usage.clear();
    assert_eq!(
        (usage.left(), usage.packets(), usage.local()),
        (40, 0, 0xff)
    );
    usage.add(90);
    assert_eq!((usage.left(), usage.has_room(0)), (-50, false));
    usage.grant(-usage.left());
    usage.subtract(90);
    assert_eq!((usage.left(), usage.local()), (90, 0xff));
}
