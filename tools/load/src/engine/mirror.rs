//! Packet reflection at the server side: downlink replies to uplink packets.

use sluice_wire::eth;

use crate::frames::STAMP_AT;
use crate::stamp::Stamp;

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// An IPv4 header without options.
const PLAIN_HEADER: u8 = 0x45;
const UDP: u8 = 17;

/// Turns a bare Ethernet frame with one of our packets around. No checksum changes: sums do not
/// depend on order, and UDP of ours has none. None, and nothing changed, if it is something else.
pub(crate) fn turn_around(frame: &mut [u8]) -> Option<()> {
    let (ethernet, packet) = frame.split_first_chunk_mut::<{ eth::HEADER_LEN }>()?;
    let (headers, payload) = packet.split_first_chunk_mut::<STAMP_AT>()?;
    let is_ours = ethernet[12..] == ETHERTYPE_IPV4
        && headers[0] == PLAIN_HEADER
        && headers[9] == UDP
        && headers[26..28] == [0, 0];
    if !is_ours || !Stamp::mirror(payload) {
        return None;
    }
    swap::<6>(ethernet, 0, 6);
    swap::<4>(headers, 12, 16);
    swap::<2>(headers, 20, 22);
    Some(())
}

/// Exchanges two fields of `N` octets.
fn swap<const N: usize>(bytes: &mut [u8], a: usize, b: usize) {
    for i in 0..N {
        bytes.swap(a + i, b + i);
    }
}
