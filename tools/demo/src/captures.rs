//! Captures on N3 and N4, judged by tshark.

use serde::Serialize;
use sluice_host::capture::Capture;
use sluice_host::stream::Stream;
use sluice_host::tshark::{self, Verdict};

use super::error::DemoError;
use super::headers::{Headers, SNAP_BYTES};
use super::plan;
use super::topology::Topology;
use super::workdir::WorkDir;

/// Complaints that a report shows; there may be one for each packet.
const SHOWN_MAX: usize = 10;
/// More than one frame in so many must not be missing.
const MISSED_ONE_IN: u64 = 100;

/// The running captures. They watch the ends of gNBs and SMF, where the kernel shows what a
/// packet socket sends at the other end.
#[derive(Debug)]
pub(super) struct Captures {
    n3: (&'static str, Capture),
    n4: Capture,
    /// Of all G-PDUs, also those that are not captured whole.
    headers: Stream<Headers>,
    judged: Vec<Judgement>,
}

/// Contents of a capture, and tshark's complaints.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Judgement {
    pub(super) interface: &'static str,
    /// PFCP and GTP-U frames that were judged; of N1 and N2 all frames.
    pub(super) frames: u64,
    /// Of N1 and N2: NAS and NGAP messages in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<u64>,
    /// Number of header kinds, where only headers were checked. Fields that change from frame to frame are checked in
    /// each frame, the rest of each kind by tshark.
    pub(super) header_kinds: Option<u64>,
    /// Frames that the capture should have but has not, as the host did not let it run: they passed
    /// the UPF all the same.
    pub(super) missed: u64,
    /// Frames that tshark complains of.
    pub(super) complaints: u64,
    /// The first complaints in words.
    pub(super) first_complaints: Vec<String>,
}

impl Judgement {
    /// Of what a capture held.
    pub(super) fn new(interface: &'static str, missed: u64, mut verdict: Verdict) -> Self {
        let complaints = verdict.complaints.len() as u64;
        verdict.complaints.truncate(SHOWN_MAX);
        Self {
            interface,
            frames: verdict.frames,
            messages: None,
            header_kinds: None,
            missed,
            complaints,
            first_complaints: verdict.complaints,
        }
    }

    /// The first complaint, if there is one.
    pub(super) fn complaint(&self, frames: &str) -> String {
        let first = self.first_complaints.first().cloned();
        first.unwrap_or_else(|| format!("nothing in {} {frames}", self.frames))
    }

    /// Whether there was something to judge, it is as good as complete, and nothing is wrong with it.
    pub(super) fn is_clean(&self) -> bool {
        let is_enough = self.missed <= self.frames / MISSED_ONE_IN;
        self.frames > 0 && is_enough && self.complaints == 0
    }
}

impl Captures {
    /// Starts both; everything from now on is captured.
    pub(super) fn start(topology: &Topology, work: &WorkDir) -> Result<Self, DemoError> {
        let (n3, n4) = (work.join("n3.pcap"), work.join("n4.pcap"));
        let n3 = Capture::start(&topology.gnb, "n3", &n3_filter(), &n3)?;
        let n4 = Capture::start(&topology.smf, "n4", "udp port 8805", &n4)?;
        let headers = Stream::start(
            &topology.gnb,
            "n3",
            G_PDUS,
            SNAP_BYTES,
            Headers::default(),
            Headers::take,
        )?;
        Ok(Self {
            n3: ("N3, whole frames", n3),
            n4,
            headers,
            judged: Vec::new(),
        })
    }

    /// Goes on with the signalling of N3 alone, as a file of all packets would fill the disk in
    /// the end; what was captured so far is judged and deleted.
    pub(super) fn signalling_only(
        &mut self,
        topology: &Topology,
        work: &WorkDir,
    ) -> Result<(), DemoError> {
        let path = work.join("n3-signalling.pcap");
        let next = Capture::start(&topology.gnb, "n3", N3_SIGNALLING, &path)?;
        let (name, whole) = std::mem::replace(&mut self.n3, ("N3, signalling", next));
        let path = whole.path().to_owned();
        self.judged.push(judge_one(name, whole)?);
        std::fs::remove_file(&path).map_err(DemoError::io(format!("remove {}", path.display())))
    }

