//! Rings: order, reserved places, bursts, and what becomes of items at the end.

use std::sync::Arc;

use super::*;

#[test]
fn items_come_out_in_the_order_they_went_in() {
    let (mut producer, mut consumer) = spsc(4, 0);
    for round in 0..10 {
        (0..4).for_each(|i| producer.push(round * 4 + i).unwrap());
        assert_eq!(producer.push(99), Err(99), "the ring is full");
        let taken: Vec<i32> = consumer.drain(usize::MAX).collect();
        assert_eq!(taken, [0, 1, 2, 3].map(|i| round * 4 + i));
        assert!(consumer.pop().is_none() && producer.is_empty());
    }
}

#[test]
fn reserved_places_are_left_to_push_reserved() {
    let (mut producer, mut consumer) = spsc(8, 3);
    assert_eq!(producer.room(), 5);
    (0..5).for_each(|i| producer.push(i).unwrap());
    assert_eq!(producer.push(5), Err(5));
    (5..8).for_each(|i| producer.push_reserved(i).unwrap());
    assert_eq!(producer.push_reserved(8), Err(8));
    assert_eq!(consumer.pop(), Some(0));
    assert_eq!(
        producer.push(8),
        Err(8),
        "the freed place belongs to the reserve"
    );
    producer.push_reserved(8).unwrap();
    assert_eq!(
        consumer.drain(100).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
}

#[test]
fn bursts_move_what_fits_and_leave_the_rest() {
    let (mut producer, mut consumer) = spsc(8, 2);
    let mut items: ArrayVec<u32, 16> = (0..10).collect();
    assert_eq!(producer.push_burst(&mut items), 6);
    assert_eq!(items.as_slice(), [6, 7, 8, 9]);
    assert_eq!(producer.push_burst(&mut items), 0);
    let mut out: ArrayVec<u32, 4> = ArrayVec::new();
    assert_eq!(consumer.pop_burst(&mut out), 4);
    assert_eq!(out.as_slice(), [0, 1, 2, 3]);
    assert_eq!(consumer.pop_burst(&mut out), 0, "no room in the vector");
    assert_eq!((consumer.len(), producer.len(), producer.room()), (2, 2, 4));
}

#[test]
fn dropping_both_ends_drops_what_is_inside_once() {
    let item = Arc::new(());
    let (mut producer, mut consumer) = spsc(8, 0);
    (0..6).for_each(|_| producer.push(item.clone()).unwrap());
    drop(consumer.pop());
    assert_eq!(Arc::strong_count(&item), 6);
    drop((producer, consumer));
    assert_eq!(Arc::strong_count(&item), 1);
}

#[test]
fn a_forgotten_drain_neither_loses_nor_repeats_items() {
    let item = Arc::new(());
    let (mut producer, mut consumer) = spsc(4, 0);
    (0..4).for_each(|_| producer.push(item.clone()).unwrap());
    let mut drain = consumer.drain(3);
    drop(drain.next());
    core::mem::forget(drain);
    assert_eq!(
        (consumer.len(), producer.room()),
        (3, 0),
        "the place is not free yet"
    );
    drop((consumer, producer));
    assert_eq!(Arc::strong_count(&item), 1);
}

#[test]
fn an_unfinished_drain_leaves_the_rest_in_the_ring() {
    let (mut producer, mut consumer) = spsc(4, 0);
    (0..4).for_each(|i| producer.push(i).unwrap());
    assert_eq!(consumer.drain(4).next(), Some(0));
    assert_eq!((producer.room(), consumer.pop()), (1, Some(1)));
}

#[test]
fn indices_may_wrap() {
    let (mut producer, mut consumer) = spsc(4, 1);
    let near_the_end = usize::MAX - 1;
    (producer.tail, producer.head_seen) = (near_the_end, near_the_end);
    (consumer.head, consumer.tail_seen) = (near_the_end, near_the_end);
    producer.ring.tail.0.store(near_the_end, Ordering::Relaxed);
    producer.ring.head.0.store(near_the_end, Ordering::Relaxed);
    (0..3).for_each(|i| producer.push(i).unwrap());
    assert_eq!(producer.push(3), Err(3));
    assert_eq!(consumer.drain(9).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(producer.is_empty());
}

#[test]
fn two_threads_pass_everything_in_order() {
    let count = if cfg!(miri) { 200 } else { 200_000 };
    let (mut producer, mut consumer) = spsc(16, 2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..count {
                while producer.push(Box::new(i)).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < count {
            for item in consumer.drain(8) {
                assert_eq!(*item, expected);
                expected += 1;
            }
            std::thread::yield_now();
        }
    });
}

#[test]
#[should_panic(expected = "below capacity")]
fn a_ring_of_reserve_only_is_refused() {
    let _ = spsc::<u8>(4, 4);
}

#[test]
fn capacity_is_rounded_up() {
    assert_eq!(spsc::<u8>(5, 0).0.capacity(), 8);
}

/// Compiles only while both ends can be sent and T need not be Sync.
#[test]
fn ends_are_send_for_items_that_are_send() {
    fn is_send<T: Send>() {}
    is_send::<Producer<core::cell::Cell<u8>>>();
    is_send::<Consumer<core::cell::Cell<u8>>>();
}
