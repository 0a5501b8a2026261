//! Device arguments of the virtual ports: `NAME[,KEY=VALUE...]`.
//!
//! Each name must be unique in the process, so the helpers take the number that ends it.

use std::path::Path;

/// Bytes of each slot of an af_packet ring.
///
/// The kernel starts a received frame 66 bytes into its slot, which leaves 1598 bytes: an
/// Ethernet frame with a 1500-byte packet inside GTP-U over IPv4 (1558) or IPv6 (1578). The slot
/// less 52 bytes must fit in a packet buffer without its head room, and does with
/// [`crate::DATA_ROOM_NORMAL_PAGES`].
pub const AF_PACKET_FRAME_BYTES: u32 = 1664;

/// Longest Ethernet frame, without FCS, that a slot of [`AF_PACKET_FRAME_BYTES`] takes.
pub const AF_PACKET_MAX_FRAME_BYTES: u32 = AF_PACKET_FRAME_BYTES - AF_PACKET_RX_OFFSET_BYTES;

/// `TPACKET2_HDRLEN` (52) rounded up for 16 bytes of link-layer header, less Ethernet's 14.
const AF_PACKET_RX_OFFSET_BYTES: u32 = 66;

/// Slots of each ring for frames of usual size; the driver blocks while its transmit ring is
/// full, so it is deep. Each queue has two rings in locked memory, of which users other than root
/// have little (8 MiB by default), so rings of larger frames have fewer slots.
const AF_PACKET_FRAMES: u32 = 2048;

/// Rings of an af_packet port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRings {
    /// Pairs of receive and transmit queues, each with a ring for each direction.
    pub queues: u16,
    /// Longest Ethernet frame, without FCS. The pool's buffers must hold that and 80 bytes more,
    /// besides the head room.
    pub max_frame_bytes: u32,
    /// Frames of usual size that a ring has room for; rings of larger frames have fewer slots in
    /// as much memory.
    pub slots: u32,
}

impl PacketRings {
    /// For frames of the usual size.
    #[must_use]
    pub fn new(queues: u16) -> Self {
        Self {
            queues: queues.max(1),
            max_frame_bytes: AF_PACKET_MAX_FRAME_BYTES,
            slots: AF_PACKET_FRAMES,
        }
    }
}

/// A kernel network interface through a packet socket.
///
/// - The kernel cuts off what is longer than a slot and the driver does not tell; whoever reads
///   lengths finds it (`ipv4_length`). Keep the MTU of the interface at or below
///   [`AF_PACKET_MAX_FRAME_BYTES`] - 14, and switch off whatever makes larger frames:
///   `ethtool -K PEER gso off tso off gro off lro off`.
/// - What finds the ring full is lost, and counts as `rx_missed`.
/// - The driver knows no checksum offload. Frames from a local socket (a veth peer) arrive with
///   unfinished TCP and UDP checksums, and are dropped by whoever gets them next, unless the
///   sender finishes them: `ethtool -K PEER tx off`.
/// - The kernel takes VLAN tags off on receipt, and the driver puts them back.
/// - The kernel's own stack still sees every frame: give the interface no address.
#[must_use]
pub fn af_packet(number: u16, interface: &str, queues: u16) -> String {
    af_packet_with(number, interface, PacketRings::new(queues))
}

/// As [`af_packet`], with other rings.
#[must_use]
pub fn af_packet_with(number: u16, interface: &str, rings: PacketRings) -> String {
    // A slot is a multiple of 64 bytes; a block of 64 slots is then a multiple of the page
    // size, and slots lie back to back over all blocks, which the driver takes for granted.
    let bytes = rings.max_frame_bytes.min(u16::MAX.into()) + AF_PACKET_RX_OFFSET_BYTES;
    let frame = bytes.next_multiple_of(64);
    let block = frame * 64;
    let blocks = (rings.slots.min(1 << 20) * AF_PACKET_FRAME_BYTES / block).max(1);
    format!(
        "net_af_packet{number},iface={interface},qpairs={},framesz={frame},blocksz={block},\
         framecnt={},qdisc_bypass=1",
        rings.queues.max(1),
        blocks * 64
    )
}

/// A kernel network interface through an XDP socket.
#[must_use]
pub fn af_xdp(number: u16, interface: &str, queues: u16) -> String {
    format!(
        "net_af_xdp{number},iface={interface},start_queue=0,queue_count={}",
        queues.max(1)
    )
}

