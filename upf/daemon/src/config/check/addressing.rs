//! Interface names and addresses.

use super::super::UpfConfig;
use super::super::fields::At;
use super::super::interfaces::Interface;
use super::super::ip::Prefix;
use super::super::problem::Report;
use super::unique;
use core::net::IpAddr;
use std::collections::HashMap;

/// The path numbers interfaces by one octet, and 255 is none.
const INTERFACES_MAX: usize = 255;

/// All checks of addresses.
pub(super) fn all(config: &UpfConfig, report: &mut Report) {
    let interfaces = &config.interfaces;
    unique(
        "interfaces",
        "name",
        interfaces.iter().map(|i| &i.name),
        report,
    );
    if let Some(first) = interfaces.get(INTERFACES_MAX) {
        let what = format!("{} interfaces", interfaces.len());
        report.problem(first.name.line, "interfaces", what, "at most 255");
    }
    let mut owners = HashMap::new();
    for (i, interface) in interfaces.iter().enumerate() {
        own_addresses(i, interface, &mut owners, report);
        stations(i, interface, report);
        proxied(i, interface, report);
    }
}

/// Each address once, and one that a station can have.
fn own_addresses(
    i: usize,
    interface: &Interface,
    owners: &mut HashMap<IpAddr, u32>,
    report: &mut Report,
) {
    for (j, at) in interface.addresses.iter().enumerate() {
        let key = format!("interfaces[{i}].addresses[{j}]");
        if matches!(at.value.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local()) {
            let what = format!("{} is link-local", at.value);
            let expected = "other addresses: the link-local one is made of the MAC address";
            report.problem(at.line, &key, what, expected);
        } else if !at.value.is_host() {
            let what = format!("{} is no address of a station", at.value);
            report.problem(
                at.line,
                &key,
                what,
                "an address inside its subnet, not an edge of it",
            );
        }
        if let Some(first) = owners.insert(at.value.ip(), at.line) {
            let what = format!("{} is also given in line {first}", at.value.ip());
            report.problem(at.line, &key, what, "each address once");
        }
    }
}

/// Gateways, next hops and neighbours are stations on the link.
fn stations(i: usize, interface: &Interface, report: &mut Report) {
    gateways(i, interface, report);
    routes(i, interface, report);
    for (j, neighbour) in interface.neighbours.iter().enumerate() {
        let key = format!("interfaces[{i}].neighbours[{j}].address");
        let (station, before) = (neighbour.address, interface.neighbours.iter().take(j));
        if let Some(first) = before.map(|n| n.address).find(|a| a.value == station.value) {
            let what = format!("{} has a MAC address in line {}", station.value, first.line);
            report.problem(station.line, &key, what, "each neighbour once");
        }
        on_link(interface, station, key, report);
    }
}

/// One gateway for each family, or a default route.
fn gateways(i: usize, interface: &Interface, report: &mut Report) {
    let gateways = &interface.gateways;
    for (j, gateway) in gateways.iter().enumerate() {
        let key = match gateways.len() {
            1 => format!("interfaces[{i}].gateway"),
            _ => format!("interfaces[{i}].gateway[{j}]"),
        };
        let all = Prefix::all_like(gateway.value);
        let mut before = gateways.iter().take(j);
        if let Some(first) = before.find(|g| all.is_like(g.value)) {
            let what = format!(
                "{} is where {} (line {}) leads, too",
                gateway.value, first.value, first.line
            );
            report.problem(gateway.line, &key, what, "one gateway for each family");
        }
        on_link(interface, *gateway, key, report);
        if let Some(route) = interface.routes.iter().find(|r| r.to.value == all) {
            let what = format!("{all} is also where gateway (line {}) leads", gateway.line);
            let key = format!("interfaces[{i}].routes");
            report.problem(route.to.line, key, what, "one of both");
        }
    }
}

fn routes(i: usize, interface: &Interface, report: &mut Report) {
    for (j, route) in interface.routes.iter().enumerate() {
        let key = format!("interfaces[{i}].routes[{j}]");
        if !route.to.value.is_like(route.via.value) {
            let what = format!("{} leads nowhere by {}", route.to.value, route.via.value);
            let expected = "a prefix and a station of one family";
            report.problem(route.via.line, format!("{key}.via"), what, expected);
            continue;
        }
        on_link(interface, route.via, format!("{key}.via"), report);
        let before = interface.routes.iter().take(j);
        if let Some(first) = before.rev().find(|r| r.to.value == route.to.value) {
            let what = format!("{} has a route in line {}", route.to.value, first.to.line);
            report.problem(
                route.to.line,
                format!("{key}.to"),
                what,
                "one route to each prefix",
            );
        }
    }
}

fn on_link(interface: &Interface, station: At<IpAddr>, key: String, report: &mut Report) {
    let own = interface
        .addresses
        .iter()
        .find(|a| a.value.ip() == station.value);
    if let Some(own) = own {
        let what = format!("{} is our own address (line {})", station.value, own.line);
        return report.problem(station.line, key, what, "the address of another station");
    }
    let subnets = interface.addresses.iter().map(|a| a.value.subnet());
    let subnets: Vec<_> = subnets.filter(|s| s.is_like(station.value)).collect();
    let link_local = matches!(station.value, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let is_there = link_local || subnets.iter().any(|subnet| subnet.contains(station.value));
    if is_there && !subnets.is_empty() {
        return;
    }
    let what = format!("{} is not on the link", station.value);
    let listed: Vec<_> = subnets.iter().map(ToString::to_string).collect();
    let expected = match (listed.is_empty(), station.value) {
        (true, IpAddr::V4(_)) => "an IPv4 address among the interface's addresses".to_owned(),
        (true, IpAddr::V6(_)) => "an IPv6 address among the interface's addresses".to_owned(),
        (false, _) => format!("an address in {}", listed.join(" or ")),
    };
    report.problem(station.line, key, what, expected);
}

/// Answering for a gateway would cut off the link.
fn proxied(i: usize, interface: &Interface, report: &mut Report) {
    let arp = interface.proxy_arp.iter().enumerate();
    let arp = arp.map(|(j, at)| ("proxy_arp", j, at.map(Prefix::V4)));
    let nd = interface.proxy_nd.iter().enumerate();
    let nd = nd.map(|(j, at)| ("proxy_nd", j, at.map(Prefix::V6)));
    let gateways = interface
        .gateways
        .iter()
        .chain(interface.routes.iter().map(|r| &r.via));
    let gateways: Vec<_> = gateways.collect();
    for (list, j, at) in arp.chain(nd) {
        if let Some(gateway) = gateways.iter().find(|g| at.value.contains(g.value)) {
            let what = format!(
                "{} contains the gateway {} (line {})",
                at.value, gateway.value, gateway.line
            );
            let key = format!("interfaces[{i}].{list}[{j}]");
            report.problem(at.line, key, what, "prefixes of UEs only");
        }
    }
    if let Some(first) = interface.proxy_nd.first()
        && interface.ipv6().next().is_none()
    {
        let what = "the interface has no IPv6 address to answer from";
        let expected = "an IPv6 address among the interface's addresses";
        report.problem(
            first.line,
            format!("interfaces[{i}].proxy_nd"),
            what,
            expected,
        );
    }
}
