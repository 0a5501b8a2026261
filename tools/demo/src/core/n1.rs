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

use super::report::CorePart;
use crate::captures::Judgement;
use crate::error::DemoError;
use crate::report::Report;

/// From one question to the core to the next.
const EACH: Duration = Duration::from_millis(50);

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
    pub(super) fn judge(self) -> Result<(Judgement, Vec<String>), DemoError> {
        self.ends.store(true, Ordering::Relaxed);
        let outcome = self.thread.join();
        let missed = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let verdict = tshark::judge_nas(&self.path)?;
        let judged = Judgement {
            messages: Some(verdict.frames),
            ..Judgement::new("N1, deciphered", missed, verdict)
        };
        Ok((judged, tshark::nas_types(&self.path)?))
    }
}

/// Types of messages that each UE has said or heard (TS 24.501, table 9.7.1 and 9.7.2).
const NAS: [(&str, &str); 12] = [
    ("0x41", "Registration Request"),
    ("0x42", "Registration Accept"),
    ("0x43", "Registration Complete"),
    ("0x56", "Authentication Request"),
    ("0x57", "Authentication Response"),
    ("0x5d", "Security Mode Command"),
    ("0x5e", "Security Mode Complete"),
    ("0x4c", "Service Request"),
    ("0x4e", "Service Accept"),
    ("0xc1", "PDU Session Establishment Request"),
    ("0xc2", "PDU Session Establishment Accept"),
    ("0xcb", "PDU Session Modification Command"),
];

/// Checks of what tshark found in NAS.
pub(super) fn check(
    (judged, types): (Judgement, Vec<String>),
    ues: usize,
    report: &mut Report<CorePart>,
) {
    let checks = &mut report.checks;
    let is_clean = judged.frames > 0 && judged.complaints == 0;
    let name = "what tshark complains of in N1";
    checks.holds(name, "nothing", judged.complaint("messages"), is_clean);
    checks.equal("messages that the capture of N1 missed", 0, judged.missed);
    for (number, name) in NAS {
        let has = |types: &&String| types.split([' ', '|']).any(|one| one == number);
        let count = types.iter().filter(has).count();
        let (name, expected) = (format!("{name} in N1"), format!("{ues} at least"));
        checks.holds(name, expected, count.to_string(), count >= ues);
    }
    report.captures.push(judged);
}
