//! IPv6 of an interface: addresses of ours without duplicate address detection, and stateless
//! address autoconfiguration (RFC 4862).

use std::net::Ipv6Addr;

use super::Link;
use crate::HostError;
use crate::netns::Ns;

/// In /proc/net/if_inet6 (RFC 4007, 4).
const SCOPE_GLOBAL: &str = "00";
/// IFA_F_TENTATIVE and IFA_F_DADFAILED (rtnetlink(7)).
const NOT_USABLE: u8 = 0x40 | 0x08;
/// Kernel parameters of an interface that believes no router, and whose addresses are used at once.
const OWN_ADDRESSES: [(&str, &str); 4] = [
    ("addr_gen_mode", "0"),
    ("accept_dad", "0"),
    ("accept_ra", "0"),
    ("disable_ipv6", "0"),
];
/// Of a host that asks for a router at once, and believes it though its kernel may forward.
const AUTOCONFIGURATION: [(&str, &str); 7] = [
    ("addr_gen_mode", "1"),
    ("accept_dad", "0"),
    ("accept_ra", "2"),
    ("autoconf", "1"),
    ("router_solicitation_delay", "0"),
    ("router_solicitation_interval", "1"),
    ("disable_ipv6", "0"),
];

impl Link {
    /// Switches IPv6 on and adds an address that is used at once.
    pub fn add_ipv6_address(&self, address: Ipv6Addr, prefix_length: u8) -> Result<(), HostError> {
        self.set_all(&OWN_ADDRESSES)?;
        self.add_without_detection(address, prefix_length)
    }

    /// Switches IPv6 on and adds a link-local address; from its interface identifier and the
    /// prefix in a Router Advertisement the kernel makes a global address, and of the sender its
    /// default router. The kernel asks for that by Router Solicitations from now on.
    pub fn autoconfigure_ipv6(&self, interface_identifier: u64) -> Result<(), HostError> {
        self.set_all(&AUTOCONFIGURATION)?;
        self.add_without_detection(link_local(interface_identifier), 64)
    }

    /// A global IPv6 address of it that can be used.
    pub fn global_ipv6(&self) -> Result<Option<Ipv6Addr>, HostError> {
        let all = global_ipv6_addresses(self.ns())?;
        let ours = all.into_iter().find(|(name, _)| name == self.name());
        Ok(ours.map(|(_, address)| address))
    }

    fn add_without_detection(&self, address: Ipv6Addr, prefix_length: u8) -> Result<(), HostError> {
        let name = self.name();
        let line = format!("addr replace {address}/{prefix_length} dev {name} nodad\n");
        self.ns().ip_batch(&line)
    }

    fn set_all(&self, parameters: &[(&str, &str)]) -> Result<(), HostError> {
        for (key, value) in parameters {
            let path = format!("/proc/sys/net/ipv6/conf/{}/{key}", self.name());
            let written = self.ns().run(|| std::fs::write(&path, value))?;
            written.map_err(HostError::os(format!("set {path} to {value}")))?;
        }
        Ok(())
    }
}

/// The link-local address with an interface identifier (RFC 4291, 2.5.6).
pub fn link_local(interface_identifier: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(interface_identifier))
}

/// Global IPv6 addresses in a namespace that can be used, with the names of their interfaces.
pub fn global_ipv6_addresses(ns: &Ns) -> Result<Vec<(String, Ipv6Addr)>, HostError> {
    let path = "/proc/thread-self/net/if_inet6";
    match ns.run(|| std::fs::read_to_string(path))? {
        Ok(table) => Ok(table.lines().filter_map(global_of).collect()),
        // A kernel without IPv6.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(HostError::os(format!("read {path}"))(error)),
    }
}

/// A row is "ADDRESS INDEX LENGTH SCOPE FLAGS NAME", in hexadecimal.
fn global_of(row: &str) -> Option<(String, Ipv6Addr)> {
    let mut words = row.split_whitespace();
    let address = u128::from_str_radix(words.next()?, 16).ok()?;
    let (scope, flags, name) = (words.nth(2)?, words.next()?, words.next()?);
    let flags = u8::from_str_radix(flags, 16).ok()?;
    let usable = scope == SCOPE_GLOBAL && flags & NOT_USABLE == 0;
    usable.then(|| (name.to_owned(), Ipv6Addr::from_bits(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_addresses_that_can_be_used_are_found() {
        let table = "fe800000000000000000000000000102 02 40 20 82       ue\n\
            20010db8006000020000000000000101 02 40 00 40       ue\n\
            20010db8006000020000000000000102 02 40 00 00       ue\n\
            20010db8006000020000000000000103 03 40 00 00      ue2\n";
        let found: Vec<_> = table.lines().filter_map(global_of).collect();
        let row = |name: &str, address: &str| (name.to_owned(), address.parse().expect("address"));
        let usable = [
            row("ue", "2001:db8:60:2::102"),
            row("ue2", "2001:db8:60:2::103"),
        ];
        assert_eq!(found, usable);
    }

    #[test]
    fn a_link_local_address_ends_with_the_interface_identifier() {
        assert_eq!(link_local(0x102).to_string(), "fe80::102");
    }
}
