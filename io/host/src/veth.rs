//! veth pairs between two namespaces, with every offload off that would hide real packets.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::HostError;
use crate::link::{Link, mac_text};
use crate::netns::Ns;

/// One end of a pair.
#[derive(Clone, Debug)]
pub struct VethEnd {
    /// Namespace of the end.
    pub ns: Ns,
    /// Name of the interface there, 1 to 15 bytes.
    pub name: String,
    /// Address and prefix length, if the kernel is to have one.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Hardware address; the kernel invents one without.
    pub mac: Option<[u8; 6]>,
}

impl VethEnd {
    /// An end without address, which a packet driver may take.
    pub fn bare(ns: &Ns, name: &str) -> Self {
        Self {
            ns: ns.clone(),
            name: name.to_owned(),
            address: None,
            mac: None,
        }
    }

    /// The same with an address of the kernel.
    pub fn with_address(mut self, address: Ipv4Addr, prefix_length: u8) -> Self {
        self.address = Some((address, prefix_length));
        self
    }

    /// The same with a fixed hardware address.
    pub fn with_mac(mut self, mac: [u8; 6]) -> Self {
        self.mac = Some(mac);
        self
    }
}

/// A pair that goes away with the value.
#[derive(Debug)]
pub struct Veth {
    a: Link,
    b: Link,
}

impl Veth {
    /// Makes the pair, both ends up, IPv6 and offloads off (checked by reading them back).
    pub fn create(a: &VethEnd, b: &VethEnd, mtu: u16) -> Result<Self, HostError> {
        let links = (Link::new(&a.ns, &a.name)?, Link::new(&b.ns, &b.name)?);
        add_pair(a, b)?;
        // Only now are the devices ours: an error from here on takes them down again.
        let pair = Self {
            a: links.0,
            b: links.1,
        };
        for (end, link) in [(a, &pair.a), (b, &pair.b)] {
            link.disable_ipv6()?;
            link.switch_offloads_off()?;
            end.ns.ip_batch(&setup_lines(end, mtu))?;
        }
        Ok(pair)
    }

    /// The first end.
    pub fn a(&self) -> &Link {
        &self.a
    }

    /// The second end.
    pub fn b(&self) -> &Link {
        &self.b
    }

    /// Tells each kernel the other's hardware address, where both have an address, so that no
    /// ARP passes between them.
    pub fn set_static_neighbours(&self, a: Ipv4Addr, b: Ipv4Addr) -> Result<(), HostError> {
        self.a.add_neighbour(b, self.b.mac()?)?;
        self.b.add_neighbour(a, self.a.mac()?)
    }

    /// Deletes the pair now; a second call does nothing.
    pub fn delete(&mut self) -> Result<(), HostError> {
        self.a.delete()
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        // With the namespace gone, the pair is gone too.
        let _ = self.delete();
    }
}

fn add_pair(a: &VethEnd, b: &VethEnd) -> Result<(), HostError> {
    // `ip` runs in the first end's namespace and is told the second's; the current namespace
    // has no name to tell, so it must be the first.
    let (near, far) = if b.ns.name().is_none() {
        (b, a)
    } else {
        (a, b)
    };
    let mut line = format!(
        "link add name {} type veth peer name {}",
        near.name, far.name
    );
    if let Some(name) = far.ns.name() {
        // Writing to a String cannot fail.
        let _ = write!(line, " netns {name}");
    }
    line.push('\n');
    near.ns.ip_batch(&line)
}

fn setup_lines(end: &VethEnd, mtu: u16) -> String {
    let name = &end.name;
    let mut lines = format!("link set dev {name} mtu {mtu}\n");
    if let Some(mac) = end.mac {
        let _ = writeln!(lines, "link set dev {name} address {}", mac_text(mac));
    }
    if let Some((address, prefix_length)) = end.address {
        let _ = writeln!(lines, "addr add {address}/{prefix_length} dev {name}");
    }
    let _ = writeln!(lines, "link set dev {name} up");
    lines
}
