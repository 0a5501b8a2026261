//! Translation: network instances that are there, and public addresses that nobody else has.

use super::super::UpfConfig;
use super::super::interfaces::Interface;
use super::super::ip::Prefix;
use super::super::problem::Report;
use sluice_datapath::limits::{NAT_ADDRESSES, NAT_POOLS, NAT_UE_UNITS, NAT_UNIT_PORTS};

/// All checks.
pub(super) fn all(config: &UpfConfig, report: &mut Report) {
    instances(config, report);
    public_addresses(config, report);
    for (i, nat) in config.nat.iter().enumerate() {
        let ports = u32::from(nat.blocks_per_ue.value) * u32::from(nat.block_ports);
        let most = NAT_UE_UNITS * NAT_UNIT_PORTS as u32;
        if ports > most {
            let what = format!(
                "{} blocks of {} ports for a UE",
                nat.blocks_per_ue.value, nat.block_ports
            );
            let expected = format!("at most {most} ports");
            let key = format!("nat[{i}].blocks_per_ue");
            report.problem(nat.blocks_per_ue.line, key, what, expected);
        }
    }
}

/// Each of them has an N6, and is translated once.
fn instances(config: &UpfConfig, report: &mut Report) {
    let names = || {
        let n6 = config.interfaces.iter().filter_map(|i| i.n6.as_ref());
        n6.flat_map(|n6| n6.names()).map(|name| name.value.as_str())
    };
    for (i, nat) in config.nat.iter().enumerate() {
        let instance = &nat.network_instance;
        let key = || format!("nat[{i}].network_instance");
        if !names().any(|name| name.eq_ignore_ascii_case(&instance.value)) {
            let what = format!("no n6 serves '{}'", instance.value);
            let expected = match names().collect::<Vec<_>>()[..] {
                [] => "an interface with n6".to_owned(),
                ref known => format!("one of {}", known.join(", ")),
            };
            report.problem(instance.line, key(), what, expected);
        }
        let own = config.first_name(&instance.value);
        let mut before = config.nat.iter().take(i);
        let same = |name: &str| config.first_name(name).eq_ignore_ascii_case(own);
        if let Some(first) = before.find(|n| same(&n.network_instance.value)) {
            let what = format!(
                "'{}' is translated in line {}",
                instance.value, first.network_instance.line
            );
            report.problem(instance.line, key(), what, "each network instance once");
        }
    }
    if let Some(first) = config.nat.get(NAT_POOLS) {
        let what = format!("translation in {} network instances", config.nat.len());
        let expected = format!("at most {NAT_POOLS}");
        report.problem(first.network_instance.line, "nat", what, expected);
    }
}

/// None is an address of ours, of a station, of a UE or of another pool.
fn public_addresses(config: &UpfConfig, report: &mut Report) {
    let all = || {
        let nat = config.nat.iter().enumerate();
        nat.flat_map(|(i, nat)| {
            let addresses = nat.addresses.iter().enumerate();
            addresses.map(move |(j, at)| (format!("nat[{i}].addresses[{j}]"), *at))
        })
    };
    let mut count = 0;
    for (n, (key, at)) in all().enumerate() {
        let prefix = at.value;
        count += 1u64 << (32 - u32::from(prefix.prefix_len()));
        if count > u64::from(NAT_ADDRESSES) {
            let what = format!("{count} public addresses up to here");
            let expected = format!("at most {NAT_ADDRESSES}");
            return report.problem(at.line, key, what, expected);
        }
        if let Some((_, first)) = all().take(n).find(|(_, q)| q.value.meets(&prefix)) {
            let what = format!(
                "{prefix} shares addresses with {} (line {})",
                first.value, first.line
            );
            report.problem(at.line, &key, what, "each public address once");
        }
        let mut own = config.interfaces.iter().flat_map(Interface::ipv4);
        if let Some(own) = own.find(|a| prefix.contains(a.value.address)) {
            let what = format!(
                "{prefix} contains {} (line {})",
                own.value.address, own.line
            );
            report.problem(at.line, &key, what, "addresses that no interface has");
        }
        let gateways = config.interfaces.iter().flat_map(|i| &i.gateways);
        let mut gateways = gateways.filter_map(|g| match g.value {
            core::net::IpAddr::V4(address) => Some((address, g.line)),
            core::net::IpAddr::V6(_) => None,
        });
        if let Some((gateway, line)) = gateways.find(|(address, _)| prefix.contains(*address)) {
            let what = format!("{prefix} contains the gateway {gateway} (line {line})");
            report.problem(at.line, &key, what, "addresses of no station");
        }
        let mut pools = config.pools.iter();
        if let Some(pool) = pools.find(|pool| pool.prefix.value.meets(&Prefix::V4(prefix))) {
            let what = format!(
                "{prefix} shares addresses with the pool {} (line {})",
                pool.prefix.value, pool.prefix.line
            );
            report.problem(at.line, &key, what, "addresses that no UE has");
        }
    }
}