/// Which end of a memif link this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemifRole {
    /// Creates the socket and waits. A stale socket file must be removed first.
    Server,
    /// Connects to the socket and provides the memory.
    Client,
    /// As `Client`, lending its packet buffers themselves; needs huge pages.
    ZeroCopyClient,
}

/// Shared memory to another process.
#[must_use]
pub fn memif(number: u16, role: MemifRole, socket: &Path, link_id: u32) -> String {
    let role = match role {
        MemifRole::Server => "role=server",
        MemifRole::Client => "role=client",
        MemifRole::ZeroCopyClient => "role=client,zero-copy=yes",
    };
    let socket = socket.display();
    // "Abstract" sockets would be visible in the whole network namespace.
    format!("net_memif{number},{role},id={link_id},socket={socket},socket-abstract=no,rsize=11")
}

/// Shared memory to another process by virtio, as a guest has it: vhost-user at `socket`, where
/// [`vhost`] or a switch waits. It is a port without kernel, NIC and privileges.
#[must_use]
pub fn virtio_user(number: u16, socket: &Path, descriptors: u16) -> String {
    let socket = socket.display();
    format!("net_virtio_user{number},path={socket},queues=1,queue_size={descriptors}")
}

/// The other end of [`virtio_user`]: creates the socket and waits. A stale socket file must be
/// removed first.
#[must_use]
pub fn vhost(number: u16, socket: &Path) -> String {
    format!("net_vhost{number},iface={},queues=1", socket.display())
}

/// A new kernel interface of this name, which lives as long as the port.
#[must_use]
pub fn tap(number: u16, interface: &str) -> String {
    format!("net_tap{number},iface={interface}")
}

/// A source of empty packets and a sink of all. `copy`: both ways through memory, `false`: none.
#[must_use]
pub fn null(number: u16, packet_bytes: u16, copy: bool) -> String {
    format!(
        "net_null{number},size={packet_bytes},copy={}",
        u8::from(copy)
    )
}

/// A port whose sent packets come back, over rings within the process.
#[must_use]
pub fn ring(number: u16) -> String {
    format!("net_ring{number}")
}

/// Receives the frames of one capture file, and writes what is sent to another.
#[must_use]
pub fn pcap_files(number: u16, receive_from: &Path, transmit_to: &Path) -> String {
    let (rx, tx) = (receive_from.display(), transmit_to.display());
    format!("net_pcap{number},rx_pcap={rx},tx_pcap={tx}")
}

/// The name that a port gets from its device arguments.
pub(crate) fn device_name(devargs: &str) -> Option<&str> {
    devargs
        .split(',')
        .next()
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(devargs: &str, key: &str) -> u32 {
        let mut pairs = devargs.split(',').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(name, _)| *name == key)
            .unwrap()
            .1
            .parse()
            .unwrap()
    }

    #[test]
    fn af_packet_slots_lie_back_to_back_in_whole_pages() {
        for bytes in [64, 1514, 1598, 1599, 9014, 65_000] {
            let max_frame_bytes = bytes;
            let rings = PacketRings {
                max_frame_bytes,
                ..PacketRings::new(1)
            };
            let devargs = af_packet_with(0, "n3", rings);
            let (frame, block) = (value(&devargs, "framesz"), value(&devargs, "blocksz"));
            assert!(frame >= bytes + AF_PACKET_RX_OFFSET_BYTES);
            assert_eq!(
                (frame % 16, block % 4096, block % frame),
                (0, 0, 0),
                "{devargs}"
            );
            assert_eq!(
                value(&devargs, "framecnt") % (block / frame),
                0,
                "{devargs}"
            );
        }
    }

    #[test]
    fn the_usual_af_packet_slot_fits_a_buffer_on_normal_pages() {
        let devargs = af_packet(3, "n3", 2);
        assert!(devargs.starts_with("net_af_packet3,iface=n3,qpairs=2,"));
        assert_eq!(value(&devargs, "framesz"), AF_PACKET_FRAME_BYTES);
        let room = u32::from(crate::DATA_ROOM_NORMAL_PAGES - crate::HEADROOM_BYTES);
        assert!(AF_PACKET_FRAME_BYTES - 52 <= room);
    }

    #[test]
    fn a_device_without_a_name_is_refused() {
        assert_eq!(device_name("net_null0,size=64"), Some("net_null0"));
        assert_eq!(device_name(",size=64"), None);
        assert_eq!(device_name(""), None);
    }
}
