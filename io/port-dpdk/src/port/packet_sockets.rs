//! Packet sockets of an af_packet port, replaced by ones whose fragments the kernel leaves alone.
//!
//! The driver puts its sockets into a fanout group that has the kernel reassemble IPv4 datagrams
//! (`PACKET_FANOUT_FLAG_DEFRAG`). What it joins is as large as the sender liked, the slots of the ring are
//! not, and of what it does not join nothing is heard any more. A flag of a group cannot be changed, nor can
//! a socket leave its group. But all that the driver knows of a socket are the number of its descriptor and
//! the address of its rings: so each one is replaced, before any packet is taken, by another with the same
//! rings at the same address under the same number, in a group without that flag. Fragments of a
//! datagram go to one queue, as they are hashed by their addresses alone.
//!
//! What the kernel drops for a full ring the driver does not tell either: it is read here.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names under which the driver is known.
const DRIVERS: [&str; 2] = ["net_af_packet", "eth_af_packet"];

/// Of a receive or transmit ring; both are of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ring {
    frame_bytes: u32,
    block_bytes: u32,
    frames: u32,
    bypasses_qdisc: bool,
}

/// The sockets of a port.
#[derive(Debug, Default)]
pub(super) struct PacketSockets {
    sockets: Vec<OwnedFd>,
    /// The kernel counts anew whenever it is asked.
    dropped: AtomicU64,
}

impl PacketSockets {
    /// Replaces the sockets that the driver has just made for these device arguments; none if it is
    /// another driver.
    ///
    /// # Errors
    /// The driver made other sockets than it was asked for, or the kernel refuses a step.
    pub(super) fn replace(devargs: &str, before: &Known) -> io::Result<Self> {
        if !is_for_us(devargs) {
            return Ok(Self::default());
        }
        let ring = Ring::of(devargs);
        let found = Known::now()?.since(before);
        if found.is_empty() {
            return Err(other("no packet socket of the driver was found"));
        }
        let mut replaced = Vec::new();
        for (fd, rings) in &found {
            let interface = interface_of(*fd)?;
            replaced.push((*fd, interface, ring.replace(*fd, *rings)?));
        }
        // Only now is the driver's group gone, whose number is taken over.
        let is_group = replaced.len() > 1;
        for (fd, interface, _) in &replaced {
            bind(*fd, *interface)?;
            if is_group {
                let group = (std::process::id() ^ *interface) & 0xffff;
                let how = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_ROLLOVER;
                set(*fd, libc::PACKET_FANOUT, &(group | how << 16))?;
            }
        }
        Ok(Self {
            sockets: replaced.into_iter().map(|(.., socket)| socket).collect(),
            dropped: AtomicU64::new(0),
        })
    }

    /// Packets that the kernel dropped for a full ring, since the port was opened.
    pub(super) fn dropped(&self) -> u64 {
        let news = self
            .sockets
            .iter()
            .filter_map(|s| dropped_since(s.as_raw_fd()).ok());
        let news: u64 = news.map(u64::from).sum();
        self.dropped.fetch_add(news, Ordering::Relaxed) + news
    }
}

fn is_for_us(devargs: &str) -> bool {
    DRIVERS.iter().any(|driver| devargs.starts_with(driver))
}

/// The process's sockets that have rings, by inode: descriptor and rings.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<u64, (RawFd, Rings)>);

/// Position of rings in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rings {
    address: usize,
    bytes: usize,
}

impl Known {
    /// Sockets of a process that is about to make some for these device arguments.
    pub(super) fn before(devargs: &str) -> io::Result<Self> {
        match is_for_us(devargs) {
            true => Self::now(),
            false => Ok(Self::default()),
        }
    }

    fn now() -> io::Result<Self> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let mapped: HashMap<u64, Rings> = maps.lines().filter_map(mapped_socket).collect();
        let mut known = HashMap::new();
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            // The folder's own descriptor is gone by now.
            let inode = std::fs::read_link(entry.path()).ok();
            let inode = inode.as_deref().and_then(Path::to_str).and_then(inode_of);
            if let (Some(fd), Some(inode)) = (number, inode)
                && let Some(rings) = mapped.get(&inode)
            {
                known.insert(inode, (fd, *rings));
            }
        }
        Ok(Self(known))
    }

    /// In the order in which the driver made them.
    fn since(self, before: &Self) -> Vec<(RawFd, Rings)> {
        let all = self.0.into_iter();
        let new = all.filter(|(inode, _)| !before.0.contains_key(inode));
        let mut new: Vec<_> = new.map(|(_, found)| found).collect();
        new.sort_unstable_by_key(|(fd, _)| *fd);
        new
    }
}

