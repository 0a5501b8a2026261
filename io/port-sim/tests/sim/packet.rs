//! What every packet does by the trait's own means.

use sluice_port::{Packet, PacketError};
use sluice_port_sim::{HeapPool, PoolConfig};

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
