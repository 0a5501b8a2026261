//! Network instances of rules find the tunnels that are configured for them.
#![allow(clippy::unwrap_used)]

use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::directory::Directory;
use sluice_port::PortId;
use sluice_session::network::{Network, Side};
use sluice_wire::eth::MacAddr;
use std::net::Ipv4Addr;

const ANY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NAMED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Tunnels of the access side, as (network instance, address).
fn directory(tunnels: &[(&str, Ipv4Addr)]) -> Directory {
    let role = |(instance, address): &(&str, Ipv4Addr)| Role::Tunnels {
        side: Side::Access,
        instance: (*instance).to_owned(),
        addresses: (*address).into(),
    };
    let interface = InterfaceConfig {
        addresses: vec![(ANY, 24), (NAMED, 24)],
        roles: tunnels.iter().map(role).collect(),
        ..InterfaceConfig::new("n3", PortId(0), MacAddr([2, 0, 0, 0, 0, 3]))
    };
    let interfaces = vec![interface];
    Directory::new(&ControlConfig {
        interfaces,
        ..ControlConfig::default()
    })
    .unwrap()
}

fn found(directory: &Directory, instance: Option<&str>) -> Option<Ipv4Addr> {
    let endpoint = directory.tunnel_endpoint(Side::Access, instance)?;
    endpoint.addresses.ipv4
}

#[test]
fn tunnels_without_a_name_serve_what_has_no_tunnels_of_its_own() {
    let both = directory(&[("", ANY), ("ims", NAMED)]);
    assert_eq!(found(&both, Some("IMS")), Some(NAMED));
    assert_eq!(found(&both, Some("internet")), Some(ANY));
    assert_eq!(found(&both, None), Some(ANY));
    assert!(both.tunnel_endpoint(Side::Core, Some("ims")).is_none());
}

#[test]
fn tunnels_with_a_name_serve_no_other() {
    let named = directory(&[("ims", NAMED)]);
    assert_eq!(found(&named, Some("internet")), None);
    assert_eq!(found(&named, None), Some(NAMED));
}
