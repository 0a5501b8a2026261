//! What several sections must agree on.

use super::{CoreConfig, Sessions};
use sluice_ids::Snssai;
use sluice_program::config::fields::At;
use sluice_program::config::problem::Report;
use sluice_smf::Pool;
use std::net::SocketAddr;

/// Most PLMNs of an AMF (TS 38.413, maxnoofPLMNs).
const PLMNS_MAX: usize = 12;
/// Most slices of a PLMN that UEs can be told.
const SLICES_MAX: usize = 8;
/// Most areas of a UE's list (TS 24.501, 9.11.3.9).
const AREAS_MAX: usize = 16;
/// Most equivalent PLMNs (TS 24.501, 9.11.3.45).
const EQUIVALENT_MAX: usize = 15;
/// Most UPFs.
const UPFS_MAX: usize = 64;

/// All checks; each only where what it looks at could be read.
pub(super) fn all(config: &CoreConfig, report: &mut Report) {
    served(config, report);
    keys(config, report);
    own_addresses(config, report);
    if let Some(sessions) = &config.sessions {
        networks(sessions, report);
        pools(sessions, report);
        policies(sessions, report);
        upf_areas(config, sessions, report);
    }
    subscribers(config, report);
    addresses(config, report);
    addresses_in_pools(config, report);
}

/// Pools with their keys.
fn all_pools(sessions: &Sessions) -> Vec<(String, &At<Pool>)> {
    let networks = sessions.networks.iter().enumerate();
    let of = networks.flat_map(|(at, network)| {
        let pools = network.pools.iter().enumerate();
        pools.map(move |(place, pool)| (format!("data_networks[{at}].pools[{place}]"), pool))
    });
    of.collect()
}

/// An address is in one pool alone, whichever data network that is of.
fn pools(sessions: &Sessions, report: &mut Report) {
    let all = all_pools(sessions);
    for (at, (key, pool)) in all.iter().enumerate() {
        let first = all[..at]
            .iter()
            .find(|(_, one)| one.value.meets(pool.value));
        if let Some((other, first)) = first {
            let what = format!(
                "{} meets {other}, {}, in line {}",
                pool.value, first.value, first.line
            );
            report.problem(pool.line, key.clone(), what, "each address in one pool");
        }
    }
    for (at, upf) in sessions.upfs.iter().enumerate() {
        for (place, pool) in upf.pools.iter().enumerate() {
            if !all.iter().any(|(_, one)| one.value == pool.value) {
                let what = format!("{} is none of the pools of data_networks", pool.value);
                let key = format!("upfs[{at}].pools[{place}]");
                report.problem(pool.line, key, what, "a pool of a data network, as a whole");
            }
        }
    }
}

/// Addresses that subscribers have of their own are in no pool: it might give them to others.
fn addresses_in_pools(config: &CoreConfig, report: &mut Report) {
    let pools = config.sessions.as_ref().map(all_pools).unwrap_or_default();
    for (at, account) in config.subscribers.iter().enumerate() {
        for (number, network) in account.networks.iter().enumerate() {
            let has_ipv4 = |pool: Pool| network.ipv4.is_some_and(|own| pool.contains_ipv4(own));
            let has_ipv6 = |pool: Pool| {
                network
                    .ipv6_prefix
                    .is_some_and(|own| pool.contains_ipv6(own))
            };
            for (key, pool) in &pools {
                let name = match pool.value {
                    pool if has_ipv4(pool) => "ipv4",
                    pool if has_ipv6(pool) => "ipv6_prefix",
                    _ => continue,
                };
                let what = format!("of {key}, {}, which may give it to others", pool.value);
                let path = format!("subscribers[{at}].networks[{number}].{name}");
                report.problem(
                    network.dnn.line,
                    path,
                    what,
                    "an address outside of all pools",
                );
            }
        }
    }
}

/// Our own addresses: each of N2 once, and that of N4 is no UPF's.
fn own_addresses(config: &CoreConfig, report: &mut Report) {
    let listen = config.n2.listen.iter().map(|at| (at, "n2.listen"));
    let more = config.n2.more.iter().map(|at| (at, "n2.more_addresses"));
    let all: Vec<_> = listen.chain(more).collect();
    for (place, (at, key)) in all.iter().enumerate() {
        let first = all[..place].iter().find(|(one, _)| one.value == at.value);
        if let Some((first, other)) = first {
            let what = format!("{} is {other} in line {}, too", at.value, first.line);
            report.problem(at.line, *key, what, "each address once");
        }
    }
    let Some(sessions) = &config.sessions else {
        return;
    };
    let own = sessions.n4.map(|at| (SocketAddr::V4(at.value), at.line));
    for (place, upf) in sessions.upfs.iter().enumerate() {
        if let Some((own, line)) = own.filter(|(own, _)| *own == upf.n4.value) {
            let what = format!("{} is n4.listen in line {line}, {own}", upf.n4.value);
            let expected = "the UPF's own address or port: one of them can have this one";
            report.problem(upf.n4.line, format!("upfs[{place}].n4"), what, expected);
        }
    }
}

