//! The packet itself: room, segments, and the pool it comes from.

mod common;

use arrayvec::ArrayVec;
use common::*;
use sluice_port::{Burst, Packet, PacketError};
use sluice_port_dpdk::*;

#[test]
fn the_front_moves_and_never_past_its_room() {
    let pool = pool(63);
    let mut packet = packet(&pool, 100, 5);
    assert_eq!(packet.headroom(), usize::from(HEADROOM_BYTES));
    packet.push_front(44).unwrap().fill(9);
    assert_eq!(
        (packet.len(), packet.total_len(), packet.headroom()),
        (144, 144, 84)
    );
    assert_eq!((packet.data()[43], packet.data()[44]), (9, 5));
    assert_eq!(packet.push_front(85), Err(PacketError::Headroom));
    assert_eq!(packet.pull_front(145), Err(PacketError::Short));
    packet.pull_front(144).unwrap();
    assert!(packet.is_empty());
    packet.free();
    assert_eq!(pool.available(), pool.packets());
}

#[test]
fn the_end_moves_and_never_past_its_room() {
    let pool = pool(63);
    let mut packet = packet(&pool, 100, 5);
    let room = packet.tailroom();
    assert_eq!(
        room,
        usize::from(pool.data_room_bytes() - HEADROOM_BYTES) - 100
    );
    assert_eq!(packet.append(room + 1), Err(PacketError::Tailroom));
    packet.append(room).unwrap().fill(6);
    assert_eq!(
        (packet.tailroom(), packet.data()[99], packet.data()[100]),
        (0, 5, 6)
    );
    packet.truncate(101);
    assert_eq!((packet.len(), packet.data()[100]), (101, 6));
    packet.truncate(500);
    assert_eq!(packet.len(), 101);
    packet.free();
}

#[test]
fn a_new_front_and_a_new_end_come_at_once_or_not_at_all() {
    let pool = pool(63);
    let mut packet = packet(&pool, 100, 5);
    packet.data_mut()[58..].fill(6);
    assert_eq!(packet.reframe(58, 43, 14), Err(PacketError::Short));
    assert_eq!(packet.reframe(101, 0, 14), Err(PacketError::Short));
    let most = usize::from(HEADROOM_BYTES) + 58;
    assert_eq!(packet.reframe(58, 40, most + 1), Err(PacketError::Headroom));
    assert_eq!(
        (packet.len(), packet.headroom()),
        (100, usize::from(HEADROOM_BYTES))
    );
    let whole = packet.reframe(58, 40, 14).unwrap();
    assert_eq!(
        (whole.len(), whole[13], whole[14], whole[53]),
        (54, 5, 6, 6)
    );
    assert_eq!((packet.len(), packet.total_len()), (54, 54));
    assert_eq!(packet.headroom(), usize::from(HEADROOM_BYTES) + 44);
    packet.free();
    let mut chain = three_segments(&pool);
    assert_eq!(chain.reframe(10, 50, 14), Err(PacketError::Segmented));
    chain.free();
    assert_eq!(pool.available(), pool.packets());
}

/// Segments of 100, 200 and 300 bytes.
fn three_segments(pool: &MbufPool) -> Mbuf {
    let mut head = packet(pool, 100, 1);
    head.chain(packet(pool, 200, 2)).expect("room");
    head.chain(packet(pool, 300, 3)).expect("room");
    head
}

#[test]
fn a_packet_of_several_segments_tells_them_apart() {
    let pool = pool(63);
    let mut packet = three_segments(&pool);
    assert_eq!(
        (packet.len(), packet.total_len(), packet.segments()),
        (100, 600, 3)
    );
    assert_eq!(packet.segment(2), Some(&[3; 300][..]));
    assert_eq!(packet.segment(3), None);
    assert_eq!(packet.append(1), Err(PacketError::Segmented));
    packet.free();
    assert_eq!(pool.available(), pool.packets());
}

#[test]
fn linearizing_joins_the_segments_and_frees_their_buffers() {
    let pool = pool(63);
    let mut packet = three_segments(&pool);
    assert!(packet.linearize());
    assert_eq!((packet.segments(), packet.len()), (1, 600));
    assert_eq!(
        (packet.data()[99], packet.data()[100], packet.data()[599]),
        (1, 2, 3)
    );
    assert_eq!(pool.packets() - pool.available(), 1);
    packet.free();
}

#[test]
fn what_does_not_fit_in_one_segment_stays_as_it_is() {
    let pool = pool(63);
    let mut head = packet(&pool, 1500, 1);
    head.chain(packet(&pool, 1500, 2)).unwrap();
    assert!(!head.linearize());
    assert_eq!((head.segments(), head.total_len()), (2, 3000));
    head.free();
}

#[test]
fn truncating_frees_the_segments_behind_the_cut() {
    let pool = pool(63);
    for (n, segments, first) in [
        (599, 3, 100),
        (300, 2, 100),
        (101, 2, 100),
        (100, 1, 100),
        (0, 1, 0),
    ] {
        let mut packet = three_segments(&pool);
        packet.truncate(n);
        let found = (packet.total_len(), packet.segments(), packet.len());
        assert_eq!(found, (n, segments, first));
        assert_eq!(pool.packets() - pool.available(), segments as u32);
        packet.free();
        assert_eq!(pool.available(), pool.packets());
    }
}

#[test]
fn an_exhausted_pool_gives_nothing_and_recovers() {
    let pool = pool(127);
    let mut burst = Burst::new();
    while let Some(packet) = pool.alloc() {
        burst.push(packet).unwrap();
    }
    assert_eq!((burst.len(), pool.available()), (127, 0));
    burst.free();
    assert_eq!(pool.available(), 127);
}

#[test]
fn packets_that_come_together_are_as_fresh_as_others() {
    let pool = pool(127);
    let mut used = pool.alloc().unwrap();
    used.append(100).unwrap();
    used.push_front(8).unwrap();
    used.free();
    let mut packets = ArrayVec::<_, 32>::new();
    packets.push(pool.alloc().unwrap());
    assert_eq!(pool.alloc_bulk(&mut packets), 31);
    assert_eq!(pool.alloc_bulk(&mut packets), 0, "no room");
    for packet in &packets {
        let found = (packet.len(), packet.segments(), packet.headroom());
        assert_eq!(found, (0, 1, HEADROOM_BYTES.into()));
    }
    assert_eq!(pool.available(), 127 - 32);
    let mut more = ArrayVec::<_, 96>::new();
    assert_eq!(
        pool.alloc_bulk(&mut more),
        0,
        "all that are asked for, or none"
    );
    Packet::free_bulk(&mut packets.drain(..).collect());
    assert_eq!(pool.alloc_bulk(&mut more), 96);
    more.drain(..).for_each(Packet::free);
    assert_eq!(pool.available(), 127);
}

#[test]
fn a_pool_with_unusable_buffers_or_too_many_is_refused() {
    let create = |packets, data_room_bytes| {
        let config = PoolConfig {
            packets,
            data_room_bytes: Some(data_room_bytes),
            numa_node: None,
        };
        MbufPool::create(&eal(), config).err()
    };
    assert_eq!(create(63, 128), Some(PoolError::DataRoom(128)));
    let error = create(10_000_000, 2176).unwrap();
    assert!(
        matches!(
            error,
            PoolError::Create {
                packets: 10_000_000,
                ..
            }
        ),
        "{error}"
    );
}
