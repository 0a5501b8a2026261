//! CPU cores available to this process.

/// What a configuration is checked against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    cores: Vec<u16>,
}

impl Machine {
    /// This machine, as far as this process may use it (affinity, container limits).
    pub fn this() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        Self::with_cores(cores_of(list.unwrap_or("0").trim()))
    }

    /// A machine with these cores; with core 0 if there are none.
    pub fn with_cores(mut cores: Vec<u16>) -> Self {
        cores.sort_unstable();
        cores.dedup();
        if cores.is_empty() {
            cores.push(0);
        }
        Self { cores }
    }

    /// Its cores, ascending, at least one.
    pub fn cores(&self) -> &[u16] {
        &self.cores
    }

    /// Its cores as the kernel writes them, such as `0-3,8`.
    pub fn list(&self) -> String {
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for core in &self.cores {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == *core => *last = *core,
                _ => ranges.push((*core, *core)),
            }
        }
        let parts = ranges.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        parts.collect::<Vec<_>>().join(",")
    }
}

/// The kernel's list of CPUs: `0-3,8`. What is not understood is left out.
pub(crate) fn cores_of(list: &str) -> Vec<u16> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_list_of_cores_is_read_and_written() {
        for list in ["0", "0-3", "1,3-5,8"] {
            assert_eq!(Machine::with_cores(cores_of(list)).list(), list);
        }
        assert_eq!(Machine::with_cores(cores_of("")).cores(), [0]);
    }

    #[test]
    fn this_machine_has_a_core() {
        assert!(!Machine::this().cores().is_empty());
    }
}
