//! Memory use of this process, as the kernel counts it.

use sluice_control::core::UpfControl;
use sluice_port::Packet;

/// Resident memory and touched huge pages, in bytes.
pub fn used_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    used_kib(&status) * 1024
}

fn used_kib(status: &str) -> u64 {
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let counted = lines.filter(|(name, _)| ["VmRSS", "HugetlbPages"].contains(name));
    counted
        .filter_map(|(_, value)| value.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// The mapping of session entries (the builder of the packet path names its arena).
const ENTRIES: &str = "memfd:sluice-sluice-entries";
/// At fewer sessions the fixed part of the memory would stand for them.
const SESSIONS_MIN: u32 = 100_000;

/// Memory that a UPF took for its sessions.
#[derive(Clone, Copy, Debug)]
pub struct Grown {
    /// For each session, with all that it takes to find and to change it, in bytes; NaN where
    /// nobody measured it.
    pub per_session: f64,
    /// The memory of recent requests and their responses, which does not grow with sessions.
    pub n4_cache: usize,
}

impl Grown {
    pub const UNKNOWN: Self = Self {
        per_session: f64::NAN,
        n4_cache: 0,
    };

    /// Since there were `before` bytes and no sessions.
    pub fn since<P: Packet>(before: u64, core: &UpfControl<P>, sessions: u32) -> Self {
        let n4_cache = core.up.endpoint().cache_bytes();
        let grown = used_bytes().saturating_sub(before + n4_cache as u64);
        Self {
            per_session: grown as f64 / f64::from(sessions),
            n4_cache,
        }
    }

    /// Of a UPF with so many sessions, as far as that says something.
    pub fn bytes_per_session(&self, sessions: u32) -> Option<f64> {
        (sessions >= SESSIONS_MIN).then_some(self.per_session.round())
    }
}

/// Whether session entries lie on huge pages.
pub fn sessions_on_huge_pages() -> bool {
    session_pages().is_some_and(|size| size == "2048 kB")
}

/// Size of the pages of session entries, as the kernel shows it; nothing without sessions.
pub fn session_pages() -> Option<String> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let (_, ours) = smaps.split_once(ENTRIES)?;
    let mut lines = ours.lines();
    let size = lines.find_map(|line| line.strip_prefix("KernelPageSize:"))?;
    Some(size.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_and_huge_pages_count_and_nothing_else_does() {
        let status = "VmPeak:\t  900 kB\nVmRSS:\t  100 kB\nHugetlbPages:\t 2048 kB\n";
        assert_eq!(used_kib(status), 2148);
    }

    #[test]
    fn memory_that_is_touched_counts() {
        let before = used_bytes();
        let block = vec![1_u8; 64 << 20];
        assert!(used_bytes() - before > 60 << 20);
        drop(block);
    }
}
