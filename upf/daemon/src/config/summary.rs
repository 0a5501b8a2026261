//! Summary of a configuration, for `sluice upf --check`.

use super::UpfConfig;
use super::interfaces::Interface;
use super::router_advertisement::RouterAdvertisement;
use core::fmt::{self, Display, Write};
use serde_json::{Value, json};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::ExtBlock;
use sluice_datapath::session::usage_record::UsageRecord;
use sluice_session::network::Side;

impl UpfConfig {
    /// The summary as text, one thing a line, each line with its end.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_summary(&mut text);
        text
    }

    fn write_summary(&self, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "  n4          {} on {}, peers {}",
            self.n4.node_id,
            joined(self.n4_places()),
            or_any(joined(&self.n4.peers)),
        )?;
        for port in self.port_configs() {
            let (rx, tx) = (port.rx_queues, port.tx_queues);
            writeln!(
                out,
                "  port        {}: {} ({rx} rx, {tx} tx)",
                port.name, port.devargs
            )?;
        }
        for interface in &self.interfaces {
            writeln!(out, "  interface   {}", described(interface))?;
        }
        for pool in &self.pools {
            let name = &pool.network_instance.value;
            let given = if pool.allocation.is_some() {
                ", given by us"
            } else {
                ""
            };
            writeln!(out, "  pool        {}: {}{given}", name, pool.prefix.value)?;
        }
        if self.interfaces.iter().any(|i| i.ipv6().next().is_some()) {
            writeln!(
                out,
                "  ues on ipv6 {}",
                advertised(&self.router_advertisement)
            )?;
        }
        let cores = joined(&self.placement.workers);
        let housekeeping = self.placement.housekeeping;
        writeln!(
            out,
            "  workers     on core {cores}; housekeeping on core {housekeeping}"
        )?;
        match self.metrics.listen {
            Some(at) => writeln!(out, "  metrics     http://{at}/metrics")?,
            None => writeln!(out, "  metrics     none")?,
        }
        let limits = &self.limits;
        writeln!(
            out,
            "  room        {} sessions, {} tunnel endpoints, {} foreign lines, {} rule blocks",
            limits.sessions.value,
            limits.tunnel_endpoints.value,
            limits.foreign_entries.value,
            limits.rule_blocks.value,
        )?;
        writeln!(
            out,
            "  memory      {} MiB for rules, {} MiB for packets",
            self.rule_memory_mb(),
            self.dpdk.memory_mb.value,
        )
    }

    /// The summary as a JSON object.
    pub fn summary_json(&self) -> Value {
        let ports = self.port_configs();
        let ports = ports.iter().map(|port| {
            json!({
                "name": port.name,
                "device": port.devargs,
                "rx_queues": port.rx_queues,
                "tx_queues": port.tx_queues,
            })
        });
        let pools = self.pools.iter().map(|pool| {
            json!({
                "network_instance": pool.network_instance.value,
                "prefix": pool.prefix.value.to_string(),
                "allocate": pool.allocation.is_some(),
            })
        });
        json!({
            "n4": {
                "node_id": self.n4.node_id.to_string(),
                "listen": texts(self.n4.listen.iter().map(|at| at.value)),
                "on_ports": texts(self.interfaces.iter().flat_map(Interface::n4_addresses)),
                "peers": texts(&self.n4.peers),
            },
            "ports": Value::from_iter(ports),
            "interfaces": Value::from_iter(self.interfaces.iter().map(interface_json)),
            "pools": Value::from_iter(pools),
            "router_advertisement": {
                "lifetime_s": self.router_advertisement.lifetime_s,
                "mtu": self.router_advertisement.mtu.map(|at| at.value),
                "dns": texts(&self.router_advertisement.dns),
            },
            "dscp": Value::from_iter(self.dscp.iter().map(|marking| {
                json!({ "qfi": marking.qfi.value, "dscp": marking.dscp })
            })),
            "predefined": texts(self.predefined.iter().map(|rule| &rule.name.value)),
            "applications": texts(self.applications.iter().map(|of| &of.name.value)),
            "echo": {
                "interval_s": self.echo.0.interval_s,
                "t3_ms": self.echo.0.t3_ms,
                "n3": self.echo.0.n3,
            },
            "shaping": {
                "rates": self.shaping.rates.name(),
                "burst_ms": self.shaping.burst_ms,
                "delay_ms": self.shaping.delay_ms,
                "session_packets": self.shaping.session_packets,
                "worker_packets": self.shaping.worker_packets.value,
            },
            "workers": {
                "cores": self.placement.workers,
                "housekeeping_core": self.placement.housekeeping,
            },
            "limits": {
                "sessions": self.limits.sessions.value,
                "tunnel_endpoints": self.limits.tunnel_endpoints.value,
                "foreign_entries": self.limits.foreign_entries.value,
                "rule_blocks": self.limits.rule_blocks.value,
                "flow_filters": self.limits.flow_filters.value,
                "held_packets": self.limits.held_packets.value,
                "held_packets_of_ue": self.limits.held_packets_of_ue.value,
                "held_s": self.limits.held_s.value,
            },
            "memory": {
                "rules_mb": self.rule_memory_mb(),
                "packets_mb": self.dpdk.memory_mb.value,
            },
            "metrics": self.metrics.listen.map(|at| at.to_string()),
            "control_socket": self.control_socket.display().to_string(),
        })
    }

    /// Sockets, and addresses on ports.
    fn n4_places(&self) -> Vec<String> {
        let mut places = texts(self.n4.listen.iter().map(|at| at.value));
        for interface in &self.interfaces {
            let port = &interface.port.value;
            let addresses = interface.n4_addresses();
            places.extend(addresses.map(|address| format!("{address} by port {port}")));
        }
        places
    }

    /// Memory of entries, blocks and usage records in MiB; it is touched as sessions need it.
    fn rule_memory_mb(&self) -> u64 {
        let entries = self.layout().map_or(0, |layout| layout.entries());
        let blocks = self.limits.numbered_blocks() as usize;
        let records = self.layout().map_or(0, |layout| layout.usage_records()) as usize;
        let entries = entries * (size_of::<SessionEntry>() + size_of::<u32>());
        let records = records * size_of::<UsageRecord>();
        ((entries + blocks * size_of::<ExtBlock>() + records) as u64).div_ceil(1 << 20)
    }
}