/// Refuses what is given more often than may be.
fn at_most<T>(list: &[T], most: usize, key: &str, line: impl Fn(&T) -> u32, report: &mut Report) {
    if let Some(first) = list.get(most) {
        let what = format!("{} are given", list.len());
        report.problem(line(first), key, what, format!("{most} at the most"));
    }
}

/// Refuses what is given twice.
fn once<T: PartialEq>(list: &[&At<T>], key: impl Fn(usize) -> String, report: &mut Report) {
    for (at, one) in list.iter().enumerate() {
        let first = list[..at].iter().find(|before| before.value == one.value);
        if let Some(first) = first {
            let what = format!("the same as in line {}", first.line);
            report.problem(one.line, key(at), what, "each once");
        }
    }
}

fn served(config: &CoreConfig, report: &mut Report) {
    at_most(
        &config.plmns,
        PLMNS_MAX,
        "plmns",
        |one| one.plmn.line,
        report,
    );
    at_most(
        &config.areas,
        AREAS_MAX,
        "tracking_areas",
        |one| one.line,
        report,
    );
    let equivalent = &config.equivalent_plmns;
    at_most(
        equivalent,
        EQUIVALENT_MAX,
        "equivalent_plmns",
        |one| one.line,
        report,
    );
    let plmns: Vec<_> = config.plmns.iter().map(|one| &one.plmn).collect();
    once(&plmns, |at| format!("plmns[{at}].plmn"), report);
    let areas: Vec<_> = config.areas.iter().collect();
    once(&areas, |at| format!("tracking_areas[{at}].tac"), report);
    for (at, plmn) in config.plmns.iter().enumerate() {
        let key = format!("plmns[{at}].slices");
        at_most(&plmn.slices, SLICES_MAX, &key, |one| one.line, report);
    }
    let is_served = |plmn| config.plmns.iter().any(|one| one.plmn.value == plmn);
    if !report.is_clean("plmns") {
        return;
    }
    if let Some(guami) = config.amf.guami
        && !is_served(guami.plmn)
    {
        let what = format!("{} is none of plmns", guami.plmn);
        let (key, expected) = ("amf.plmn", "a PLMN that is served");
        report.problem(config.amf.line, key, what, expected);
    }
    for (at, area) in config.areas.iter().enumerate() {
        if !is_served(area.value.plmn) {
            let what = format!("{} is none of plmns", area.value.plmn);
            let key = format!("tracking_areas[{at}].plmn");
            report.problem(area.line, key, what, "a PLMN that is served");
        }
    }
}

fn keys(config: &CoreConfig, report: &mut Report) {
    let ids: Vec<_> = config.home_keys.iter().map(|key| &key.id).collect();
    once(&ids, |at| format!("home_network_keys[{at}].id"), report);
    if config.home_keys.is_empty()
        && !config.security.null_scheme
        && report.is_clean("home_network_keys")
    {
        let what = "none, and security.null_scheme is false: no UE can show who it is";
        report.problem(0, "home_network_keys", what, "a key, or null_scheme: true");
    }
}

fn networks(sessions: &Sessions, report: &mut Report) {
    at_most(&sessions.upfs, UPFS_MAX, "upfs", |one| one.n4.line, report);
    let upfs: Vec<_> = sessions.upfs.iter().map(|one| &one.n4).collect();
    once(&upfs, |at| format!("upfs[{at}].n4"), report);
    let names: Vec<_> = sessions.networks.iter().map(|one| &one.dnn).collect();
    once(&names, |at| format!("data_networks[{at}].name"), report);
    if !report.is_clean("data_networks") || !report.is_clean("upfs") {
        return;
    }
    for (at, upf) in sessions.upfs.iter().enumerate() {
        for dnn in &upf.networks {
            if !names.iter().any(|name| name.value == dnn.value) {
                let what = format!("'{}' is none of data_networks", dnn.value);
                let key = format!("upfs[{at}].data_networks");
                report.problem(dnn.line, key, what, "a data network that there is");
            }
        }
    }
    for (at, network) in sessions.networks.iter().enumerate() {
        let leads = |upf: &super::Upf| {
            upf.networks.is_empty()
                || upf
                    .networks
                    .iter()
                    .any(|dnn| dnn.value == network.dnn.value)
        };
        if !sessions.upfs.iter().any(leads) {
            let what = format!("no UPF leads to '{}'", network.dnn.value);
            let key = format!("data_networks[{at}].name");
            report.problem(
                network.dnn.line,
                key,
                what,
                "a UPF whose data_networks name it",
            );
        }
    }
}

