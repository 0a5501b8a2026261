//! Whole files: what is accepted, what is refused and how, what becomes of them.

mod conversion;
mod example;
mod nat;
mod refused;
mod refused_ipv6;
mod refused_lists;
mod refused_predefined;
mod spoiled;

use super::{Loaded, Machine, Refused, UpfConfig};
use std::path::Path;

/// The shortest file that makes a UPF.
const SHORT: &str = "\
n4: {listen: 192.0.2.10, peers: 192.0.2.20}
ports:
  - {name: p0, device: 'net_af_packet0,iface=eth1'}
  - {name: p1, device: 'net_af_packet1,iface=eth2'}
interfaces:
  - {name: ran, port: p0, addresses: 198.51.100.1/24, n3: {}}
  - {name: dn, port: p1, addresses: 203.0.113.2/24, gateway: 203.0.113.1,
     n6: {network_instance: internet}}
pools:
  - {network_instance: internet, prefix: 10.45.0.0/16}
";

fn machine(cores: u16) -> Machine {
    Machine::with_cores((0..cores).collect())
}

fn load(text: &str) -> Result<Loaded, Refused> {
    UpfConfig::from_text(Path::new("upf.yaml"), text, &machine(4))
}

fn accepted(text: &str) -> Loaded {
    load(text).unwrap_or_else(|refused| panic!("refused:\n{refused}"))
}

/// [`SHORT`] with one text in place of another.
fn short_with(old: &str, new: &str) -> String {
    assert!(SHORT.contains(old), "{old}");
    SHORT.replacen(old, new, 1)
}
