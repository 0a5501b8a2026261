//! Interface roles.

use super::super::UpfConfig;
use super::super::fields::At;
use super::super::interfaces::{Interface, N6, Tunnel, TunnelKind};
use super::super::problem::Report;
use core::net::{IpAddr, Ipv4Addr};
use sluice_session::network::{Side, TunnelAddresses};

/// The path numbers tunnel addresses by one octet, and so network instances.
const NUMBERED_MAX: usize = 255;

/// All checks of roles.
pub(super) fn all(config: &UpfConfig, report: &mut Report) {
    for (i, interface) in config.interfaces.iter().enumerate() {
        for tunnel in &interface.tunnels {
            let key = format!("interfaces[{i}].{}.address", tunnel.kind.key());
            tunnel_addresses(interface, tunnel, key, report);
        }
        split_endpoints(i, interface, report);
        for n4 in &interface.n4 {
            let key = format!("interfaces[{i}].n4.address");
            role_address(interface, (n4.line, n4.address), key, report);
        }
        if interface.tunnels.is_empty() && interface.n6.is_none() && interface.n4.is_empty() {
            let what = format!("'{}' serves nothing", interface.name.value);
            let key = format!("interfaces[{i}]");
            report.warning(interface.name.line, key, what, "n3, n9, n6 or n4");
        }
        if interface.tunnels.is_empty() && !interface.peers.is_empty() {
            let what = format!("'{}' has no tunnels to guard", interface.name.value);
            let key = format!("interfaces[{i}].peers");
            report.warning(interface.name.line, key, what, "peers beside n3 or n9");
        }
    }
    names(config, report);
    enough(config, report);
}

/// A name means one network; so does the lack of a known one.
fn names(config: &UpfConfig, report: &mut Report) {
    let n6 = || {
        let all = config.interfaces.iter().enumerate();
        all.filter_map(|(i, interface)| Some((i, interface.n6.as_ref()?)))
    };
    let differ = |a: &N6, b: &N6| {
        let (a, b) = (&a.network_instance.value, &b.network_instance.value);
        !a.eq_ignore_ascii_case(b)
    };
    for (i, own) in n6() {
        for name in own.names() {
            let mut before = n6().take_while(|(other, _)| *other < i);
            let taken =
                before.find(|(_, other)| differ(own, other) && other.is_called(&name.value));
            if let Some((_, other)) = taken {
                let what = format!(
                    "'{}' is a name of '{}' (line {}), too",
                    name.value, other.network_instance.value, other.network_instance.line
                );
                let key = format!("interfaces[{i}].n6.network_instance");
                report.problem(name.line, key, what, "names that one network has");
            }
        }
        let mut before = n6().take_while(|(other, _)| *other < i);
        if let Some((_, other)) =
            before.find(|(_, o)| own.is_default && o.is_default && differ(own, o))
        {
            let what = format!("'{}' is the default already", other.network_instance.value);
            let key = format!("interfaces[{i}].n6.default");
            report.problem(own.network_instance.line, key, what, "one default");
        }
    }
}

