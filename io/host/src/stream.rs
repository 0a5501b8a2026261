//! Live frames from a running tcpdump, for traffic that no file could hold.

use std::io::{self, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread::JoinHandle;

use crate::capture::{Capture, CaptureCount, CaptureError};
use crate::netns::Ns;
use crate::pcap::{self, Frame};

/// For tcpdump, standard output.
const STDOUT: &str = "-";
const PIPE_READ_BYTES: usize = 256 << 10;

/// A running capture whose frames a thread hands to a value of `S`.
#[derive(Debug)]
pub struct Stream<S> {
    capture: Capture,
    reader: JoinHandle<io::Result<S>>,
}

impl<S: Send + 'static> Stream<S> {
    /// Gives `each` the first `snap_bytes` of what passes `interface` of `ns` both ways and
    /// matches `filter` (pcap-filter(7)). When it returns, packets are being captured.
    pub fn start(
        ns: &Ns,
        interface: &str,
        filter: &str,
        snap_bytes: u16,
        mut state: S,
        each: fn(&mut S, Frame<'_>),
    ) -> Result<Self, CaptureError> {
        let mut command = Capture::command(ns, interface, filter, snap_bytes, Path::new(STDOUT));
        command.stdout(Stdio::piped());
        let mut capture = Capture::spawn(&mut command, Path::new(STDOUT))?;
        let frames = capture.stdout();
        let reader = std::thread::spawn(move || {
            if let Some(frames) = frames {
                let frames = BufReader::with_capacity(PIPE_READ_BYTES, frames);
                pcap::read(frames, |frame| each(&mut state, frame))?;
            }
            Ok(state)
        });
        Ok(Self { capture, reader })
    }

    /// Ends the capture when everything that the kernel has seen was handed over.
    pub fn stop(self) -> Result<(CaptureCount, S), CaptureError> {
        let command = self.capture.describe().to_owned();
        let count = self.capture.stop()?;
        let read = self
            .reader
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that looks at them panicked")));
        match read {
            Ok(state) => Ok((count, state)),
            Err(error) => Err(CaptureError::NotStopped {
                command,
                said: format!("its frames cannot be read: {error}"),
            }),
        }
    }
}
