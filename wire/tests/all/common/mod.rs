//! What the tests that ask tshark share: a capture file and the fields that tshark reads from it.

// A helper outside `#[test]` functions, for whose callers a failed step is a failed test.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// Link type of packets that begin with their IP header (LINKTYPE_RAW).
const LINKTYPE_RAW: u32 = 101;

/// Expert severities from which on tshark complains (PI_WARN; PI_ERROR is above it).
const SEVERITY_WARN: u32 = 0x0060_0000;

/// Whether tshark can be asked; says so on standard output if it cannot.
pub fn tshark_is_installed() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        println!("skipped: tshark not installed");
    }
    found
}

/// Writes IP packets as a classic pcap file, one microsecond apart.
pub fn write_pcap(path: &Path, packets: &[Vec<u8>]) -> io::Result<()> {
    let mut file = io::BufWriter::new(File::create(path)?);
    file.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
    file.write_all(&2_u16.to_le_bytes())?;
    file.write_all(&4_u16.to_le_bytes())?;
    for word in [0, 0, 65_535, LINKTYPE_RAW] {
        file.write_all(&word.to_le_bytes())?;
    }
    for (i, packet) in packets.iter().enumerate() {
        let len = packet.len() as u32;
        for word in [0, i as u32, len, len] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(packet)?;
    }
    file.flush()
}

/// Every case is a packet and what tshark must say of the space-separated `fields`, `-` for an
/// absent one.
pub fn check(name: &str, fields: &str, cases: &[(Vec<u8>, &str)]) {
    if !tshark_is_installed() {
        return;
    }
    let packets: Vec<Vec<u8>> = cases.iter().map(|(packet, _)| packet.clone()).collect();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    for (row, (packet, expected)) in ask_tshark(name, &packets, &fields).iter().zip(cases) {
        let row: Vec<&str> = row
            .iter()
            .map(|v| if v.is_empty() { "-" } else { v })
            .collect();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(row, expected, "{fields:?} of {packet:02x?}");
    }
}

/// What tshark reads of each packet: per packet the values of `fields`, in their order; several
/// values of one field are joined by commas, an absent field is empty.
///
/// # Panics
/// If tshark fails, reads another number of packets, calls one malformed, or raises a warning or
/// an error about one.
pub fn ask_tshark(name: &str, packets: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<String>> {
    let dir = std::env::temp_dir().join(format!("sluice-wire-{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join("packets.pcap");
    write_pcap(&path, packets).unwrap();
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&path)
        .args(["-n", "-T", "fields", "-E", "separator=/t"])
        .args(["-o", "ip.check_checksum:TRUE"])
        .args(["-o", "udp.check_checksum:TRUE"]);
    for field in ["_ws.malformed", "_ws.expert.severity", "_ws.expert.message"]
        .iter()
        .chain(fields)
    {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    fs::remove_dir_all(&dir).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<String>> = text.lines().map(check_row).collect();
    assert_eq!(
        rows.len(),
        packets.len(),
        "tshark reads another number of packets"
    );
    rows
}

/// The fields asked for of one line, once tshark has nothing to complain about in it.
fn check_row(line: &str) -> Vec<String> {
    let mut columns = line.split('\t').map(str::to_owned);
    let malformed = columns.next().unwrap_or_default();
    let severities = columns.next().unwrap_or_default();
    let message = columns.next().unwrap_or_default();
    assert_eq!(malformed, "", "malformed: {line}");
    for severity in severities.split(',').filter(|s| !s.is_empty()) {
        let level: u32 = severity.parse().unwrap();
        assert!(level < SEVERITY_WARN, "tshark complains: {message}");
    }
    columns.collect()
}