/// N3 names one of the interface's addresses, or one of each family; N9 one of IPv4.
fn tunnel_addresses(interface: &Interface, tunnel: &Tunnel, key: String, report: &mut Report) {
    let is_ipv6 = |address: &&At<IpAddr>| address.value.is_ipv6();
    let ipv6 = tunnel.addresses.iter().find(is_ipv6);
    if let Some(address) = ipv6.filter(|_| tunnel.kind == TunnelKind::N9) {
        let what = format!("{} is of IPv6", address.value);
        let expected = "an IPv4 address: N9 over IPv6 is not supported";
        return report.problem(address.line, key, what, expected);
    }
    let is_ipv6_alone = interface.ipv4().next().is_none() && tunnel.kind == TunnelKind::N3;
    match tunnel.addresses[..] {
        [] if is_ipv6_alone && interface.tunnel_addresses(tunnel).is_some() => {}
        [] if is_ipv6_alone => {
            let what = "missing, and the interface has several addresses";
            report.problem(tunnel.line, key, what, "one of them");
        }
        [
            At {
                value: IpAddr::V4(value),
                line,
            },
        ] => role_address(
            interface,
            (tunnel.line, Some(At { value, line })),
            key,
            report,
        ),
        [] => role_address(interface, (tunnel.line, None), key, report),
        [ref first, ref second, ..]
            if tunnel.addresses.len() > 2 || first.value.is_ipv4() == second.value.is_ipv4() =>
        {
            let what = format!("{} beside {}", second.value, first.value);
            let expected = "one address, or one of IPv4 and one of IPv6";
            report.problem(second.line, key, what, expected);
        }
        ref named => {
            let own = |address: IpAddr| interface.addresses.iter().any(|a| a.value.ip() == address);
            if let Some(other) = named.iter().find(|address| !own(address.value)) {
                let what = format!("{} is none of the interface's addresses", other.value);
                report.problem(other.line, key, what, "one of its addresses");
            }
        }
    }
}

/// An endpoint's addresses have one number on the path: those that one entry joins may not stand in two others.
fn split_endpoints(i: usize, interface: &Interface, report: &mut Report) {
    let all: Vec<_> = interface.tunnels.iter().collect();
    for (at, tunnel) in all.iter().enumerate() {
        let Some(own) = interface.tunnel_addresses(tunnel) else {
            continue;
        };
        let before = all.iter().take(at);
        let before = before.filter_map(|t| interface.tunnel_addresses(t));
        let shares: Vec<_> = before
            .filter(|other| own.all().any(|address| other.has(address)))
            .collect();
        let joined = |a: &TunnelAddresses, b: &TunnelAddresses| a.all().any(|one| b.has(one));
        let is_split = shares.iter().any(|a| shares.iter().any(|b| !joined(a, b)));
        if is_split {
            let key = format!("interfaces[{i}].{}.address", tunnel.kind.key());
            let what = "joins addresses that other entries have apart";
            report.problem(tunnel.line, key, what, "the same pairs everywhere");
        }
    }
}

/// A role names one of the interface's IPv4 addresses, or none if there is only one.
fn role_address(
    interface: &Interface,
    (line, address): (u32, Option<At<Ipv4Addr>>),
    key: String,
    report: &mut Report,
) {
    let own: Vec<_> = interface.ipv4().map(|a| a.value.address).collect();
    let listed = || {
        own.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match address {
        _ if own.is_empty() => {
            let what = "the interface has IPv6 addresses only";
            report.problem(line, key, what, "an IPv4 address of the interface");
        }
        Some(given) if !own.contains(&given.value) => {
            let what = format!("{} is none of the interface's addresses", given.value);
            report.problem(given.line, key, what, format!("one of {}", listed()));
        }
        None if own.len() > 1 => {
            let what = "missing, and the interface has several addresses";
            report.problem(line, key, what, format!("one of {}", listed()));
        }
        _ => {}
    }
}

/// Packets must be able to come in on one side and leave on the other.
fn enough(config: &UpfConfig, report: &mut Report) {
    let interfaces = &config.interfaces;
    let line = interfaces.first().map_or(0, |i| i.name.line);
    let tunnels = || interfaces.iter().flat_map(|i| &i.tunnels);
    let plain = interfaces.iter().filter(|i| i.n6.is_some()).count();
    if !tunnels().any(|t| t.side == Side::Access) {
        let expected = "an interface with n3, or with n9 on the access side";
        report.problem(line, "interfaces", "no way to the RAN", expected);
    }
    if plain == 0 && !tunnels().any(|t| t.side == Side::Core) {
        let expected = "an interface with n6, or with n9 on the core side";
        report.problem(line, "interfaces", "no way to a data network", expected);
    }
    for (what, count) in [("tunnel addresses", tunnels().count()), ("n6", plain)] {
        if count > NUMBERED_MAX {
            report.problem(line, "interfaces", format!("{count} {what}"), "at most 255");
        }
    }
}
