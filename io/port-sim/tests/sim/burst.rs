//! Packets by the trait's own means, and bursts: they keep order, and end every packet that is left to them.

use sluice_port::{BURST_MAX, Burst, Packet, PacketError};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig};

fn burst_of(pool: &HeapPool, numbers: impl IntoIterator<Item = u8>) -> Burst<HeapPacket> {
    let mut burst = Burst::new();
    for number in numbers {
        burst.push(pool.packet(&[number]).unwrap()).unwrap();
    }
    burst
}

fn numbers(burst: &Burst<HeapPacket>) -> Vec<u8> {
    burst.iter().map(|packet| packet.data()[0]).collect()
}

fn assert_all_freed(pool: &HeapPool) {
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn taking_keeps_order_and_swap_taking_does_not() {
    let pool = HeapPool::default();
    let mut burst = burst_of(&pool, 0..6);
    let taken = burst.take(1).unwrap();
    assert_eq!(
        (taken.data(), numbers(&burst)),
        (&[1][..], vec![0, 2, 3, 4, 5])
    );
    let swapped = burst.swap_take(0).unwrap();
    assert_eq!(
        (swapped.data(), numbers(&burst)),
        (&[0][..], vec![5, 2, 3, 4])
    );
    burst.swap(0, 3);
    assert_eq!(numbers(&burst), [4, 2, 3, 5]);
    assert!(burst.take(4).is_none() && burst.swap_take(4).is_none());
    taken.free();
    swapped.free();
    drop(burst);
    assert_all_freed(&pool);
}

#[test]
fn a_full_burst_gives_the_packet_back() {
    let pool = HeapPool::default();
    let mut burst = burst_of(&pool, (0..BURST_MAX).map(|i| i as u8));
    assert!(burst.is_full() && burst.remaining() == 0);
    burst.push(pool.alloc().unwrap()).unwrap_err().free();
    burst.free();
    assert!(burst.is_empty());
    assert_all_freed(&pool);
}

#[test]
fn an_unfinished_drain_frees_what_it_covers_and_no_more() {
    let pool = HeapPool::default();
    let mut burst = burst_of(&pool, 0..6);
    let mut drain = burst.drain_front(4);
    assert_eq!(drain.len(), 4);
    drain.next().unwrap().free();
    drop(drain);
    assert_eq!((numbers(&burst), pool.live()), (vec![4, 5], 2));
    drop(burst);
    assert_all_freed(&pool);
}

#[test]
fn appending_moves_what_fits_in_order() {
    let pool = HeapPool::default();
    let mut burst = burst_of(&pool, (0..BURST_MAX - 2).map(|i| i as u8));
    let mut other = burst_of(&pool, [201, 202, 203]);
    assert_eq!(burst.append(&mut other), 2);
    assert_eq!(numbers(&burst)[BURST_MAX - 2..], [201, 202]);
    assert_eq!((burst.append(&mut other), numbers(&other)), (0, vec![203]));
    drop((burst, other));
    assert_all_freed(&pool);
}

#[test]
fn forgotten_packets_are_neither_freed_nor_dropped() {
    let pool = HeapPool::default();
    let mut burst = burst_of(&pool, 0..3);
    burst.forget_front(2);
    assert_eq!((numbers(&burst), pool.live()), (vec![2], 3));
    drop(burst);
    assert_eq!((pool.live(), pool.leaked()), (2, 0));
}

#[test]
fn a_new_front_and_a_new_end_come_at_once_or_not_at_all() {
    let pool = HeapPool::new(PoolConfig::default());
    let mut packet = pool.packet(&[[5; 58], [6; 58]].concat()).unwrap();
    let headroom = packet.headroom();
    assert_eq!(packet.reframe(58, 59, 14), Err(PacketError::Short));
    let most = headroom + 58;
    assert_eq!(packet.reframe(58, 40, most + 1), Err(PacketError::Headroom));
    assert_eq!((packet.len(), packet.headroom()), (116, headroom));
    let whole = packet.reframe(58, 40, 14).unwrap();
    assert_eq!(
        (whole.len(), whole[13], whole[14], whole[53]),
        (54, 5, 6, 6)
    );
    assert_eq!(packet.headroom(), headroom + 44);
    packet.free();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}