fn policies(sessions: &Sessions, report: &mut Report) {
    let most = sluice_pcf::POLICIES;
    at_most(
        &sessions.policies,
        most,
        "policies",
        |one| one.name.line,
        report,
    );
    let access = &sessions.access_policies;
    at_most(access, most, "access_policies", |one| one.line, report);
    let names: Vec<_> = sessions.policies.iter().map(|one| &one.name).collect();
    once(&names, |at| format!("policies[{at}].name"), report);
    if !report.is_clean("data_networks") {
        return;
    }
    for (at, policy) in sessions.policies.iter().enumerate() {
        let mut networks = sessions.networks.iter();
        if !networks.any(|network| network.dnn.value == policy.dnn.value) {
            let what = format!("'{}' is none of data_networks", policy.dnn.value);
            let key = format!("policies[{at}].data_network");
            report.problem(policy.dnn.line, key, what, "a data network that there is");
        }
    }
}

/// Tracking areas of UPFs are served.
fn upf_areas(config: &CoreConfig, sessions: &Sessions, report: &mut Report) {
    if !report.is_clean("tracking_areas") || !report.is_clean("plmns") {
        return;
    }
    let home = config.plmns.first().map(|one| one.plmn.value);
    for (at, upf) in sessions.upfs.iter().enumerate() {
        for area in &upf.areas {
            let (plmn, tac) = (area.value.0.or(home), area.value.1);
            let is_it =
                |one: &At<sluice_ids::Tai>| one.value.tac == tac && Some(one.value.plmn) == plmn;
            if !config.areas.iter().any(is_it) {
                let what = format!("{tac} is none of tracking_areas");
                let key = format!("upfs[{at}].tais");
                report.problem(area.line, key, what, "a tracking area that is served");
            }
        }
    }
}

fn subscribers(config: &CoreConfig, report: &mut Report) {
    let mut seen = std::collections::BTreeMap::new();
    let served: Vec<Snssai> = config
        .plmns
        .iter()
        .flat_map(|plmn| plmn.slices.iter().map(|at| at.value))
        .collect();
    for (at, account) in config.subscribers.iter().enumerate() {
        if let Some(line) = seen.insert(account.supi.value, account.supi.line) {
            let key = format!("subscribers[{at}].imsi");
            let what = format!(
                "{} is given before, in line {line}",
                account.supi.value.imsi()
            );
            report.problem(account.supi.line, key, what, "each subscriber once");
        }
        for (number, network) in account.networks.iter().enumerate() {
            let path = format!("subscribers[{at}].networks[{number}]");
            if !account.slices.contains(&network.slice.value) {
                let what = format!("{} is none of the subscriber's slices", network.slice.value);
                let expected = "one of them";
                report.problem(network.slice.line, format!("{path}.slice"), what, expected);
            }
            let known = config
                .sessions
                .iter()
                .flat_map(|sessions| &sessions.networks);
            let is_known = known
                .into_iter()
                .any(|one| one.dnn.value == network.dnn.value);
            if config.sessions.is_some() && !is_known && report.is_clean("data_networks") {
                let what = format!("'{}' is none of data_networks", network.dnn.value);
                let expected = "a data network that there is";
                report.problem(network.dnn.line, format!("{path}.name"), what, expected);
            }
        }
        if report.is_clean("plmns") && !account.slices.iter().any(|one| served.contains(one)) {
            let slices: Vec<String> = account.slices.iter().map(ToString::to_string).collect();
            let what = format!("none of its slices {} is served", slices.join(", "));
            let key = format!("subscribers[{at}].slices");
            report.warning(account.supi.line, key, what, "a slice of plmns");
        }
    }
}

