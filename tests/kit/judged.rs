//! What passed N4 and N3, for tshark to judge when a test ends.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use sluice_host::{tool, tshark};
use sluice_port_sim::SimPort;

use super::frames;

/// Before the frames of a capture, and before each frame (pcap).
const HEADERS: (usize, usize) = (24, 16);

/// All PFCP messages, and a tap on N3.
pub struct Judged {
    n3: Shared,
    messages: Vec<Vec<u8>>,
}

impl Judged {
    /// From now on.
    pub fn begin(n3: &SimPort) -> Self {
        let shared = Shared::default();
        n3.tap(shared.clone()).unwrap();
        Self {
            n3: shared,
            messages: Vec::new(),
        }
    }

    /// A message on N4, as a frame of its own.
    pub fn message(&mut self, from: SocketAddr, to: SocketAddr, message: &[u8]) {
        let (SocketAddr::V4(from), SocketAddr::V4(to)) = (from, to) else {
            panic!("{from} to {to}")
        };
        let ports = (from.port(), to.port());
        let packet = frames::udp(*from.ip(), *to.ip(), ports, message);
        self.messages.push(frames::frame([2; 6], [4; 6], &packet));
    }

    /// tshark has nothing to complain of, and has recognised every message.
    pub fn end(self) {
        if !tool::is_installed("tshark") {
            println!("not judged: needs tshark");
            return;
        }
        let tapped = self.n3.0.lock().unwrap();
        let n3 = frames_of(&tapped);
        let all = self.messages.iter().map(Vec::as_slice).chain(n3);
        let verdict = tshark::judge_frames(all).unwrap();
        assert_eq!(verdict.complaints, Vec::<String>::new());
        assert!(verdict.frames >= self.messages.len() as u64, "{verdict:?}");
    }
}

/// The frames of a capture.
fn frames_of(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = capture.get(HEADERS.0..).unwrap_or_default();
    let mut frames = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(HEADERS.1) {
        let len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        let (frame, next) = behind.split_at(len as usize);
        frames.push(frame);
        rest = next;
    }
    frames
}

/// Where the tap writes.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