    /// Ends all and has them judged.
    pub(super) fn judge(self, work: &WorkDir) -> Result<Vec<Judgement>, DemoError> {
        let mut judged = self.judged;
        judged.push(judge_one("N4", self.n4)?);
        judged.push(judge_one(self.n3.0, self.n3.1)?);
        judged.push(judge_headers(self.headers, work)?);
        Ok(judged)
    }
}

fn judge_headers(headers: Stream<Headers>, work: &WorkDir) -> Result<Judgement, DemoError> {
    let (count, headers) = headers.stop()?;
    let path = work.join("n3-headers.pcap");
    let written = headers.write_samples(&path);
    written.map_err(DemoError::io(format!("write {}", path.display())))?;
    let verdict = tshark::judge(&path)?;
    // What tshark does not know for GTP-U is not judged.
    let unjudged = headers.samples().abs_diff(verdict.frames);
    let mut complaints = headers.first_wrong.clone();
    complaints.extend(verdict.complaints.iter().cloned());
    complaints.truncate(SHOWN_MAX);
    Ok(Judgement {
        interface: "N3, headers of every G-PDU",
        frames: headers.frames,
        messages: None,
        header_kinds: Some(headers.kinds()),
        missed: count.dropped + unjudged,
        complaints: headers.wrong + verdict.complaints.len() as u64,
        first_complaints: complaints,
    })
}

fn judge_one(interface: &'static str, capture: Capture) -> Result<Judgement, DemoError> {
    let path = capture.path().to_owned();
    let count = capture.stop()?;
    Ok(Judgement::new(
        interface,
        count.dropped,
        tshark::judge(&path)?,
    ))
}

/// Captures N2; it ends with [`judge_n2`].
pub(super) fn start_n2(topology: &Topology, work: &WorkDir) -> Result<Capture, DemoError> {
    let path = work.join("n2.pcap");
    Ok(Capture::start(&topology.gnb, "n2", "ip proto 132", &path)?)
}

pub(super) fn judge_n2(capture: Capture) -> Result<Judgement, DemoError> {
    let path = capture.path().to_owned();
    let count = capture.stop()?;
    let mut verdict = tshark::judge_n2(&path)?;
    // What is sent again tshark does not read as NGAP: it has judged it the first time.
    let is_again = |complaint: &String| complaint.contains("(retransmission)");
    verdict.complaints.retain(|complaint| !is_again(complaint));
    Ok(Judgement {
        messages: Some(tshark::ngap_messages(&path)?),
        ..Judgement::new("N2", count.dropped, verdict)
    })
}

const G_PDUS: &str = "udp port 2152 and udp[9] = 255";

/// All of GTP-U but G-PDUs (message type 255).
const N3_SIGNALLING: &str = "udp port 2152 and udp[9] != 255";

/// All of GTP-U; only of TCP and UDP inside, which are many and alike, one in so many (their
/// headers are looked at in all, see [`Headers`]). It is chosen by the inner Identification, of
/// IPv6, which has none, by TCP's checksum; the inner packet is behind 8 bytes of UDP and 16 of
/// GTP-U with its container.
fn n3_filter() -> String {
    let mask = plan::CAPTURE_ONE_IN - 1;
    let ipv4 = format!(
        "(udp[24] & 0xf0 = 0x40 and (udp[33] = 6 or udp[33] = 17) and udp[28:2] & {mask} != 0)"
    );
    let ipv6 = format!("(udp[24] & 0xf0 = 0x60 and udp[30] = 6 and udp[80:2] & {mask} != 0)");
    format!("udp port 2152 and not (udp[9] = 255 and ({ipv4} or {ipv6}))")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_incomplete_capture_is_not_clean() {
        let whole = Judgement {
            frames: 2,
            ..Judgement::default()
        };
        assert!(whole.is_clean());
        assert!(!Judgement::default().is_clean());
        let incomplete = Judgement { missed: 1, ..whole };
        // Of two frames one is much; of many not.
        assert!(!incomplete.is_clean());
    }

    #[test]
    fn one_in_so_many_is_a_power_of_two() {
        const { assert!(plan::CAPTURE_ONE_IN.is_power_of_two()) };
        assert!(n3_filter().contains("udp[28:2] & 63 != 0"));
    }
}
