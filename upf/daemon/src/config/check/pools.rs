//! UE address pools: overlaps with each other and with interfaces.

use super::super::UpfConfig;
use super::super::problem::Report;

/// Pools of one network instance share no address.
pub(super) fn overlaps(config: &UpfConfig, report: &mut Report) {
    for (i, pool) in config.pools.iter().enumerate() {
        let own = config.first_name(&pool.network_instance.value);
        let same = |name: &str| config.first_name(name).eq_ignore_ascii_case(own);
        let first = config.pools.iter().take(i).find(|before| {
            same(&before.network_instance.value) && before.prefix.value.meets(&pool.prefix.value)
        });
        if let Some(first) = first {
            let what = format!(
                "{} shares addresses with {} (line {}) in '{}'",
                pool.prefix.value,
                first.prefix.value,
                first.prefix.line,
                pool.network_instance.value
            );
            let key = format!("pools[{i}].prefix");
            report.problem(pool.prefix.line, key, what, "pools apart from each other");
        }
    }
}

/// A pool's network instance has an N6, and its addresses are not those of a link.
pub(super) fn interfaces(config: &UpfConfig, report: &mut Report) {
    let names = || {
        let n6 = config.interfaces.iter().filter_map(|i| i.n6.as_ref());
        n6.flat_map(|n6| n6.names()).map(|name| name.value.as_str())
    };
    for (i, pool) in config.pools.iter().enumerate() {
        let instance = &pool.network_instance;
        if !names().any(|name| name.eq_ignore_ascii_case(&instance.value)) {
            let what = format!("no n6 serves '{}'", instance.value);
            let expected = match names().collect::<Vec<_>>()[..] {
                [] => "an interface with n6".to_owned(),
                ref known => format!("one of {}", known.join(", ")),
            };
            let key = format!("pools[{i}].network_instance");
            report.problem(instance.line, key, what, expected);
        }
        let addresses = config.interfaces.iter().flat_map(|i| &i.addresses);
        for address in addresses.filter(|a| a.value.subnet().meets(&pool.prefix.value)) {
            let what = format!(
                "{} shares addresses with the subnet of {} (line {})",
                pool.prefix.value, address.value, address.line
            );
            let key = format!("pools[{i}].prefix");
            report.problem(pool.prefix.line, key, what, "addresses that no link has");
        }
    }
}

/// Everything has a line of its own.
pub(super) fn layout(config: &UpfConfig, report: &mut Report) {
    if let Err(error) = config.layout() {
        let line = config.limits.tunnel_endpoints.line;
        report.problem(
            line,
            "limits",
            error.to_string(),
            "fewer endpoints, lines or pools",
        );
    }
}
