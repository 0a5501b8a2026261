//! Interface names and addresses.

use super::super::UpfConfig;
use super::super::fields::At;
use super::super::interfaces::Interface;
use super::super::problem::Report;
use super::unique;
use core::net::Ipv4Addr;
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
    owners: &mut HashMap<Ipv4Addr, u32>,
    report: &mut Report,
) {
    for (j, at) in interface.addresses.iter().enumerate() {
        let key = format!("interfaces[{i}].addresses[{j}]");
        if !at.value.is_host() {
            let what = format!("{} is no address of a station", at.value);
            report.problem(
                at.line,
                &key,
                what,
                "an address inside its subnet, not an edge of it",
            );
        }
        if let Some(first) = owners.insert(at.value.address, at.line) {
            let what = format!("{} is also given in line {first}", at.value.address);
            report.problem(at.line, &key, what, "each address once");
        }
    }
}

/// Gateways, next hops and neighbours are stations on the link.
fn stations(i: usize, interface: &Interface, report: &mut Report) {
    if let Some(gateway) = interface.gateway {
        on_link(
            interface,
            gateway,
            format!("interfaces[{i}].gateway"),
            report,
        );
        if let Some(route) = interface
            .routes
            .iter()
            .find(|r| r.to.value.prefix_len() == 0)
        {
            let what = format!(
                "0.0.0.0/0 is also where gateway (line {}) leads",
                gateway.line
            );
            let key = format!("interfaces[{i}].routes");
            report.problem(route.to.line, key, what, "one of both");
        }
    }
    for (j, route) in interface.routes.iter().enumerate() {
        let key = format!("interfaces[{i}].routes[{j}]");
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

fn on_link(interface: &Interface, station: At<Ipv4Addr>, key: String, report: &mut Report) {
    let own = interface
        .addresses
        .iter()
        .find(|a| a.value.address == station.value);
    if let Some(own) = own {
        let what = format!("{} is our own address (line {})", station.value, own.line);
        return report.problem(station.line, key, what, "the address of another station");
    }
    let mut subnets = interface.addresses.iter().map(|a| a.value.subnet());
    if !subnets.clone().any(|subnet| subnet.contains(station.value)) {
        let listed: Vec<_> = subnets.by_ref().map(|subnet| subnet.to_string()).collect();
        let what = format!("{} is not on the link", station.value);
        let expected = format!("an address in {}", listed.join(" or "));
        report.problem(station.line, key, what, expected);
    }
}

/// Answering ARP for a gateway would cut off the link.
fn proxied(i: usize, interface: &Interface, report: &mut Report) {
    let gateways = interface
        .gateway
        .iter()
        .chain(interface.routes.iter().map(|r| &r.via));
    let gateways: Vec<_> = gateways.collect();
    for (j, at) in interface.proxy_arp.iter().enumerate() {
        if let Some(gateway) = gateways.iter().find(|g| at.value.contains(g.value)) {
            let what = format!(
                "{} contains the gateway {} (line {})",
                at.value, gateway.value, gateway.line
            );
            let key = format!("interfaces[{i}].proxy_arp[{j}]");
            report.problem(at.line, key, what, "prefixes of UEs only");
        }
    }
}
