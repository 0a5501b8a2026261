//! The mbuf pool (mempool).

use arrayvec::ArrayVec;
use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::eal::Eal;
use crate::error::{Errno, PoolError};
use crate::mbuf::Mbuf;
use crate::sys;

/// Bytes free in front of a fresh packet's data (`RTE_PKTMBUF_HEADROOM`).
pub const HEADROOM_BYTES: u16 = sys::SDP_HEADROOM as u16;

/// Buffer size for packets of usual size when memory is on normal pages.
///
/// Two buffers then share a 4 KiB page. With more (1856 bytes, or DPDK's own default of 2176) each
/// takes a page of its own, all packet headers fall into the same sets of the L1 cache, and a
/// packet costs 1.4 to 2 times as much to receive and send.
pub const DATA_ROOM_NORMAL_PAGES: u16 = 1792;

/// Buffer size for packets of usual size on huge pages.
pub const DATA_ROOM_HUGE_PAGES: u16 = 2048 + HEADROOM_BYTES;

/// Packets that a thread keeps at hand (only registered threads do; see
/// [`crate::register_thread`]).
const CACHE_PACKETS: u32 = 512;

/// The same of a pool whose packets are kept for long: they come one by one, and what lies in a thread's cache no
/// other thread can have.
const CACHE_KEPT: u32 = 8;

/// How many packets there are, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Number of packets. What the descriptors of all queues and the threads' caches hold must
    /// fit, with room for what is in flight.
    pub packets: u32,
    /// Bytes of each buffer, head room of [`HEADROOM_BYTES`] included. None: fit for Ethernet
    /// frames of up to [`DATA_ROOM_NORMAL_PAGES`] - [`HEADROOM_BYTES`] bytes, by page size.
    pub data_room_bytes: Option<u16>,
    /// NUMA node. None: any.
    pub numa_node: Option<u16>,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            packets: 65_535,
            data_room_bytes: None,
            numa_node: None,
        }
    }
}

/// A pool of packets; clones are handles to the same. Its memory goes with the [`Eal`].
#[derive(Clone, Debug)]
pub struct MbufPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pool: NonNull<sys::rte_mempool>,
    packets: u32,
    data_room_bytes: u16,
    eal: Eal,
}

// SAFETY: DPDK's packet pools are built for use by many threads at once.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl MbufPool {
    /// Creates a pool.
    ///
    /// # Errors
    /// When the buffer size is unusable or memory is short.
    pub fn create(eal: &Eal, config: PoolConfig) -> Result<Self, PoolError> {
        Self::with_cache(eal, config, CACHE_PACKETS)
    }

    /// Creates a pool of packets that are kept for long.
    ///
    /// # Errors
    /// When the buffer size is unusable or memory is short.
    pub fn create_to_keep(eal: &Eal, config: PoolConfig) -> Result<Self, PoolError> {
        Self::with_cache(eal, config, CACHE_KEPT)
    }

    fn with_cache(eal: &Eal, config: PoolConfig, cache: u32) -> Result<Self, PoolError> {
        let by_page = if eal.huge_pages() {
            DATA_ROOM_HUGE_PAGES
        } else {
            DATA_ROOM_NORMAL_PAGES
        };
        let data_room_bytes = config.data_room_bytes.unwrap_or(by_page);
        if data_room_bytes < 2 * HEADROOM_BYTES {
            return Err(PoolError::DataRoom(data_room_bytes.into()));
        }
        let pool = create_mempool(config, data_room_bytes, cache)?;
        eal.register_pool(pool, config.packets);
        let packets = config.packets;
        let shared = Shared {
            pool,
            packets,
            data_room_bytes,
            eal: eal.clone(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// One fresh packet, empty, with full head room; `None` when the pool is exhausted.
    #[must_use]
    pub fn alloc(&self) -> Option<Mbuf> {
        // SAFETY: the pool lives as long as `self`.
        let mbuf = unsafe { sys::sdp_alloc(self.as_ptr()) };
        // SAFETY: a fresh packet belongs to nobody else.
        NonNull::new(mbuf).map(|mbuf| unsafe { Mbuf::from_raw(mbuf) })
    }

    /// Fills `packets` with fresh ones, empty, with full head room: as many as it has room for, or
    /// none when there are not so many. Cheaper than one by one: they come from memory together, with
    /// the first 128 octets of their data.
    pub fn alloc_bulk<const N: usize>(&self, packets: &mut ArrayVec<Mbuf, N>) -> usize {
        let place = packets.spare_capacity_mut();
        let (first, room) = (place.as_mut_ptr(), place.len());
        // SAFETY: the pool lives as long as `self`, and there is room for so many pointers, which an
        // `Mbuf` is (repr(transparent)).
        let n = unsafe { sys::sdp_alloc_bulk(self.as_ptr(), first.cast(), room as u32) };
        // SAFETY: so many were written, all of them fresh packets that belong to nobody else.
        unsafe { packets.set_len(packets.len() + n as usize) };
        n as usize
    }

    /// Number of packets in all.
    #[must_use]
    pub fn packets(&self) -> u32 {
        self.shared.packets
    }

    /// Number of packets at home. Slow; packets that move meanwhile blur it.
    #[must_use]
    pub fn available(&self) -> u32 {
        // SAFETY: the pool lives as long as `self`.
        unsafe { sys::rte_mempool_avail_count(self.as_ptr()) }
    }

    /// Bytes of each buffer, head room included.
    #[must_use]
    pub fn data_room_bytes(&self) -> u16 {
        self.shared.data_room_bytes
    }

    pub(crate) fn eal(&self) -> &Eal {
        &self.shared.eal
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rte_mempool {
        self.shared.pool.as_ptr()
    }
}

fn create_mempool(
    config: PoolConfig,
    data_room_bytes: u16,
    cache: u32,
) -> Result<NonNull<sys::rte_mempool>, PoolError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("sluice{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let name = CString::new(name).unwrap_or_default();
    let node = config.numa_node.map_or(-1, i32::from);
    // Eight threads' caches do not empty a small pool.
    let cache = cache.min(config.packets / 8);
    // SAFETY: the name is a C string; the other arguments are plain values that DPDK checks.
    let pool = unsafe {
        sys::rte_pktmbuf_pool_create(
            name.as_ptr(),
            config.packets,
            cache,
            0,
            data_room_bytes,
            node,
        )
    };
    NonNull::new(pool).ok_or_else(|| PoolError::Create {
        packets: config.packets,
        data_room_bytes,
        // SAFETY: reads a thread-local of DPDK.
        errno: Errno(unsafe { sys::sdp_errno() }),
    })
}
