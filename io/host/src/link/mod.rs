//! One network interface in one namespace: addresses, routes, neighbours, offloads, counters.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::netns::Ns;
use crate::{HostError, tool};

mod counters;
mod ipv6;
mod name;
mod offloads;
mod request;

pub use counters::LinkCounters;
pub use ipv6::{global_ipv6_addresses, link_local};
pub use name::IfName;
pub(crate) use request::request_for;

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

    /// Name of the interface.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Namespace of the interface.
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

    /// IPv4 addresses, with the labels under which they were added.
    pub fn addresses(&self) -> Result<Vec<LinkAddress>, HostError> {
        let arguments = ["-o", "-4", "address", "show", "dev", self.name()];
        let text = tool::run(self.ns.ip().args(arguments))?;
        text.lines()
            .map(|line| link_address(line).ok_or_else(|| unexpected("ip", line)))
            .collect()
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

    /// Deletes the interface, if it is there.
    pub fn delete(&self) -> Result<(), HostError> {
        if self.exists()? {
            self.ns
                .ip_batch(&format!("link delete dev {}\n", self.name()))?;
        }
        Ok(())
    }
}

fn unexpected(tool: &'static str, output: &str) -> HostError {
    HostError::Output {
        tool,
        output: output.chars().take(200).collect(),
    }
}

/// An IPv4 address of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Length of its prefix, in bits.
    pub prefix_length: u8,
    /// The interface's name, or what it was added under.
    pub label: String,
}

/// A line of `ip -o -4 address`: `2: n3    inet 192.0.2.1/24 scope global n3:ran\  valid_lft ...`.
fn link_address(line: &str) -> Option<LinkAddress> {
    let (before, _) = line.split_once('\\').unwrap_or((line, ""));
    let mut words = before.split_whitespace().skip_while(|word| *word != "inet");
    let given = words.nth(1)?;
    // A point-to-point address has its peer's behind it.
    let (address, prefix_length) = given.split_once('/').unwrap_or((given, "32"));
    Some(LinkAddress {
        address: address.parse().ok()?,
        prefix_length: prefix_length.parse().ok()?,
        label: words.last().unwrap_or_default().to_owned(),
    })
}

/// A hardware address as `ip` writes it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The address that [`mac_text`] wrote.
fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hardware_address_survives_its_text() {
        let mac = [2, 0, 0xab, 0, 1, 0xff];
        assert_eq!(parse_mac(&mac_text(mac)), Some(mac));
        assert_eq!(parse_mac("02:00"), None);
        assert_eq!(parse_mac("02:00:00:00:00:00:00"), None);
    }
}
