//! CPU affinity and timer slack of the calling thread.

use crate::HostError;
use rustix::thread::{CpuSet, sched_setaffinity};

/// CPUs that this process may run on.
pub fn allowed_cpus() -> Result<Vec<usize>, HostError> {
    let set = rustix::thread::sched_getaffinity(None)
        .map_err(HostError::os("read the CPU affinity of this process"))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}

/// Keeps the calling thread, and the threads that it starts, on `cpus`.
pub fn pin(cpus: &[usize]) -> Result<(), HostError> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
    let action = format!("pin a thread to CPUs {}", cpus.join(","));
    sched_setaffinity(None, &set).map_err(HostError::os(action))
}

/// Lets short sleeps of the calling thread end in time: the kernel may otherwise add 50 us.
pub fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes a number of nanoseconds and touches no memory of ours.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}
