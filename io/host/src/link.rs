//! One network interface in one namespace: addresses, routes, neighbours, offloads, counters.

use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;

use crate::netns::Ns;
use crate::{HostError, tool};

/// Features of ethtool that [`Link::switch_offloads_off`] switches off. `ufo` is gone from
/// newer kernels, where ethtool takes it silently.
const SWITCHES: [&str; 8] = [
    "tx",
    "tso",
    "gso",
    "gro",
    "ufo",
    "tx-udp-segmentation",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
];

/// Feature names of `ethtool -k` that show whether those switches took. The sum line
/// "tx-checksumming" is not among them: its parts are what counts.
const WATCHED: [&str; 7] = [
    "tx-checksum-",
    "tx-tcp",
    "tx-udp-segmentation",
    "udp-fragmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "rx-gro",
];

/// An interface name that the kernel takes: 1 to 15 bytes, no '/', ':' or white space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IfName(String);

impl IfName {
    /// Checks the rules above.
    pub fn new(name: &str) -> Result<Self, HostError> {
        let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        let legal = (1..=15).contains(&name.len()) && !name.contains(bad);
        if legal && name != "." && name != ".." {
            Ok(Self(name.to_owned()))
        } else {
            Err(HostError::InterfaceName(name.to_owned()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes and packets of an interface as the kernel counts them (`rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets received with errors.
    pub rx_errors: u64,
    /// Received packets that the kernel dropped.
    pub rx_dropped: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets that failed in sending.
    pub tx_errors: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
}

/// An interface; clones name the same one. It does not own the device.
#[derive(Clone, Debug)]
pub struct Link {
    ns: Ns,
    name: IfName,
}

impl Link {
    /// Names the interface `name` of `ns`; it need not exist yet.
    pub fn new(ns: &Ns, name: &str) -> Result<Self, HostError> {
        Ok(Self {
            ns: ns.clone(),
            name: IfName::new(name)?,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Its namespace.
    pub fn ns(&self) -> &Ns {
        &self.ns
    }

    /// Brings it up.
    pub fn up(&self) -> Result<(), HostError> {
        self.ns
            .ip_batch(&format!("link set dev {} up\n", self.name()))
    }

    /// Takes it down.
    pub fn down(&self) -> Result<(), HostError> {
        self.ns
            .ip_batch(&format!("link set dev {} down\n", self.name()))
    }

    /// Adds an address with its prefix length.
    pub fn add_address(&self, address: Ipv4Addr, prefix_length: u8) -> Result<(), HostError> {
        self.ns.ip_batch(&format!(
            "addr add {address}/{prefix_length} dev {}\n",
            self.name()
        ))
    }

    /// Sets a route to `destination`/`prefix_length` over this interface; one that exists is
    /// replaced.
    pub fn add_route(
        &self,
        destination: Ipv4Addr,
        prefix_length: u8,
        via: Option<Ipv4Addr>,
    ) -> Result<(), HostError> {
        let mut line = format!(
            "route replace {destination}/{prefix_length} dev {}",
            self.name()
        );
        if let Some(via) = via {
            // Writing to a String cannot fail.
            let _ = write!(line, " via {via} onlink");
        }
        line.push('\n');
        self.ns.ip_batch(&line)
    }

    /// Sets a permanent neighbour, so that no ARP is needed for it.
    pub fn add_neighbour(&self, address: Ipv4Addr, mac: [u8; 6]) -> Result<(), HostError> {
        let mac = mac_text(mac);
        let line = format!(
            "neigh replace {address} lladdr {mac} dev {} nud permanent\n",
            self.name()
        );
        self.ns.ip_batch(&line)
    }

    /// The hardware address, as the kernel has it now.
    pub fn mac(&self) -> Result<[u8; 6], HostError> {
        let text = tool::run(
            self.ns
                .ip()
                .args(["-o", "link", "show", "dev", self.name()]),
        )?;
        let mac = text
            .split_whitespace()
            .skip_while(|w| *w != "link/ether")
            .nth(1);
        mac.and_then(parse_mac)
            .ok_or_else(|| unexpected("ip", &text))
    }

    /// Switches IPv6 off, so that no router solicitation or multicast report disturbs exact
    /// counts.
    pub fn disable_ipv6(&self) -> Result<(), HostError> {
        let path = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", self.name());
        let written = self.ns.run(|| std::fs::write(&path, "1"))?;
        match written {
            // A kernel without IPv6 has none to switch off.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.exists()? => Ok(()),
            other => other.map_err(HostError::os(format!("switch IPv6 off on {}", self.name()))),
        }
    }

    /// Switches transmit checksums, TSO, GSO, GRO and UFO off and reads back that they are:
    /// a packet socket or AF_XDP peer then sees whole, finished packets.
    pub fn switch_offloads_off(&self) -> Result<(), HostError> {
        let mut command = self.ns.command("ethtool");
        command.args(["-K", self.name()]);
        for switch in SWITCHES {
            command.args([switch, "off"]);
        }
        // ethtool fails when one of many is unknown to the kernel; the reading decides.
        let switched = tool::run(&mut command);
        let on = self.offloads_on()?;
        if on.is_empty() {
            return Ok(());
        }
        switched?;
        Err(HostError::OffloadsOn {
            interface: self.name().to_owned(),
            features: on,
        })
    }

    /// The offloads of that kind which are on, as ethtool names them; empty when all are off.
    pub fn offloads_on(&self) -> Result<Vec<String>, HostError> {
        let text = tool::run(self.ns.command("ethtool").args(["-k", self.name()]))?;
        let on = offloads_on_in(&text);
        on.ok_or_else(|| unexpected("ethtool", &text))
    }

    /// The kernel's counters.
    pub fn counters(&self) -> Result<LinkCounters, HostError> {
        // Not /sys/class/net: that shows the namespace in which /sys was mounted.
        let read = self
            .ns
            .run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        let table = read.map_err(HostError::os("read /proc/thread-self/net/dev"))?;
        counters_in(&table, self.name()).ok_or_else(|| HostError::NoSuchInterface {
            interface: self.name().to_owned(),
            namespace: self.ns.describe().to_owned(),
        })
    }

    /// Whether the interface is there.
    pub fn exists(&self) -> Result<bool, HostError> {
        match self.counters() {
            Ok(_) => Ok(true),
            Err(HostError::NoSuchInterface { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Longest packet that it takes, in bytes of layer 3.
    pub fn mtu(&self) -> Result<u32, HostError> {
        let told = self.ask(libc::SIOCGIFMTU, request_for(self.name()));
        let told = told.map_err(HostError::os(format!("read the MTU of {}", self.name())))?;
        // SAFETY: the kernel filled this member; any bytes are an integer.
        Ok(unsafe { told.ifr_ifru.ifru_mtu }.unsigned_abs())
    }

    /// Changes that.
    pub fn set_mtu(&self, mtu: u16) -> Result<(), HostError> {
        let mut request = request_for(self.name());
        request.ifr_ifru.ifru_mtu = mtu.into();
        let action = format!("give {} an MTU of {mtu} bytes", self.name());
        let set = self.ask(libc::SIOCSIFMTU, request);
        set.map(drop).map_err(HostError::os(action))
    }

    /// Whether it is up, and so is what it is connected to; `None` if it is not there any more.
    pub fn is_running(&self) -> Result<Option<bool>, HostError> {
        let told = match self.ask(libc::SIOCGIFFLAGS, request_for(self.name())) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            told => told.map_err(HostError::os(format!("look at {}", self.name())))?,
        };
        // SAFETY: the kernel filled this member; any bytes are an integer.
        let flags = libc::c_int::from(unsafe { told.ifr_ifru.ifru_flags });
        let wanted = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(Some(flags & wanted == wanted))
    }

    /// netdevice(7), which needs no tool and works where `/sys` shows another namespace.
    fn ask(&self, what: libc::Ioctl, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
        // The socket belongs to the namespace, and so does what is asked by it.
        let socket = self
            .ns
            .run(|| std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
        let socket = socket.map_err(io::Error::other)??;
        // SAFETY: these requests read and write one `ifreq`, which lives across the call.
        let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), what, &mut request) };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(request)
    }

    /// Deletes the interface, if it is there.
    pub fn delete(&self) -> Result<(), HostError> {
        if self.exists()? {
            self.ns
                .ip_batch(&format!("link delete dev {}\n", self.name()))?;
        }
        Ok(())
    }
}

/// A request to the kernel about an interface, with nothing but its name.
pub(crate) fn request_for(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data of the kernel's interface; all zero bytes are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte less than the field holds: the kernel wants a zero at the end.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request
}

/// A hardware address as `ip` writes it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// `None` when the text is no feature list.
fn offloads_on_in(text: &str) -> Option<Vec<String>> {
    let features: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .collect();
    features
        .iter()
        .find(|(name, _)| name.starts_with("tx-checksum-"))?;
    let watched = |name: &str| WATCHED.iter().any(|prefix| name.starts_with(prefix));
    let on = features
        .iter()
        .filter(|(name, state)| watched(name) && state.starts_with("on"));
    Some(on.map(|(name, _)| (*name).to_owned()).collect())
}

fn counters_in(table: &str, name: &str) -> Option<LinkCounters> {
    let mut rows = table.lines().filter_map(|line| line.split_once(':'));
    let (_, row) = rows.find(|(interface, _)| interface.trim() == name)?;
    let fields: Result<Vec<u64>, _> = row.split_whitespace().map(str::parse).collect();
    let fields = fields.ok()?;
    // Eight columns of receive, then eight of transmit: bytes packets errs drop ...
    let [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_dropped,
        _,
        _,
        _,
        _,
        tx @ ..,
    ] = fields.as_slice()
    else {
        return None;
    };
    let [tx_bytes, tx_packets, tx_errors, tx_dropped, ..] = tx else {
        return None;
    };
    Some(LinkCounters {
        rx_bytes: *rx_bytes,
        rx_packets: *rx_packets,
        rx_errors: *rx_errors,
        rx_dropped: *rx_dropped,
        tx_bytes: *tx_bytes,
        tx_packets: *tx_packets,
        tx_errors: *tx_errors,
        tx_dropped: *tx_dropped,
    })
}

pub(crate) fn unexpected(tool: &'static str, output: &str) -> HostError {
    HostError::Output {
        tool,
        output: output.chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_refuses_are_refused_here() {
        for name in ["", "a/b", "a b", "a:1", ".", "..", "sixteen-bytes-xx"] {
            assert!(IfName::new(name).is_err(), "{name:?}");
        }
        assert!(IfName::new("fifteen-bytes-x").is_ok());
    }

    #[test]
    fn an_offload_that_is_on_is_named_and_a_fixed_off_is_not() {
        let text = "Features for v0:\nrx-checksumming: on\ntx-checksumming: on\n\
            \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: on\n\
            generic-receive-offload: off\ntx-udp-segmentation: off [requested on]\n";
        assert_eq!(
            offloads_on_in(text).expect("list"),
            ["tx-checksum-ip-generic"]
        );
        assert_eq!(offloads_on_in("Cannot get device"), None);
    }

    #[test]
    fn counters_are_read_from_the_right_row_and_columns() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n\
            lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  ue0:21 22 23 24 0 0 0 0 31 32 33 34 0 0 0 0\n";
        let counters = counters_in(table, "ue0").expect("row");
        assert_eq!((counters.rx_bytes, counters.rx_dropped), (21, 24));
        assert_eq!((counters.tx_bytes, counters.tx_packets), (31, 32));
        assert_eq!(counters_in(table, "ue"), None);
        assert_eq!(counters_in("ue0: 1 2", "ue0"), None);
    }

    #[test]
    fn a_hardware_address_survives_its_text() {
        let mac = [2, 0, 0xab, 0, 1, 0xff];
        assert_eq!(parse_mac(&mac_text(mac)), Some(mac));
        assert_eq!(parse_mac("02:00"), None);
        assert_eq!(parse_mac("02:00:00:00:00:00:00"), None);
    }
}
