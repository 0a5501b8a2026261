//! The machine under the benchmark: its description, its CPUs, DPDK on it.

use crate::Failure;
use serde_json::{Value, json};
use sluice_host::thread;
use sluice_port_dpdk::{Eal, EalConfig, MbufPool, Memory, PoolConfig};
use std::fs;

/// DPDK with so many MiB of packet memory and so many packets; this thread stays on `cpu`.
pub fn dpdk(mib: u32, packets: u32, cpu: Option<usize>) -> Result<(Eal, MbufPool), Failure> {
    let eal = Eal::init(&EalConfig {
        memory: Memory::Auto { mib },
        main_cpus: cpu.map(|cpu| cpu.to_string()),
        ..EalConfig::default()
    });
    let eal = eal.map_err(|e| e.to_string())?;
    let config = PoolConfig {
        packets,
        ..PoolConfig::default()
    };
    let pool = MbufPool::create(&eal, config).map_err(|e| e.to_string())?;
    Ok((eal, pool))
}

/// The two CPUs that were asked for, or else the first two; `what` needs them.
pub fn two_cpus(asked: &[u16], what: &str) -> Result<[usize; 2], Failure> {
    let allowed = thread::allowed_cpus().map_err(|e| e.to_string())?;
    match (asked, &allowed[..]) {
        ([one, other], _) => Ok([usize::from(*one), usize::from(*other)]),
        (_, [one, other, ..]) => Ok([*one, *other]),
        _ => Err(format!("two CPUs are needed: {what}")),
    }
}

/// CPU, kernel, pages and load.
pub fn facts() -> Value {
    let (cpuinfo, meminfo) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    json!({
        "cpu": field(&cpuinfo, "model name"),
        // Of the machine: the calling thread may be kept on one of them.
        "cpus": cpuinfo.lines().filter(|l| l.starts_with("processor")).count(),
        "l2_cache": read("/sys/devices/system/cpu/cpu0/cache/index2/size").trim(),
        "l3_cache": read("/sys/devices/system/cpu/cpu0/cache/index3/size").trim(),
        "memory": field(&meminfo, "MemTotal"),
        "huge_pages": field(&meminfo, "HugePages_Total").parse::<u64>().ok(),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "load_average": read("/proc/loadavg").split(' ').next(),
        "built_for": target_cpu(),
    })
}

/// The instruction set that the compiler was allowed, as far as it matters here.
fn target_cpu() -> &'static str {
    if cfg!(target_feature = "avx512f") {
        "x86-64-v4 or newer"
    } else if cfg!(target_feature = "avx2") {
        "x86-64-v3"
    } else {
        "the baseline of the architecture"
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn field(text: &str, name: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(key, _)| key.trim() == name);
    values
        .next()
        .map_or("", |(_, value)| value.trim())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "model : 1\nmodel name\t: A CPU\nmodel name\t: Another\n";
        assert_eq!(field(text, "model name"), "A CPU");
        assert_eq!(field(text, "flags"), "");
    }
}
