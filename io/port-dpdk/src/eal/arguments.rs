//! EAL arguments.

use super::memory::{self, Pages};
use super::{EalConfig, LogLevel};
use crate::error::EalError;

/// Chooses the pages and writes the arguments, program name first.
pub(super) fn build(config: &EalConfig) -> Result<(Pages, Vec<String>), EalError> {
    let pages = memory::choose(config.memory, memory::free_huge_mib())?;
    let cpus = match &config.main_cpus {
        Some(list) => checked_cpu_list(list)?.to_owned(),
        None => allowed_cpus(),
    };
    let mut arguments = vec![
        "sluice".to_owned(),
        "--no-telemetry".to_owned(),
        "--iova-mode=va".to_owned(),
        // One lcore that floats over its CPUs; workers are registered threads.
        format!("--lcores=0@({cpus})"),
        format!("--log-level={}", config.log_level.name()),
    ];
    arguments.extend(pages.arguments());
    if config.pci_devices.is_empty() {
        arguments.push("--no-pci".to_owned());
    }
    for device in &config.pci_devices {
        arguments.push(format!("--allow={device}"));
    }
    Ok((pages, arguments))
}

impl LogLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

fn checked_cpu_list(list: &str) -> Result<&str, EalError> {
    let is_range = |part: &str| {
        let mut ends = part.splitn(2, '-').map(|end| end.parse::<u16>().ok());
        let first = ends.next().flatten();
        let last = ends.next().unwrap_or(first);
        first.is_some() && first <= last
    };
    if list.split(',').all(is_range) {
        Ok(list)
    } else {
        Err(EalError::BadCpuList(list.into()))
    }
}

/// The CPUs that the calling thread may use now, as the kernel writes them.
fn allowed_cpus() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.map(str::trim)
        .filter(|list| checked_cpu_list(list).is_ok())
        .unwrap_or("0")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eal::Memory;

    #[test]
    fn cpu_lists_are_checked_before_dpdk_sees_them() {
        for good in ["0", "0-3", "1,3-5,8"] {
            assert_eq!(checked_cpu_list(good), Ok(good));
        }
        for bad in ["", "a", "3-1", "1-", "-1", "1,,2", "0@(1)", "1-2-3"] {
            assert_eq!(
                checked_cpu_list(bad),
                Err(EalError::BadCpuList(bad.into())),
                "{bad}"
            );
        }
    }

    #[test]
    fn the_pci_bus_stays_untouched_unless_a_device_is_named() {
        let mut config = EalConfig {
            memory: Memory::NormalPages { mib: 64 },
            ..Default::default()
        };
        let (_, arguments) = build(&config).unwrap();
        assert!(arguments.contains(&"--no-pci".to_owned()));
        config.pci_devices.push("0000:03:00.0".to_owned());
        let (_, arguments) = build(&config).unwrap();
        assert!(!arguments.contains(&"--no-pci".to_owned()));
        assert!(arguments.contains(&"--allow=0000:03:00.0".to_owned()));
    }

    #[test]
    fn the_calling_threads_cpus_are_known() {
        assert!(checked_cpu_list(&allowed_cpus()).is_ok());
    }
}
