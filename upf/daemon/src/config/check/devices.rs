//! Port names, devices and sizes.

use super::super::UpfConfig;
use super::super::fields::At;
use super::super::problem::Report;
use super::unique;

/// Each name and each device once.
pub(super) fn names(config: &UpfConfig, report: &mut Report) {
    unique(
        "ports",
        "name",
        config.ports.iter().map(|p| &p.name),
        report,
    );
    let devices: Vec<At<String>> = config
        .ports
        .iter()
        .map(|port| At {
            line: port.device.line,
            value: port.device_name().to_owned(),
        })
        .collect();
    unique("ports", "device", devices.iter(), report);
    kernel_interfaces(config, report);
}

/// Two packet sockets on one kernel interface would both receive every frame.
fn kernel_interfaces(config: &UpfConfig, report: &mut Report) {
    let mut seen: Vec<(&str, u32)> = Vec::new();
    for (i, port) in config.ports.iter().enumerate() {
        let (Some(name), line) = (port.kernel_interface(), port.device.line) else {
            continue;
        };
        match seen.iter().find(|(before, _)| *before == name) {
            Some((_, first)) => {
                let what = format!("kernel interface '{name}' is also the port's in line {first}");
                let key = format!("ports[{i}].device");
                report.problem(
                    line,
                    key,
                    what,
                    "another one, or one port with several roles",
                );
            }
            None => seen.push((name, line)),
        }
    }
}

/// MTUs fit in packet buffers, buffers in memory.
pub(super) fn sizes(config: &UpfConfig, report: &mut Report) {
    let dpdk = &config.dpdk;
    for (i, port) in config.ports.iter().enumerate() {
        if let (Some(mtu), Some(max), Some(room)) = (port.mtu, dpdk.mtu_max(), dpdk.data_room_bytes)
            && mtu.value > max
        {
            let what = format!(
                "{} does not fit in a packet buffer (dpdk.data_room_bytes, line {})",
                mtu.value, room.line
            );
            let expected = format!("at most {max}, or a larger buffer");
            report.problem(mtu.line, format!("ports[{i}].mtu"), what, expected);
        }
    }
    let needed = config.packet_memory_mb();
    if needed > u64::from(dpdk.memory_mb.value) {
        let what = format!(
            "{} MiB do not hold {} packet buffers",
            dpdk.memory_mb.value, dpdk.mbufs.value
        );
        let expected = format!("at least {needed}, or fewer mbufs");
        report.problem(dpdk.memory_mb.line, "dpdk.memory_mb", what, expected);
    }
}

/// Each worker sends by a queue of its own.
pub(super) fn queues(config: &UpfConfig, report: &mut Report) {
    let workers = config.placement.workers.len();
    for (i, port) in config.ports.iter().enumerate() {
        if let Some(queues) = port.tx_queues
            && usize::from(queues.value) < workers
        {
            let key = format!("ports[{i}].tx_queues");
            let what = format!("{} for {workers} workers", queues.value);
            let expected = format!("auto, or at least {workers}");
            report.problem(queues.line, key, what, expected);
        }
        let [rx, tx] = port.queues(u16::try_from(workers).unwrap_or(u16::MAX));
        if let (Some(queues), Some(sockets)) = (port.rx_queues, port.packet_sockets(rx.max(tx)))
            && queues.value < sockets
        {
            let key = format!("ports[{i}].rx_queues");
            let what = format!(
                "{} for {sockets} queue pairs, to each of which the kernel deals packets",
                queues.value
            );
            let expected = format!("auto, or {sockets}");
            report.problem(queues.line, key, what, expected);
        }
    }
}

/// Interfaces lie on ports that there are, one for each VLAN, and each port carries one.
pub(super) fn interfaces(config: &UpfConfig, report: &mut Report) {
    for (i, interface) in config.interfaces.iter().enumerate() {
        let port = config
            .ports
            .iter()
            .find(|p| p.name.value == interface.port.value);
        let Some(port) = port else {
            let names: Vec<_> = config.ports.iter().map(|p| p.name.value.as_str()).collect();
            let what = format!("no port has the name '{}'", interface.port.value);
            let expected = format!("one of {}", names.join(", "));
            report.problem(
                interface.port.line,
                format!("interfaces[{i}].port"),
                what,
                expected,
            );
            continue;
        };
        if let (Some(mtu), Some(most)) = (interface.mtu, port.mtu)
            && mtu.value > most.value
        {
            let what = format!("{} is more than the port's (line {})", mtu.value, most.line);
            let expected = format!("at most {}", most.value);
            report.problem(mtu.line, format!("interfaces[{i}].mtu"), what, expected);
        }
        refuse_shared_vlan(config, i, report);
    }
    // An interface with the wrong port would be blamed twice.
    if report.is_clean("interfaces") {
        unused_ports(config, report);
    }
}

fn unused_ports(config: &UpfConfig, report: &mut Report) {
    for (i, name) in config.ports.iter().map(|port| &port.name).enumerate() {
        let mut users = config
            .interfaces
            .iter()
            .map(|interface| &interface.port.value);
        if !users.any(|user| *user == name.value) {
            let what = format!("no interface is on port '{}'", name.value);
            let expected = "an interface with this port, or no such port";
            report.problem(name.line, format!("ports[{i}].name"), what, expected);
        }
    }
}

fn refuse_shared_vlan(config: &UpfConfig, i: usize, report: &mut Report) {
    let place = |i: usize| {
        let interface = config.interfaces.get(i)?;
        Some((&interface.port.value, interface.vlan.map(|at| at.value)))
    };
    let Some(first) = (0..i).find(|before| place(*before) == place(i)) else {
        return;
    };
    let (Some(first), Some(interface)) = (config.interfaces.get(first), config.interfaces.get(i))
    else {
        return;
    };
    let vlan = match interface.vlan {
        Some(vlan) => format!("VLAN {}", vlan.value),
        None => "untagged frames".to_owned(),
    };
    let what = format!(
        "{vlan} of port '{}' belong to interface '{}' (line {})",
        interface.port.value, first.name.value, first.name.line
    );
    let line = interface.vlan.map_or(interface.port.line, |at| at.line);
    let expected = "another vlan, or all addresses in one interface";
    report.problem(line, format!("interfaces[{i}].vlan"), what, expected);
}
