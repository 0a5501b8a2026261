//! The daemon's file.

use std::fmt::Write as _;
use std::path::Path;

use super::{N3_UPF, N3_UPF_V6, N4_SMFS, N4_UPF, N6_UPF, N6_UPF_V6, SERVER, SERVER_V6};

/// What stands in the file; tests change what they are about.
#[derive(Clone, Debug)]
pub struct Config {
    /// Keys of `n4`. Repetitions are as quick as the emulated SMF's, and recognised as long.
    pub n4: String,
    /// Entries of `ports`.
    pub ports: Vec<String>,
    /// Entries of `interfaces`.
    pub interfaces: Vec<String>,
    /// Entries of `pools`.
    pub pools: Vec<String>,
    /// Keys of `dpdk`: small, as many daemons run at once.
    pub dpdk: String,
    /// Keys of `limits`.
    pub limits: String,
    /// Whole lines of other sections.
    pub more: String,
    /// Another control socket than the test's own.
    pub socket: Option<String>,
}

impl Config {
    /// N3 and N6 on veths, N4 on a kernel socket.
    pub fn new() -> Self {
        let [smf, second, _] = N4_SMFS;
        Self {
            n4: format!(
                "listen: {N4_UPF}, peers: [{smf}, {second}], t1_ms: 500, n1: 5, heartbeat_s: 1, \
                 graceful_release_s: 2"
            ),
            ports: vec![
                "name: n3, device: 'net_af_packet0,iface=n3'".to_owned(),
                "name: n6, device: 'net_af_packet1,iface=n6'".to_owned(),
            ],
            interfaces: vec![
                format!("name: n3, port: n3, addresses: {N3_UPF}/24, n3: {{}}"),
                format!(
                    "name: n6, port: n6, addresses: {N6_UPF}/24, gateway: {SERVER}, \
                     n6: {{network_instance: core}}"
                ),
            ],
            pools: vec!["network_instance: core, prefix: 10.60.0.0/24".to_owned()],
            dpdk: "memory_mb: 128, mbufs: 16383".to_owned(),
            limits: "sessions: 64".to_owned(),
            more: String::new(),
            socket: None,
        }
    }

    /// The same with IPv6 on N6, whose data network has the DNN as a second name.
    pub fn with_ipv6() -> Self {
        let mut config = Self::new();
        config.interfaces[1] = format!(
            "name: n6, port: n6, addresses: [{N6_UPF}/24, '{N6_UPF_V6}/64'], \
             gateway: [{SERVER}, '{SERVER_V6}'], n6: {{network_instance: [core, internet]}}"
        );
        config
    }

    /// N3 is at an IPv6 address alone.
    pub fn n3_is_ipv6(mut self) -> Self {
        self.interfaces[0] = format!("name: n3, port: n3, addresses: '{N3_UPF_V6}/64', n3: {{}}");
        self
    }

    /// N3 is at an address of each family.
    pub fn n3_is_dual(mut self) -> Self {
        self.interfaces[0] = format!(
            "name: n3, port: n3, addresses: [{N3_UPF}/24, '{N3_UPF_V6}/64'], \
             n3: {{address: [{N3_UPF}, '{N3_UPF_V6}']}}"
        );
        self
    }

    /// One more key, or another value, for `n4`.
    pub fn n4(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        let kept = self
            .n4
            .split(", ")
            .filter(|k| !k.starts_with(&format!("{key}:")));
        self.n4 = kept.collect::<Vec<_>>().join(", ");
        let _ = write!(self.n4, ", {key}: {value}");
        self
    }

    /// The text, with the control socket at `own` if none is given.
    pub fn text(&self, own: &Path) -> String {
        let socket = self.socket.clone();
        let socket = socket.unwrap_or_else(|| own.display().to_string());
        let list = |entries: &[String]| {
            let lines = entries.iter().map(|entry| format!("  - {{{entry}}}\n"));
            lines.collect::<String>()
        };
        format!(
            "control_socket: {socket}\nn4: {{{}}}\ndpdk: {{{}}}\nlimits: {{{}}}\n\
             ports:\n{}interfaces:\n{}{}{}",
            self.n4,
            self.dpdk,
            self.limits,
            list(&self.ports),
            list(&self.interfaces),
            match &self.pools[..] {
                [] => String::new(),
                pools => format!("pools:\n{}", list(pools)),
            },
            self.more,
        )
    }
}