/// `socket:[INODE]`.
fn inode_of(text: &str) -> Option<u64> {
    text.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// A line of /proc/PID/maps (proc(5)), if it is of a socket: FROM-TO, four fields, the name.
fn mapped_socket(line: &str) -> Option<(u64, Rings)> {
    let mut fields = line.split_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let inode = inode_of(fields.nth(4)?)?;
    let address = usize::from_str_radix(from, 16).ok()?;
    let bytes = usize::from_str_radix(to, 16).ok()?.checked_sub(address)?;
    Some((inode, Rings { address, bytes }))
}

impl Ring {
    /// As the driver reads its arguments, with what it takes where one is missing.
    fn of(devargs: &str) -> Self {
        let value = |key: &str, default: u32| {
            let pairs = devargs.split(',').filter_map(|pair| pair.split_once('='));
            let mut ours = pairs.filter(|(name, _)| *name == key);
            ours.next_back()
                .and_then(|(_, v)| v.parse().ok())
                .unwrap_or(default)
        };
        Self {
            frame_bytes: value("framesz", 2048),
            block_bytes: value("blocksz", 4096),
            frames: value("framecnt", 512),
            bypasses_qdisc: value("qdisc_bypass", 1) != 0,
        }
    }

    fn request(self) -> libc::tpacket_req {
        let in_a_block = (self.block_bytes / self.frame_bytes.max(1)).max(1);
        libc::tpacket_req {
            tp_block_size: self.block_bytes,
            tp_block_nr: self.frames / in_a_block,
            tp_frame_size: self.frame_bytes,
            tp_frame_nr: self.frames,
        }
    }

    /// Puts a new socket and its rings in the place of another; it hears nothing yet.
    fn replace(self, fd: RawFd, rings: Rings) -> io::Result<OwnedFd> {
        let request = self.request();
        if 2 * request.tp_block_size as usize * request.tp_block_nr as usize != rings.bytes {
            return Err(other(
                "the driver's rings are not as large as it was asked for",
            ));
        }
        let socket = silent_socket()?;
        let number = socket.as_raw_fd();
        set(
            number,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as libc::c_int),
        )?;
        set(number, libc::PACKET_LOSS, &1)?;
        if self.bypasses_qdisc {
            set(number, libc::PACKET_QDISC_BYPASS, &1)?;
        }
        set(number, libc::PACKET_RX_RING, &request)?;
        set(number, libc::PACKET_TX_RING, &request)?;
        map_over(number, rings)?;
        // SAFETY: both are descriptors of this process. The driver's is no longer needed: its rings are
        // no longer mapped, and nobody else knows its number yet.
        let number = unsafe { libc::dup3(number, fd, libc::O_CLOEXEC) };
        check(number)?;
        Ok(socket)
    }
}

/// A packet socket that hears nothing before it is bound: protocol 0 (packet(7)).
fn silent_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    check(fd)?;
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Maps the socket's rings over those of another. What users other than root may lock counts both
/// while both are mapped, so the old ones are unlocked before.
fn map_over(socket: RawFd, rings: Rings) -> io::Result<()> {
    let address = std::ptr::with_exposed_provenance_mut(rings.address);
    // SAFETY: the range is a mapping of the driver's socket as a whole; the driver has not looked into it
    // yet, and will find the new rings as empty as the old ones were.
    let mapped = unsafe {
        libc::munlock(address, rings.bytes);
        libc::mmap(
            address,
            rings.bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_LOCKED | libc::MAP_FIXED,
            socket,
            0,
        )
    };
    match mapped == address {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

fn set<T>(socket: RawFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is read as what it is, by its size.
    check(unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_PACKET,
            option,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Number of the interface that a packet socket is bound to.
fn interface_of(socket: RawFd) -> io::Result<u32> {
    let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `length` octets; all bit patterns are a value.
    let address = unsafe {
        check(libc::getsockname(
            socket,
            address.as_mut_ptr().cast(),
            &mut length,
        ))?;
        address.assume_init()
    };
    Ok(address.sll_ifindex.cast_unsigned())
}

fn bind(socket: RawFd, interface: u32) -> io::Result<()> {
    // SAFETY: plain data; all zero bytes are a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is a `sockaddr_ll` of this length, which is only read.
    check(unsafe { libc::bind(socket, (&raw const address).cast(), length) })
}

/// Packets that the kernel dropped since it was last asked (packet(7), `PACKET_STATISTICS`).
fn dropped_since(socket: RawFd) -> io::Result<u32> {
    let mut stats = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `length` octets.
    check(unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &mut length,
        )
    })?;
    Ok(stats.tp_drops)
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    match outcome < 0 {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

fn other(why: &str) -> io::Error {
    io::Error::other(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devargs;

    #[test]
    fn rings_are_as_the_driver_makes_them() {
        let ring = Ring::of(&devargs::af_packet(0, "n3", 2));
        let request = ring.request();
        assert_eq!(request.tp_frame_size, devargs::AF_PACKET_FRAME_BYTES);
        let blocks = request.tp_block_size * request.tp_block_nr;
        assert_eq!(blocks, request.tp_frame_size * request.tp_frame_nr);
        let request = Ring::of("net_af_packet0,iface=n3").request();
        let of_driver = [
            request.tp_frame_size,
            request.tp_frame_nr,
            request.tp_block_nr,
        ];
        assert_eq!(of_driver, [2048, 512, 256]);
    }

    #[test]
    fn sockets_with_rings_are_found_in_maps() {
        let line = "7f0c18000000-7f0c18800000 rw-s 00000000 00:08 48213    socket:[48213]";
        let rings = Rings {
            address: 0x7f0c_1800_0000,
            bytes: 0x80_0000,
        };
        assert_eq!(mapped_socket(line), Some((48213, rings)));
        for other in [
            "7f0c18000000-7f0c18800000 rw-p 00000000 00:00 0",
            "7f0c18000000-7f0c18800000 r-xp 00000000 fe:00 1234 /usr/lib/libc.so.6",
            "",
        ] {
            assert_eq!(mapped_socket(other), None);
        }
    }
}
