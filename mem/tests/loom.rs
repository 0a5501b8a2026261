//! Rings and publication under every interleaving that the memory model allows:
//! `RUSTFLAGS="--cfg loom" cargo test -p sluice-mem --release --test loom`.
#![cfg(loom)]

use arrayvec::ArrayVec;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sluice_mem::{publish::Published, ring};

/// Something that loom watches: whoever reads it while it is dropped, or
/// afterwards, is found.
struct Watched {
    value: Box<UnsafeCell<u32>>,
    drops: Arc<AtomicUsize>,
}

impl Watched {
    fn new(value: u32, drops: &Arc<AtomicUsize>) -> Self {
        Self {
            value: Box::new(UnsafeCell::new(value)),
            drops: drops.clone(),
        }
    }

    fn read(&self) -> u32 {
        self.value.with(|value| {
            // SAFETY: nobody writes but the drop; loom checks that.
            unsafe { *value }
        })
    }
}

// SAFETY: the cell is written by the drop only, which is exclusive; whether the
// code under test keeps to that is what loom checks.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Drop for Watched {
    fn drop(&mut self) {
        self.value.with_mut(|value| {
            // SAFETY: exclusive by `&mut self`; loom checks that.
            unsafe { *value = u32::MAX }
        });
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_ring_passes_everything_in_order_through_every_wrap() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::spsc(2, 0);
        let sender = thread::spawn(move || {
            for i in 0..3 {
                while producer.push(i).is_err() {
                    thread::yield_now();
                }
            }
        });
        for expected in 0..3 {
            loop {
                match consumer.pop() {
                    Some(item) => break assert_eq!(item, expected),
                    None => thread::yield_now(),
                }
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn bursts_and_single_items_mix_and_a_slot_is_reused_only_when_free() {
    // Three preemptions: without a bound the two waiting loops take minutes.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (mut producer, mut consumer) = ring::spsc(2, 1);
        let sender = thread::spawn(move || {
            let mut items: ArrayVec<u32, 4> = [0, 1].into_iter().collect();
            while !items.is_empty() {
                if producer.push_burst(&mut items) == 0 {
                    thread::yield_now();
                }
            }
            while producer.push_reserved(2).is_err() {
                thread::yield_now();
            }
        });
        let mut expected = 0;
        while expected < 3 {
            for item in consumer.drain(2) {
                assert_eq!(item, expected);
                expected += 1;
            }
            thread::yield_now();
        }
        sender.join().unwrap();
    });
}

#[test]
fn what_is_left_in_a_ring_is_dropped_once_whichever_end_goes_last() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut producer, mut consumer) = ring::spsc(2, 0);
        let items = [Watched::new(0, &drops), Watched::new(1, &drops)];
        let sender = thread::spawn(move || {
            for item in items {
                assert!(producer.push(item).is_ok());
            }
        });
        drop(consumer.pop());
        drop(consumer);
        sender.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn no_reader_meets_a_freed_value() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut published = Published::new(Watched::new(0, &drops));
        let mut reader = published.reader();
        let reading = thread::spawn(move || {
            let first = reader.enter().read();
            reader.quiescent();
            let second = reader.enter().read();
            assert!(first <= second && second <= 1);
        });
        published.publish(Watched::new(1, &drops));
        published.reclaim();
        reading.join().unwrap();
        assert_eq!(published.reclaim(), 0);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_reader_that_comes_online_meets_no_freed_value() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut published = Published::new(Watched::new(0, &drops));
        let mut reader = published.reader();
        reader.offline();
        let reading = thread::spawn(move || {
            let first = reader.enter().read();
            reader.offline();
            reader.online();
            let second = reader.enter().read();
            assert!(first <= second && second <= 1);
        });
        published.publish(Watched::new(1, &drops));
        published.reclaim();
        reading.join().unwrap();
    });
}

#[test]
fn whichever_end_goes_last_frees_what_is_left() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut published = Published::new(Watched::new(0, &drops));
        let reader = published.reader();
        let reading = thread::spawn(move || assert!(reader.enter().read() <= 1));
        published.publish(Watched::new(1, &drops));
        drop(published);
        reading.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 2);
    });
}
