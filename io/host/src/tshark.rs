//! tshark checks of the PFCP, GTP-U, SCTP and NGAP in a capture.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::pcap;
use crate::tool::{self, ToolError};

/// Wireshark's PI_WARN: what it thinks wrong, not merely remarkable.
const WARN: u32 = 0x0060_0000;

/// Frames that are judged: PFCP and GTP-U, and what ought to have been but could not even be
/// recognised. Inside tunnels nothing is dissected (see `OPTIONS`), so that the retransmissions
/// of a TCP client are nobody's fault here.
const JUDGED: &str = "pfcp or gtp or udp.port == 8805 or udp.port == 2152";

const WRONG: &str = "_ws.malformed or _ws.short or _ws.expert.severity >= 6291456 \
    or (udp.port == 8805 and not pfcp) or (udp.port == 2152 and not gtp)";

/// Filter for N2: all SCTP, to check that NGAP is read as NGAP.
const JUDGED_N2: &str = "sctp";

const WRONG_N2: &str = "_ws.malformed or _ws.short or _ws.expert.severity >= 6291456 \
    or (sctp.data_payload_proto_id == 60 and not ngap) or sctp.chunk_type == 6";

/// Filter for N1: all exported packets, to check that they are read as NAS.
const JUDGED_NAS: &str = "exported_pdu";

const WRONG_NAS: &str =
    "_ws.malformed or _ws.short or _ws.expert.severity >= 6291456 or not nas-5gs";

const OPTIONS: [&str; 5] = [
    "sctp.checksum:CRC 32c",
    "gtp.v1u_port:2152",
    "gtp.dissect_tpdu_as:None",
    "ip.check_checksum:TRUE",
    "udp.check_checksum:TRUE",
];

/// Judgement of tshark about a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// PFCP and GTP-U frames that were judged.
    pub frames: u64,
    /// One line for each frame that is malformed, cut short, not recognised, or marked with a
    /// warning or an error.
    pub complaints: Vec<String>,
}

impl Verdict {
    /// Whether there was something to judge and nothing to complain of.
    pub fn is_clean(&self) -> bool {
        self.frames > 0 && self.complaints.is_empty()
    }
}

/// Has tshark read `pcap` and collects its complaints about PFCP, GTP-U and the headers that
/// carry them.
pub fn judge(pcap: &Path) -> Result<Verdict, ToolError> {
    judge_by(pcap, JUDGED, WRONG)
}

/// The same of SCTP and NGAP on N2. An ABORT is a complaint, too.
pub fn judge_n2(pcap: &Path) -> Result<Verdict, ToolError> {
    judge_by(pcap, JUDGED_N2, WRONG_N2)
}

/// The same of NAS that was exported without the layers below ([`crate::pcapng::exported_pdu`]).
pub fn judge_nas(pcap: &Path) -> Result<Verdict, ToolError> {
    judge_by(pcap, JUDGED_NAS, WRONG_NAS)
}

/// Types of those messages, in order: of 5GMM and, behind a space, of 5GSM inside (TS 24.501, 9.7), such as
/// `0x41` and `0x67 0xc1`.
pub fn nas_types(pcap: &Path) -> Result<Vec<String>, ToolError> {
    let fields = ["nas_5gs.mm.message_type", "nas_5gs.sm.message_type"];
    let rows = tshark(pcap, JUDGED_NAS, &fields)?;
    let text = |row: &str| row.replace('\t', " ").trim().to_owned();
    Ok(rows.lines().map(text).collect())
}

/// How many NGAP messages tshark recognises in a capture.
pub fn ngap_messages(pcap: &Path) -> Result<u64, ToolError> {
    // Several may share a frame.
    let codes = tshark(pcap, "ngap", &["ngap.procedureCode"])?;
    let messages = codes.lines().map(|line| line.split('|').count() as u64);
    Ok(messages.sum())
}