/// An address or prefix is one subscriber's alone within a data network.
fn addresses(config: &CoreConfig, report: &mut Report) {
    let mut seen = std::collections::BTreeMap::new();
    for (at, account) in config.subscribers.iter().enumerate() {
        for (number, network) in account.networks.iter().enumerate() {
            let ipv4 = network.ipv4.map(|own| ("ipv4", own.to_string()));
            let prefix = network.ipv6_prefix.map(|own| {
                let mut octets = [0; 16];
                octets[..8].copy_from_slice(&own);
                ("ipv6_prefix", std::net::Ipv6Addr::from(octets).to_string())
            });
            for (key, own) in ipv4.into_iter().chain(prefix) {
                let line = network.dnn.line;
                let name = (network.dnn.value.to_string(), own.clone());
                if let Some(first) = seen.insert(name, line) {
                    let key = format!("subscribers[{at}].networks[{number}].{key}");
                    let what = format!("{own} is given before, in line {first}");
                    report.problem(line, key, what, "an address of its own");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn refused(n2: &str, upf: &str) -> String {
        let text = format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: 192.0.2.20, gnbs: 192.0.2.0/24{n2}}}\nn4: {{listen: 192.0.2.20}}\n\
             upfs: {{n4: {upf}}}\ndata_networks: {{name: internet}}\n"
        );
        let loaded = CoreConfig::from_text(Path::new("core.yaml"), &text);
        loaded
            .err()
            .map(|refused| refused.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn addresses_that_are_two_things_are_told_with_both_keys() {
        assert_eq!(refused(", more_addresses: 192.0.2.21", "192.0.2.10"), "");
        let twice = refused(", more_addresses: [192.0.2.21, 192.0.2.20]", "192.0.2.10");
        let told = "core.yaml:3: n2.more_addresses: 192.0.2.20 is n2.listen in line 3, too";
        assert!(twice.contains(told), "{twice}");
        let same = refused("", "192.0.2.20");
        let told =
            "core.yaml:5: upfs[0].n4: 192.0.2.20:8805 is n4.listen in line 4, 192.0.2.20:8805";
        assert!(same.contains(told), "{same}");
        assert_eq!(refused("", "192.0.2.20:8806"), "");
    }

    const SHORT: &str = "\
plmns: {plmn: 001-01, slices: 1}
tracking_areas: {tac: 1}
n2: {listen: 192.0.2.20, gnbs: 192.0.2.0/24}
n4: {listen: 192.0.2.20}
upfs: {n4: 192.0.2.10}
data_networks: {name: internet}
";

    /// Mistakes, in place of a part of the short file, and the words about them.
    const OF_POOLS: &[(&str, &str, &str)] = &[
        (
            "{name: internet}",
            "{name: internet, pools: 10.45.0.1/16}",
            "data_networks.pools: got '10.45.0.1/16'; expected an IPv4 prefix",
        ),
        (
            "{name: internet}",
            "{name: internet, pools: '2001:db8::/65'}",
            "data_networks.pools: got '2001:db8::/65'; expected an IPv4 prefix",
        ),
        (
            "{name: internet}",
            "{name: internet, ipv6: false, pools: [10.45.0.0/16, '2001:db8::/48']}",
            "data_networks.pools[1]: 2001:db8::/48 is of IPv6, which the data network has not",
        ),
        (
            "{name: internet}",
            "[{name: internet, pools: 10.0.0.0/8}, {name: ims, pools: 10.45.0.0/16}]",
            "data_networks[1].pools[0]: 10.45.0.0/16 meets data_networks[0].pools[0], 10.0.0.0/8, in line 6",
        ),
        (
            "data_networks: {name: internet}\n",
            "data_networks: {name: internet, pools: 10.45.0.0/16}\nsubscribers: {imsi: '001010000000001', \
         k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf, \
         networks: {name: internet, ipv4: 10.45.0.9}}\n",
            "subscribers[0].networks[0].ipv4: of data_networks[0].pools[0], 10.45.0.0/16, which may give it to others",
        ),
        (
            "upfs: {n4: 192.0.2.10}",
            "upfs: {n4: 192.0.2.10, pools: 10.45.0.0/24}",
            "upfs[0].pools[0]: 10.45.0.0/24 is none of the pools of data_networks",
        ),
        (
            "upfs: {n4: 192.0.2.10}",
            "upfs: {n4: 192.0.2.10, n3: [ipv4, 192.0.2.1]}",
            "upfs.n3: more than one of a kind; expected one word, or an address of each family",
        ),
        (
            "upfs: {n4: 192.0.2.10}",
            "upfs: {n4: 192.0.2.10, n3: [192.0.2.1, 192.0.2.2]}",
            "upfs.n3: more than one of a kind",
        ),
        (
            "upfs: {n4: 192.0.2.10}",
            "upfs: {n4: 192.0.2.10, n3: 0.0.0.0}",
            "upfs.n3: got '0.0.0.0'; expected ipv4, ipv6, ipv4v6, or an address of each family",
        ),
        (
            "upfs: {n4: 192.0.2.10}",
            "upfs: {n4: 192.0.2.10, instance_coding: dns}",
            "upfs.instance_coding: got 'dns'; expected text or labels",
        ),
    ];

    #[test]
    fn pools_and_addresses_of_upfs_that_cannot_be_are_refused() {
        for (old, new, said) in OF_POOLS {
            let text = SHORT.replacen(old, new, 1);
            let refused = CoreConfig::from_text(Path::new("core.yaml"), &text).expect_err(new);
            let refused = refused.to_string();
            assert!(refused.contains(said), "{new}: {refused}");
        }
    }
}