/// `lifetime 64800 s, MTU auto, DNS 2001:db8::53`
fn advertised(told: &RouterAdvertisement) -> String {
    let mtu = told
        .mtu
        .map_or_else(|| "auto".to_owned(), |at| at.value.to_string());
    let dns = match joined(&told.dns) {
        none if none.is_empty() => "no DNS".to_owned(),
        dns => format!("DNS {dns}"),
    };
    format!("lifetime {} s, MTU {mtu}, {dns}", told.lifetime_s)
}

/// `n3 on port p0 vlan 7: 192.0.2.1/24; n3 192.0.2.1, n6 internet`
fn described(interface: &Interface) -> String {
    let mut text = format!("{} on port {}", interface.name.value, interface.port.value);
    if let Some(vlan) = interface.vlan {
        let _ = write!(text, " vlan {}", vlan.value);
    }
    let addresses = joined(interface.addresses.iter().map(|at| at.value));
    let _ = write!(text, ": {addresses}");
    let roles = roles(interface);
    if !roles.is_empty() {
        let _ = write!(text, "; {}", roles.join(", "));
    }
    text
}

/// One text for each role: `n3 192.0.2.1`, `n9 core 192.0.2.1`, `n6 internet`.
fn roles(interface: &Interface) -> Vec<String> {
    let tunnels = interface.tunnels.iter().map(|tunnel| {
        let side = match (tunnel.kind.key(), tunnel.side) {
            ("n9", Side::Access) => " access",
            ("n9", _) => " core",
            _ => "",
        };
        let addresses = interface.tunnel_addresses(tunnel).unwrap_or_default();
        let addresses: String = addresses.all().map(|a| format!(" {a}")).collect();
        format!("{}{side}{addresses}", tunnel.kind.key())
    });
    let n6 = interface.n6.iter().map(|n6| {
        let names: Vec<&str> = n6.names().map(|name| name.value.as_str()).collect();
        let default = if n6.is_default { " (default)" } else { "" };
        format!("n6 {}{default}", names.join(" "))
    });
    let n4 = interface
        .n4_addresses()
        .map(|address| format!("n4 {address}"));
    tunnels.chain(n6).chain(n4).collect()
}

fn interface_json(interface: &Interface) -> Value {
    json!({
        "name": interface.name.value,
        "port": interface.port.value,
        "vlan": interface.vlan.map(|at| at.value.get()),
        "addresses": texts(interface.addresses.iter().map(|at| at.value)),
        "roles": roles(interface),
    })
}

fn texts<T: Display>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

fn joined<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    texts(items).join(", ")
}

fn or_any(list: String) -> String {
    if list.is_empty() {
        "any".to_owned()
    } else {
        list
    }
}
