//! Ends the process when one input takes too long, and says which.

use super::found::hex;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An input takes milliseconds; on a loaded machine, tenths of a second.
const HANG: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Current {
    number: u64,
    input: Vec<u8>,
}

/// Watches one run, until it is dropped.
pub(super) struct Watchdog {
    current: Arc<Mutex<Current>>,
    _stop: Sender<()>,
}

impl Watchdog {
    /// Begins to watch the inputs of a target.
    pub fn new(target: &'static str) -> Self {
        let current: Arc<Mutex<Current>> = Arc::default();
        let (stop, stopped) = channel();
        let watched = current.clone();
        std::thread::spawn(move || {
            let mut last = 0;
            // The channel never carries anything; it breaks when the run is over.
            while stopped.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                let current = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if current.number == last && last != 0 {
                    give_up(target, &current.input);
                }
                last = current.number;
            }
        });
        Self {
            current,
            _stop: stop,
        }
    }

    /// The next input.
    pub fn begins(&self, input: &[u8]) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.number += 1;
        current.input.clear();
        current.input.extend(input);
    }
}

/// Not by a macro: the test harness would keep what it prints, and lose it.
fn give_up(target: &str, input: &[u8]) -> ! {
    let text = format!(
        "\n{target}: this input takes longer than {} s:\n  \
         SLUICE_INPUT={} cargo test -p sluice-fuzz --test targets {target}\n",
        HANG.as_secs(),
        hex(input)
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::abort()
}
