//! NUMA nodes of ports, workers' cores and packet buffers, as sysfs tells them, and what lies apart.

use crate::config::UpfConfig;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A machine's nodes, below a root that has `devices` and `bus` (`/sys`).
pub struct Nodes {
    root: PathBuf,
    /// Each node with its cores.
    cores: BTreeMap<u16, Vec<u16>>,
}

impl Nodes {
    /// NUMA nodes of this machine.
    pub fn of_this_machine() -> Self {
        Self::below(Path::new("/sys"))
    }

    /// NUMA nodes that a sysfs tells of; none where it has no NUMA.
    pub fn below(root: &Path) -> Self {
        let folder = root.join("devices/system/node");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let of_node = |path: PathBuf| {
            let name = path.file_name()?.to_str()?;
            let node = name.strip_prefix("node")?.parse::<u16>().ok()?;
            let list = std::fs::read_to_string(path.join("cpulist")).ok()?;
            Some((node, crate::config::cores_of(list.trim())))
        };
        Self {
            root: root.to_owned(),
            cores: entries.filter_map(|e| of_node(e.path())).collect(),
        }
    }

    /// Whether it matters where something lies.
    fn are_several(&self) -> bool {
        self.cores.len() > 1
    }

    fn of_core(&self, core: u16) -> Option<u16> {
        let mut nodes = self.cores.iter();
        let node = nodes.find(|(_, cores)| cores.contains(&core));
        node.map(|(node, _)| *node)
    }

    /// Of a PCI device; a virtual one has none (-1).
    fn of_device(&self, address: &str) -> Option<u16> {
        let file = self.root.join("bus/pci/devices").join(address);
        let text = std::fs::read_to_string(file.join("numa_node")).ok()?;
        text.trim().parse().ok()
    }
}

/// A port or a worker's core on a node.
struct Placed {
    name: String,
    node: u16,
}

fn ports(nodes: &Nodes, config: &UpfConfig) -> Vec<Placed> {
    let ports = config.ports.iter().filter(|port| port.is_pci());
    let placed = ports.filter_map(|port| {
        Some(Placed {
            name: format!("port {}", port.name.value),
            node: nodes.of_device(port.device_name())?,
        })
    });
    placed.collect()
}

fn workers(nodes: &Nodes, config: &UpfConfig) -> Vec<Placed> {
    let cores = config.placement.workers.iter().enumerate();
    let placed = cores.filter_map(|(worker, core)| {
        Some(Placed {
            name: format!("worker {worker} on core {core}"),
            node: nodes.of_core(*core)?,
        })
    });
    placed.collect()
}

/// The node that most are on, of two with as many the lower.
fn commonest(placed: &[Placed]) -> Option<u16> {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for one in placed {
        *counts.entry(one.node).or_default() += 1;
    }
    let by_count = |(node, count): &(u16, usize)| (*count, std::cmp::Reverse(*node));
    counts
        .into_iter()
        .max_by_key(by_count)
        .map(|(node, _)| node)
}

/// The node of packet buffers: that of the ports, which write them; where none is a PCI device, that of the workers.
/// None where the machine has one node.
pub fn node_of_buffers(nodes: &Nodes, config: &UpfConfig) -> Option<u16> {
    if !nodes.are_several() {
        return None;
    }
    commonest(&ports(nodes, config)).or_else(|| commonest(&workers(nodes, config)))
}

/// Warnings of ports and workers on another node than the packet buffers, each with what to do.
pub fn apart(nodes: &Nodes, config: &UpfConfig, buffers: Option<u16>) -> Vec<String> {
    let Some(buffers) = buffers.filter(|_| nodes.are_several()) else {
        return Vec::new();
    };
    let all = ports(nodes, config)
        .into_iter()
        .chain(workers(nodes, config));
    let apart = all.filter(|placed| placed.node != buffers);
    let warning = |Placed { name, node }| {
        format!(
            "{name} is on NUMA node {node}, the packet buffers are on node {buffers}: each packet crosses between \
             them; expected ports and `workers.cores` of one node, or one UPF for each node"
        )
    };
    apart.map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Machine;

    const TEXT: &str = "\
n4: {listen: 192.0.2.10, peers: 192.0.2.20}
ports:
  - {name: p0, device: '0000:03:00.0'}
  - {name: p1, device: '0000:83:00.0'}
  - {name: p2, device: '0000:83:00.1'}
interfaces:
  - {name: ran, port: p0, addresses: 198.51.100.1/24, n3: {}}
  - {name: dn, port: p1, addresses: 203.0.113.2/24, gateway: 203.0.113.1,
     n6: {network_instance: internet}}
  - {name: other, port: p2, addresses: 192.0.2.129/28, n9: {side: core}}
pools:
  - {network_instance: internet, prefix: 10.45.0.0/16}
workers: {cores: [2, 5]}
";

    fn config() -> UpfConfig {
        let machine = Machine::with_cores((0..8).collect());
        let loaded = UpfConfig::from_text(Path::new("upf.yaml"), TEXT, &machine);
        loaded.unwrap().config
    }

    /// A sysfs in a folder with these nodes, as (node, cores), and devices, as (address, node).
    fn sysfs(root: &Path, nodes: &[(u16, &str)], devices: &[(&str, i32)]) -> Nodes {
        let write = |path: String, text: String| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for (node, cores) in nodes {
            write(
                format!("devices/system/node/node{node}/cpulist"),
                format!("{cores}\n"),
            );
        }
        for (address, node) in devices {
            write(
                format!("bus/pci/devices/{address}/numa_node"),
                format!("{node}\n"),
            );
        }
        Nodes::below(root)
    }

    #[test]
    fn buffers_go_where_most_ports_are_and_what_is_elsewhere_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let config = config();
        let devices = [
            ("0000:03:00.0", 0),
            ("0000:83:00.0", 1),
            ("0000:83:00.1", 1),
        ];
        let nodes = sysfs(folder.path(), &[(0, "0-3"), (1, "4-7")], &devices);
        assert_eq!(node_of_buffers(&nodes, &config), Some(1));
        let warnings = apart(&nodes, &config, Some(1));
        let [port, worker] = &warnings[..] else {
            panic!("{warnings:?}");
        };
        assert!(port.starts_with("port p0 is on NUMA node 0, the packet buffers are on node 1"));
        assert!(
            worker.starts_with("worker 0 on core 2 is on NUMA node 0"),
            "{worker}"
        );
    }

    #[test]
    fn without_pci_devices_buffers_go_where_the_workers_are() {
        let folder = tempfile::tempdir().unwrap();
        let config = config();
        let nodes = sysfs(
            folder.path(),
            &[(0, "0-1"), (1, "2-7")],
            &[("0000:03:00.0", -1)],
        );
        assert_eq!(node_of_buffers(&nodes, &config), Some(1));
        assert!(apart(&nodes, &config, Some(1)).is_empty());
    }

    #[test]
    fn on_one_node_nothing_is_placed_and_nothing_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let config = config();
        let one = sysfs(folder.path(), &[(0, "0-7")], &[("0000:83:00.0", 0)]);
        assert_eq!(node_of_buffers(&one, &config), None);
        assert!(apart(&one, &config, None).is_empty());
        let none = Nodes::below(Path::new("/nowhere"));
        assert_eq!(node_of_buffers(&none, &config), None);
    }
}
