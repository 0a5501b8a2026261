//! CPU time of the core's programs, and of processes that are none of the lab's (proc(5), `stat`).

use std::fs;

/// A tick of `stat`, which is the same on all machines that Linux runs on.
const TICK_MS: f64 = 10.0;

/// CPU time until a moment, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Of the core and the programs that it has started.
    core_ms: f64,
    /// Of the lab, and the programs that it has started and that have ended.
    lab_ms: f64,
    /// Of all CPUs, busy and idle.
    busy_ms: f64,
    idle_ms: f64,
}

/// CPU time between two moments.
pub struct Spent {
    pub core_ms: f64,
    /// Others, of the time of all CPUs.
    pub others_share: f64,
}

impl Times {
    /// The core is these programs, and what they have started.
    pub fn now(core: &[u32]) -> Self {
        let started = core.iter().flat_map(|pid| children(*pid));
        let programs = core.iter().copied().chain(started);
        let core_ms = programs.map(|pid| of_process(&pid.to_string(), 2)).sum();
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks = ticks(stat.lines().next().unwrap_or_default());
        let sum = |places: &[usize]| -> f64 {
            let ticks = places.iter().filter_map(|place| ticks.get(*place));
            ticks.sum::<f64>() * TICK_MS
        };
        Self {
            core_ms,
            lab_ms: of_process("self", 4),
            // user, nice, system, irq, softirq, steal; then idle and iowait.
            busy_ms: sum(&[0, 1, 2, 5, 6, 7]),
            idle_ms: sum(&[3, 4]),
        }
    }

    pub fn since(self, before: Self) -> Spent {
        let core_ms = self.core_ms - before.core_ms;
        let busy_ms = self.busy_ms - before.busy_ms;
        let all_ms = busy_ms + self.idle_ms - before.idle_ms;
        let others_ms = busy_ms - core_ms - (self.lab_ms - before.lab_ms);
        Spent {
            core_ms,
            others_share: (others_ms / all_ms.max(TICK_MS)).max(0.0),
        }
    }
}

/// CPU time that running threads of a process have had so far, exact to the nanosecond (proc(5), `schedstat`).
pub fn run_ns(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| -> Option<u64> {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    threads.filter_map(of_thread).sum()
}

/// The same of these processes and those that they have started.
pub fn run_ns_of_all(pids: &[u32]) -> u64 {
    let started = pids.iter().flat_map(|pid| children(*pid));
    pids.iter().copied().chain(started).map(run_ns).sum()
}

fn ticks(line: &str) -> Vec<f64> {
    let words = line.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The first two of user and system time, and those of ended children; 0 of a process that is gone.
fn of_process(pid: &str, first: usize) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The program's name, in parentheses, may have spaces; user time is the 12th word behind it.
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let words = rest.split_whitespace().skip(11).take(first);
    let ticks = words.filter_map(|word| word.parse::<f64>().ok());
    ticks.sum::<f64>() * TICK_MS
}

/// Processes that any thread of this one has started.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let texts = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let texts: Vec<String> = texts.map(Result::unwrap_or_default).collect();
    let pids = texts.iter().flat_map(|text| text.split_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn work_of_a_program_is_its_own_and_not_that_of_others() {
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let before = Times::now(&[busy.id()]);
        let end = Instant::now() + Duration::from_secs(60);
        while Times::now(&[busy.id()]).since(before).core_ms < 50.0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let spent = Times::now(&[busy.id()]).since(before);
        let ran_ns = run_ns(busy.id());
        let is_child = children(std::process::id()).contains(&busy.id());
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(spent.core_ms >= 50.0, "{}", spent.core_ms);
        assert!((0.0..=1.0).contains(&spent.others_share));
        assert!(ran_ns >= 50_000_000, "{ran_ns}");
        assert!(is_child);
    }
}
