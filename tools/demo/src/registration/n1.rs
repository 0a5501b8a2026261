//! N1 of the demo, deciphered: what the core tells to whoever follows its UEs, in a capture of its own beside
//! that of N2, and tshark's judgement of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_host::pcapng::Writer;
use sluice_host::tshark;
use sluice_program::ask::AskError;
use sluice_program::follow::{At, Follower, INTERFACES};

use super::report::Capture as Judged;
use crate::error::DemoError;

/// From one question to the core to the next.
const EACH: Duration = Duration::from_millis(50);
/// Complaints that a report shows.
const SHOWN_MAX: usize = 10;

/// A capture that goes on.
pub(super) struct N1 {
    path: PathBuf,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, AskError>>,
}

impl N1 {
    /// Everything that UEs and the AMF say to each other from now on.
    pub(super) fn start(core: &Path, path: PathBuf) -> Result<Self, DemoError> {
        let follower = Follower::new(core, None);
        follower.take(false)?;
        let file = File::create(&path).map_err(DemoError::io("create the capture of N1"))?;
        let writer = Writer::begin_with(file, "sluice demo", INTERFACES);
        let mut writer = writer.map_err(DemoError::io("begin the capture of N1"))?;
        let ends = Arc::new(AtomicBool::new(false));
        let (is_over, written) = (Arc::clone(&ends), path.clone());
        let thread = std::thread::spawn(move || {
            loop {
                let is_last = is_over.load(Ordering::Relaxed);
                let (messages, lost) = follower.take(is_last)?;
                // N2 and N4 are captured where they pass.
                for message in messages.iter().filter(|one| one.at == At::N1) {
                    let done = writer.frame(&message.frame());
                    done.map_err(|e| AskError::File(written.clone(), e))?;
                }
                if is_last && messages.is_empty() {
                    return Ok(lost);
                }
                std::thread::sleep(EACH);
            }
        });
        Ok(Self { path, ends, thread })
    }

    /// Ends it, while the core still answers; what tshark thinks of it, and the types of its messages.
    pub(super) fn judge(self) -> Result<(Judged, Vec<String>), DemoError> {
        self.ends.store(true, Ordering::Relaxed);
        let outcome = self.thread.join();
        let missed = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let mut verdict = tshark::judge_nas(&self.path)?;
        let complaints = verdict.complaints.len();
        verdict.complaints.truncate(SHOWN_MAX);
        let judged = Judged {
            interface: "N1, deciphered",
            frames: verdict.frames,
            messages: verdict.frames,
            missed,
            complaints,
            first_complaints: verdict.complaints,
        };
        Ok((judged, tshark::nas_types(&self.path)?))
    }
}