/// Once through the capture for both: a start of tshark costs more than most captures.
fn judge_by(pcap: &Path, judged: &str, wrong: &str) -> Result<Verdict, ToolError> {
    let wrong = format!("({judged}) and ({wrong})");
    let fields = [
        "frame.number",
        "frame.protocols",
        "_ws.col.Info",
        "_ws.expert.severity",
        "_ws.expert.message",
    ];
    let mut command = command(pcap, &wrong, &fields);
    command.arg("-z").arg(format!("io,phs,{judged}"));
    let said = tool::run(&mut command)?;
    let (complaints, hierarchy) = said.rsplit_once(HIERARCHY).unwrap_or((&said, ""));
    let is_row = |line: &&str| line.contains('\t');
    Ok(Verdict {
        frames: frames_in(hierarchy),
        complaints: complaints.lines().filter(is_row).map(complaint).collect(),
    })
}

/// Title of tshark's count of frames by protocol.
const HIERARCHY: &str = "Protocol Hierarchy Statistics\n";

/// Frames of all protocols: those of the first row, such as "frame    frames:11 bytes:8142". There is none without frames.
fn frames_in(hierarchy: &str) -> u64 {
    let mut rows = hierarchy
        .lines()
        .filter_map(|row| row.split_once(" frames:"));
    let count = rows.next().and_then(|(_, count)| count.split(' ').next());
    count.map_or(0, |count| count.parse().unwrap_or(0))
}

/// The same for frames that nobody has captured.
pub fn judge_frames<'a>(frames: impl IntoIterator<Item = &'a [u8]>) -> io::Result<Verdict> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("sluice-judged-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    let frames = frames.into_iter().map(|bytes| pcap::Frame {
        bytes,
        wire_bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    });
    let written = File::create(&path).and_then(|file| pcap::write(BufWriter::new(file), frames));
    let verdict = written.and_then(|()| judge(&path).map_err(io::Error::other));
    std::fs::remove_file(&path)?;
    verdict
}

fn tshark(pcap: &Path, filter: &str, fields: &[&str]) -> Result<String, ToolError> {
    tool::run(&mut command(pcap, filter, fields))
}

fn command(pcap: &Path, filter: &str, fields: &[&str]) -> Command {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(pcap).args(["-Y", filter]);
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    command
}

/// One tab-parted line of fields as a sentence.
fn complaint(line: &str) -> String {
    let mut fields = line.split('\t');
    let mut next = || fields.next().unwrap_or_default();
    let (number, protocols, info) = (next(), next(), next());
    let (severities, messages) = (next(), next());
    let serious = |severity: &str| severity.parse().is_ok_and(|s: u32| s >= WARN);
    let messages = severities.split('|').zip(messages.split('|'));
    let reasons: Vec<_> = messages
        .filter(|(s, _)| serious(s))
        .map(|(_, message)| message)
        .collect();
    let reasons = if reasons.is_empty() {
        "malformed, cut short, or not the protocol of its port".to_owned()
    } else {
        reasons.join("; ")
    };
    format!("frame {number} ({protocols}) {info}: {reasons}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_keeps_only_what_is_at_least_a_warning() {
        let line = "7\teth:ip:udp:pfcp\tHeartbeat\t2097152|8388608\tfine|Bad length";
        assert_eq!(
            complaint(line),
            "frame 7 (eth:ip:udp:pfcp) Heartbeat: Bad length"
        );
        let line = "8\teth:ip:udp:data\tLen=3\t\t";
        assert!(complaint(line).ends_with("not the protocol of its port"));
    }

    #[test]
    fn frames_are_counted_at_the_head_of_the_hierarchy() {
        let rows = "Filter: ip\n\nframe    frames:11 bytes:8142\n  eth    frames:10 bytes:8142\n";
        assert_eq!(frames_in(rows), 11);
        // Frames with comments stand below those.
        assert_eq!(
            frames_in("pkt_comment   frames:62 bytes:1\n  frame  frames:62 bytes:1\n"),
            62
        );
        assert_eq!(frames_in("Filter: ip\n\n====\n"), 0);
    }

    #[test]
    fn a_capture_that_is_not_there_is_an_error() {
        if tool::is_installed("tshark") {
            assert!(judge(Path::new("/nonexistent/sluice.pcap")).is_err());
        } else {
            println!("skipped: needs tshark");
        }
    }
}
