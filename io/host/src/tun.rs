//! TUN devices (IFF_TUN, IFF_NO_PI).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::HostError;
use crate::link::{Link, LinkCounters, request_for};
use crate::netns::Ns;

/// Packets that the kernel holds for us while nobody reads. Long enough that a handover of
/// the device between two readers loses nothing at some hundred thousand packets a second.
const QUEUE_LENGTH: u32 = 8192;

/// Which packets of its namespace a TUN device attracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunRoute {
    /// Everything that has no other route.
    Default,
    /// Everything that comes from the device's address, by the routing table of that number
    /// (1 to 252), so that many devices can share a namespace.
    BySource {
        /// Number of the table; each device needs its own.
        table: u32,
    },
    /// Everything that the routing table of that number is asked for; the caller has rules that
    /// lead there, which outlive the device.
    Table {
        /// Number of the table; each device needs its own.
        table: u32,
    },
    /// Nothing; the caller sets routes.
    None,
}

/// Configuration of a TUN device.
#[derive(Clone, Debug)]
pub struct TunConfig {
    /// Name of the interface, 1 to 15 bytes.
    pub name: String,
    /// IPv4 address, set as /32. For IPv6 use [`Link::autoconfigure_ipv6`].
    pub address: Option<Ipv4Addr>,
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Packets that the device attracts.
    pub route: TunRoute,
}

/// A TUN device; it goes away with the value.
#[derive(Debug)]
pub struct Tun {
    file: File,
    link: Link,
    mtu: u16,
}

impl Tun {
    /// Makes the device in `ns`: up, IPv6 off (byte counts are exact), reading and writing
    /// never block.
    pub fn create(ns: &Ns, config: &TunConfig) -> Result<Self, HostError> {
        let link = Link::new(ns, &config.name)?;
        let opened = ns.run(|| open(link.name()))?;
        let file = opened.map_err(HostError::os(format!("make TUN device {}", link.name())))?;
        let tun = Self {
            file,
            link,
            mtu: config.mtu,
        };
        tun.link.disable_ipv6()?;
        ns.ip_batch(&setup_lines(config))?;
        Ok(tun)
    }

    /// Takes a packet that the namespace sent; `None` when there is none now.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        none_if_blocked((&self.file).read(buffer))
    }

    /// Gives a packet to the namespace; `false` when the device does not take it now.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        none_if_blocked((&self.file).write(packet)).map(|written| written.is_some())
    }

    /// The interface, for routes and counters.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Largest packet in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The kernel's counters. Seen from the namespace: `tx` is what [`Tun::recv`] took, `rx`
    /// what [`Tun::send`] gave; bytes are those of whole IP packets.
    pub fn counters(&self) -> Result<LinkCounters, HostError> {
        self.link.counters()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let mut request = request_for(name);
    let flags = libc::IFF_TUN | libc::IFF_NO_PI;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives across the call.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) };
    if outcome < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(file)
    }
}

fn setup_lines(config: &TunConfig) -> String {
    let TunConfig {
        name,
        address,
        mtu,
        route,
    } = config;
    let device = format!("link set dev {name} mtu {mtu} txqueuelen {QUEUE_LENGTH} up\n");
    let Some(address) = address else {
        return device;
    };
    let device = format!("{device}addr add {address}/32 dev {name}\n");
    let route = match route {
        TunRoute::Default => format!("route replace default dev {name} src {address}\n"),
        TunRoute::BySource { table } => format!(
            "route replace default dev {name} src {address} table {table}\n\
             rule add from {address} lookup {table}\n"
        ),
        TunRoute::Table { table } => {
            format!("route replace default dev {name} src {address} table {table}\n")
        }
        TunRoute::None => String::new(),
    };
    device + &route
}

fn none_if_blocked(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(length) => Ok(Some(length)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
