//! Section `dpdk`: packet memory and log level.

use super::fields::{At, Fields};
use super::kind::{auto_or, number, word};
use sluice_port_dpdk::{DATA_ROOM_NORMAL_PAGES, HEADROOM_BYTES, LogLevel};

/// What a frame adds to the MTU at most: Ethernet header, a VLAN tag, FCS, and what af_packet
/// keeps in front of a frame and to its round slots.
const FRAME_SLACK_BYTES: u16 = 96;

// Headers of the packets that leave fit before them (`Templates::of`).
const _: () = assert!(HEADROOM_BYTES as usize >= sluice_datapath::limits::HEADROOM);

/// How DPDK is started.
#[derive(Clone, PartialEq, Debug)]
pub struct Dpdk {
    /// Where packet memory lies.
    pub huge_pages: HugePages,
    /// Packet memory, in MiB.
    pub memory_mb: At<u32>,
    /// Packets in the pool.
    pub mbufs: At<u32>,
    /// Bytes of each packet buffer, head room included; `None`: what the largest MTU needs.
    pub data_room_bytes: Option<At<u16>>,
    /// The least important messages that DPDK writes.
    pub log_level: LogLevel,
}

/// Whether packet memory lies on huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// If enough are free.
    Auto,
    /// Not even then.
    Never,
    /// Or the start fails.
    Required,
}

impl Dpdk {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let pages = word(&[
            ("auto", HugePages::Auto),
            ("never", HugePages::Never),
            ("required", HugePages::Required),
        ]);
        let levels = word(&[
            ("error", LogLevel::Error),
            ("warning", LogLevel::Warning),
            ("notice", LogLevel::Notice),
            ("info", LogLevel::Info),
            ("debug", LogLevel::Debug),
        ]);
        let room = auto_or(number(1024, 16_384, "bytes"));
        let room = fields.or("data_room_bytes", "auto", &room);
        Self {
            huge_pages: fields.or("huge_pages", "auto", &pages).value,
            memory_mb: fields.or("memory_mb", "512", &number(64, 1 << 20, "MiB")),
            mbufs: fields.or("mbufs", "65535", &number(1024, 1 << 26, "packets")),
            data_room_bytes: room.given(),
            log_level: fields.or("log_level", "warning", &levels).value,
        }
    }

    /// The largest MTU, in bytes, that packets of one buffer can have; as the buffers grow with
    /// the MTU unless their size is given, only a given size limits it.
    pub fn mtu_max(&self) -> Option<u16> {
        let room = self.data_room_bytes?.value;
        Some(mtu_in(room))
    }

    /// The same for buffers of this size; `None`: the usual one by page size.
    pub fn mtu_in_buffers(data_room_bytes: Option<u16>) -> u16 {
        mtu_in(data_room_bytes.unwrap_or(DATA_ROOM_NORMAL_PAGES))
    }

    /// Buffer size for packets of this MTU; `None`: the usual one by page size will do.
    pub fn data_room_for(&self, mtu_bytes: u16) -> Option<u16> {
        if let Some(given) = self.data_room_bytes {
            return Some(given.value);
        }
        let needed = mtu_bytes.saturating_add(HEADROOM_BYTES + FRAME_SLACK_BYTES);
        (needed > DATA_ROOM_NORMAL_PAGES).then(|| needed.next_multiple_of(64))
    }
}

fn mtu_in(data_room_bytes: u16) -> u16 {
    data_room_bytes.saturating_sub(HEADROOM_BYTES + FRAME_SLACK_BYTES)
}
