//! The monotonic and the wall clock that sans-IO state machines are given.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: since some point before the process began, never backwards.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel counts from boot, so both parts are positive; 584 years fit.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Nanoseconds of CPU that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// Nanoseconds of CPU that all threads of this process have used.
pub fn process_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// Time since 1970-01-01 00:00 UTC; zero when the host's clock stands before that.
pub fn wall() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_advances_by_what_we_slept() {
        let before = monotonic_ns();
        std::thread::sleep(Duration::from_millis(3));
        assert!(monotonic_ns() - before >= 3_000_000);
    }

    #[test]
    fn sleep_costs_no_cpu_time_and_work_does() {
        let before = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(20));
        assert!(thread_cpu_ns() - before < 10_000_000);
        while thread_cpu_ns() - before < 11_000_000 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn wall_time_is_after_this_was_written() {
        assert!(wall() > Duration::from_secs(1_700_000_000));
    }
}
