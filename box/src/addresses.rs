//! The two ends of N4 by the addresses that both files give them.

use sluice_core_daemon::config::CoreConfig;
use sluice_program::config::problem::Problem;
use sluice_upf_daemon::config::UpfConfig;
use std::net::SocketAddr;

/// The core's address and the UPF's, by which each knows the other.
///
/// # Errors
/// What is wrong in core.yaml: it has no N4, or does not name this UPF.
pub(crate) fn of_both(core: &CoreConfig, upf: &UpfConfig) -> Result<[SocketAddr; 2], Problem> {
    let sessions = core.sessions.as_ref();
    let Some(own) = sessions.and_then(|sessions| sessions.n4) else {
        let expected = "the address by which the UPF knows the core";
        return Err(problem(0, "n4.listen", "missing", expected));
    };
    let listens: Vec<SocketAddr> = upf.n4.listen.iter().map(|at| at.value).collect();
    let mut upfs = sessions.iter().flat_map(|sessions| &sessions.upfs);
    let its = upfs.find(|one| listens.contains(&one.n4.value));
    let its = its.ok_or_else(|| {
        let listens: Vec<String> = listens.iter().map(ToString::to_string).collect();
        let expected = match listens.is_empty() {
            true => "an address of n4.listen in the UPF's file, which has none".to_owned(),
            false => format!(
                "for one of them n4: {}, as n4.listen in the UPF's file",
                listens.join(" or ")
            ),
        };
        problem(0, "upfs", "none of them is this UPF", &expected)
    })?;
    Ok([SocketAddr::V4(own.value), its.n4.value])
}

fn problem(line: u32, key: &str, what: &str, expected: &str) -> Problem {
    Problem {
        line,
        key: key.to_owned(),
        what: what.to_owned(),
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_upf_daemon::config::Machine;
    use std::path::Path;

    fn core(n4: &str) -> CoreConfig {
        let text = format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: 127.0.0.5, gnbs: 127.0.0.0/8}}\ndata_networks: {{name: internet}}\n{n4}"
        );
        let loaded = CoreConfig::from_text(Path::new("core.yaml"), &text);
        loaded.map_or_else(|e| panic!("{e}"), |loaded| loaded.config)
    }

    fn upf(listen: &str) -> UpfConfig {
        let text = format!(
            "n4: {{listen: {listen}}}\nports:\n  - {{name: p, device: net_null0}}\n\
             interfaces:\n  - {{name: n3, port: p, vlan: 3, addresses: 192.0.2.1/24, n3: {{}}}}\n  \
             - {{name: n6, port: p, vlan: 6, addresses: 198.51.100.1/24, gateway: 198.51.100.2, \
             n6: {{network_instance: core}}}}\n"
        );
        let loaded = UpfConfig::from_text(Path::new("upf.yaml"), &text, &Machine::this());
        loaded.map_or_else(|e| panic!("{e}"), |loaded| loaded.config)
    }

    #[test]
    fn the_files_name_each_other() {
        let upf = upf("[127.0.0.7, 127.0.0.8]");
        let both = of_both(
            &core("n4: {listen: 127.0.0.6}\nupfs: [{n4: 127.0.0.9}, {n4: 127.0.0.8}]"),
            &upf,
        );
        let address = |last| SocketAddr::from(([127, 0, 0, last], 8805));
        assert_eq!(both, Ok([address(6), address(8)]));
        let others = of_both(
            &core("n4: {listen: 127.0.0.6}\nupfs: [{n4: 127.0.0.9}]"),
            &upf,
        );
        let told = others.unwrap_err();
        assert!(
            told.expected.contains("127.0.0.7:8805 or 127.0.0.8:8805"),
            "{told:?}"
        );
        let text = "plmns: {plmn: 001-01, slices: 1}\ntracking_areas: {tac: 1}\n\
                    n2: {listen: 127.0.0.5, gnbs: 127.0.0.0/8}\n";
        let alone =
            CoreConfig::from_text(Path::new("core.yaml"), text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(of_both(&alone.config, &upf).unwrap_err().key, "n4.listen");
    }
}
