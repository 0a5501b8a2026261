//! Section `ports`: DPDK devices.

use super::fields::{At, Fields};
use super::kind::{Kind, auto_or, mac, name, number, word};
use sluice_host::env_check::Need;
use sluice_port::steer::Method;
use sluice_port_dpdk::Promiscuous;
use sluice_wire::eth::MacAddr;

/// Smallest MTU: what every IPv4 host must take (RFC 791, 3.1).
pub const MTU_MIN: u16 = 576;
/// Largest MTU: what jumbo-capable NICs agree on.
pub const MTU_MAX: u16 = 9216;

/// One port.
#[derive(Clone, PartialEq, Debug)]
pub struct Port {
    /// Its name.
    pub name: At<String>,
    /// Device arguments or PCI address.
    pub device: At<String>,
    /// Receive queues; `None`: one for each worker.
    pub rx_queues: Option<At<u16>>,
    /// Transmit queues; `None`: one for each worker.
    pub tx_queues: Option<At<u16>>,
    /// Packets that a receive queue holds.
    pub rx_descriptors: u16,
    /// Packets that a transmit queue holds.
    pub tx_descriptors: u16,
    /// Largest IP packet, in bytes; `None`: as the device has it.
    pub mtu: Option<At<u16>>,
    /// Our MAC address; `None`: the device's own.
    pub mac: Option<MacAddr>,
    /// Which frames are received.
    pub promiscuous: Promiscuous,
    /// Ways in which it may steer.
    pub steering: &'static [Method],
}

/// What `steering` may be.
const STEERING: &[(&str, &[Method])] = &[
    ("auto", Method::ALL),
    ("flow_rules", &[Method::FlowRules]),
    ("hash", &[Method::Hash]),
    ("software", &[]),
];

impl Port {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let modes = word(&[
            ("auto", Promiscuous::WhenNeeded),
            ("always", Promiscuous::On),
            ("never", Promiscuous::Off),
        ]);
        let queues = auto_or(number(1, 256, "queues"));
        let descriptors = number(64, 32_768, "packets");
        let name = fields.required("name", &name());
        let device = fields.required("device", &device());
        let rx_queues = fields.or("rx_queues", "auto", &queues).given();
        let tx_queues = fields.or("tx_queues", "auto", &queues).given();
        let rx_descriptors = fields.or("rx_descriptors", "1024", &descriptors).value;
        let tx_descriptors = fields.or("tx_descriptors", "1024", &descriptors).value;
        let mtu = read_mtu(fields);
        let mac = fields.or("mac", "auto", &auto_or(mac())).value;
        let promiscuous = fields.or("promiscuous", "auto", &modes).value;
        let steering = fields.or("steering", "auto", &word(STEERING)).value;
        Some(Self {
            name: name?,
            device: device?,
            rx_queues,
            tx_queues,
            rx_descriptors,
            tx_descriptors,
            mtu,
            mac,
            promiscuous,
            steering,
        })
    }

    /// The device's name: what stands before the first comma.
    pub fn device_name(&self) -> &str {
        self.device.value.split(',').next().unwrap_or("")
    }

    /// The kernel's interface that the device stands on, if it does.
    pub fn kernel_interface(&self) -> Option<&str> {
        self.interface_of(&["net_af_packet", "net_af_xdp", "net_pcap"])
    }

    /// The kernel's interface that the device makes, if it does and its arguments name it.
    pub fn made_interface(&self) -> Option<&str> {
        self.interface_of(&["net_tap"])
    }

    /// What its driver needs of the process, apart from root's rights to hardware.
    pub fn needs(&self) -> Option<Need> {
        let by_driver = [
            ("net_af_packet", Need::PacketSockets),
            ("net_pcap", Need::PacketSockets),
            ("net_af_xdp", Need::XdpSockets),
            ("net_tap", Need::TapDevices),
        ];
        let mut found = by_driver
            .into_iter()
            .filter(|(driver, _)| self.is_one_of(&[driver]));
        found.next().map(|(_, need)| need)
    }

    /// Receive and transmit queues where the file leaves them to so many workers.
    pub fn queues(&self, workers: u16) -> [u16; 2] {
        let tx = self.tx_queues.map_or(workers, |at| at.value);
        let rx = self.rx_queues.map_or(workers, |at| at.value);
        match (self.rx_queues, self.packet_sockets(rx.max(tx))) {
            (None, Some(sockets)) => [sockets, tx],
            _ => [rx, tx],
        }
    }

    /// Sockets among which the kernel deals the interface's packets, whether or not somebody reads
    /// them, if it has such: net_af_packet has one for each pair of queues.
    pub fn packet_sockets(&self, pairs: u16) -> Option<u16> {
        let arguments = self.device.value.split(',').skip(1);
        let mut told = arguments.filter_map(|argument| argument.strip_prefix("qpairs="));
        let told = told.next().and_then(|told| told.parse().ok());
        self.is_one_of(&["net_af_packet"])
            .then(|| told.unwrap_or(pairs))
    }

    /// Whether nothing beneath the device knows of an MTU: both ends must only agree. DPDK takes
    /// such devices to carry 1500 bytes, though they carry more.
    pub fn has_free_mtu(&self) -> bool {
        self.is_one_of(&["net_memif", "net_ring", "net_null", "net_pcap"])
    }

    fn is_one_of(&self, drivers: &[&str]) -> bool {
        drivers.iter().any(|d| self.device_name().starts_with(d))
    }

    fn interface_of(&self, drivers: &[&str]) -> Option<&str> {
        let is_one = self.is_one_of(drivers);
        let arguments = self.device.value.split(',').skip(1);
        let mut named = arguments.filter_map(|argument| argument.strip_prefix("iface="));
        named.next().filter(|_| is_one)
    }

    /// Whether the device is a PCI address and not a virtual device.
    pub fn is_pci(&self) -> bool {
        is_pci(self.device_name())
    }
}

