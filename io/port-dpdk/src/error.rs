//! Errors of DPDK calls.

use std::fmt;

/// A DPDK or operating system error number, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// From a DPDK return value (a negative errno).
    pub(crate) fn from_return(rc: i32) -> Self {
        Self(rc.saturating_neg())
    }

    /// From a DPDK return value: 0 or more is success.
    pub(crate) fn check(rc: i32) -> Result<i32, Self> {
        if rc < 0 {
            Err(Self::from_return(rc))
        } else {
            Ok(rc)
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Many drivers answer -1, which is EPERM, whatever they dislike.
            1 => f.write_str("not permitted, or refused by a driver that gives no reason"),
            errno => write!(f, "{}", std::io::Error::from_raw_os_error(errno)),
        }
    }
}

/// Why the EAL (DPDK's environment of the process) is not there.
#[derive(Debug, PartialEq, Eq)]
pub enum EalError {
    /// DPDK can be initialised once per process, also after it was shut down.
    AlreadyInitialised,
    /// Huge pages were demanded, and there are too few free ones.
    TooFewHugePages {
        /// MiB asked for.
        wanted_mib: u32,
        /// MiB free, in pages of 2 MiB.
        free_mib: u32,
    },
    /// An argument is not a list of CPUs such as `0-3,8`.
    BadCpuList(String),
    /// An argument contains a NUL byte.
    NulByte(String),
    /// `rte_eal_init` refused; its own messages are on standard error.
    Init {
        /// The arguments that it was given.
        arguments: String,
        /// Error number of DPDK.
        errno: Errno,
    },
}

impl std::error::Error for EalError {}

impl fmt::Display for EalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyInitialised => {
                write!(
                    f,
                    "DPDK was already initialised in this process; it can be only once"
                )
            }
            Self::TooFewHugePages {
                wanted_mib,
                free_mib,
            } => write!(
                f,
                "{wanted_mib} MiB of 2 MiB huge pages asked for, {free_mib} MiB free; raise \
                 vm.nr_hugepages or choose normal pages"
            ),
            Self::BadCpuList(list) => {
                write!(f, "{} is not a list of CPUs such as 0-3,8", Quoted(list))
            }
            Self::NulByte(argument) => write!(f, "{} contains a NUL byte", Quoted(argument)),
            Self::Init { arguments, errno } => {
                write!(f, "DPDK did not start with {}: {errno}", Quoted(arguments))
            }
        }
    }
}

/// Why there is no packet pool.
#[derive(Debug, PartialEq, Eq)]
pub enum PoolError {
    /// A buffer of this many bytes cannot hold a head room and a frame (or exceeds 65535).
    DataRoom(u32),
    /// DPDK refused, most often for lack of memory.
    Create {
        /// Number of packets asked for.
        packets: u32,
        /// Bytes of each buffer.
        data_room_bytes: u16,
        /// Error number of DPDK.
        errno: Errno,
    },
}

impl std::error::Error for PoolError {}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DataRoom(bytes) => {
                write!(
                    f,
                    "packet buffers of {bytes} bytes; 256 to 65535 are possible"
                )
            }
            Self::Create {
                packets,
                data_room_bytes,
                errno,
            } => write!(
                f,
                "no pool of {packets} packets of {data_room_bytes} bytes: {errno} (more memory \
                 for DPDK, or fewer packets)"
            ),
        }
    }
}

/// A step in the life of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortStep {
    /// Finding the device and its driver.
    Probe,
    /// Reading what the device can do.
    Inspect,
    /// Setting the number of queues, MTU and offloads.
    Configure,
    /// Setting up a receive queue.
    RxQueue(u16),
    /// Setting up a transmit queue.
    TxQueue(u16),
    /// Setting the MTU, in bytes of layer 3.
    Mtu(u16),
    /// Receiving frames for all addresses.
    Promiscuous,
    /// Replacing the packet sockets of an af_packet port.
    PacketSockets,
    /// Starting traffic.
    Start,
    /// Reading statistics.
    Statistics,
    /// Reading the state of the link.
    Link,
}

impl fmt::Display for PortStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe => f.write_str("cannot be attached"),
            Self::Inspect => f.write_str("does not tell its capabilities"),
            Self::Configure => f.write_str("refuses its configuration"),
            Self::RxQueue(queue) => write!(f, "has no receive queue {queue}"),
            Self::TxQueue(queue) => write!(f, "has no transmit queue {queue}"),
            Self::Mtu(mtu) => write!(f, "refuses an MTU of {mtu} bytes"),
            Self::Promiscuous => f.write_str("refuses promiscuous mode"),
            Self::PacketSockets => f.write_str(
                "cannot keep the kernel from reassembling what its packet sockets receive",
            ),
            Self::Start => f.write_str("does not start"),
            Self::Statistics => f.write_str("does not tell its statistics"),
            Self::Link => f.write_str("does not tell the state of its link"),
        }
    }
}

/// Why a port cannot be used as asked.
#[derive(Debug, PartialEq, Eq)]
pub enum PortError {
    /// The device arguments contain a NUL byte, or no device name.
    BadDevargs(String),
    /// The driver took the device and made no port named like it.
    NoSuchPort(String),
    /// The port is open already in this process.
    InUse(String),
    /// DPDK refused a step.
    Refused {
        /// The port's device arguments.
        devargs: String,
        /// Failed step.
        step: PortStep,
        /// Error number of DPDK.
        errno: Errno,
    },
}

impl std::error::Error for PortError {}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadDevargs(devargs) => write!(
                f,
                "{} names no device; expected NAME[,KEY=VALUE...], such as \
                 net_af_packet0,iface=n3 or 0000:03:00.0",
                Quoted(devargs)
            ),
            Self::NoSuchPort(devargs) => {
                let devargs = Quoted(devargs);
                write!(f, "{devargs}: the driver made no port of this name")
            }
            Self::InUse(devargs) => write!(f, "port {} is open already", Quoted(devargs)),
            Self::Refused {
                devargs,
                step,
                errno,
            } => {
                write!(f, "port {} {step}: {errno}", Quoted(devargs))
            }
        }
    }
}

/// A text of the configuration in quotes; what is not printed is written as in source.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_debug())
    }
}