/// `mtu` of a port or an interface.
pub(super) fn read_mtu(fields: &mut Fields<'_, '_>) -> Option<At<u16>> {
    let kind = auto_or(number(MTU_MIN, MTU_MAX, "bytes"));
    fields.or("mtu", "auto", &kind).given()
}

fn device() -> Kind<String> {
    let expected = "a PCI address such as 0000:03:00.0, \
                    or DPDK device arguments such as net_af_packet0,iface=eth1";
    Kind::new(expected, |text| {
        let device = text.split(',').next().unwrap_or("");
        let clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
        (clean && (is_pci(device) || is_virtual(device))).then(|| text.to_owned())
    })
}

/// `net_DRIVER0`: DPDK tells devices of one driver apart by the digits at the end.
fn is_virtual(device: &str) -> bool {
    device.starts_with("net_") && device.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// `0000:03:00.0`, in full: DPDK calls the port so.
fn is_pci(device: &str) -> bool {
    let lengths = [(4, ':'), (2, ':'), (2, '.')];
    let mut rest = device;
    for (len, separator) in lengths {
        match rest.split_once(separator) {
            Some((digits, behind)) if is_hex(digits, len) => rest = behind,
            _ => return false,
        }
    }
    is_hex(rest, 1)
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_pci_addresses_or_drivers_with_arguments() {
        let kind = device();
        for good in [
            "0000:03:00.0",
            "0000:af:00.1,rss=on",
            "net_af_packet0,iface=n3",
            "net_null1",
        ] {
            assert!(kind.parse(good).is_some(), "{good}");
        }
        for bad in [
            "eth0",
            "3b:00.1",
            "0000:03:00",
            "net_ring0, x=1",
            "",
            "net_",
            "03:00.10",
        ] {
            assert!(kind.parse(bad).is_none(), "{bad}");
        }
    }
}
